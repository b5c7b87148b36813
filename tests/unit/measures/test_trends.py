"""The most clicked pairs of each day, against counting one day at a time."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import events_of

from slogan.measures import trends as module
from slogan.measures.events import Both
from slogan.measures.trends import trends

DAY = 86_400
PAIRS = 5
clicks = st.tuples(st.integers(0, 2), st.integers(-1, PAIRS - 1), st.integers(1, 3))


def log_of(rows):
    return events_of(
        [
            (n, day * DAY + n, pair, max(pair, 0), count)
            for n, (day, pair, count) in enumerate(rows)
        ],
        "user second pair query count",
    )


def top(rows, k):
    total = Counter()
    for _, pair, count in rows:
        if pair >= 0:
            total[pair] += count
    return set(sorted(total, key=lambda pair: (-total[pair], pair))[:k])


@given(st.lists(clicks, max_size=14), st.lists(clicks, max_size=14))
def test_trends_are_those_of_each_day(before, after):
    module.TOP = 2  # so that a few pairs are enough
    try:
        found = trends(Both(log_of(before), log_of(after)), PAIRS)
    finally:
        module.TOP = 10
    days = [day for day in range(3) if top([row for row in before if row[0] == day], 2)]
    if not days:
        assert found is None
        return
    expected = []
    for day in days:
        wanted = top([row for row in before if row[0] == day], 2)
        shown = top([row for row in after if row[0] == day], 2)
        expected.append((len(wanted & shown), len(wanted & top(after, 2)), len(wanted)))
    recall = sum(hits / size for hits, _, size in expected) / len(days)
    always = sum(hits / size for _, hits, size in expected) / len(days)
    assert found.recall_at_10 == pytest.approx(recall)
    assert found.recall_at_10_of_all_days == pytest.approx(always)


def test_a_log_has_its_own_trends_and_other_days_do_not():
    rows = [(day, 20 * day + n, 1) for day in range(3) for n in range(12)]
    shifted = [((day + 1) % 3, pair, count) for day, pair, count in rows]

    assert trends(Both(log_of(rows), log_of(rows)), 60).recall_at_10 == 1
    assert trends(Both(log_of(rows), log_of(shifted)), 60).recall_at_10 == 0
