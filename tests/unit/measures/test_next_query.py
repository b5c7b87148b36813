"""The next query, against counting with dictionaries."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import events_of
from tests.unit.measures.test_events import compared

from slogan.measures import next_query as module
from slogan.measures.next_query import next_query, transitions

QUERIES = 14
walks = st.lists(st.lists(st.integers(-1, QUERIES - 1), max_size=6), max_size=6)


def log_of(sessions, first=0):
    """Each session is a user's, one search a minute; -1 is an unknown query."""
    rows = [
        (first + user, 60 * n, -1, 0, query)
        for user, walk in enumerate(sessions)
        for n, query in enumerate(walk)
    ]
    return events_of(rows)


def steps_of(sessions):
    return [
        (user, before, after)
        for user, walk in enumerate(sessions)
        for before, after in pairwise(walk)
        if min(before, after) >= 0 and before != after
    ]


def suggested(steps, query):
    popularity = Counter(after for _, _, after in steps)
    follows = Counter(after for _, before, after in steps if before == query)
    popular = sorted(popularity, key=lambda one: (-popularity[one], one))
    own = sorted(follows, key=lambda one: (-follows[one], -popularity[one], one))[:10]
    more = [one for one in popular if one != query and one not in own]
    return (own + more)[:10], [one for one in popular if one != query][:10]


@given(walks, walks)
def test_hits_are_those_of_counting(log, output):
    both = compared(log_of(log), log_of(output), queries=QUERIES, query=range(QUERIES))
    if not (any(log) and any(output)):
        assert next_query(both) is None
        return
    found = next_query(both)
    trains = [step for step in steps_of(log) if step[0] % 2 == 0]
    tests = [step for step in steps_of(log) if step[0] % 2 == 1]
    if not tests:
        assert found is None
        return
    released = steps_of(output)
    hits = np.zeros(3)
    for _, before, after in tests:
        hits += [
            after in suggested(released, before)[0],
            after in suggested(trains, before)[0],
            after in suggested(released, before)[1],
        ]
    assert found.tested == len(tests)
    assert [
        found.hit_at_10,
        found.hit_at_10_of_original,
        found.hit_at_10_of_popularity,
    ] == pytest.approx((hits / len(tests)).tolist())


def test_queries_of_one_user_only_are_not_tested():
    both = compared(log_of([[0, 1], [0, 1, 2]]), queries=3, query=(0, 1, 2))
    both.shared[2] = False

    assert next_query(both).tested == 1


def test_a_release_like_the_log_suggests_as_the_log_does_and_a_shuffled_one_does_not():
    """Each query is followed by one of three; there are sixty."""
    draw = np.random.default_rng(1)

    def sessions(users, follows):
        walks = []
        for _ in range(users):
            query, walk = int(draw.integers(60)), []
            for _ in range(5):
                walk.append(query)
                query = int(draw.choice(follows[query]))
            walks.append(walk)
        return walks

    follows = {query: [(query + step) % 60 for step in (1, 7, 12)] for query in range(60)}
    others = {query: [(query + step) % 60 for step in (3, 20, 33)] for query in range(60)}
    log = log_of(sessions(400, follows))
    good, bad, own = (
        next_query(compared(log, one, queries=60, query=range(60), same_users=one is log))
        for one in (log_of(sessions(400, follows)), log_of(sessions(400, others)), log)
    )

    assert own.hit_at_10 == own.hit_at_10_of_original
    assert good.hit_at_10 > 0.95
    assert bad.hit_at_10 < 0.3
    assert good.hit_at_10_of_popularity < 0.4


def test_many_searches_are_tested_evenly(monkeypatch):
    monkeypatch.setattr(module, "_MOST_TESTED", 10)
    log = log_of([[n % 5, (n + 1) % 5] for n in range(200)])

    assert next_query(compared(log, queries=5, query=range(5))).tested == 10


def test_a_query_has_few_successors_in_memory():
    query = np.zeros(40, dtype=np.int64)
    found = transitions(query, np.arange(40) % 30 + 1, 31)

    assert len(found.following) == 10
    assert found.suggested(0) == list(range(1, 11))
    assert found.suggested(5) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11][:10]
    assert defaultdict(int, enumerate(found.popular.tolist()))[0] == 1
