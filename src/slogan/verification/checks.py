"""Checks that every release must pass: its files, its form, its words; and those of `sanitize`.

The latter are the conditions of the paper's Theorem 1, decided exactly.
"""

import hashlib
import json
from fractions import Fraction
from pathlib import Path

import duckdb

from slogan.errors import LogFormatError, LogNotFoundError
from slogan.manifest.manifest import released_file
from slogan.storage.untrusted import modest
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError
from slogan.verification.form import manifest_as_written, words
from slogan.verification.released_bytes import rows_as_written
from slogan.verification.users import drawn, user_ids


def _not_a_test_run(evidence: Evidence) -> Finding:
    if evidence.manifest.test_run:
        return False, "the random draws came from a seed: such a release protects nobody"
    certificate = evidence.curators("certificate.json")
    if certificate is not None:
        try:
            found = json.loads(modest(certificate))
            seeded = found.get("seed") is not None or found.get("test_run") is not False
        except (OSError, ValueError, AttributeError):
            return False, "the curator's certificate cannot be read"
        if seeded:
            return False, "by the curator's certificate, the random draws came from a seed"
    return True, "by the manifest, the random draws did not come from a seed"


def _checksum(evidence: Evidence) -> Finding:
    try:
        found = _digest(released_file(evidence.public, evidence.manifest))
    except (LogNotFoundError, OSError) as cause:
        raise NotPossibleError("the released log is not in public/") from cause
    same = found == evidence.manifest.log.sha256
    return same, f"the released log is {'' if same else 'not '}the file that the manifest describes"


def _digest(released: Path) -> str:
    """SHA-256 of a file, or of the lines `digest  name` of a folder's files."""
    if not released.is_dir():
        with released.open("rb") as data:
            return hashlib.file_digest(data, "sha256").hexdigest()
    whole = hashlib.sha256()
    for name in sorted(part.name for part in released.iterdir()):
        whole.update(f"{_digest(released / name)}  {name}\n".encode())
    return whole.hexdigest()


def _columns(evidence: Evidence) -> Finding:
    shown, listed = evidence.released, evidence.manifest.log
    faults = {
        "columns other than those of the manifest": shown.log.columns.names != listed.columns,
        "a compression other than that of the manifest": shown.log.compression
        != listed.compression,
        f"{shown.bad_rows} rows that are not a positive number of clicks": shown.bad_rows > 0,
    }
    found = [fault for fault, present in faults.items() if present]
    detail = "; ".join(found) or f"{len(listed.columns)} columns, every row readable"
    return not found, f"the released log has {detail}"


def _schema(evidence: Evidence) -> Finding:
    clicked, shown = evidence.logs()
    both_parquet = shown.log.format == clicked.log.format == "parquet"
    faults = {
        "columns": shown.log.columns != clicked.log.columns,
        "a format": (shown.log.suffix, shown.log.header)
        != (clicked.log.suffix, clicked.log.header),
        "column types": both_parquet and shown.types != clicked.types,
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, f"the released log has {', '.join(found)} other than those of the input log"
    return True, "columns, types and format are those of the input log"


def _nothing_else_public(evidence: Evidence) -> Finding:
    expected = {evidence.manifest.log.file, "manifest.json", "report.html"}
    log = evidence.public / evidence.manifest.log.file
    entries = list(evidence.public.iterdir())
    plain = {entry.name for entry in entries if entry.is_file() and not entry.is_symlink()}
    if log.is_dir() and not log.is_symlink():
        # A log in parts is one entry, and its parts are numbered files.
        parts = sorted(log.iterdir())
        plain.add(log.name)
        entries += [
            part
            for i, part in enumerate(parts)
            if part.name != f"part-{i:05}{log.name.removeprefix('log')}"
            or part.is_symlink()
            or not part.is_file()
        ]
    extra = len(entries) - len(expected & plain)
    missing = len(expected - plain)
    return extra + missing == 0, f"{extra} entries too many in public/, {missing} files missing"


def _pairs_from_log(evidence: Evidence) -> Finding:
    found = evidence.compared
    detail = f"{found.unknown_pairs} of {found.pairs} released pairs are not in the input log"
    return found.unknown_pairs == 0, detail


def _budget(evidence: Evidence) -> Finding:
    promised = evidence.promised
    if evidence.asked is None:
        return True, "the manifest's own budget was checked; no other was asked for"
    if promised.within(evidence.asked):
        return True, "the manifest's budget is the one asked for, or stricter"
    return False, "the manifest's budget is looser than the one asked for"


PUBLIC_FILES: Checks = {
    "not_a_test_run": _not_a_test_run,
    "checksum": _checksum,
    "columns": _columns,
    "words": words,
    "manifest_as_written": manifest_as_written,
    "rows_as_written": rows_as_written,
    "nothing_else_public": _nothing_else_public,
    "budget": _budget,
}
"""What can be looked at without the log."""
WITH_LOG: Checks = {
    "schema": _schema,
    "pairs_from_log": _pairs_from_log,
    "user_ids": user_ids,
}


def _no_unique_pair(evidence: Evidence) -> Finding:
    found = evidence.compared
    detail = f"{found.unique_pairs} of {found.pairs} released pairs belong to a single user"
    return found.unique_pairs == 0, f"{detail} of the input log"


def users_from_log(evidence: Evidence) -> Finding:
    """Whether every row shown is a row of a user of the input log."""
    found = evidence.compared
    if evidence.manifest.pseudonyms == "keep":
        strangers = found.strangers()
        return strangers == 0, f"{strangers} of {found.rows} users' pairs are not in the input log"
    unexplained = found.unexplained_pseudonyms()
    detail = f"{unexplained} pseudonyms have pairs that no user of the input log holds together"
    table = evidence.curators("pseudonyms.parquet")
    if table is None:
        return unexplained == 0, detail
    try:
        repeated, strangers = found.real_names(table)
    except (duckdb.Error, LogFormatError):
        return False, f"{detail}; the curator's table of pseudonyms cannot be read"
    detail += f"; by the curator's table {repeated} pseudonyms are not one-to-one, and {strangers}"
    detail += f" of {found.rows} users' pairs are not in the input log"
    return unexplained + repeated + strangers == 0, detail


def _condition(evidence: Evidence, bound: Fraction) -> Finding:
    users, found = evidence.compared.users, evidence.compared.judge(bound)
    detail = (
        f"{users} users checked, {found.users} of them with released pairs and {found.in_integers} "
        f"decided by integers; {found.broken} exceed the bound; the largest use of the budget is "
        f"{found.largest_use:.3f}"
    )
    return found.broken == 0, detail


def _removed_users(evidence: Evidence) -> Finding:
    listed, in_vain = evidence.removed
    detail = f"{listed} users were removed beforehand and count for nothing in the other checks"
    return in_vain == 0, f"{detail}; {in_vain} of them are not in the input log, or listed twice"


REAL_ROWS: Checks = {
    "no_unique_pair": _no_unique_pair,
    "users_from_log": users_from_log,
    "condition_2": lambda evidence: _condition(evidence, evidence.bounds.likelihood),
    "condition_3": lambda evidence: _condition(evidence, evidence.bounds.appearance),
    "drawn": drawn,
}
WITHOUT_REMOVED: Checks = {**REAL_ROWS, "removed_users": _removed_users}
"""The same, where users were removed before the counts were chosen."""
