"""kill −9 at each step of real runs and at random times: nothing half, nothing lost, nothing left.

A step is a change of a disk, or the begin or end of a stage.
"""

import random
import signal
import time

import pytest
from doomed_runs import KILL

import slogan

VERBS = ("sanitize", "synthesize")


def strike(site, verb, target, *more, recorded=False, **faults):
    """Kill a run and let another one follow; whether it was killed before it was done.

    The disk is checked as the killed run left it, and after the next run, which need not know the
    ledger.
    """
    before = site.manifest(target)
    answer = site.perform(site.run(verb, target, *more, **faults))[0]
    assert answer["code"] in (0, -signal.SIGKILL), site.say()
    site.check_releases()
    site.next_run(verb, recorded=recorded)
    if before is not None:
        assert site.manifest(target) is not None
        site.replaced[before] += site.manifest(target) != before
    site.check_books()
    return answer["code"] != 0


def steps_of(site, verb, *more):
    """How many steps a run takes that nobody kills; leaves its release."""
    answer = site.perform(site.run(verb, "release", *more))[0]
    assert answer["code"] == 0, site.say()
    return answer["steps"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_some_steps(site, ladder, verb):
    """Early, while filling, and close to the one that publishes, which is among the last."""
    last = steps_of(site, verb)
    chosen = [4, last // 2, last - 26, last - 20, last - 14][2 * (verb == "synthesize") :]
    struck = [
        strike(site, verb, f"release-{step}", at=step, fault=KILL, recorded=step == chosen[-1])
        for step in chosen
    ]

    ladder.count("faults injected", sum(struck))
    assert all(struck)
    assert last > 50
    assert "published" in site.check_books().outcomes.values()
    assert slogan.verify(site.log, site.releases / "release").ok


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_every_step(site, ladder, verb):
    step = 1
    while strike(site, verb, f"release-{step}", at=step, fault=KILL, recorded=step % 2 == 0):
        step += 1

    ladder.count("faults injected", step - 1)
    assert step > 50
    assert {"published", "abandoned"} == set(site.check_books().outcomes.values())
    for release in site.releases.iterdir():
        assert slogan.verify(site.log, release).ok


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_at_every_step_of_a_replacement(site, ladder, verb):
    last = steps_of(site, verb)
    for step in range(last // 2, last + 20):
        done = not strike(site, verb, "release", "--force", at=step, fault=KILL)
        if done:
            break

    ladder.count("faults injected", step - last // 2)
    assert done
    assert slogan.verify(site.log, site.releases / "release").ok


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
def test_a_kill_while_the_next_run_clears_up(site, ladder, verb):
    """Killed when booked, and killed again at each step of clearing up after that."""
    last = steps_of(site, verb)
    again = faults = 0
    while True:
        again += 1
        first, second = (
            site.perform(site.run(verb, target, at=step, fault=KILL))[0]["code"]
            for target, step in ((f"release-{again}", last - 18), (f"release-{again}b", again))
        )
        faults += (first != 0) + (second != 0)
        site.check_releases()
        site.next_run(verb, recorded=False)
        site.check_books()
        if second == 0 or again > last // 2:
            break

    ladder.count("faults injected", faults)


@pytest.mark.long
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("seed", range(2))
def test_kills_at_random_times(site, ladder, verb, seed):
    rng, struck = random.Random(f"{verb} {seed}"), 0
    begin = time.monotonic()
    steps_of(site, verb)
    lasts = time.monotonic() - begin
    for n in range(50):
        after = rng.uniform(0, 1.05 * lasts)
        struck += strike(
            site, verb, f"release-{n}", after=after, signal=int(signal.SIGKILL), recorded=n % 2 == 0
        )

    ladder.count("faults injected", struck)
    assert struck > 25


def test_of_runs_on_one_target_one_is_published_and_nobody_harms_another(site, ladder):
    answers = site.perform(*(site.run("sanitize", "release") for _ in range(3)))
    codes = sorted(answer["code"] for answer in answers)

    ladder.count("faults injected")
    assert codes == [0, 2, 2], site.say()
    assert len(site.check_books().releases) == 1
    site.check_nothing_left()


def test_a_living_run_keeps_its_folders_while_another_clears_up(site, ladder):
    """One run waits in the middle until a second has come and gone, and then goes on."""
    last, second = steps_of(site, "sanitize"), site.releases / "release-b"
    waiting = site.run("sanitize", "release-a", at=last - 30, fault=["wait", str(second)])
    answers = site.perform(waiting, site.run("sanitize", second.name))

    ladder.count("faults injected")
    assert [answer["code"] for answer in answers] == [0, 0], site.say()
    assert len(site.check_books().releases) == 3
    site.check_nothing_left()
