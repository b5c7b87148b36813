"""Stages: what a run is doing, for whoever watches, and how long each part took."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

Watcher = Callable[[str, str], None]
"""Told the name of a stage and a note on how far it is."""


def silent(stage: str, note: str) -> None:
    """Watch nothing."""
    del stage, note


Progress = Callable[[float, str], None]
"""Told the share of a long run that is done, and what is done next."""


def unwatched(share: float, note: str) -> None:
    """Measure nothing."""
    del share, note


@dataclass
class Stages:
    """Names the stages of a run as they pass and remembers the seconds each took."""

    watcher: Watcher = silent
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    _current: str = ""

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        """Everything done inside belongs to this stage."""
        self._current = name
        self.note("")
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def note(self, words: str) -> None:
        """Say how far the current stage is. Numbers only, never text of the log."""
        self.watcher(self._current, words)

    def rounded(self) -> dict[str, float]:
        """Seconds by stage, to the millisecond."""
        return {name: round(spent, 3) for name, spent in self.seconds.items()}
