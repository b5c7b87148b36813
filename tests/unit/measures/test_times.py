"""Times: hours, weekdays and days by hand, and what leaves them alone."""

import numpy as np
import pytest
from tests.strategies import events_of

from slogan.measures.events import Both
from slogan.measures.times import by_hour, times

DAY, HOUR = 86_400, 3_600


def at(*seconds, **options):
    rows = [(n, second, 0, 1, 0) for n, second in enumerate(seconds)]
    return events_of(rows, **options)


def test_times_by_hand():
    """Hours 0, 0, 5, 23 against 0, 5, 5, 6; days 0, 0, 1, 3 against 0, 1, 1, 1 of seven."""
    log = at(10, HOUR - 1, DAY + 5 * HOUR, 3 * DAY + 23 * HOUR)
    output = at(0, DAY + 5 * HOUR, DAY + 5 * HOUR, DAY + 6 * HOUR)
    found = times(Both(log, output))

    assert found.hour_of_day == 0.5
    assert found.day == found.weekday == 0.5
    assert sum(found.hours) == sum(found.hours_of_original) == 4
    assert found.hours[5] == 2


def test_a_log_is_like_itself_and_weeks_do_not_matter_to_weekdays():
    log = at(*range(0, 7 * DAY, 5_000), days=21)
    later = at(*range(14 * DAY, 21 * DAY, 5_000), days=21)

    assert times(Both(log, log)).day == 0
    moved = times(Both(log, later))
    assert moved.weekday == 0
    assert moved.day == 1
    assert moved.hour_of_day < 0.05


def test_weekdays_are_those_of_the_calendar():
    """A period that begins a day later: its first day is the other's second."""
    log, output = at(DAY, weekday=3), at(0, weekday=4)

    assert times(Both(log, output)).weekday == 0
    assert times(Both(log, output)).day == 1


def test_counts_weigh_and_shuffled_times_are_worse():
    twice = events_of([(0, 5, 0, 0, 2), (0, HOUR, 0, 0, 1)], "user second pair query count")
    draw = np.random.default_rng(3)
    day = np.repeat(np.arange(7), 200)
    busy = at(*(day * DAY + draw.integers(8 * HOUR, 18 * HOUR, size=1_400)).tolist())
    any_time = at(*draw.integers(0, 7 * DAY, size=1_400).tolist())

    assert by_hour(twice)[:2].tolist() == [2, 1]
    assert times(Both(busy, any_time)).hour_of_day == pytest.approx(14 / 24, abs=0.06)
