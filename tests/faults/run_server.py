"""A process that imports slogan once and runs each command in a fork, which meets its fault.

Says that it is ready, reads orders as lines of JSON, each a list of runs that start together, and
answers with a line of JSON: for each run its exit code (−n if signal n ended it), its steps by name
up to its end or its fault, and the most memory it held. A step is what changes a disk, as an audit
hook and a wrapped fsync see it, and the begin and end of a stage. A disk that is "full" stays so:
from that step on all fail that need room.
"""

import atexit
import ctypes
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path

from tests.faults.doomed_runs import EXACT, MODES, write_log

import slogan
from slogan import __main__ as entry
from slogan import progress
from slogan.storage.folders import TOKEN

CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.fsync", "stage"}
NEED_ROOM = {"open", "os.rename", "os.mkdir", "os.fsync"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def changes(event, args):
    if event == "open":
        return isinstance(args[2], int) and bool(args[2] & WRITING)
    return event in CHANGES


def name_of(event, args):
    """What a step does and to which file, such as "rename release"; tokens are left out."""
    thing = args[1] if event == "os.rename" else args[0]
    if isinstance(thing, int):
        thing = Path(f"/proc/self/fd/{thing}").readlink()
    return f"{event.rpartition('.')[2]} {re.sub(TOKEN, '', Path(thing).name)}"


class Steps:
    """Notes the steps of this process, and lets the fault happen instead of some of them."""

    def __init__(self, struck, fault, report):
        self.names, self.struck, self.fault, self.report = [], struck, fault, report

    def hook(self, event, args):
        if not changes(event, args):
            return
        self.names.append(name_of(event, args))
        if len(self.names) in self.struck:
            if len(self.names) == self.struck[0]:
                self.tell()
            self.fault(event)

    def tell(self):
        os.write(self.report, json.dumps(self.names).encode() + b"\n")

    def install(self):
        sync, stage = os.fsync, progress.Steps.step

        def fsync(handle):
            self.hook("os.fsync", (handle,))
            sync(handle)

        @contextmanager
        def staged(this, name):
            self.hook("stage", (name,))
            with stage(this, name):
                yield
            self.hook("stage", (name,))

        os.fsync, progress.Steps.step = fsync, staged
        sys.addaudithook(self.hook)


def struck(run):
    """The numbers of the steps that meet the fault: one, or all from there on."""
    if "at" not in run:
        return range(0)
    return range(run["at"], sys.maxsize if run["fault"][0] == "full" else run["at"] + 1)


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
        elif (kind == "error" and event != "stage") or (kind == "full" and event in NEED_ROOM):
            raise OSError(value, os.strerror(value))

    return strike


def without_privileges():
    """Let modes of files count for root too: give up every capability of this process."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def perform(run, report):
    """The run itself, in a separate process."""
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
    steps = Steps(struck(run), fault_of(run), report)
    steps.install()
    try:
        code = entry.main() or 0
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush()
    sys.stderr.flush()
    steps.tell()
    atexit._run_exitfuncs()
    os._exit(code)


def started(run):
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where all this runs under nohup
        try:
            perform(run, writing)
        finally:
            os._exit(99)
    os.close(writing)
    return pid, reading


def ended(pid, reading):
    _, status, usage = os.wait4(pid, 0)
    with os.fdopen(reading) as reported:
        steps = json.loads(
            reported.readline() or "[]"
        )  # a run that met its fault reported them then
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "steps": steps, "kilobytes": usage.ru_maxrss}


def warm_up():
    """Import, compile and compute what every run needs, by making a release of each kind."""
    sys.dont_write_bytecode = True
    budget = slogan.PrivacyBudget(exp_epsilon=EXACT[1], delta=EXACT[3])
    _, epsilon, _, delta = MODES["synthesize"][1]
    larger = slogan.PrivacyBudget(epsilon=epsilon, delta=delta)
    with tempfile.TemporaryDirectory() as folder:
        log = write_log(Path(folder) / "clicks.tsv")
        with closing(slogan.sanitize(log, budget, solver="spe")) as release:
            release.save(Path(folder) / "sanitized")
        with closing(slogan.synthesize(log, larger)) as release:
            release.save(Path(folder) / "synthesized")


def main():
    warm_up()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
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
