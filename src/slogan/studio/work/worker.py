"""Worker: a process that does one piece of work after another.

It ends as an interrupted command does when the server asks for it, or when the server is gone.
"""

import os
import queue
import signal
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

from slogan.errors import SloganError
from slogan.progress import Progress
from slogan.storage.folders import Stopped, remove_scratches, stoppable

_EVERY = 0.1
"""Seconds between two reports of one step."""
_READY = (
    "slogan.studio.work.tasks",
    "slogan.workflows.inspect",
    "slogan.workflows.advise",
    "slogan.workflows.synthesize",
    "slogan.engines.duckdb.engine",
)
"""Loaded before there is work, so that it begins at once."""


class Task(Protocol):
    """A piece of work: it can be sent to a worker, and its result sent back."""

    def run(self, progress: Progress) -> object:
        """Do it."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """How far the work is."""

    name: str
    note: str
    share: float | None


@dataclass(frozen=True, slots=True)
class Done:
    """The work is done."""

    result: object


@dataclass(frozen=True, slots=True)
class Failed:
    """The work ended with an error; neither text holds anything of the log."""

    problem: str
    hint: str
    exit_code: int


Report = Step | Done | Failed


def main() -> None:
    """Do the tasks that arrive through the pipe whose number is on the command line."""
    pipe: Connection[Report, Task] = Connection(int(sys.argv[1]))
    for module in _READY:
        import_module(module)
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, tasks), daemon=True).start()
    try:
        while True:
            task = tasks.get()
            with stoppable():
                pipe.send(_report(task, pipe))
    except (Stopped, BrokenPipeError):
        remove_scratches()
    os._exit(0)  # as the command line does: idle threads of a solver would abort an ordinary exit


def _report(task: Task, pipe: "Connection[Report, Task]") -> Done | Failed:
    lock, last = threading.Lock(), Step("", "", None)
    when = 0.0

    def progress(step: str, note: str = "", share: float | None = None) -> None:
        nonlocal last, when
        with lock:
            now, new = time.monotonic(), Step(step, note, share)
            if new != last and (step != last.name or now - when > _EVERY):
                last, when = new, now
                pipe.send(new)

    try:
        return Done(task.run(progress))
    except SloganError as error:
        return Failed(error.problem, error.hint, error.exit_code)
    except Exception as error:  # noqa: BLE001  its message may quote the log
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return Failed(f"internal error: {type(error).__name__} at {where}", "please report it", 1)


def _receive(pipe: "Connection[Report, Task]", tasks: "queue.SimpleQueue[Task]") -> None:
    """Pass tasks on. When the server closes the pipe, or is gone, interrupt the work."""
    try:
        while True:
            tasks.put(pipe.recv())
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)
