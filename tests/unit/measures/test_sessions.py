"""Sessions by hand."""

import pytest
from tests.strategies import events_of
from tests.unit.measures.test_events import compared

from slogan.measures.sessions import sessions

HOUR = 3_600
LOG = events_of(
    [
        (0, 0, 0, 1, 0, 2),  # two clicks
        (0, 9, -1, 0, 1, 1),
        (0, HOUR, 1, 1, 1, 1),
        (1, 0, 2, 1, 2, 1),
        (1, 5, 0, 1, 0, 1),
    ],
    "user second pair rank query count",
)


def measured(log, output):
    both = compared(log, output)
    return sessions(both.in_sessions, both.searches)


def test_sessions_by_hand():
    """Three sessions of two users: 2, 1 and 2 searches, 2, 1 and 2 clicks; against one of one."""
    output = events_of([(7, 0, 0, 1, 0), (7, 3, 1, 1, 1)])
    found = measured(LOG, output)

    assert (found.per_user_of_original, found.per_user) == (1.5, 1.0)
    assert found.change == pytest.approx(1 / 3)
    assert (found.searches_of_original, found.searches) == (5 / 3, 2.0)
    assert (found.clicks_of_original, found.clicks) == (5 / 3, 2.0)
    assert found.length_variation == found.click_variation == pytest.approx(1 / 3)


def test_a_log_has_its_own_sessions():
    found = measured(LOG, LOG)

    assert found.change == found.length_variation == found.click_variation == 0


def test_one_search_in_each_session_is_another_log():
    apart = events_of([(0, n * HOUR, 0, 1, 0) for n in range(12)])
    together = events_of([(0, n, n % 2, 1, n % 2) for n in range(12)])
    found = measured(apart, together)

    assert found.per_user_of_original == 12
    assert found.length_variation == found.click_variation == 1
