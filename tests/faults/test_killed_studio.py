"""kill −9 of a studio's worker or server, and a full disk, at the steps of a release.

As on the command line: a whole release or none, what it cost in the ledger, and nothing left.
"""

import errno
import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest
from tests.faults.doomed_runs import assert_whole, write_begins, write_log
from tests.faults.doomed_worker import ORDER, SERVER, STEPS
from tests.studio_client import Person, started, temporary, to_budget, words_of

import slogan
from slogan.ledger.entries import Reserved

KILLED, FULL = ["signal", int(signal.SIGKILL)], ["full", errno.ENOSPC]
NEW = {"new_population": "people", "epsilon_cap": "500", "delta_cap": "1e-2"}
NO_SPACE = os.strerror(errno.ENOSPC)
RESERVES = "rename people.ledger"


class Doomed:
    """A studio whose releases meet faults; its ledger, and what is left beside its releases."""

    def __init__(self, folder):
        self.folder, self.releases = folder, folder / "releases"
        self.order, self.steps = folder / "order.json", folder / "steps.json"
        self.releases.mkdir()
        self.log = write_log(folder / "clicks.tsv")
        hook = folder / "hook"
        hook.mkdir()
        (hook / "sitecustomize.py").write_text("import tests.faults.doomed_worker\n")
        self.path = os.pathsep.join([str(hook), *sys.path])
        self.person, self.made, self.people = None, 0, NEW

    @property
    def ledger(self):
        file = self.folder / "home/slogan/ledgers/people.ledger"
        return slogan.Ledger.open("people", file)

    def start(self):
        """Another studio, up to the page that asks for the release."""
        words = {
            "PYTHONPATH": self.path,
            "PYTHONDONTWRITEBYTECODE": "1",
            ORDER: str(self.order),
            STEPS: str(self.steps),
        }
        process, address = started(self.folder, **words)
        self.person = Person(address)
        self.person.process = process
        self.person.enter()
        self.at, _ = to_budget(self.person, self.log, people=self.people, users="240")
        _, page = self.person.get(f"{self.at}/explore")
        self.person.send("", page, "stop", stop="5", next="choose")
        self.people = {"population": "people"}
        assert len(list(temporary(self.folder).iterdir())) == 1  # an earlier one's is gone

    def release(self, **order):
        """Ask for a release; its folder, its steps, and the page that follows."""
        if self.person is None:
            self.start()
        self.order.write_text(json.dumps(order))
        self.steps.unlink(missing_ok=True)
        self.made += 1
        target, page = self.releases / f"release-{self.made}", ""
        _, asked = self.person.get(f"{self.at}/release")
        try:
            fields = {"output": str(target), "confirmed": "on"}
            page = self.person.send("", asked, "release", **fields)
        except OSError:
            self.person.process.wait(30)
        if self.person.process.poll() is not None:
            self.person.process.stdout.close()
            self.person = None
            wait_for(lambda: not workers_of(self.folder))
        assert self.steps.exists(), words_of(page)
        steps = json.loads(self.steps.read_text().splitlines()[0])
        return target, [step.replace(target.name, "release") for step in steps], page

    def check(self, target, steps, before):
        """A whole release or none, and an entry from the first change of the ledger on."""
        if target.exists():
            assert_whole(target)
        entries = sum(isinstance(entry, Reserved) for entry in self.ledger.books().entries)
        done = steps[:-1]
        if RESERVES in done:
            assert entries == before + 1, steps
        booked = RESERVES in done[write_begins(done) :]
        assert not target.exists() or booked, steps
        return entries

    def close(self):
        """End the studio, as it is ended in a terminal; its own folder goes with it."""
        if self.person is None:
            return
        self.person.process.terminate()
        self.person.process.wait(30)
        self.person.process.stdout.close()
        self.person = None
        assert list(temporary(self.folder).iterdir()) == []

    def end(self):
        """A release that meets nothing, after which nothing is left of the others."""
        self.close()
        target, steps, _ = self.release()
        assert_whole(target)
        self.close()
        assert [path for path in self.releases.iterdir() if path.name.startswith(".")] == []
        return steps


def workers_of(folder):
    """Processes that still know this folder as their own."""
    found = []
    for status in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{STEPS}={folder}".encode() in status.read_bytes():
                found.append(status)
        except OSError:
            continue
    return found


def wait_for(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def doomed(tmp_path):
    made = Doomed(tmp_path)
    yield made
    if made.person is not None and made.person.process.poll() is None:
        made.person.process.kill()
        made.person.process.wait(30)


def strike(doomed, faults):
    """One release after another, each with its fault at its step."""
    before = doomed.check(Path("/nothing"), [], 0)
    for number, fault in faults:
        target, done, page = doomed.release(at=number, fault=fault)
        before = doomed.check(target, done, before)
        if len(done) < number:  # what a killed release left was cleared away in fewer steps
            doomed.close()
            continue
        assert len(done) == number or fault == SERVER
        assert "query 1" not in page
        if target.exists():
            doomed.close()  # a released log is fixed
        elif fault == KILLED:
            assert "ended without a result" in words_of(page)
        elif fault == FULL:
            assert NO_SPACE in words_of(page)
    doomed.end()


def test_a_studio_that_is_struck_at_some_steps(doomed, ladder):
    """While noise is drawn, when the release is filled, and when it is booked."""
    steps = doomed.end()
    names = ("stage counts", "open manifest.json", "rename people.ledger")
    begin = {"rename people.ledger": write_begins(steps)}
    at = [steps.index(name, begin.get(name, 0)) + 1 for name in names]
    faults = list(zip(at, (KILLED, FULL, SERVER), strict=True))
    strike(doomed, faults)

    ladder.count("faults injected", len(faults))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", [KILLED, SERVER, FULL], ids=["worker", "server", "disk"])
def test_a_studio_that_is_struck_at_every_step(doomed, ladder, fault):
    steps = doomed.end()
    chosen = range(1, len(steps) + 1)
    if fault == FULL:  # stages write nothing, and what is not removed is left to the next run
        spared = ("stage ", "remove ", "rmdir ")
        chosen = [n for n in chosen if not steps[n - 1].startswith(spared)]
    strike(doomed, [(number, fault) for number in chosen])

    ladder.count("faults injected", len(chosen))
    assert len(chosen) > 30
