"""Any log, any budget: the inputs of the property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from slogan.budget import PrivacyBudget
from slogan.histogram import Events, PairHistogram
from slogan.planning.plan import plan


def histogram(counts: list[list[int]], queries: list[int] | None = None) -> PairHistogram:
    """A histogram from a table of clicks: counts[user][pair]."""
    table = np.array(counts, dtype=np.int64).reshape(len(counts), -1)
    user, pair = np.nonzero(table)
    return PairHistogram(
        user=user.astype(np.int64),
        pair=pair.astype(np.int64),
        count=table[user, pair],
        users=table.shape[0],
        pairs=table.shape[1],
        query=np.array(queries or range(table.shape[1]), dtype=np.int64),
    )


def events_of(
    rows: list[tuple[int, ...]],
    names: str = "user second pair rank query",
    *,
    users: int | None = None,
    days: int = 7,
    weekday: int = 2,
) -> Events:
    """Events from rows of numbers, in the order of `Events`; columns without a name are None."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(names.split()))
    columns = dict(zip(names.split(), table.T, strict=True))
    count = columns.get("count", np.ones(len(rows), dtype=np.int64))
    filled = {**columns, "count": count}
    keys = [filled[name] for name in _ORDER_OF_EVENTS if name in filled]
    order = np.lexsort(keys[::-1]) if rows else np.zeros(0, dtype=np.int64)
    narrow = {
        name: columns[name][order].astype(np.int32) if name in columns else None
        for name in ("second", "rank", "session")
    }
    return Events(
        **{name: filled[name][order] for name in ("user", "pair", "query", "count")},
        **narrow,
        users=users or int(filled["user"].max(initial=-1)) + 1,
        days=days,
        weekday=weekday,
    )


_ORDER_OF_EVENTS = ("user", "second", "pair", "rank", "session", "query", "count")


@st.composite
def histograms(draw, *, users=(1, 6), pairs=(1, 6), clicks=9):
    """Any small log, unique pairs and idle users included."""
    m = draw(st.integers(*users))
    n = draw(st.integers(*pairs))
    cell = st.one_of(st.just(0), st.integers(0, clicks))
    table = draw(st.lists(st.lists(cell, min_size=n, max_size=n), min_size=m, max_size=m))
    queries = draw(st.lists(st.integers(0, max(1, n // 2)), min_size=n, max_size=n))
    return histogram(table, queries)


def shared_histograms(**sizes):
    """Logs after preprocessing, with at least one shared pair."""
    return histograms(**sizes).map(lambda h: h.without_unique_pairs()).filter(lambda h: h.pairs > 0)


@st.composite
def starts(draw, program):
    """Counts that a program allows."""
    if program.targets is not None:
        return program.targets.start
    tried = draw(st.lists(st.integers(0, 6), min_size=program.pairs, max_size=program.pairs))
    counts = np.minimum(np.array(tried, dtype=np.int64), program.upper)
    if program.at_most_one is not None:
        shown = np.flatnonzero(counts)
        first = shown[np.unique(program.at_most_one[shown], return_index=True)[1]]
        counts[np.setdiff1d(shown, first)] = 0
    return plan(counts, program.constraints).counts


budgets = st.builds(
    lambda ratio, delta: PrivacyBudget(exp_epsilon=ratio, delta=delta),
    st.sampled_from(["1.01", "1.1", "1.4", "3/2", "2", "2.25", "3", "8"]),
    st.sampled_from(["0.01", "0.1", "1/3", "0.5", "0.75", "0.9"]),
)

# What logs really contain, and what breaks readers.
nasty_text = st.one_of(
    st.sampled_from(
        [
            'say "hi"',
            '"',
            "it's",
            "a,b;c|d",
            "😀 emoji",
            "שלום עולם",
            "nul\x00inside",
            "back\\slash",
            "=cmd()",
            "{curly}",
            "NULL",
            "null",
            " lead and trail ",
            "a" * 2_000,
            "été",
            "%s $1 ?",
        ]
    ),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\x1c\x1d\x1e\x1f"),
        min_size=1,
        max_size=20,
    ),
)
