"""kill −9 at each step of real runs and at random times: nothing half, nothing lost, nothing left.

A step is a change of a disk, or the begin or end of a stage.
"""

import random
import shutil
import signal
import time

import pytest
from tests.faults.doomed_runs import KILL, MODES, assert_whole, write_begins

import slogan
from slogan.dp.accounting import Cost

STAGES = {
    "sanitize": ("count", "constrain", "solve", "gate", "sample", "write"),
    "laplace": (*("count", "constrain", "solve", "leave-one-out", "gate", "sample"), "write"),
    "private": ("count", "selection", "counts", "solve", "sample", "write"),
    "synthesize": (
        *("count", "selection", "counts", "sizes", "coverage", "association", "synthesis"),
        "write",
    ),
}
every_mode = pytest.mark.parametrize("mode", MODES)


def strike(site, mode, target, *more, recorded=False, **faults):
    """Kill a run and let another one follow; what the server answered about the killed one.

    The disk is checked as the killed run left it, and after the next run, which need not know the
    ledger.
    """
    before, known = site.manifest(target), site.outcomes(target)
    answer = site.perform(site.run(mode, target, *more, **faults))[0]
    assert answer["code"] in (0, -signal.SIGKILL), site.say()
    site.check_releases()
    site.next_run(mode, recorded=recorded)
    if before is not None:
        assert site.manifest(target) is not None
        site.replaced[before] += site.manifest(target) != before
    site.check_books()
    if "at" in faults:
        site.check_outcome(answer, target, before=before, known=known)
    return answer


def steps_of(site, mode, *more):
    """The steps of a run that is not killed; leaves its release."""
    answer = site.perform(site.run(mode, "release", *more))[0]
    assert answer["code"] == 0, site.say()
    return answer["steps"]


def strikes(site, mode, *names):
    """The numbers of the first steps of these names; each is struck before it is done."""
    steps = steps_of(site, mode)
    begin = write_begins(steps)
    late = {"rename web-users.ledger": begin}
    return [steps.index(name, late.get(name, 0)) + 1 for name in names]


@every_mode
def test_a_kill_at_some_steps(site, ladder, mode):
    """While a release is filled, before it is booked, before it has its name, and after."""
    chosen = strikes(
        *(site, mode, "mkdir .slogan-private-", "open manifest.json"),
        *("rename web-users.ledger", "rename release"),
    )
    chosen = [*chosen, chosen[-1] + 1][2 * (mode != "sanitize") :]
    for step in chosen:
        at = {"at": step, "fault": KILL, "recorded": step == chosen[-1]}
        assert strike(site, mode, f"release-{step}", **at)["code"] == -signal.SIGKILL

    ladder.count("faults injected", len(chosen))
    assert slogan.verify(site.log, site.releases / f"release-{chosen[-1]}").ok


@pytest.mark.parametrize("mode", ["private", "synthesize"])
def test_a_killed_run_keeps_its_reservation(site, ladder, mode):
    """Whatever it was about to do: look at the log, draw again, or write."""
    planned = []
    for name in ("stage count", "stage counts", "rename release"):
        (step,) = strikes(site, mode, name)
        site.replaced[site.manifest()] += 1
        shutil.rmtree(site.releases / "release")
        strike(site, mode, f"release-{step}", at=step, fault=KILL, recorded=True)
        planned = [entry.cost for entry in site.ledger.books().reserved.values()]

    ladder.count("faults injected", 3)
    assert len(planned) == 3
    assert len(set(planned)) == 1
    books = site.ledger.books()
    released = [entry.cost.cost for entry in books.releases]
    assert books.spent == sum([*released, *(cost.cost for cost in planned)], Cost())


@pytest.mark.long
@pytest.mark.timeout(1800)
@every_mode
def test_a_kill_at_every_step(site, ladder, mode):
    step, answer = 0, {"code": None}
    while answer["code"] != 0:
        step += 1
        at = {"at": step, "fault": KILL, "recorded": step % 2 == 0}
        answer = strike(site, mode, f"release-{step}", **at)

    ladder.count("faults injected", step - 1)
    assert step == len(answer["steps"]) + 1
    assert {f"stage {name}" for name in STAGES[mode]} <= set(answer["steps"])
    assert {"published", "abandoned"} == set(site.check_books().outcomes.values())
    for release in site.releases.iterdir():
        assert slogan.verify(site.log, release).ok


@pytest.mark.long
@pytest.mark.timeout(1800)
@every_mode
def test_a_kill_at_every_step_without_a_ledger(site, ladder, mode):
    step, answer = 0, {"code": None}
    while answer["code"] != 0:
        step += 1
        release = site.releases / f"release-{step}"
        at = {"at": step, "fault": KILL, "recorded": False}
        answer = site.perform(site.run(mode, release.name, **at))[0]
        done = answer["code"] == 0 or f"rename {release.name}" in answer["steps"][:-1]
        assert release.exists() == done, answer
        if done:
            assert_whole(release)
        site.next_run(mode, recorded=False)

    ladder.count("faults injected", step - 1)
    assert step == len(answer["steps"]) + 1
    assert site.ledger.books().releases == []


@pytest.mark.long
@pytest.mark.timeout(1800)
@every_mode
def test_a_kill_at_every_step_of_a_replacement(site, ladder, mode):
    (first,) = strikes(site, mode, "mkdir .release.partial-")
    step, answer = first - 1, {"code": None}
    while answer["code"] != 0:
        step += 1
        answer = strike(site, mode, "release", "--force", at=step, fault=KILL)

    ladder.count("faults injected", step - first)
    assert "rename replaced" in answer["steps"]
    assert slogan.verify(site.log, site.releases / "release").ok


@pytest.mark.long
@pytest.mark.timeout(1800)
@every_mode
@pytest.mark.parametrize("when", ["rename web-users.ledger", "rename release"])
def test_a_kill_while_the_next_run_clears_up(site, ladder, mode, when):
    """Killed when filled or when booked, and killed again at each step of clearing up after it."""
    (step,), again, steps = strikes(site, mode, when), 0, [""]
    while not steps[-1].startswith("mkdir .release-"):  # which is when it begins with its own
        again += 1
        targets = (f"release-{again}", f"release-{again}b")
        answers = [
            site.perform(site.run(mode, target, at=at, fault=KILL))[0]
            for target, at in zip(targets, (step, again), strict=True)
        ]
        assert [answer["code"] for answer in answers] == [-signal.SIGKILL] * 2
        site.check_releases()
        site.next_run(mode, recorded=False)
        site.check_books()
        for answer, target in zip(answers, targets, strict=True):
            booked = when == "rename release" and target == targets[0]
            assert site.outcomes(target) == ["abandoned"] * booked
            assert site.manifest(target) is None
        steps = answer["steps"]

    ladder.count("faults injected", 2 * again)
    assert "rmdir .release-" in {name.removesuffix(f"{again}.partial-") for name in steps}


@pytest.mark.long
@pytest.mark.timeout(1800)
@every_mode
@pytest.mark.parametrize("seed", range(3))
def test_kills_at_random_times(site, ladder, mode, seed):
    """As many as do come before the run is done."""
    rng, struck, tried = random.Random(f"{mode} {seed}"), 0, 0
    begin = time.monotonic()
    steps_of(site, mode)
    lasts = time.monotonic() - begin
    while struck < 50:
        tried += 1
        assert tried < 200
        after = rng.uniform(0, lasts)
        at_random = {"after": after, "signal": int(signal.SIGKILL)}
        answer = strike(site, mode, f"release-{tried}", **at_random, recorded=tried % 2 == 0)
        if answer["code"] != 0:
            struck += 1
        else:  # the first run may have met a busier machine
            lasts = (lasts + after) / 2

    ladder.count("faults injected", struck)


def test_of_runs_on_one_target_one_is_published_and_none_harms_another(site, ladder):
    answers = site.perform(*(site.run("sanitize", "release") for _ in range(3)))
    codes = sorted(answer["code"] for answer in answers)

    ladder.count("faults injected")
    assert codes == [0, 2, 2], site.say()
    assert len(site.check_books().releases) == 1
    site.check_nothing_left()


def test_a_living_run_keeps_its_folders_while_another_clears_up(site, ladder):
    """One run waits in the middle until a second has come and gone, and then goes on."""
    (step,), second = strikes(site, "sanitize", "fsync public"), site.releases / "release-b"
    waiting = site.run("sanitize", "release-a", at=step, fault=["wait", str(second)])
    answers = site.perform(waiting, site.run("sanitize", second.name))

    ladder.count("faults injected")
    assert [answer["code"] for answer in answers] == [0, 0], site.say()
    assert len(site.check_books().releases) == 3
    site.check_nothing_left()
