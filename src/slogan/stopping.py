"""Stopping: a signal that asks a run to end lets it clean up first, wherever it is."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The run was asked to end, and has cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextmanager
def stoppable() -> Generator[None]:
    """Raise `Stopped` in place of whatever a signal did to the work inside.

    A library that is interrupted raises what it likes: DuckDB, for one, a RuntimeError. A signal
    that was ignored, as in a background job, stays ignored.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in _ASKING}
    ours = [number for number in _ASKING if before[number] not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    except BaseException as cause:
        if received:
            raise Stopped(received[0]) from cause
        raise
    finally:
        for number in ours:
            signal.signal(number, before[number])
