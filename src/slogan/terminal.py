"""The terminal: how verbs show what they are doing, and what came of it."""

from __future__ import annotations

import json as jsonlib
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.text import Text

from slogan.errors import StorageError
from slogan.stages import Progress as Share
from slogan.stages import Watcher, silent, unwatched

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
def watching() -> Generator[Watcher]:
    """Show the current stage on a terminal; say nothing elsewhere."""
    if not stderr.is_terminal:
        yield silent
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda stage, note: progress.update(task, description=f"{stage} {note}".strip())


@contextmanager
def measuring() -> Generator[Share]:
    """Show how much of a long run is done as a bar on a terminal; say nothing elsewhere."""
    if not stderr.is_terminal:
        yield unwatched
        return
    columns = BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda share, note: progress.update(task, completed=share, description=note)


def show(
    result: dict[str, Any], to_words: Callable[[dict[str, Any]], RenderableType], *, json: bool
) -> None:
    """Words for a person on stderr, or one JSON object on stdout."""
    if json:
        text = jsonlib.dumps(result, ensure_ascii=False)
        plain = (c if c.isprintable() else jsonlib.dumps(c)[1:-1] for c in text)
        _say("".join(plain) + "\n")
    else:
        stderr.print(to_words(result))


def _say(text: str) -> None:
    """Write to standard output. What was made before stays made, whether or not that succeeds."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  Python's way to say closed
        raise StorageError("standard output is closed", hint=_STAYS)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as cause:
        # What is still in the buffer would fail once more at the end of the process.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if isinstance(cause, BrokenPipeError):
            sys.exit(128 + signal.SIGPIPE)  # as the signal would have it, of which nobody is told
        raise StorageError(
            f"nothing can be written to standard output: {cause.strerror}", hint=_STAYS
        ) from cause
