"""Events in searches and sessions, and what is common to their measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import events_of, histogram

from slogan.measures.events import (
    SESSION_GAP,
    ComparedEvents,
    gap_searches,
    group,
    named_searches,
    nth,
    shared_queries,
    variation,
)

HOUR = 3_600


def compared(log, output=None, *, queries=3, same_users=False, query=(0, 1, 2)):
    return ComparedEvents(
        log=log,
        output=log if output is None else output,
        query=np.array(query),
        shared=np.ones(queries, dtype=np.bool_),
        same_users=same_users,
    )


def test_half_an_hour_ends_a_session_and_another_query_a_search():
    events = events_of(
        [
            (0, 10, 0, 1, 0),
            (0, 40, 1, 2, 0),  # the same query: the same search
            (0, 90, -1, 0, 1),  # no click
            (0, 90 + SESSION_GAP, 2, 1, 1),  # just in time, and the same query
            (0, 91 + 2 * SESSION_GAP, 2, 1, 1),  # too late
            (1, 92 + 2 * SESSION_GAP, 2, 1, 1),  # another user
        ]
    )
    found = gap_searches(events)

    assert found.query.tolist() == [0, 1, 1, 1]
    assert found.size.tolist() == [2, 2, 1, 1]
    assert found.session.tolist() == [0, 0, 1, 2]
    assert found.user.tolist() == [0, 0, 0, 1]
    assert found.of_row.tolist() == [0, 0, 1, 1, 2, 3]


def test_unknown_queries_are_never_the_same():
    events = events_of([(0, 1, -1, 0, -1), (0, 2, -1, 0, -1), (0, 3, 0, 1, 0), (0, 4, -1, 0, -1)])

    assert gap_searches(events).size.tolist() == [1, 1, 1, 1]


def test_named_sessions_may_overlap():
    events = events_of(
        [(0, 1, 0, 7, 0), (0, 2, 1, 8, 1), (0, 3, 2, 7, 1), (0, 9 * HOUR, 1, 7, 1)],
        "user second pair session query",
    )
    found = named_searches(events)

    assert found.session.tolist() == [0, 0, 1]
    assert found.query.tolist() == [0, 1, 1]
    assert events.second[found.row].tolist() == [1, 3, 9 * HOUR, 2]


def test_sessions_are_the_logs_own_where_both_have_them():
    named = events_of([(0, 1, 0, 4, 0), (0, 2, 1, 5, 1)], "user second pair session query")
    timed = events_of([(0, 1, 0, 1, 0), (0, 2, 1, 1, 1)])
    neither = events_of([(0, 0, 1, 0), (0, 1, 1, 1)], "user pair rank query")

    assert compared(named).searches.log.session.tolist() == [0, 1]
    assert compared(named, timed).searches.log.session.tolist() == [0, 0]
    assert compared(timed, neither).searches is None
    assert compared(timed, neither).timed is None
    assert compared(timed, neither).ranked is not None


def test_rows_without_a_time_a_rank_or_a_session_are_left_out():
    events = events_of(
        [(0, -1, 0, 0, 3, 0), (0, 5, 1, 2, -1, 1), (0, 6, -1, 2, 4, 0)],
        "user second pair rank session query",
    )
    found = compared(events)

    assert found.timed.log.second.tolist() == [5, 6]
    assert found.ranked.log.pair.tolist() == [1]
    assert found.in_sessions.log.session.tolist() == [3, 4]
    empty = events.at(np.zeros(3, dtype=np.bool_))
    assert compared(events, empty).timed is None


def test_the_log_of_released_pairs_has_their_clicks_and_the_searches_of_their_queries():
    log = events_of(
        [(0, 1, 0, 1, 0), (0, 2, 1, 1, 0), (0, 3, -1, 0, 0), (0, 4, -1, 0, 1), (0, 5, -1, 0, -1)]
    )
    output = events_of([(7, 9, 0, 1, 0), (7, 9, -1, 0, -1)])
    both = compared(log, output, query=(0, 0, 1))

    assert both.of_released.log.second.tolist() == [1, 3]
    assert both.of_released.output.pair.tolist() == [0]
    found = both.by_basis(lambda c: len(c.log.user))
    assert (found.whole_log, found.released_pairs) == (5, 2)
    assert both.by_basis(lambda c: None) is None
    nothing = compared(log, output.at(np.zeros(2, dtype=np.bool_)))
    assert len(nothing.of_released.log.user) == 0


def test_who_tests_a_model_does_not_train_it():
    events = events_of([(user, 1, 0, 1, 0) for user in range(5)])
    users = np.arange(7)

    same, others = compared(events, same_users=True), compared(events)
    assert same.tests(users).tolist() == [False, True, False, True, False, False, False]
    assert same.trains(users).tolist() == [True, False, True, False, True, True, True]
    assert others.trains(users).all()


def test_a_query_is_shared_by_two_users_not_by_two_pairs():
    hist = histogram([[5, 1, 0, 1], [0, 0, 2, 1]], queries=[0, 0, 2, 2])

    assert shared_queries(hist).tolist() == [False, False, True]
    assert shared_queries(histogram([[0]])).tolist() == [False]


@given(st.lists(st.integers(0, 3), max_size=12))
def test_groups_are_runs_of_equals(values):
    values = np.array(sorted(values), dtype=np.int64)
    places, groups = nth(values).tolist(), group(values).tolist()

    assert groups == np.unique(values, return_inverse=True)[1].tolist()
    assert places == [int((values[:at] == values[at]).sum()) for at in range(len(values))]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6))
def test_variation_is_a_distance_of_shares(cells):
    before, after = np.array(cells).T
    found = variation(before, after)

    if not (before.any() and after.any()):
        assert found is None
        return
    assert 0 <= found <= 1 + 1e-12
    assert found == pytest.approx(variation(after, before))
    assert variation(before, 3 * before) == 0
    # The largest difference of the chance of any set of cells.
    gain = after / after.sum() - before / before.sum()
    assert found == pytest.approx(gain[gain > 0].sum(), abs=1e-12)
