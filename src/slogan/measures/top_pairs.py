"""Whether the most clicked pairs and queries are still the most clicked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from slogan.arrays import Ints
from slogan.measures import Comparison, Headline, Measure

DEPTHS = (10, 100, 1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """For each depth k the share of the k most clicked in D that are among the k of O."""

    pairs: dict[int, float | None]
    queries: dict[int, float | None]


def top_overlap(before: Ints, after: Ints) -> dict[int, float | None]:
    """The shared part of the most clicked, by depth."""
    return {k: _overlap(_top(before, k), _top(after, k)) for k in DEPTHS}


def _by_query(totals: Ints, query: Ints) -> Ints:
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


def _take(comparison: Comparison) -> Top:
    query = comparison.log.query
    before, after = comparison.log.pair_total, comparison.output.pair_total
    return Top(
        pairs=top_overlap(before, after),
        queries=top_overlap(_by_query(before, query), _by_query(after, query)),
    )


def _fields(result: Top) -> dict[str, Any]:
    return {
        "top_pairs": {str(depth): share for depth, share in result.pairs.items()},
        "top_queries": {str(depth): share for depth, share in result.queries.items()},
    }


MEASURE = Measure[Top](
    name="top_pairs",
    order=70,
    take=_take,
    fields=_fields,
    headlines=(Headline("Top 100 pairs kept", lambda r: r.pairs[100], ".1%", "more"),),
)
