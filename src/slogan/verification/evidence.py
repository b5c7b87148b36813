"""What the checks of a release look at: its folder, its manifest, and both logs, counted anew."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
from pydantic import ValidationError

from slogan.engines import EngineSettings
from slogan.errors import (
    BadRowError,
    BudgetError,
    InputError,
    LogFormatError,
    LogNotFoundError,
    OptionError,
)
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.manifest import MANIFEST_VERSION, Manifest, described, released_file
from slogan.modes import ReleaseKind
from slogan.storage.untrusted import modest
from slogan.verification.comparison import Comparison, Counted, count, remove_users, restore_rows
from slogan.verification.conditions import Bounds, Check, bounds_of
from slogan.verification.plain_reader import NO_CLICK

Finding: TypeAlias = tuple[bool, str]
"""Whether all is well, and what was seen: numbers, never a text of the log."""


class NotPossibleError(Exception):
    """A check has nothing to look at; says why."""


@dataclass(frozen=True)
class Evidence:
    """What the checks look at; in place of a log that could not be counted, the reason."""

    public: Path
    curator: Path | None
    """None where only the public half is at hand."""
    manifest: Manifest
    asked: Bounds | None
    sql: duckdb.DuckDBPyConnection
    clicked: Counted | str
    shown: Counted | str

    @property
    def released(self) -> Counted:
        """The released log."""
        if isinstance(self.shown, str):
            raise NotPossibleError(self.shown)
        return self.shown

    def logs(self) -> tuple[Counted, Counted]:
        """The input log and the released one."""
        if isinstance(self.clicked, str):
            raise NotPossibleError(self.clicked)
        return self.clicked, self.released

    def curators(self, name: str) -> Path | None:
        """A file of the curator's, if it is there."""
        file = None if self.curator is None else self.curator / name
        return file if file is not None and file.is_file() else None

    @cached_property
    def compared(self) -> Comparison:
        """The two logs side by side, with withheld rows and without users removed beforehand."""
        self.logs()
        _ = self.withheld
        if self.manifest.kind is ReleaseKind.LAPLACE_COUNTS:
            _ = self.removed
        return Comparison(self.sql)

    @cached_property
    def withheld(self) -> tuple[int, int, int]:
        """The queries, pairs and faults of the curator's record of withheld rows.

        The rows go back into the released log, so that every check sees what the mechanism gave.
        """
        table, said = self.curators("withheld.parquet"), self.manifest.withheld
        if table is None and said is None:
            return 0, 0, 0
        self.logs()
        if table is None:
            raise NotPossibleError("curator/withheld.parquet is missing")
        if said is None:
            raise NotPossibleError(
                "curator/withheld.parquet lists withheld rows, and the manifest does not say so"
            )
        try:
            return restore_rows(self.sql, table)
        except (duckdb.Error, LogFormatError):  # what DuckDB says may quote a text of the log
            raise NotPossibleError("curator/withheld.parquet cannot be read") from None

    @cached_property
    def removed(self) -> tuple[int, int]:
        """How many users the curator's table lists as removed, and how many of them in vain."""
        self.logs()
        table = self.curators("removed.parquet")
        if table is None:
            raise NotPossibleError("curator/removed.parquet is missing")
        try:
            return remove_users(self.sql, table)
        except (duckdb.Error, LogFormatError):  # what DuckDB says may quote a user-ID
            raise NotPossibleError("curator/removed.parquet cannot be read") from None

    @cached_property
    def promised(self) -> Bounds:
        """What the manifest's budget allows."""
        try:
            return bounds_of(self.manifest.budget.model_dump())
        except BudgetError as cause:
            raise NotPossibleError(f"the manifest's budget: {cause.problem}") from cause

    @property
    def bounds(self) -> Bounds:
        """What the release must obey: its own promise always, and the budget asked for too."""
        return self.promised if self.asked is None else self.promised.stricter(self.asked)


Checks = Mapping[str, Callable[[Evidence], Finding]]


def run(name: str, check: Callable[[Evidence], Finding], evidence: Evidence) -> Check:
    """Look at one thing."""
    try:
        ok, detail = check(evidence)
    except NotPossibleError as why:
        ok, detail = False, f"not possible: {why}"
    return Check(name=name, ok=ok, detail=detail)


def read_manifest(file: Path) -> tuple[Manifest | None, Finding]:
    """The manifest, if there is a readable one."""
    try:
        text = modest(file)
        _refuse_newer(text)
        found = Manifest.model_validate_json(text)
    except OSError:
        return None, (False, "public/manifest.json is missing or cannot be opened")
    except ValidationError as cause:
        faults = f"{cause.error_count()} faults"
        return None, (False, f"public/manifest.json is no manifest of a known version: {faults}")
    return found, (True, f"version {found.manifest_version}")


def _refuse_newer(text: bytes) -> None:
    """A manifest that this version cannot know is neither right nor wrong."""
    try:
        parsed: Any = json.loads(text)
        made_by = parsed["manifest_version"], str(parsed["slogan_version"])[:20]
    except (ValueError, RecursionError, TypeError, KeyError):
        return
    if type(made_by[0]) is int and made_by[0] > MANIFEST_VERSION:
        raise OptionError(
            f"this release was made by a newer slogan ({made_by[1]!r})",
            hint="update and verify again: pip install -U slogan",
        )


def count_input(
    sql: duckdb.DuckDBPyConnection,
    log: SearchLog | Source,
    manifest: Manifest,
    private: Path,
    settings: EngineSettings,
) -> Counted | str:
    """Count the input log, or say why it cannot be read."""
    options = {"encoding": "utf-8", "on_bad_row": "error"}
    options = {name: str(manifest.parameters.get(name, usual)) for name, usual in options.items()}
    try:
        if not isinstance(log, SearchLog):
            log = described(log, manifest, peek=settings.peek, **options)
    except LogNotFoundError:
        raise
    except InputError:
        return "the input log cannot be read with the format and columns of the manifest"
    # Whatever engine counted files, they are read here once more, by the plain reader.
    added_up = None if log.files else settings.hand_over(log, private)
    counted = count(sql, log, into="clicked", ignored=NO_CLICK, added_up=added_up)
    if counted.bad_rows and not log.skip_bad_rows:
        hint = "read it as sanitize did: with --encoding, or --on-bad-row skip"
        raise BadRowError(f"{counted.bad_rows} rows of the log cannot be read", hint=hint)
    return counted


def count_released(
    sql: duckdb.DuckDBPyConnection, public: Path, manifest: Manifest
) -> Counted | str:
    """Count the released log, or say why it cannot be read."""
    try:
        log = described(released_file(public, manifest), manifest)
        return count(sql, log, into="shown", ignored="")
    except (InputError, OSError):
        return "the released log cannot be read with the format and columns of the manifest"
