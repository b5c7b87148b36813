"""The terminal: results on stdout, progress and warnings on stderr, errors on both with --json."""

from __future__ import annotations

import json as jsonlib
import os
import shlex
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, TypeVar

from cyclopts import Parameter
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from slogan.errors import OptionError, StorageError
from slogan.progress import Progress, bar, lines, silent

if TYPE_CHECKING:
    from slogan.logs.searchlog import SearchLog
    from slogan.manifest.certificate import LogSizes
    from slogan.release.base import Saved

Json = Annotated[
    bool,
    Parameter(
        name="--json", negative="", help="Print one JSON object on stdout, also for an error."
    ),
]
SCHEMA = 1
"""Of the JSON objects. A field that changes its name or meaning raises it; a new field does not."""


@dataclass
class Session:
    """What the whole command line asked for, and what has been printed."""

    verb: str = ""
    log: str = ""
    """The log with the options that describe its form, as words of a command line."""
    quiet: bool = False
    verbose: bool = False
    answered: bool = False
    """Whether a JSON object is on stdout already."""
    unheard: bool = False
    """Whether the reader of stdout went away."""


session = Session()


def printable(text: str) -> str:
    """The text with everything escaped that would steer a terminal or reverse a line."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


_STAYS = "the work itself is done and stays: look at what it wrote before you run it again"


_SPELLED = str.maketrans(
    {"ε": "epsilon", "δ": "delta", "λ": "lambda", "μ": "mu", "κ": "kappa", "²": "^2", "√": "sqrt "}
    | {"–": "-", "—": "-", "…": "...", "“": '"', "”": '"', "’": "'", "·": "*", "×": "x", "−": "-"}
    | {"→": "->", "←": "<-", "≤": "<=", "≥": ">=", "∞": "infinity"}
)
"""For terminals that have no such letters."""
_WIDE = 1_000
"""Columns where no terminal limits them, so that no line of a file or pipe is broken."""


def _is_terminal(stream: int) -> bool:
    with suppress(OSError):  # it is closed
        return os.isatty(stream)
    return False


def _discard(stream: int) -> None:
    """Send what is still written to a stream nowhere."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream)


class _Harmless(Console):
    """Prints names of files and columns as text: they cannot steer the terminal."""

    def __init__(self, *, stderr: bool = False) -> None:
        limited = "COLUMNS" in os.environ or _is_terminal(2 if stderr else 1)
        width = None if limited else _WIDE
        super().__init__(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Go on without a reader: the work, and its exit code, matter more."""
        if not self.stderr:
            raise BrokenPipeError
        _discard(2)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        unicode = self.encoding.startswith("utf")
        for segment in super().render(renderable, options):
            text = segment.text if unicode else segment.text.translate(_SPELLED)
            harmless = segment.control or text.isprintable()
            yield Segment(text if harmless else printable(text), segment.style, segment.control)


stderr = _Harmless(stderr=True)
_results = _Harmless()


def complain(what: str, problem: str, hint: str) -> None:
    """One line of what is wrong, and one of how to go on."""
    lines = (text.replace("\n", "\\n") for text in (problem, hint))
    line = [(f"{what}: ", "bold red"), next(lines), ("\n  hint: ", "dim"), next(lines)]
    stderr.print(Text.assemble(*line), soft_wrap=True)


def warn(text: str) -> None:
    """A line on stderr, unless --quiet was given."""
    if not session.quiet:
        stderr.print(Text(text, style="yellow"), soft_wrap=True)


@contextmanager
def watching() -> Generator[Progress]:
    """Show the current step: a bar on a terminal, elsewhere a line every few seconds."""
    if session.quiet:
        yield silent
        return
    shown = bar(console=stderr) if stderr.is_terminal else lines(_say)
    with shown as progress:
        yield progress


def _say(line: str) -> None:
    stderr.print(line, soft_wrap=True)


class _Stdout(Console):
    """What help and version print."""

    def print(self, *objects: Any, **options: Any) -> None:
        with _written(hint="print it on a terminal, or to a file with room"):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


stdout = _Stdout()


class Result(Protocol):
    """What a verb's function returns."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of `--json`."""
        ...


R = TypeVar("R", bound=Result)


def show(result: R, text: Callable[[R], RenderableType], *, json: bool) -> None:
    """Text for a person, or one JSON object; both on stdout."""
    with _written(hint=_STAYS):
        if json:
            _answer(session.verb, result.to_dict())
        elif not session.quiet:
            _results.print(text(result), crop=False)


def fail(problem: str, hint: str, exit_code: int) -> None:
    """The error as one JSON object, unless the verb has printed its own."""
    if not session.answered and not session.unheard:
        with suppress(StorageError), _written(hint=_STAYS):
            _answer("error", {"error": problem, "hint": hint, "exit_code": exit_code})


def _answer(kind: str, fields: dict[str, Any]) -> None:
    from slogan import __version__

    head = {"schema": f"slogan/{kind}/{SCHEMA}", "slogan_version": __version__}
    line = jsonlib.dumps(head | fields, ensure_ascii=False)
    plain = (c if c.isprintable() else jsonlib.dumps(c)[1:-1] for c in line)
    session.answered = True
    sys.stdout.write("".join(plain) + "\n")


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
        _discard(sys.stdout.fileno())
        if isinstance(cause, BrokenPipeError):
            session.unheard = True  # what the verb has found out decides the exit code first
            return
        raise StorageError(
            f"nothing can be written to standard output: {cause.strerror}", hint=hint
        ) from cause


UNHEARD = 128 + signal.SIGPIPE
"""The exit code of a verb that went well, but whose reader went away."""


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
    """A table with notes below it."""
    return Group(shown, Text(), Text("\n".join(lines), style=style))


def released(
    saved: Saved,
    lines: list[str],
    shared: LogSizes | None = None,
    *,
    first: Sequence[str] = (),
    check: str,
) -> RenderableType:
    """What must not be missed, how much went in and came out, and the command that comes next."""
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
    test_run = ["TEST RUN: seeded, so it protects no user. verify refuses it."]
    rest = [
        *emptied_columns(summary.emptied, summary.kept_fields, "came back"),
        *skipped_rows(
            summary.rows_without_click,
            summary.bad_rows,
            summary.bad_users,
            made_up=summary.makes_searches,
        ),
        *(f"Received from Spark: {what}." for what in summary.arrived),
        "Not recorded in a ledger; use --population NAME to track cumulative privacy loss."
        if saved.ledger is None
        else f"Recorded in the ledger of {saved.ledger.population}, head {saved.ledger.head}.",
        f"Took {sum(summary.seconds.values()):.1f} s.",
        *([f"Seconds by step: {_times(summary.seconds)}."] if session.verbose else []),
    ]
    shown = with_notes(
        table(headings, cells), [*test_run * summary.test_run, *lines, *rest], style=""
    )
    next_steps = (
        command(f"Next:  {check}"),
        Text(f"Share {saved.folder}/public only. Your report: {saved.folder}/curator/report.html"),
    )
    alarms = [*first, *(f"WARNING: {warning}" for warning in summary.warnings)]
    begin = [Text("\n".join(alarms), style="bold yellow")] if alarms else []
    return Group(*begin, shown, Text(), *next_steps)


def command(line: str) -> Text:
    """A line to be pasted: never broken, however narrow the terminal."""
    return Text(line, no_wrap=True, overflow="ignore")


def verify_command(log: Sequence[str], folder: Path, engine: str | None) -> str:
    """The command that checks a release, ready to be pasted into a shell."""
    words = ["slogan", "verify", *log, str(folder)]
    return shlex.join(words if engine is None else [*words, "--engine", engine])


def _times(seconds: dict[str, float]) -> str:
    return ", ".join(f"{step} {spent:.1f}" for step, spent in seconds.items())


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
    if log.format == "ubi" and columns.url is not None:
        each = f"one for each event {' or '.join(log.click_actions)}"
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
    events = columns.event_roles
    lines += emptied_columns(columns.emptied(events), columns.kept_fields(events), "come back")
    lines += undated(log)
    if events:
        named = ", ".join(f"{name} ({role})" for role, name in events.items())
        it = "it" if len(events) == 1 else "them"
        dated = "" if log.period is None else f" The period is {log.period}."
        lines.append(
            f"synthesize fills {named} unless noise would hide {it}; sanitize leaves {it} empty."
            f"{dated}"
        )
    if log.format == "ubi":
        lines += [_FILLED_UBI, "Other fields and other events of UBI are left out."]
    if log.format == "jsonl":
        lines.append("Keys of JSON Lines that are not named here are left out.")
    return lines


_FILLED_UBI = (
    "UBI requires a timestamp and a position: where they are empty, they are "
    "1970-01-01T00:00:00Z and 0."
)


def announce(log: SearchLog, *, fills: bool = False) -> SearchLog:
    """Say before the work begins which columns come back empty; gives the log back.

    `fills` if the verb gives values to columns of time, rank and session.
    """
    if not session.quiet:
        columns = log.columns
        filled = columns.event_roles if fills else ()
        emptied, kept = columns.emptied(filled), columns.kept_fields(filled)
        for line in emptied_columns(emptied, kept, "will come back"):
            _say(line)
        if fills and emptied and not filled:
            _say("Name those of time, rank and session to fill them: --time, --rank, --session.")
        for line in undated(log) if fills else ():
            _say(line)
        if log.format == "ubi":
            _say(_FILLED_UBI)
    return log


def undated(log: SearchLog) -> list[str]:
    """How to fill a column of times that is known, if it is empty for want of a period."""
    if log.undated is None:
        return []
    return [
        f"To fill {log.undated}, give the first and last day of the log, which are published: "
        "--period FROM/TO, such as --period 2026-01-01/2026-03-31."
    ]


_OF_ONE = {"come back": "comes back"}


def emptied_columns(names: Sequence[str], kept_fields: Sequence[str], will: str) -> list[str]:
    """The columns that come back empty, and the fields of nested columns that do not."""
    lines: list[str] = []
    if len(names) == 1:
        lines.append(f"1 other column {_OF_ONE.get(will, will)} empty: {names[0]}.")
    elif names:
        lines.append(f"{len(names)} other columns {will} empty: {', '.join(names)}.")
    if kept_fields:
        lines.append(f"Fields beside {', '.join(kept_fields)} {will} empty.")
    return lines


def skipped_rows(
    without_click: int, bad_rows: dict[str, int], users: int, *, made_up: bool = False
) -> list[str]:
    """How many rows were skipped, and why; `made_up` if such searches are released all the same."""
    skipped = f"Skipped {without_click:,} searches without a click (--searches all keeps them)."
    if made_up:
        skipped = (
            f"{without_click:,} searches without a click are not counted as pairs (--searches all "
            "counts them). Searches of the release without a click are made up like its clicks."
        )
    lines = [skipped] if without_click else []
    if not bad_rows:
        return lines
    number = sum(bad_rows.values())
    reasons = "; ".join(f"{n:,}: {reason}" for reason, n in bad_rows.items())
    whose = f" of {users:,} user{'s' * (users != 1)}" if users else ""
    return [*lines, f"Skipped {number:,} bad row{'s' * (number != 1)}{whose} ({reasons})."]


def log_and_release(paths: tuple[str, ...], verb: str) -> tuple[list[str], str]:
    """The files of the log, and the release, which is named last."""
    if len(paths) < 2:
        given = paths[0] if paths else "LOG"
        raise OptionError(
            f"{verb} needs a log and a release",
            hint=f"name both, the log first: slogan {verb} {given} RELEASE",
        )
    releases = [path for path in paths if (Path(path) / "public" / "manifest.json").is_file()]
    if len(releases) > 1:
        raise OptionError(
            f"{verb} takes one release, and {len(releases)} are named",
            hint=f"name the log, then one release: slogan {verb} {paths[0]} {releases[-1]}",
        )
    return list(paths[:-1]), paths[-1]
