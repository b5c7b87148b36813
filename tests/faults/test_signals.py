"""SIGINT, SIGTERM and SIGHUP: the run cleans up itself, at once, and its exit code says why."""

import signal

import pytest
from tests.faults.doomed_runs import MODES

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(site, mode, target, *, step, number):
    """Send a run a signal at a step; whether it came in time."""
    answer = site.perform(site.run(mode, target, at=step, fault=["signal", int(number)]))[0]
    said = site.say()
    assert answer["code"] in (0, 128 + number), said
    assert "Traceback" not in said
    site.check_nothing_left()
    site.check_books()
    site.check_outcome(answer, target)
    return answer["code"] != 0


def steps_of(site, mode):
    answer = site.perform(site.run(mode, "release"))[0]
    assert answer["code"] == 0, site.say()
    return answer["steps"]


@pytest.mark.parametrize("number", ASKING, ids=lambda number: number.name)
def test_a_signal_at_some_steps(site, ladder, number):
    """Before anything is made, while it solves, and when the release is about to have its name."""
    steps = steps_of(site, "sanitize")
    names = ("open .web-users.ledger.lock", "stage solve", "rename release")
    chosen = [steps.index(name) + 1 for name in names][2 * (number != signal.SIGINT) :]
    struck = [ask(site, "sanitize", f"release-{n}", step=n, number=number) for n in chosen]

    ladder.count("faults injected", len(chosen))
    assert all(struck)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", ASKING[:2], ids=lambda number: number.name)
def test_a_signal_at_every_step(site, ladder, mode, number):
    steps = steps_of(site, mode)
    for n, name in enumerate(steps, start=1):
        struck = ask(site, mode, f"release-{n}", step=n, number=number)
        assert struck, name

    ladder.count("faults injected", len(steps))
    assert {"published", "abandoned"} == set(site.check_books().outcomes.values())
