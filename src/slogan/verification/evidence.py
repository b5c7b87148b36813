"""The evidence that checks use: the release folder, its manifest, and both logs, counted again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import duckdb
from pydantic import ValidationError

from slogan.engines import EngineSettings
from slogan.errors import (
    BadRowError,
    BudgetError,
    InputError,
    LogFormatError,
    LogNotFoundError,
)
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.manifest import Manifest, described, refuse_newer, released_file
from slogan.modes import ReleaseKind
from slogan.storage.untrusted import modest
from slogan.verification.comparison import Comparison, Counted, count, remove_users, restore_rows
from slogan.verification.conditions import NOT_POSSIBLE, Bounds, Check, bounds_of
from slogan.verification.plain_reader import NO_CLICK
from slogan.verification.public_knowledge import NO_KNOWLEDGE, Knowledge, OtherKnowledgeError

Finding: TypeAlias = tuple[bool, str] | tuple[bool, str, str]
"""Whether the check passed, a plain sentence, and further figures; never a text of the log."""


UNREADABLE_LOG = "the input log cannot be read with the format and columns of the manifest"


class NotPossibleError(Exception):
    """A check cannot run; the message says why."""


@dataclass(frozen=True)
class Evidence:
    """The input of all checks. A log that could not be counted is replaced by the reason."""

    public: Path
    curator: Path | None
    """None if only the public half is checked."""
    manifest: Manifest
    agreed: Bounds | None
    sql: duckdb.DuckDBPyConnection
    clicked: Counted | str
    shown: Counted | str
    knowledge: Knowledge = NO_KNOWLEDGE

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
        """A file of the curator's folder, if it exists."""
        file = None if self.curator is None else self.curator / name
        return file if file is not None and file.is_file() else None

    @cached_property
    def compared(self) -> Comparison:
        """Both logs compared, with withheld rows and without users removed before counting."""
        self.logs()
        _ = self.withheld, self.declared
        if self.manifest.kind is ReleaseKind.LAPLACE_COUNTS:
            _ = self.removed
        return Comparison(self.sql)

    @cached_property
    def declared(self) -> int:
        """How many pairs were declared public, from the files that the manifest names."""
        try:
            return self.knowledge.load(self.sql, self.manifest)
        except OtherKnowledgeError as why:
            raise NotPossibleError(str(why)) from None

    @cached_property
    def withheld(self) -> tuple[int, int, int]:
        """The queries, pairs and faults of the curator's record of withheld rows.

        The rows go back into the released log, so that every check sees what the mechanism gave.
        """
        table, stated = self.curators("withheld.parquet"), self.manifest.withheld
        if table is None and stated is None:
            return 0, 0, 0
        self.logs()
        if table is None:
            raise NotPossibleError("curator/withheld.parquet is missing")
        if stated is None:
            raise NotPossibleError(
                "curator/withheld.parquet lists withheld rows, and the manifest does not say so"
            )
        try:
            return restore_rows(self.sql, table)
        except (duckdb.Error, LogFormatError):  # what DuckDB says may quote a text of the log
            raise NotPossibleError("curator/withheld.parquet cannot be read") from None

    @cached_property
    def removed(self) -> tuple[int, int]:
        """The number of users listed as removed, and of those who are unknown or listed twice."""
        self.logs()
        table = self.curators("removed.parquet")
        if table is None:
            raise NotPossibleError("curator/removed.parquet is missing")
        try:
            return remove_users(self.sql, table)
        except (duckdb.Error, LogFormatError):  # DuckDB's message may quote a user-ID
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
        """The bounds that the release must keep: its manifest's, and the agreed ones if given."""
        return self.promised if self.agreed is None else self.promised.stricter(self.agreed)


Checks = Mapping[str, Callable[[Evidence], Finding]]


def run(name: str, check: Callable[[Evidence], Finding], evidence: Evidence) -> Check:
    """Run one check."""
    try:
        ok, detail, *figures = check(evidence)
    except NotPossibleError as why:
        return Check(name=name, ok=False, detail=f"{NOT_POSSIBLE}{why}")
    return Check(name=name, ok=ok, detail=detail, figures=figures[0] if figures else "")


def read_manifest(file: Path) -> tuple[Manifest | None, tuple[bool, str]]:
    """Read the manifest; None if it is missing or invalid."""
    try:
        text = modest(file)
        refuse_newer(text)
        found = Manifest.model_validate_json(text)
    except OSError:
        return None, (False, "public/manifest.json is missing or cannot be opened")
    except ValidationError as cause:
        faults = f"invalid fields: {cause.error_count()}"
        return None, (False, f"public/manifest.json is not a valid manifest ({faults})")
    return found, (True, f"version {found.manifest_version}")


def count_input(
    sql: duckdb.DuckDBPyConnection,
    log: SearchLog | Source,
    manifest: Manifest,
    private: Path,
    settings: EngineSettings,
) -> Counted | str:
    """Count the input log, or return the reason why it cannot be read."""
    options = {"encoding": "utf-8", "on_bad_row": "error"}
    options = {name: str(manifest.parameters.get(name, usual)) for name, usual in options.items()}
    try:
        if not isinstance(log, SearchLog):
            log = described(log, manifest, peek=settings.peek, **options)
    except LogNotFoundError:
        raise
    except InputError:
        return UNREADABLE_LOG
    # Files are always read again by the plain reader, whichever engine counted them.
    added_up = None if log.files else settings.hand_over(log, private)
    counted = count(sql, log, into="clicked", ignored=NO_CLICK, added_up=added_up)
    if counted.bad_rows and not log.skip_bad_rows:
        hint = "read it as sanitize did: with --encoding, or --on-bad-row skip"
        raise BadRowError(f"the log has unreadable rows: {counted.bad_rows}", hint=hint)
    return counted


def count_released(
    sql: duckdb.DuckDBPyConnection, public: Path, manifest: Manifest
) -> Counted | str:
    """Count the released log, or return the reason why it cannot be read."""
    try:
        log = described(released_file(public, manifest), manifest)
        with_events = bool(log.columns.event_roles)
        return count(sql, log, into="shown", ignored="", with_events=with_events)
    except (InputError, OSError):
        return "the released log cannot be read with the format and columns of the manifest"
