"""Checks of every release (files, form, texts) and of releases by `sanitize`.

The latter are the conditions of the paper's Theorem 1, decided exactly.
"""

import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path

import duckdb

from slogan.errors import LogFormatError, LogNotFoundError
from slogan.manifest.manifest import released_file
from slogan.storage.untrusted import modest
from slogan.verification.conditions import budget_text
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError
from slogan.verification.form import manifest_as_written
from slogan.verification.passport import checksum_file, passport
from slogan.verification.released_bytes import rows_as_written
from slogan.verification.users import drawn, user_ids
from slogan.verification.wording import expected_files, words


def _not_a_test_run(evidence: Evidence) -> Finding:
    if evidence.manifest.test_run:
        return False, "the random draws came from a seed, so this release protects no user"
    certificate = evidence.curators("certificate.json")
    if certificate is not None:
        try:
            found = json.loads(modest(certificate))
            seeded = found.get("seed") is not None or found.get("test_run") is not False
        except (OSError, ValueError, AttributeError):
            return False, "the curator's certificate cannot be read"
        if seeded:
            return False, "the curator's certificate states that the random draws came from a seed"
    return True, "the manifest states that the random draws did not come from a seed"


def _checksum(evidence: Evidence) -> Finding:
    try:
        found = _digest(released_file(evidence.public, evidence.manifest))
    except (LogNotFoundError, OSError) as cause:
        raise NotPossibleError("the released log is not in public/") from cause
    same = found == evidence.manifest.log.sha256
    return same, f"the released log {'has' if same else 'does not have'} the manifest's checksum"


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
        f"rows without a positive number of clicks: {shown.bad_rows}": shown.bad_rows > 0,
    }
    found = [fault for fault, present in faults.items() if present]
    detail = "; ".join(found) or f"{len(listed.columns)} columns, every row readable"
    return not found, f"the released log has {detail}"


def _schema(evidence: Evidence) -> Finding:
    clicked, shown = evidence.logs()
    both_parquet = shown.log.format == clicked.log.format == "parquet"
    faults = {
        "columns": shown.log.columns.without_events() != clicked.log.columns.without_events(),
        "a format": (shown.log.suffix, shown.log.header)
        != (clicked.log.suffix, clicked.log.header),
        "column types": both_parquet and shown.types != clicked.types,
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, f"the released log has {', '.join(found)} other than those of the input log"
    return True, "same columns, types and format as the input log"


def _nothing_else_public(evidence: Evidence) -> Finding:
    expected = expected_files(evidence)
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
    if extra + missing == 0:
        return True, "public/ holds exactly the expected files"
    return False, f"public/ holds {extra} unexpected entries and lacks {missing} expected files"


def _pairs_from_log(evidence: Evidence) -> Finding:
    found = evidence.compared
    if found.unknown_pairs == 0:
        return True, "all released pairs are in the input log"
    return False, f"{found.unknown_pairs} of {found.pairs} released pairs are not in the input log"


def _withheld(evidence: Evidence) -> Finding:
    """Whether the curator's record of withheld rows is what the manifest counts."""
    queries, pairs, faults = evidence.withheld
    stated = evidence.manifest.withheld
    if stated is None:
        return True, "no query was withheld by hand"
    if (queries, pairs) != (stated.queries, stated.pairs):
        return False, "the manifest counts other withheld queries than the curator's record has"
    if faults:
        return False, f"the curator's record of withheld rows has {faults} faults"
    number = "1 query was" if queries == 1 else f"{queries:,} queries were"
    return True, f"{number} withheld by hand; all checks include their rows"


def _budget(evidence: Evidence) -> Finding:
    promised = evidence.promised
    if evidence.agreed is None:
        written = budget_text(evidence.manifest.budget.model_dump())
        return True, (
            f"checked against the manifest's own ({written}); to check what was agreed, add "
            "--epsilon and --delta"
        )
    if promised.within(evidence.agreed):
        return True, "the manifest's budget is the agreed one, or stricter"
    return False, "the manifest's budget is looser than the agreed one"


PUBLIC_FILES: Checks = {
    "not_a_test_run": _not_a_test_run,
    "checksum": _checksum,
    "columns": _columns,
    "words": words,
    "passport": passport,
    "checksum_file": checksum_file,
    "manifest_as_written": manifest_as_written,
    "rows_as_written": rows_as_written,
    "nothing_else_public": _nothing_else_public,
    "budget": _budget,
}
"""Checks that need no log."""
WITH_LOG: Checks = {
    "schema": _schema,
    "withheld": _withheld,
    "pairs_from_log": _pairs_from_log,
    "user_ids": user_ids,
}


def _no_unique_pair(evidence: Evidence) -> Finding:
    found = evidence.compared
    if found.unique_pairs == 0:
        return True, "no released pair belongs to only one user of the input log"
    return False, f"{found.unique_pairs} of {found.pairs} released pairs belong to only one user"


def users_from_log(evidence: Evidence) -> Finding:
    """Check that every released row is a row of a user of the input log."""
    found = evidence.compared
    if evidence.manifest.pseudonyms == "keep":
        strangers = found.strangers()
        detail = f"{strangers} of {found.rows} rows are not rows of the same user in the input log"
        return strangers == 0, detail if strangers else "every row is its user's in the input log"
    unexplained = found.unexplained_pseudonyms()
    figures = f"{unexplained} new IDs have pairs that no single user of the input log has"
    good = "each new ID has pairs that one user of the input log has"
    table = evidence.curators("pseudonyms.parquet")
    if table is None:
        return unexplained == 0, figures if unexplained else good
    try:
        repeated, strangers = found.real_names(table)
    except (duckdb.Error, LogFormatError):
        return False, "the curator's table of pseudonyms cannot be read", figures
    figures += f"; in the curator's table, {repeated} IDs are not one-to-one; {strangers}"
    figures += f" of {found.rows} rows are not rows of the user listed there"
    if unexplained + repeated + strangers:
        return False, figures
    return True, "each new ID stands for one user of the input log who has these pairs", figures


def _condition(evidence: Evidence, bound: Fraction) -> Finding:
    users, found = evidence.compared.users, evidence.compared.judge(bound)
    figures = (
        f"{users} users, {found.users} with released pairs, {found.in_integers} decided by exact "
        f"integers; largest use of the budget {found.largest_use:.3f}"
    )
    if found.broken:
        return False, f"{found.broken} of {users} users exceed the limit", figures
    closest = math.ceil(found.largest_use * 1000) / 10
    return True, f"all {users:,} users are within the limit (closest: {closest}% of it)", figures


def _removed_users(evidence: Evidence) -> Finding:
    listed, in_vain = evidence.removed
    detail = f"{listed} users were removed before counting, and the other checks leave them out"
    if in_vain:
        detail += f"; {in_vain} of them are not in the input log, or are listed twice"
    return in_vain == 0, detail


REAL_ROWS: Checks = {
    "no_unique_pair": _no_unique_pair,
    "users_from_log": users_from_log,
    "condition_2": lambda evidence: _condition(evidence, evidence.bounds.likelihood),
    "condition_3": lambda evidence: _condition(evidence, evidence.bounds.appearance),
    "drawn": drawn,
}
WITHOUT_REMOVED: Checks = {**REAL_ROWS, "removed_users": _removed_users}
"""The same, for releases whose counts were computed after removing some users."""
