"""Jobs: work in other processes, seen from the server."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal, cast

from slogan.studio.work.worker import Done, Failed, Report, Step, Task

State = Literal["running", "done", "failed", "cancelled"]
_PATIENCE = 10.0
"""Seconds in which an interrupted worker cleans up before it is killed."""
KILLED = Failed(
    "the work ended without a result",
    "A release is either complete or absent. The ledger has what it cost. Start the step again",
    1,
)


_MAIN = "from slogan.studio.work.worker import main; main()"


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    pipe: "Connection[Task, Report]"

    @classmethod
    def start(cls, scratch: Path) -> "_Worker":
        """A process that waits for a task; its temporary files go to `scratch`."""
        ours, theirs = Pipe()
        process = subprocess.Popen(  # noqa: S603  this Python, and words of ours
            [sys.executable, "-P", "-c", _MAIN, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        return cls(process, cast("Connection[Task, Report]", ours))

    def end(self) -> None:
        """Interrupt it, and wait until it has cleaned up."""
        self.pipe.close()
        self.process.terminate()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass
class Job:
    """One piece of work: what it is called, how far it is, and how it ended."""

    title: str
    essential: bool = False
    """Whether it goes on when the browser is gone."""
    state: State = "running"
    step: Step = field(default_factory=lambda: Step("starting", "", None))
    failure: Failed | None = None
    result: object = None
    ended: threading.Event = field(default_factory=threading.Event)
    worker: _Worker | None = None

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self.ended.is_set()

    def cancel(self) -> None:
        """Ask it to end."""
        if self.running and self.worker is not None:
            self.state = "cancelled"
            self.worker.process.terminate()


class Workshop:
    """Starts work in processes, one of which always waits for some."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._lock = threading.Lock()
        self._spare: _Worker | None = None
        self._closed = False
        self._jobs: list[Job] = []

    @property
    def running(self) -> list[Job]:
        """The jobs that have not ended."""
        return [job for job in self._jobs if job.running]

    def prepare(self) -> None:
        """Have a process ready for the next job."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = _Worker.start(self._scratch)

    def start(
        self,
        title: str,
        task: Task,
        finish: Callable[[Job], None],
        *,
        essential: bool = False,
    ) -> Job:
        """Do a task. `finish` is called at the end, before the job counts as ended."""
        job = Job(title, essential=essential)
        with self._lock:
            spare, self._spare = self._spare, None
            if spare is not None and spare.process.poll() is not None:
                spare = None
            job.worker = spare or _Worker.start(self._scratch)
            self._jobs = [*self.running, job]
        threading.Thread(target=self._follow, args=(job, task, finish), daemon=True).start()
        return job

    def _follow(self, job: Job, task: Task, finish: Callable[[Job], None]) -> None:
        worker = job.worker
        assert worker is not None  # noqa: S101  `start` sets it
        try:
            worker.pipe.send(task)
            while isinstance(report := worker.pipe.recv(), Step):
                job.step = report
        except Exception:  # noqa: BLE001  however it ended, there is no result
            report = KILLED
        if job.state == "cancelled" or report is KILLED or not self._keep(worker):
            worker.end()
        if isinstance(report, Done):
            job.result, job.state = report.result, "done"
        elif job.state != "cancelled":
            assert isinstance(report, Failed)  # noqa: S101  a step is not the last report
            job.failure, job.state = report, "failed"
        try:
            finish(job)
        finally:
            job.ended.set()
        self.prepare()

    def _keep(self, worker: _Worker) -> bool:
        """Have a worker wait for the next job, if none does."""
        with self._lock:
            if self._spare is not None or self._closed:
                return False
            self._spare = worker
            return True

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            spare, self._spare, self._closed = self._spare, None, True
        for job in self.running:
            job.cancel()
        for job in self.running:
            job.ended.wait(_PATIENCE)
        if spare is not None:
            spare.end()
