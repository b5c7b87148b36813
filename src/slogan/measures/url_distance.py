"""How far the urls that are clicked for a query moved: total variation distance by query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.measures import Comparison, Headline, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDistance:
    """½ Σ_j |x_ij/x_i − c_ij/c_i|, averaged over queries weighted by their clicks in the log."""

    all_queries: float | None
    """A query that is not released counts as 1."""
    released_queries: float | None
    """Over queries that are released."""


def url_distance(before: Ints, after: Ints, query: Ints) -> UrlDistance:
    """The distance between what is clicked for a query in the log and in the release."""
    queries = int(query.max(initial=-1)) + 1
    clicks = np.bincount(query, weights=before, minlength=queries)
    shown = np.bincount(query, weights=after, minlength=queries)
    share_before = before / np.maximum(clicks, 1)[query]
    share_after = after / np.maximum(shown, 1)[query]
    apart = np.bincount(query, weights=np.abs(share_after - share_before), minlength=queries) / 2
    apart[shown == 0] = 1.0
    released = (shown > 0) & (clicks > 0)
    return UrlDistance(
        all_queries=float(apart @ clicks / clicks.sum()) if clicks.sum() else None,
        released_queries=(
            float(apart[released] @ clicks[released] / clicks[released].sum())
            if released.any()
            else None
        ),
    )


def _take(comparison: Comparison) -> UrlDistance:
    log = comparison.log
    return url_distance(log.pair_total, comparison.output.pair_total, log.query)


MEASURE = Measure[UrlDistance](
    name="url_distance",
    order=60,
    take=_take,
    headlines=(Headline("Urls of a query: distance", lambda r: r.released_queries, ".3f", "less"),),
)
