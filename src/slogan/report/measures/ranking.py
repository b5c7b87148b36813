"""Whether the most clicked pairs and queries are still the most clicked."""

from __future__ import annotations

import numpy as np

from slogan.arrays import Ints

DEPTHS = (10, 100, 1_000)


def top_overlap(before: Ints, after: Ints) -> dict[int, float | None]:
    """For each depth k the share of the k most clicked in D that are among the k of O."""
    return {k: _overlap(_top(before, k), _top(after, k)) for k in DEPTHS}


def by_query(totals: Ints, query: Ints) -> Ints:
    """Clicks of each query."""
    clicks = np.zeros(int(query.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(clicks, query, totals)
    return clicks


def _top(clicks: Ints, k: int) -> Ints:
    """The k most clicked; of equals the one that is first by its text."""
    order = np.argsort(-clicks, kind="stable")[:k]
    return order[clicks[order] > 0]


def _overlap(before: Ints, after: Ints) -> float | None:
    return len(np.intersect1d(before, after)) / len(before) if len(before) else None
