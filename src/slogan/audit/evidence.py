"""What the checks of a release look at: its manifest, and both logs counted side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import duckdb
from pydantic import ValidationError

from slogan.audit.comparison import Comparison, Counted, count, remove_users
from slogan.audit.conditions import Bounds, bounds_of
from slogan.errors import BadRowError, BudgetError, InputError, LogNotFoundError
from slogan.manifest import Manifest
from slogan.rows import NO_CLICK
from slogan.searchlog import SearchLog, Source, read


class NotPossibleError(Exception):
    """A check has nothing to look at; says why."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
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
            raise NotPossibleError(self.clicked)
        if isinstance(self.shown, str):
            raise NotPossibleError(self.shown)
        return self.clicked, self.shown

    @cached_property
    def compared(self) -> Comparison:
        """The two logs side by side; users who were removed beforehand are not in the input's."""
        self.logs()
        if self.manifest.counts == "laplace":
            _ = self.removed
        return Comparison(self.sql)

    @cached_property
    def removed(self) -> tuple[int, int]:
        """How many users the curator's table lists as removed, and how many of them in vain."""
        self.logs()
        table = self.folder / "curator/removed.parquet"
        if not table.is_file():
            raise NotPossibleError("curator/removed.parquet is missing")
        try:
            return remove_users(self.sql, table)
        except duckdb.Error as cause:
            raise NotPossibleError("curator/removed.parquet cannot be read") from cause

    @cached_property
    def promised(self) -> Bounds:
        """What the manifest's budget allows."""
        try:
            return bounds_of(self.manifest.budget.model_dump())
        except BudgetError as cause:
            raise NotPossibleError(f"the manifest's budget: {cause.problem}") from cause


def read_manifest(file: Path) -> tuple[Manifest | None, str]:
    """The manifest, if it is one, and what to say of it."""
    try:
        found = Manifest.model_validate_json(file.read_bytes())
    except OSError:
        return None, "public/manifest.json is missing or cannot be opened"
    except ValidationError as cause:
        detail = (
            f"public/manifest.json is no manifest of a known version: {cause.error_count()} faults"
        )
        return None, detail
    return found, f"version {found.manifest_version}"


def count_input(
    sql: duckdb.DuckDBPyConnection, log: SearchLog | Source, manifest: Manifest, private: Path
) -> Counted | str:
    """Count the input log as the release did, or say why that is not possible."""
    try:
        told = manifest.parameters
        found = (
            log
            if isinstance(log, SearchLog)
            else _described(
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


def count_released(
    sql: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest, private: Path
) -> Counted | str:
    """Count the released log, or say why that is not possible."""
    try:
        log = _described(released_file(folder, manifest), manifest)
        return count(sql, log, private, into="shown", ignored="")
    except (InputError, OSError):
        return "the released log cannot be read with the format and columns of the manifest"


def released_file(folder: Path, manifest: Manifest) -> Path:
    """The file in public/ that the manifest names."""
    name = manifest.log.file
    file = folder / "public" / Path(name).name
    if name != file.name or file.is_symlink() or not file.is_file():
        raise LogNotFoundError("the released log is not in public/", hint="sanitize once more")
    return file


def _described(
    source: Source, manifest: Manifest, *, encoding: str = "utf-8", on_bad_row: str = "error"
) -> SearchLog:
    told = manifest.log
    return read(
        source,
        format=told.format,
        user=told.user,
        query=told.query,
        url=told.url,
        count=told.count,
        columns=None if told.header else told.columns,
        encoding=encoding,
        on_bad_row=on_bad_row,
    )
