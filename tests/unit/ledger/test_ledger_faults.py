"""kill −9 between any two steps, and many runs at once: releases and entries stay in step.

Each run is a separate process. A doomed run kills itself just before its nth step on the disk,
as seen by an audit hook and a wrapped fsync; the product knows nothing of it.
"""

import errno
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.helpers import ended

from slogan.dp.accounting import Cost
from slogan.errors import BudgetRefusedError, LedgerError, ReleaseExistsError
from slogan.ledger.cap import Cap
from slogan.ledger.hash_chain import Chain
from slogan.ledger.ledger import Charge, Ledger, publish_recorded, settled
from slogan.storage.atomic import Attempt, clear_attempts, sha256_of

CAP = Cap.of("1", "1e-6")
STEPS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.scandir"}
REFUSED = 7


def part(n):
    return Cost(mu_squared=CAP.limits.mu_squared / n, delta=CAP.limits.delta / n)


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("web-users", tmp_path / "private/web.ledger")
    made.create()
    made.set_cap(CAP)
    return made


def release(ledger, target, *, cost, force=False, reservation=None):
    def fill(partial):
        for name in ("public", "curator"):
            (partial / name).mkdir()
        unique = {"run": os.urandom(8).hex()}
        (partial / "public/manifest.json").write_text(json.dumps(unique))
        (partial / "curator/certificate.json").write_text("{}")

    charge = Charge(method="test", parameters={}, cost=cost)
    publish_recorded(
        target, fill, force=force, charge=charge, ledger=ledger, reservation=reservation
    )


def kill_before(step):
    """Let this process kill itself instead of taking its nth step on the disk."""
    taken = 0

    def count(event, args):
        nonlocal taken
        if event in STEPS:
            taken += 1
            if taken == step:
                os.kill(os.getpid(), signal.SIGKILL)

    real = os.fsync
    os.fsync = lambda handle: (count("open", ()), real(handle))
    sys.addaudithook(count)


def start(act):
    """Run in a separate process; ends with 0, or REFUSED by the cap or an existing target."""
    pid = os.fork()
    if pid:
        return pid
    try:
        act()
    except (BudgetRefusedError, ReleaseExistsError):
        os._exit(REFUSED)
    except BaseException:  # noqa: BLE001 - the exit code tells
        os._exit(1)
    os._exit(0)


def doomed(step, act):
    """Whether the process was killed before its act was done."""
    code = ended(start(lambda: (kill_before(step), act())))
    assert code in (0, -signal.SIGKILL)
    return code != 0


def check(ledger, *, before=()):
    """Every release on the disk has its entry, every entry that counts its release; returns both.

    `before`: manifests that were released and then replaced.
    """
    books = ledger.books()
    place = ledger.file.parent.parent
    found = [sha256_of(file) for file in place.glob("release*/public/manifest.json")]
    counted = [e.manifest_sha256 for e in books.releases]

    assert set(books.outcomes) == {number for number, _ in books.booked()}
    assert set(books.outcomes.values()) <= {"published", "abandoned"}
    assert Counter(counted) == Counter(found) + Counter(set(before) - set(found))
    assert CAP.admits(books.spent)
    return books, found


def leftovers(ledger):
    """Temporary folders of runs that were booked."""
    booked = [entry.attempt for _, entry in ledger.books().booked()]
    return [attempt.folder for attempt in booked if attempt.folder.exists()]


def next_run(ledger):
    """What a run does first; nothing of ours may be left after it."""
    place = ledger.file.parent.parent
    clear_attempts(place, settled)
    assert [path for path in place.iterdir() if path.name.startswith(".")] == []
    assert not any(ledger.file.parent.glob("*.new"))


def test_a_kill_between_any_two_steps_leaves_release_and_entry_in_step(tmp_path, ledger):
    target, step, seen = tmp_path / "release", 0, Counter()
    while True:
        step += 1
        target = tmp_path / f"release-{step}"
        killed = doomed(step, lambda target=target: release(ledger, target, cost=part(1000)))
        open_before = len(Ledger(ledger.file, ledger.population)._chain.read())
        books, _ = check(ledger)
        seen[len(books.links) - open_before] += 1
        assert leftovers(ledger) == []
        next_run(ledger)
        if not killed:
            break

    assert target.exists()
    assert step > 25
    assert seen[1] > 5  # recovery had something to settle
    assert set(books.outcomes.values()) == {"published", "abandoned"}


def test_a_run_that_drew_counts_whenever_it_is_killed(tmp_path, ledger):
    """A mark on the disk stands for the first random word."""
    planned, cost, step, killed = part(200), part(400), 0, True

    def run(target, mark):
        held = ledger.reserve(Charge(method="test", parameters={}, cost=planned))
        mark.touch()
        release(ledger, target, cost=cost, reservation=held)

    while killed:
        step += 1
        target, mark = tmp_path / f"release-{step}", tmp_path / f"drawn-{step}"
        before = ledger.books().spent
        killed = doomed(step, lambda target=target, mark=mark: run(target, mark))
        check(ledger)
        after = before + (cost if target.exists() else planned)
        assert ledger.books().spent == after or (
            not mark.exists() and ledger.books().spent == before
        )
        next_run(ledger)

    assert step > 35
    assert target.exists()


def test_a_killed_replacement_leaves_the_old_release_or_the_new_one(tmp_path, ledger):
    target = tmp_path / "release"
    release(ledger, target, cost=part(1000))
    replaced, step, killed = [], 0, True
    while killed:
        step += 1
        before = sha256_of(target / "public/manifest.json")
        killed = doomed(step, lambda: release(ledger, target, cost=part(1000), force=True))
        ledger.books()
        if sha256_of(target / "public/manifest.json") != before:
            replaced.append(before)
        check(ledger, before=replaced)
        assert leftovers(ledger) == []
        next_run(ledger)

    assert step > 25


@pytest.mark.parametrize("force", [False, True])
def test_a_kill_during_recovery_changes_nothing_either(tmp_path, ledger, force):
    """Runs killed while booked; then recoveries killed at each of their steps."""
    replaced, target = [], tmp_path / "release"
    if force:
        release(ledger, target, cost=part(1000))
    for step in range(1, 60, 3):
        links = len(ledger._chain.read())
        before = sha256_of(target / "public/manifest.json") if force else None
        place = target if force else tmp_path / f"release-{step}"
        doomed(step, lambda place=place: release(ledger, place, cost=part(1000), force=force))
        if len(ledger._chain.read()) == links + 1:
            recovery = 0
            while doomed(recovery := recovery + 1, ledger.books):
                pass
        ledger.books()
        if force and sha256_of(target / "public/manifest.json") != before:
            replaced.append(before)
        check(ledger, before=replaced)
        assert leftovers(ledger) == []
        next_run(ledger)


def test_many_processes_at_once_use_the_cap_up_and_no_more(tmp_path, ledger):
    """8 processes want 4 releases each, and the cap has room for 20 of the 32."""

    def work(name):
        refused = 0
        for n in range(4):
            try:
                release(ledger, tmp_path / f"release-{name}-{n}", cost=part(20))
            except BudgetRefusedError:
                refused += 1
        os._exit(refused)

    pids = [start(lambda name=name: work(name)) for name in range(8)]
    refused = sum(ended(pid) for pid in pids)
    books, found = check(ledger)

    assert refused == 12
    assert len(found) == 20
    assert books.spent == Cost(mu_squared=CAP.limits.mu_squared, delta=CAP.limits.delta)


def test_of_two_runs_on_one_target_one_is_published(tmp_path, ledger):
    pids = [start(lambda: release(ledger, tmp_path / "release", cost=part(20))) for _ in range(6)]
    codes = Counter(ended(pid) for pid in pids)
    books, found = check(ledger)

    assert codes == {0: 1, REFUSED: 5}
    assert len(found) == len(books.releases) == 1


def test_runs_killed_at_random_times_never_exceed_the_cap(tmp_path, ledger):
    rng = random.Random(7)

    def work(name):
        for n in range(1000):
            release(ledger, tmp_path / f"release-{name}-{n}", cost=part(40))

    for wave in range(4):
        pids = [start(lambda name=f"{wave}-{n}": work(name)) for n in range(4)]
        time.sleep(rng.uniform(0.02, 0.3))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            assert ended(pid) in (-signal.SIGKILL, REFUSED)
        check(ledger)
    ended(start(lambda: work("last")))
    _, found = check(ledger)

    assert len(found) == 40
    assert leftovers(ledger) == []


def test_an_interrupted_run_settles_itself(tmp_path, ledger, monkeypatch):
    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release(ledger, tmp_path / "release", cost=part(20))
    monkeypatch.undo()
    books = Ledger(ledger.file, ledger.population).books()

    assert list(books.outcomes.values()) == ["abandoned"]
    assert books.spent == Cost()
    assert [p.name for p in tmp_path.iterdir()] == ["private"]


def test_a_release_that_could_not_be_booked_is_not_reported_missing(tmp_path, ledger, monkeypatch):
    swap, replaced = Attempt.swap, Chain._replace

    def full(chain, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    def swap_and_fill_the_disk(attempt, *, force):
        swap(attempt, force=force)
        monkeypatch.setattr(Chain, "_replace", full)

    monkeypatch.setattr(Attempt, "swap", swap_and_fill_the_disk)
    with pytest.raises(LedgerError, match="is whole and its cost is booked") as told:
        release(ledger, tmp_path / "out", cost=part(4))
    assert "do not make it again" in told.value.hint
    monkeypatch.setattr(Chain, "_replace", replaced)

    assert list(ledger.books().outcomes.values()) == ["published"]
    assert (tmp_path / "out/public/manifest.json").exists()
