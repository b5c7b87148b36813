"""Imported by every worker of a studio that is to meet a fault: notes the steps of a release.

The file named in the environment says which step is struck and how, as `run_server` takes it; the
kind "server" kills the server instead of the worker. The steps are appended to a second file.
"""

import json
import os
import signal
import sys
from pathlib import Path

SERVER = ["server", 0]
ORDER, STEPS = "SLOGAN_TEST_ORDER", "SLOGAN_TEST_STEPS"


def doom():
    """Have the next release of this process meet its fault."""
    from tests.faults.run_server import Steps, fault_of, struck

    from slogan.studio.work import worker

    report = worker._report

    def doomed(task, pipe):
        if type(task).__name__ != "Make":
            return report(task, pipe)
        order = json.loads(Path(os.environ[ORDER]).read_text())
        server, of_server = os.getppid(), order.get("fault") == SERVER

        def kill_server(_event):
            os.kill(server, signal.SIGKILL)

        fault = kill_server if of_server else fault_of(order)
        told = os.open(os.environ[STEPS], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        steps = Steps(struck(order), fault, told)
        steps.install()
        try:
            return report(task, pipe)
        finally:
            if of_server or len(steps.names) < order.get("at", sys.maxsize):
                os.ftruncate(told, 0)
                os.lseek(told, 0, os.SEEK_SET)
                steps.names.append("end")
                steps.tell()
            steps.struck = range(0)

    worker._report = doomed


if "slogan.studio.work.worker" in " ".join(sys.orig_argv) and ORDER in os.environ:
    doom()
