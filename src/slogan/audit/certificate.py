"""verify(): re-derive a release's guarantee from the two logs and the public manifest alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import duckdb
from pydantic import ValidationError

from slogan.audit.comparison import (
    Comparison,
    Counted,
    count,
    private_database,
    rows_beyond_schema,
    types_of,
)
from slogan.audit.conditions import Bounds, Check, Verdict, bounds_of
from slogan.errors import BadRowError, BudgetError, InputError, LogNotFoundError
from slogan.manifest import Manifest, described, released_file
from slogan.privacy import PrivacyBudget
from slogan.promise import sampling_promise
from slogan.report.html import public_page
from slogan.rows import NO_CLICK
from slogan.searchlog import SearchLog, Source

__all__ = ["Check", "Verdict", "verify"]

_Finding: TypeAlias = tuple[bool, str]


def verify(
    log: SearchLog | Source,
    release: str | Path,
    *,
    budget: PrivacyBudget | None = None,
    memory_limit: str | None = None,
) -> Verdict:
    """Check a release against the log it was made from, with code of its own for every check.

    Args:
        log: The input log; a path is read with the columns that the manifest names.
        release: The release folder.
        budget: What the release must obey; its manifest's own budget if not given.
        memory_limit: What counting may use before it spills to disk, such as "4GB".
    """
    folder = Path(release)
    if not folder.is_dir():
        raise LogNotFoundError(f"no release at {folder}", hint="give the folder `sanitize` wrote")
    asked = None if budget is None else bounds_of(budget.parameters())
    manifest, finding = _manifest(folder / "public/manifest.json")
    checks = [Check(name="manifest", ok=finding[0], detail=finding[1])]
    if manifest is not None:
        with private_database(memory_limit) as (sql, private):
            evidence = _Evidence(
                folder=folder,
                manifest=manifest,
                asked=asked,
                sql=sql,
                clicked=_count_input(sql, log, manifest, private),
                shown=_count_released(sql, folder, manifest, private),
            )
            checks += [_run(name, check, evidence) for name, check in _CHECKS.items()]
    return Verdict(checks=tuple(checks))


class _NotPossibleError(Exception):
    """A check has nothing to look at; says why."""


@dataclass(frozen=True, kw_only=True)
class _Evidence:
    """What the checks look at; in place of a log that could not be counted, the reason."""

    folder: Path
    manifest: Manifest
    asked: Bounds | None
    sql: duckdb.DuckDBPyConnection
    clicked: Counted | str
    shown: Counted | str

    def logs(self) -> tuple[Counted, Counted]:
        """The input log and the released one."""
        if isinstance(self.clicked, str):
            raise _NotPossibleError(self.clicked)
        if isinstance(self.shown, str):
            raise _NotPossibleError(self.shown)
        return self.clicked, self.shown

    @cached_property
    def compared(self) -> Comparison:
        """The two logs side by side."""
        self.logs()
        return Comparison(self.sql)

    @cached_property
    def promised(self) -> Bounds:
        """What the manifest's budget allows."""
        try:
            return bounds_of(self.manifest.budget.model_dump())
        except BudgetError as cause:
            raise _NotPossibleError(f"the manifest's budget: {cause.problem}") from cause


def _run(name: str, check: Callable[[_Evidence], _Finding], evidence: _Evidence) -> Check:
    try:
        ok, detail = check(evidence)
    except _NotPossibleError as why:
        ok, detail = False, f"not possible: {why}"
    return Check(name=name, ok=ok, detail=detail)


def _manifest(file: Path) -> tuple[Manifest | None, _Finding]:
    try:
        found = Manifest.model_validate_json(file.read_bytes())
    except OSError:
        return None, (False, "public/manifest.json is missing or cannot be opened")
    except ValidationError as cause:
        detail = (
            f"public/manifest.json is no manifest of a known version: {cause.error_count()} faults"
        )
        return None, (False, detail)
    return found, (True, f"version {found.manifest_version}")


def _count_input(
    sql: duckdb.DuckDBPyConnection, log: SearchLog | Source, manifest: Manifest, private: Path
) -> Counted | str:
    try:
        told = manifest.parameters
        found = (
            log
            if isinstance(log, SearchLog)
            else described(
                log,
                manifest,
                encoding=str(told.get("encoding", "utf-8")),
                on_bad_row=str(told.get("on_bad_row", "error")),
            )
        )
    except LogNotFoundError:
        raise
    except InputError:
        return "the input log cannot be read with the format and columns of the manifest"
    counted = count(sql, found, private, into="clicked", ignored=NO_CLICK)
    if counted.bad_rows and not found.skip_bad_rows:
        raise BadRowError(
            f"{counted.bad_rows} rows of the log cannot be read",
            hint="read it as sanitize did: with --encoding, or --on-bad-row skip",
        )
    return counted


def _count_released(
    sql: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest, private: Path
) -> Counted | str:
    try:
        log = described(released_file(folder, manifest), manifest)
        return count(sql, log, private, into="shown", ignored="")
    except (InputError, OSError):
        return "the released log cannot be read with the format and columns of the manifest"


def _not_a_test_run(evidence: _Evidence) -> _Finding:
    if evidence.manifest.test_run:
        return False, "the random draws came from a seed: such a release protects nobody"
    return True, "by the manifest, the random draws did not come from a seed"


def _checksum(evidence: _Evidence) -> _Finding:
    try:
        with released_file(evidence.folder, evidence.manifest).open("rb") as data:
            found = hashlib.file_digest(data, "sha256").hexdigest()
    except (LogNotFoundError, OSError) as cause:
        raise _NotPossibleError("the released log is not in public/") from cause
    same = found == evidence.manifest.log.sha256
    return same, f"the released log is {'' if same else 'not '}the file that the manifest describes"


def _schema(evidence: _Evidence) -> _Finding:
    clicked, shown = evidence.logs()
    told, log = evidence.manifest.log, shown.log
    beyond = rows_beyond_schema(evidence.sql, shown)
    both_parquet = log.format == clicked.log.format == "parquet"
    faults = {
        "columns other than those of the input log": log.columns != clicked.log.columns,
        "columns other than those of the manifest": log.columns.names != told.columns,
        "a format other than that of the input log": (log.suffix, log.header)
        != (clicked.log.suffix, clicked.log.header),
        "a compression other than that of the manifest": log.compression != told.compression,
        "column types other than those of the input log": both_parquet
        and types_of(evidence.sql, shown) != types_of(evidence.sql, clicked),
        f"{shown.bad_rows} rows that are not a positive number of clicks": shown.bad_rows > 0,
        f"{beyond} rows with values outside the modelled columns": beyond > 0,
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, f"the released log has {'; '.join(found)}"
    return True, f"{len(told.columns)} columns as in the input log, every row readable"


def _words(evidence: _Evidence) -> _Finding:
    manifest = evidence.manifest
    written = manifest.budget.model_dump()
    try:
        promise = sampling_promise(PrivacyBudget(**written))
    except BudgetError as cause:
        raise _NotPossibleError("the manifest has no valid budget") from cause
    told = (manifest.promise, manifest.guarantees, manifest.not_guaranteed)
    if told != (promise.name, promise.guarantees, promise.not_guaranteed):
        return False, "the manifest promises in other words than its budget allows"
    try:
        page = (evidence.folder / "public/report.html").read_text()
    except (OSError, UnicodeDecodeError):
        return False, "public/report.html is missing or cannot be read"
    same = page == public_page(manifest)
    return same, f"manifest and report say {'' if same else 'not '}what the budget allows"


def _nothing_else_public(evidence: _Evidence) -> _Finding:
    expected = {evidence.manifest.log.file, "manifest.json", "report.html"}
    entries = list((evidence.folder / "public").iterdir())
    plain = {entry.name for entry in entries if entry.is_file() and not entry.is_symlink()}
    extra = len(entries) - len(expected & plain)
    missing = len(expected - plain)
    return extra + missing == 0, f"{extra} entries too many in public/, {missing} files missing"


def _no_unique_pair(evidence: _Evidence) -> _Finding:
    found = evidence.compared
    detail = f"{found.unique_pairs} of {found.pairs} released pairs belong to a single user"
    return found.unique_pairs == 0, f"{detail} of the input log"


def _pairs_from_log(evidence: _Evidence) -> _Finding:
    found = evidence.compared
    detail = f"{found.unknown_pairs} of {found.pairs} released pairs are not in the input log"
    return found.unknown_pairs == 0, detail


def _users_from_log(evidence: _Evidence) -> _Finding:
    found = evidence.compared
    if evidence.manifest.pseudonyms == "keep":
        strangers = found.strangers()
        return strangers == 0, f"{strangers} of {found.rows} users' pairs are not in the input log"
    unexplained = found.unexplained_pseudonyms()
    detail = f"{unexplained} pseudonyms have pairs that no user of the input log holds together"
    table = evidence.folder / "curator/pseudonyms.parquet"
    if not table.is_file():
        return unexplained == 0, detail
    try:
        repeated, strangers = found.real_names(table)
    except duckdb.Error:
        return False, f"{detail}; the curator's table of pseudonyms cannot be read"
    detail += f"; by the curator's table {repeated} pseudonyms are not one-to-one, and {strangers}"
    detail += f" of {found.rows} users' pairs are not in the input log"
    return unexplained + repeated + strangers == 0, detail


def _condition_2(evidence: _Evidence) -> _Finding:
    return _condition(evidence, (evidence.asked or evidence.promised).likelihood)


def _condition_3(evidence: _Evidence) -> _Finding:
    return _condition(evidence, (evidence.asked or evidence.promised).appearance)


def _condition(evidence: _Evidence, bound: Fraction) -> _Finding:
    users, found = evidence.compared.users, evidence.compared.judge(bound)
    detail = (
        f"{users} users checked, {found.users} of them with released pairs and {found.in_integers} "
        f"decided by integers; {found.broken} exceed the bound; the largest use of the budget is "
        f"{found.largest_use:.3f}"
    )
    return found.broken == 0, detail


def _budget(evidence: _Evidence) -> _Finding:
    promised = evidence.promised
    if evidence.asked is None:
        return True, "the manifest's own budget was checked; no other was asked for"
    if promised.within(evidence.asked):
        return True, "the manifest's budget is the one asked for, or stricter"
    return False, "the manifest's budget is looser than the one asked for"


_CHECKS: dict[str, Callable[[_Evidence], _Finding]] = {
    "not_a_test_run": _not_a_test_run,
    "checksum": _checksum,
    "schema": _schema,
    "words": _words,
    "nothing_else_public": _nothing_else_public,
    "no_unique_pair": _no_unique_pair,
    "pairs_from_log": _pairs_from_log,
    "users_from_log": _users_from_log,
    "condition_2": _condition_2,
    "condition_3": _condition_3,
    "budget": _budget,
}
