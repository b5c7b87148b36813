"""The terminal: how verbs show what they are doing, and what came of it."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from slogan.stages import Progress as Share
from slogan.stages import Watcher, silent, unwatched

Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object on stdout.")
]
_stderr = Console(stderr=True, highlight=False)


@contextmanager
def watching() -> Generator[Watcher]:
    """Show the current stage on a terminal; say nothing elsewhere."""
    if not _stderr.is_terminal:
        yield silent
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=_stderr, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda stage, note: progress.update(task, description=f"{stage} {note}".strip())


@contextmanager
def measuring() -> Generator[Share]:
    """Show how much of a long run is done as a bar on a terminal; say nothing elsewhere."""
    if not _stderr.is_terminal:
        yield unwatched
        return
    columns = BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}")
    with Progress(*columns, console=_stderr, transient=True) as progress:
        task = progress.add_task("", total=1.0)
        yield lambda share, note: progress.update(task, completed=share, description=note)


def show(
    result: dict[str, Any], to_words: Callable[[dict[str, Any]], RenderableType], *, json: bool
) -> None:
    """Words for a person on stderr, or one JSON object on stdout."""
    if json:
        sys.stdout.write(jsonlib.dumps(result, ensure_ascii=False) + "\n")
    else:
        _stderr.print(to_words(result))
