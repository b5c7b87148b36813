"""Mutants against the tests that guard their file, in forked children of a process that is warm.

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
from pathlib import Path
from tempfile import mkdtemp

import pytest
from tools.mutation.guards import GUARDS, ROOT
from tools.mutation.mutants import plain_source
from tools.mutation.reach import Reached, marked
from tools.mutation.stage import Stage
from tools.mutation.watch import TIMES, Outcome, Plain, Watch

MOST_SECONDS = 30
"""Of a processor's time beside what tests take, since on a busy machine the clock says little."""
_MOST_FOR_FIXTURES = 60
_MOST_PATIENCE = 600
"""By the clock, for a mutant that waits for what will not come."""
_MOST_MEMORY = 8 << 30
_WARM = """
    numpy scipy.optimize scipy.sparse scipy.special scipy.stats duckdb highspy numba pydantic
    jinja2 rich cyclopts zstandard hypothesis mpmath pytest
"""


def compiled(file):
    """Whether numba compiles: its cache does not see a constant that changed in another file."""
    return "dp/selection" not in file


class Copy:
    """A copy of the package, one file of which may be mutated.

    Args:
        examples: The most examples of a property, if fewer than it asks for.
    """

    def __init__(self, examples=None):
        self.examples = examples
        self.folder = Path(mkdtemp(prefix="mutants-"))
        self.scratch = self.folder / "scratch"
        shutil.copytree(ROOT / "src/slogan", self.folder / "src/slogan")
        for file in GUARDS:
            # as mutants are written
            place = self.folder / file
            place.write_text(plain_source(place.read_text(encoding="utf-8")), encoding="utf-8")
        self.staged, self.stage = None, None
        for name in _WARM.split():
            importlib.import_module(name)

    def remove(self):
        if self.stage:
            self.stage.leave()
        shutil.rmtree(self.folder, ignore_errors=True)

    def plain(self, file, tests):
        """The tests against the package as it is: how each behaves, or the one that fails."""
        seen = [other for other in GUARDS if compiled(other) or not compiled(file)]
        sources = {
            other: marked((ROOT / other).read_text(encoding="utf-8"), other) for other in seen
        }
        with self._changed(sources):
            outcome = self._run(lambda: self._pytest(file, tests, Watch(self, reached=Reached())))
            ended = [note for note in self._read_notes() if note[1] == "ended"]
        return Plain(
            outcome,
            {test: round(seconds, 3) for test, _, seconds, _ in ended},
            {test: reached for test, _, _, reached in ended},
        )

    def mutated(self, file, source, tests, usual, order, *, anew=False):
        """The tests against a mutant, until one fails or takes too long."""
        stage = None if anew else self._on_stage(file, tests, usual)
        with self._changed({file: source}):
            if stage and (outcome := stage.mutated(file, source, usual, order)):
                return outcome
            watch = Watch(self, usual, order)
            return self._run(lambda: self._pytest(file, tests, watch, _limit(usual, order)))

    def _on_stage(self, file, tests, usual):
        if self.staged != (key := (compiled(file), tests)):
            if self.stage:
                self.stage.leave()
            self.staged, self.stage = key, _StageDoor(self, file, tests)
            # in another order, other tests wait for the fixtures that they share
            patient = {test: seconds + _MOST_FOR_FIXTURES for test, seconds in usual.items()}
            nothing = self.stage.mutated(file, None, patient, usual)
            if nothing.status != "survived":
                raise RuntimeError(f"the tests fail on the stage without a mutant: {nothing}")
        return self.stage

    @contextlib.contextmanager
    def _changed(self, sources):
        places = {self.folder / file: source for file, source in sources.items()}
        before = {place: (place.read_bytes(), place.stat()) for place in places}
        for place, source in places.items():
            for old in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
                old.unlink()
            place.write_text(source, encoding="utf-8")
        try:
            yield
        finally:
            for place, (original, times) in before.items():
                place.write_bytes(original)
                os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))

    @property
    def notes(self):
        return self.scratch / "notes"

    def _read_notes(self):
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [json.loads(line) for line in lines]

    def _run(self, play):
        """How a child that plays this ends; it must not return to here."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        begin = time.monotonic()
        if not (child := os.fork()):
            os.setsid()
            code = 3
            try:
                code = play()
            finally:
                traceback.print_exc()
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        code = _ended(child, begin + _MOST_PATIENCE)
        seconds = round(time.monotonic() - begin, 2)
        notes = self._read_notes()
        failed = next((test for test, what, *_ in notes if what == "failed"), "")
        if code in (None, -signal.SIGXCPU, -signal.SIGVTALRM):
            return Outcome("timeout", seconds, notes[-1][0] if notes else "")
        if code == 0:
            return Outcome("survived", seconds)
        if code > 2 and not failed:  # pytest's own errors
            return Outcome("error", seconds, (self.folder / "output").read_text()[-2000:])
        return Outcome("killed", seconds, failed or f"crashed with {code}")

    def _pytest(self, file, tests, watch, limit=None, *plugins):
        """Be a run of pytest on the copy."""
        output = os.open(self.folder / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, limit)
        source = str(self.folder / "src")
        sys.path.insert(0, source)
        sys.dont_write_bytecode = True
        os.environ.update(
            PYTHONPATH=os.pathsep.join([source, str(ROOT)]),
            PYTHONDONTWRITEBYTECODE="1",
            TMPDIR=str(self.scratch),
            XDG_DATA_HOME=str(self.scratch / "home"),
            HYPOTHESIS_PROFILE="mutation",
        )
        os.environ.pop("SLOGAN_LADDER", None)
        if not compiled(file):
            importlib.import_module("numba").config.DISABLE_JIT = True
        options = ["-x", "-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:timeout"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-o", "addopts="]
        options += [f"--basetemp={self.scratch / 'tests'}", "-m", "not long and not spark"]
        os.chdir(ROOT)
        return int(pytest.main([*options, *tests], plugins=[watch, *plugins]))


def _limit(usual, order):
    most = MOST_SECONDS + int(TIMES * sum(usual[test] for test in order))
    return (most, most + 5)


class _StageDoor:
    """Hands mutants to a stage, a child of this process."""

    def __init__(self, copy, file, tests):
        self.copy = copy
        to_stage, requests = os.pipe()
        answers, from_stage = os.pipe()
        if not (child := os.fork()):
            os.close(requests)
            os.close(answers)
            watch = Watch(copy)
            with os.fdopen(to_stage) as asked, os.fdopen(from_stage, "w") as told:
                stage = Stage(
                    asked, told, lambda *a: vars(self._play(watch, *a)), copy.folder / "shared"
                )
                copy.scratch.mkdir(exist_ok=True)
                copy._pytest(file, tests, watch, None, stage)
            os._exit(0)
        os.close(to_stage)
        os.close(from_stage)
        self.child, self.requests, self.answers = (
            child,
            os.fdopen(requests, "w"),
            os.fdopen(answers),
        )
        self._answer()  # it has read the files as they are

    def _play(self, watch, request, act):
        def play():
            watch.usual = request["usual"]
            resource.setrlimit(resource.RLIMIT_CPU, _limit(watch.usual, request["order"]))
            return act()

        os.ftruncate(1, 0)
        return self.copy._run(play)

    def mutated(self, file, source, usual, order):
        request = {"file": file, "path": str(self.copy.folder / file)}
        request |= {"source": source, "usual": usual, "order": order}
        self.requests.write(json.dumps(request) + "\n")
        self.requests.flush()
        answer = self._answer()
        return answer and Outcome(**answer)

    def _answer(self):
        if line := self.answers.readline():
            return json.loads(line)
        raise RuntimeError((self.copy.folder / "output").read_text()[-2000:])

    def leave(self):
        self.requests.close()
        self.answers.close()
        os.waitpid(self.child, 0)


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
