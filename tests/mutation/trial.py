"""One mutant against the tests that guard its file, in a forked child of a process that is warm.

What is slow about a run of pytest is importing numpy, scipy, DuckDB and the rest: the parent does
it once. It never imports slogan, so each child imports its own copy, in which one file is mutated;
programs that the tests start find the same copy.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tests.mutation.guards import ROOT

MOST_SECONDS = 30
"""Of a processor's time, since on a busy machine the clock says little."""
_TIMES = 4
"""A test may take so many times its usual time, and two seconds more."""
_MOST_PATIENCE = 600
"""By the clock, for a mutant that waits for what will not come."""
_MOST_MEMORY = 8 << 30
_WARM = """
    numpy scipy.optimize scipy.sparse scipy.special scipy.stats duckdb highspy numba pydantic
    jinja2 rich cyclopts zstandard hypothesis mpmath pytest
"""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: killed, survived, timeout or error, and by which test."""

    status: str
    seconds: float
    by: str = ""


class Watch:
    """Runs tests in an order, each within its time; notes what they take and which one failed."""

    def __init__(self, usual, order, notes):
        self.usual, self.order, self.notes = usual, order, notes

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: self.order.get(item.nodeid, 0.0))

    def pytest_collectreport(self, report):
        if report.failed:
            self._note(report.nodeid, None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        if item.nodeid in self.usual:
            # nobody handles this signal, so it ends the process
            signal.setitimer(signal.ITIMER_VIRTUAL, 2 + _TIMES * self.usual[item.nodeid])
        begin = time.process_time()
        done = yield
        self._note(item.nodeid, time.process_time() - begin)
        return done

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._note(report.nodeid, None)

    def _note(self, test, seconds):
        with self.notes.open("a") as file:
            file.write(json.dumps([test, seconds]) + "\n")


class Copy:
    """A copy of the package, one file of which may be mutated."""

    def __init__(self):
        self.folder = Path(mkdtemp(prefix="mutants-"))
        shutil.copytree(ROOT / "src/slogan", self.folder / "src/slogan")
        for name in _WARM.split():
            importlib.import_module(name)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def plain(self, file, tests):
        """The tests against the file as it is: how long each takes, or the one that fails."""
        outcome, notes = self._run(file, tests, {}, {})
        return outcome, {test: seconds for test, seconds in notes if seconds is not None}

    def mutated(self, file, source, tests, usual, order):
        """The tests against a mutant, until one fails or takes too long."""
        place = self.folder / file
        original = place.read_bytes()
        times = place.stat()
        for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
            compiled.unlink()
        place.write_text(source, encoding="utf-8")
        try:
            return self._run(file, tests, usual, order)[0]
        finally:
            place.write_bytes(original)
            os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))

    def _run(self, file, tests, usual, order):
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        begin = time.monotonic()
        if not (child := os.fork()):
            watch = Watch(usual, order, scratch / "notes")
            _be_a_test_run(self.folder, file, tests, watch, is_mutant=bool(usual))
        code = _ended(child, begin + _MOST_PATIENCE)
        seconds = round(time.monotonic() - begin, 2)
        written = scratch / "notes"
        lines = written.read_text().splitlines() if written.exists() else []
        notes = [json.loads(line) for line in lines]
        failed = next((test for test, took in notes if took is None), "")
        if code in (None, -signal.SIGXCPU, -signal.SIGVTALRM):
            return Outcome("timeout", seconds), notes
        if code == 0:
            return Outcome("survived", seconds), notes
        crashed = code < 0 or not failed
        if crashed and code not in (1, 2) and code >= 0:
            return Outcome("error", seconds, (scratch / "output").read_text()[-2000:]), notes
        return Outcome("killed", seconds, failed or f"crashed with {code}"), notes


def _be_a_test_run(folder, file, tests, watch, *, is_mutant):
    """Replace this process by pytest on the copy; does not return."""
    os.setsid()
    scratch = folder / "scratch"
    output = os.open(scratch / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    if is_mutant:
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    source = str(folder / "src")
    sys.path.insert(0, source)
    sys.dont_write_bytecode = is_mutant
    os.environ.update(
        PYTHONPATH=os.pathsep.join([source, str(ROOT)]),
        PYTHONDONTWRITEBYTECODE="1" if is_mutant else "",
        TMPDIR=str(scratch),
        XDG_DATA_HOME=str(scratch / "home"),
        HYPOTHESIS_PROFILE="mutation",
    )
    os.environ.pop("SLOGAN_LADDER", None)
    if "dp/selection" in file:
        # compiled loops are cached without regard to the constants they take from other files
        importlib.import_module("numba").config.DISABLE_JIT = True
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-o", "addopts="]
    options += [f"--basetemp={scratch / 'tests'}", "-m", "not long and not spark"]
    os.chdir(ROOT)
    code = 3
    try:
        code = int(pytest.main([*options, *tests], plugins=[watch]))
    finally:
        traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _ended(child, until):
    """The exit code of a child, negative for a signal; None if it had to be ended."""
    pause = 0.002
    try:
        while time.monotonic() < until:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(pause)
            pause = min(0.05, 1.5 * pause)
    finally:
        _end_group(child)
    os.waitpid(child, 0)
    return None


def _end_group(child):
    """Whatever the child started goes with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
