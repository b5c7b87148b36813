"""Progress: the step that a run is at, and how long each step took."""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol


class Progress(Protocol):
    """Called when a step begins, and now and then while it lasts. Never sees a text of the log."""

    def __call__(self, step: str, note: str = "", share: float | None = None) -> None:
        """Show the step, how far it is in numbers, and the share of the run done, if known."""


def silent(step: str, note: str = "", share: float | None = None) -> None:
    """Show nothing."""


@contextmanager
def shown(progress: Progress | bool | None) -> Generator[Progress]:
    """The progress to call: the caller's own, a bar if True, if None a bar in a notebook only."""
    if progress is True or (progress is None and "ipykernel" in sys.modules):
        with bar() as callback:
            yield callback
    else:
        yield progress or silent


@contextmanager
def bar(**options: object) -> Generator[Progress]:
    """A bar that disappears at the end; `options` are those of rich's Progress."""
    from rich import progress as rich  # noqa: PLC0415  only those who look pay for it

    columns = (
        rich.SpinnerColumn(),
        rich.BarColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.description}"),
    )
    with rich.Progress(*columns, transient=True, **options) as bars:  # pyright: ignore[reportArgumentType]
        task = bars.add_task("", total=None)

        def show(step: str, note: str = "", share: float | None = None) -> None:
            total = None if share is None else 1.0
            description = f"{step} {note}".strip()
            bars.update(task, description=description, completed=share or 0.0, total=total)

        yield show


_FIRST = 5.0
"""Seconds before the first line, so that short runs print none."""
_LATER = 0.1
"""A line comes at the latest after this share of the time that has passed."""


@contextmanager
def lines(print_line: Callable[[str], None], *, every: float = _FIRST) -> Generator[Progress]:
    """A line every few seconds, rarer in long runs, whether or not the step reports anything."""
    now, begin, ended = "", time.monotonic(), threading.Event()

    def remember(step: str, note: str = "", share: float | None = None) -> None:
        nonlocal now
        percent = "" if share is None else f"{share:.0%}"
        now = ", ".join(part for part in (step, percent, note) if part)

    def print_lines() -> None:
        passed = 0.0
        while not ended.wait(max(every, _LATER * passed)):
            passed = time.monotonic() - begin
            print_line(f"{passed:.0f} s: {now or 'starting'}")

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield remember
    finally:
        ended.set()
        thread.join()


@dataclass
class Steps:
    """Names the steps of a run as they pass and remembers the seconds each took."""

    progress: Progress = silent
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _current: str = ""

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """Everything done inside belongs to this step."""
        self._current = name
        self.note("")
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def note(self, words: str) -> None:
        """Show how far the current step is. Numbers only, never text of the log."""
        self.progress(self._current, words)

    def rounded(self) -> dict[str, float]:
        """Seconds by step, to the millisecond."""
        return {name: round(spent, 3) for name, spent in self.seconds.items()}
