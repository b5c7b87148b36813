"""Tasks of a worker up to the release: look at a log, count it, make up one.

Libraries are imported by the worker when a task runs, so that the server stays light.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from slogan.errors import MissingColumnError
from slogan.studio.choices import EVENTS, ROLES, LogChoice
from slogan.studio.work.facts import Seen, Sizes

if TYPE_CHECKING:
    from slogan.logs.header import ColumnKind
    from slogan.logs.searchlog import SearchLog
    from slogan.progress import Progress


@dataclass(frozen=True, kw_only=True)
class Look:
    """Look at the header and the first rows of a log."""

    log: LogChoice

    def run(self, progress: Progress) -> Seen:
        """Read the header; the roles may stay open."""
        from slogan.logs.header import header_of
        from slogan.logs.preview import preview
        from slogan.logs.searchlog import declare
        from slogan.logs.words import PAIRS

        progress("look at the file")
        choice = self.log
        roles = {role: getattr(choice, role) for role in ROLES}
        columns = None if choice.columns is None else tuple(choice.columns.split(","))
        form, schema = declare(
            [choice.source],
            roles,
            format=choice.format,
            columns=columns,
            delimiter=choice.delimiter,
            encoding=choice.encoding,
            sql=choice.sql,
        )
        found_columns = header_of(form, schema, roles).columns
        seen = Seen(
            format=form.format,
            compression=form.compression,
            delimiter=form.delimiter,
            encoding=form.encoding,
            header=form.header,
            files=len(form.files),
            database="" if form.table is None else str(form.table),
            columns=found_columns,
            rows=preview(form, found_columns),
            roles={},
            events={},
            items=PAIRS,
        )
        try:
            log = choice.log()
        except MissingColumnError as error:
            if form.header and form.format in ("tsv", "csv") and _is_row(found_columns):
                return replace(seen, columns=_numbered(found_columns), **_FIRST_LINE)
            return replace(seen, problem=error.problem, hint="choose below what each column is")
        roles, items = log.columns.roles, log.items
        return replace(seen, roles=roles, events=_events(log, choice), items=items)


def _events(log: SearchLog, choice: LogChoice) -> dict[str, str]:
    """The columns of times, ranks and sessions, as they are found or were chosen."""
    found = log.columns.event_roles
    if log.undated is not None:
        found = {"time": log.undated, **found}
    found |= {role: given for role in EVENTS if (given := getattr(choice, role)) is not None}
    return {role: name for role, name in found.items() if name != "none"}


_LIKE_A_VALUE = re.compile(r"[0-9@./]")
_FIRST_LINE = {
    "problem": "the first line looks like a row, not like the names of the columns",
    "hint": "say so below, and give the names of all columns",
}


def _is_row(columns: tuple[ColumnKind, ...]) -> bool:
    """Whether names that fit no role are rather values of a row, which are not to be shown."""
    return any(_LIKE_A_VALUE.search(column.name) for column in columns)


def _numbered(columns: tuple[ColumnKind, ...]) -> tuple[ColumnKind, ...]:
    return tuple(
        replace(column, name=f"column {number}", role=None)
        for number, column in enumerate(columns, start=1)
    )


@dataclass(frozen=True, kw_only=True)
class Count:
    """Count a log."""

    log: LogChoice

    def run(self, progress: Progress) -> Sizes:
        """Count it as `slogan inspect` does."""
        from slogan.workflows.inspect import inspect

        found = inspect(self.log.log(), progress=progress)
        return Sizes(
            whole=found.whole,
            shared=found.shared,
            advice=found.advice,
            rows_without_click=found.counted.rows_without_click,
            bad_rows=found.counted.bad_rows,
            roles=found.log.columns.roles,
            items=found.log.items,
        )


@dataclass(frozen=True, kw_only=True)
class MakeUp:
    """Make up the log of the demo."""

    file: Path
    users: int = 2_500

    def run(self, progress: Progress) -> Path:
        """Write it."""
        from slogan.generation.generate import generate

        generate(self.file, users=self.users, progress=progress)
        return self.file
