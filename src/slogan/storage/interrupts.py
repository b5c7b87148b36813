"""Stopping: a signal that asks a run to end lets it clean up first, wherever it is."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The run was asked to end, and has cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@dataclass
class _Signals:
    """What came in, and how many are cleaning up meanwhile."""

    received: list[int] = field(default_factory=list[int])
    cleaning: int = 0

    def stop(self, number: int, _frame: FrameType | None) -> None:
        self.received.append(number)
        if not self.cleaning:
            raise KeyboardInterrupt


_signals = _Signals()


@contextmanager
def stoppable() -> Generator[None]:
    """Raise `Stopped` in place of whatever a signal did to the work inside.

    A library that is interrupted raises what it likes: DuckDB, for one, a RuntimeError. A signal
    that was ignored, as in a background job, stays ignored.
    """
    _signals.received.clear()
    before = {number: signal.getsignal(number) for number in _ASKING}
    ours = [number for number in _ASKING if before[number] not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, _signals.stop)
    try:
        yield
    except BaseException as cause:
        if _signals.received:
            raise Stopped(_signals.received[0]) from cause
        raise
    finally:
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def cleaning() -> Generator[None]:
    """Finish what is inside before a signal ends the run."""
    known = len(_signals.received)
    _signals.cleaning += 1
    try:
        yield
    finally:
        _signals.cleaning -= 1
    if not _signals.cleaning and len(_signals.received) > known:
        raise KeyboardInterrupt
