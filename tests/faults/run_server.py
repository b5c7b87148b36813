"""A process that imports slogan once and runs each command in a fork, which meets its fault.

Reads orders as lines of JSON, each a list of runs that start together, and answers with a line of
JSON: for each run its exit code (−n if signal n ended it) and how many steps it took. A step is
what changes a disk, as an audit hook and a wrapped fsync see it, and the begin and end of a stage.
"""

import atexit
import ctypes
import json
import os
import resource
import shutil
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from slogan import __main__ as entry
from slogan import engines, solvers, stages
from slogan.dp.selection import pooled

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.fsync", "stage"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def changes(event, args):
    if event == "open":
        return isinstance(args[2], int) and bool(args[2] & WRITING)
    return event in CHANGES


class Steps:
    """Counts the steps of this process, and lets the fault happen instead of one of them."""

    def __init__(self, at, fault):
        self.taken, self.at, self.fault = 0, at, fault

    def hook(self, event, args):
        if not changes(event, args):
            return
        self.taken += 1
        if self.taken == self.at:
            self.fault(event)

    def install(self):
        sync, stage = os.fsync, stages.Stages.stage

        def fsync(handle):
            self.hook("os.fsync", (handle,))
            sync(handle)

        @contextmanager
        def staged(this, name):
            self.hook("stage", (name,))
            with stage(this, name):
                yield
            self.hook("stage", (name,))

        os.fsync, stages.Stages.stage = fsync, staged
        sys.addaudithook(self.hook)


def fault_of(run):
    kind, value = run.get("fault") or ("signal", 0)

    def strike(event):
        if kind == "signal":
            os.kill(os.getpid(), value)
        elif kind == "vanish":
            shutil.rmtree(value, ignore_errors=True)
        elif kind == "wait":
            while not Path(value).exists():
                time.sleep(0.01)
        elif kind == "error" and event != "stage":
            raise OSError(value, os.strerror(value))

    return strike


def without_privileges():
    """Let modes of files count for root too: give up every capability of this process."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def perform(run, report):
    """The run itself, in a process of its own."""
    os.chdir(run["folder"])
    os.environ.update(run.get("environment", {}))
    words = os.open(run["words"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(words, stream)
    if run.get("largest_file"):
        resource.setrlimit(resource.RLIMIT_FSIZE, (run["largest_file"], run["largest_file"]))
    if run.get("unprivileged"):
        without_privileges()
    sys.argv = ["slogan", *run["command"]]
    steps = Steps(run.get("at"), fault_of(run))
    steps.install()
    try:
        code = entry.main() or 0
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(report, str(steps.taken).encode())
    atexit._run_exitfuncs()
    os._exit(code)


def started(run):
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            perform(run, writing)
        finally:
            os._exit(99)
    os.close(writing)
    return pid, reading


def ended(pid, reading):
    _, status, usage = os.wait4(pid, 0)
    steps = os.read(reading, 100)
    os.close(reading)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "steps": int(steps or 0), "kilobytes": usage.ru_maxrss}


def warm_up():
    """Import and compile what runs need; nothing here starts a thread, which a fork would lose."""
    sys.dont_write_bytecode = True
    engines.load("duckdb")
    solvers.load("spe")
    pooled.warm_up()


def main():
    warm_up()
    for line in sys.stdin:
        runs = json.loads(line)
        begin = time.monotonic()
        under_way = [started(run) for run in runs]
        for (pid, _), run in sorted(
            zip(under_way, runs, strict=True), key=lambda pair: pair[1].get("after", 0)
        ):
            if "after" in run:
                time.sleep(max(0.0, begin + run["after"] - time.monotonic()))
                os.kill(pid, run["signal"])
        answers = [ended(*one) for one in under_way]
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
