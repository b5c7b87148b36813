"""The terminal: how verbs show what they are doing, and what came of it."""

from __future__ import annotations

import json as jsonlib
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from cyclopts import Parameter
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from slogan.errors import StorageError
from slogan.progress import Progress, bar, silent

if TYPE_CHECKING:
    from slogan.logs.searchlog import SearchLog
    from slogan.manifest.certificate import LogSizes
    from slogan.release.base import Saved

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object on stdout.")
]


def printable(text: str) -> str:
    """The text with everything escaped that would steer a terminal or reverse a line."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


_STAYS = "the work itself is done and stays: look at what it wrote before you run it again"


class _Stderr(Console):
    """What verbs say. Names of files and columns are somebody's text: they show, and do nothing."""

    def __init__(self) -> None:
        super().__init__(stderr=True, highlight=False, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            harmless = segment.control or segment.text.isprintable()
            yield segment if harmless else Segment(printable(segment.text), segment.style)


stderr = _Stderr()


def complain(what: str, problem: str, hint: str) -> None:
    """One line of what is wrong, and one of how to go on."""
    lines = (text.replace("\n", "\\n") for text in (problem, hint))
    said = [(f"{what}: ", "bold red"), next(lines), ("\n  hint: ", "dim"), next(lines)]
    stderr.print(Text.assemble(*said), soft_wrap=True)


@contextmanager
def watching() -> Generator[Progress]:
    """Show the current step on a terminal; show nothing elsewhere."""
    if not stderr.is_terminal:
        yield silent
        return
    with bar(console=stderr) as progress:
        yield progress


class _Stdout(Console):
    """What help and version print."""

    def print(self, *objects: Any, **options: Any) -> None:
        with _written(hint="print it on a terminal, or to a file with room"):
            super().print(*objects, **options)


stdout = _Stdout()


class Result(Protocol):
    """What a verb's function returns."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of `--json`."""
        ...


R = TypeVar("R", bound=Result)


def show(result: R, text: Callable[[R], RenderableType], *, json: bool) -> None:
    """Text for a person on stderr, or one JSON object on stdout."""
    if json:
        line = jsonlib.dumps(result.to_dict(), ensure_ascii=False)
        plain = (c if c.isprintable() else jsonlib.dumps(c)[1:-1] for c in line)
        with _written(hint=_STAYS):
            sys.stdout.write("".join(plain) + "\n")
    else:
        stderr.print(text(result))


@contextmanager
def _written(*, hint: str) -> Generator[None]:
    """Flush what is written to standard output inside; say so if that does not succeed."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  Python's way to say closed
        raise StorageError("standard output is closed", hint=hint)
    try:
        yield
        sys.stdout.flush()
    except OSError as cause:
        # What is still in the buffer would fail once more at the end of the process.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if isinstance(cause, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)  # as the signal would have it, of which nobody is told
        raise StorageError(
            f"nothing can be written to standard output: {cause.strerror}", hint=hint
        ) from cause


def table(
    headings: Sequence[str], rows: Iterable[Sequence[RenderableType]], *, left: int = 1
) -> Table:
    """A plain table; the columns after the first ones are aligned to the right."""
    shown = Table(box=None, pad_edge=False, show_header=bool(headings))
    for n, heading in enumerate(headings):
        shown.add_column(heading, justify="left" if n < left else "right")
    for row in rows:
        shown.add_row(*row)
    return shown


def with_notes(shown: Table, lines: Iterable[str], *, style: str = "dim") -> RenderableType:
    """A table, and what is to be said of it."""
    return Group(shown, Text(), Text("\n".join(lines), style=style))


def released(
    saved: Saved, lines: list[str], shared: LogSizes | None = None, *, first: Sequence[str] = ()
) -> RenderableType:
    """What must not be missed, how much went in and came out, and what comes next."""
    from slogan.logs.words import worded

    summary = saved.summary
    rows = (
        ("clicks", summary.clicks_in, shared and shared.clicks, summary.clicks_out),
        ("pairs", summary.pairs, shared and shared.pairs, summary.pairs_out),
        ("users", summary.users, shared and shared.users, summary.users_out),
    )
    headings = ("", "in the log", *(["shared by 2+ users"] if shared else []), "released")
    cells = [
        [worded(name, summary.items), *(f"{n:,}" for n in numbers if n is not None)]
        for name, *numbers in rows
    ]
    lines = [worded(line, summary.items) for line in lines]
    test_run = ["TEST RUN: seeded, protects nobody, refused by verify"] if summary.test_run else []
    rest = [
        *emptied_columns(summary.emptied, "came back"),
        *skipped_rows(summary.rows_without_click, summary.bad_rows, summary.bad_users),
        *(f"came to this process: {what}" for what in summary.arrived),
        "in no ledger: nobody adds this release to others on the same people (--population)"
        if saved.ledger is None
        else f"recorded in the ledger of {saved.ledger.population}, head {saved.ledger.head}",
        f"took {sum(summary.seconds.values()):.1f} s",
        f"next: slogan verify LOG {saved.folder}   (publish only {saved.folder}/public)",
    ]
    shown = with_notes(table(headings, cells), [*test_run, *lines, *rest], style="")
    alarms = [*first, *(f"WARNING: {warning}" for warning in summary.warnings)]
    return Group(Text("\n".join(alarms), style="bold yellow"), shown) if alarms else shown


def how_read(log: SearchLog) -> list[str]:
    """How a log was read, one fact a line."""
    from slogan.logs.databases import Database
    from slogan.logs.text import DELIMITERS
    from slogan.logs.words import worded

    columns, parts = log.columns, len(log.files) + len(log.addresses)
    kind = log.suffix.removeprefix(".").upper()
    if log.table is not None:
        parts, kind = 0, str(log.table) if isinstance(log.table, Database) else "a table"
    between = [name for name, sign in DELIMITERS.items() if sign == log.delimiter]
    details = [
        *([f"{between[0]} between fields"] if log.format == "csv" else []),
        *([log.encoding] if log.encoding != "utf-8" else []),
        *([f"{parts} file{'s' * (parts != 1)}"] if parts else []),
    ]
    each = "one for each row" + ("" if log.counts_searches else " with a url")
    roles = [
        f"user: {columns.user}",
        f"query: {columns.query}",
        f"url: {columns.url or 'none'}",
        f"{worded('clicks', log.items)}: {columns.count or each}",
    ]
    lines = [f"Read as {', '.join([kind, *details])}.", f"Columns: {', '.join(roles)}."]
    if columns.url is None:
        lines.append("Without a url column each query is an item. If there is one: --url NAME.")
    elif log.searches == "all":
        lines.append("Searches without a click count, as items without a url.")
    if log.fold:
        lines.append("Case, spaces, and scheme and last slash of urls make no difference (--fold).")
    if "session" in columns.user.lower():
        lines.append(
            "The user column looks like sessions: then sessions are protected, not people."
        )
    return [*lines, *emptied_columns(columns.emptied, "come back")]


def announce(log: SearchLog) -> SearchLog:
    """Say before the work begins which columns come back empty; gives the log back."""
    for line in emptied_columns(log.columns.emptied, "will come back"):
        stderr.print(line, soft_wrap=True)
    return log


_OF_ONE = {"come back": "comes back"}


def emptied_columns(names: Sequence[str], will: str) -> list[str]:
    """The columns that come back empty."""
    if not names:
        return []
    if len(names) == 1:
        return [f"1 other column {_OF_ONE.get(will, will)} empty: {names[0]}."]
    return [f"{len(names)} other columns {will} empty: {', '.join(names)}."]


def skipped_rows(without_click: int, bad_rows: dict[str, int], users: int) -> list[str]:
    """How many rows were skipped, and why."""
    left_out = f"Left out {without_click:,} searches without a click (--searches all keeps them)."
    lines = [left_out] if without_click else []
    if not bad_rows:
        return lines
    reasons = "; ".join(f"{n:,}: {reason}" for reason, n in bad_rows.items())
    whose = f" of {users:,} users" if users else ""
    return [*lines, f"Skipped {sum(bad_rows.values()):,} bad rows{whose} ({reasons})."]
