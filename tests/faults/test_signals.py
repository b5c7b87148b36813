"""SIGINT, SIGTERM and SIGHUP: the run cleans up itself, at once, and its exit code says why."""

import signal

import pytest

ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ask(site, verb, target, *, step, number):
    """Send a run a signal at a step; whether it came in time."""
    answer = site.perform(site.run(verb, target, at=step, fault=["signal", int(number)]))[0]
    said = site.say()
    assert answer["code"] in (0, 128 + number), said
    assert "Traceback" not in said
    site.check_nothing_left()
    site.check_books()
    return answer["code"] != 0


@pytest.mark.parametrize("number", ASKING, ids=lambda number: number.name)
def test_a_signal_at_some_steps(site, ladder, number):
    last = site.perform(site.run("sanitize", "release"))[0]["steps"]
    chosen = (2, last // 2, last - 22) if number == signal.SIGINT else (last - 15,)
    struck = [ask(site, "sanitize", f"release-{n}", step=n, number=number) for n in chosen]

    ladder.count("faults injected", len(chosen))
    assert all(struck)


@pytest.mark.long
@pytest.mark.parametrize("verb", ["sanitize", "synthesize"])
@pytest.mark.parametrize("number", ASKING[:2], ids=lambda number: number.name)
def test_a_signal_at_every_step(site, ladder, verb, number):
    last = site.perform(site.run(verb, "release"))[0]["steps"]
    struck = [ask(site, verb, f"release-{n}", step=n, number=number) for n in range(1, last)]

    ladder.count("faults injected", sum(struck))
    assert sum(struck) > last - 5
    assert {"published", "abandoned"} == set(site.check_books().outcomes.values())
