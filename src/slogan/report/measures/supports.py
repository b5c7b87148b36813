"""How well pairs keep their supports: support distances [eq. 5], precision and recall [eq. 9]."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Flags
from slogan.report.measures.totals import Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportDistance:
    """Σ |x_ij/|O| − c_ij/|D|| over some pairs of D, and its average."""

    sum_support_distance: float
    average_support_distance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentPairs:
    """Frequent pairs at one minimum support; None stands for 0/0."""

    min_support: str
    frequent_before: int
    """|S₀|."""
    frequent_after: int
    """|S|."""
    precision: float | None
    """|S₀ ∩ S| / |S|."""
    recall: float | None
    """|S₀ ∩ S| / |S₀|."""
    sum_support_distance: float
    average_support_distance: float | None


def support_distance(totals: Totals, pairs: Flags | None = None) -> SupportDistance:
    """The distance over the given pairs of D; over all of them if none are given."""
    chosen = totals.before > 0 if pairs is None else pairs
    apart = np.abs(totals.supports_after[chosen] - totals.supports_before[chosen])
    total = float(apart.sum())
    return SupportDistance(
        sum_support_distance=total,
        average_support_distance=total / len(apart) if len(apart) else None,
    )


def frequent_pairs(totals: Totals, min_support: Fraction) -> FrequentPairs:
    """Which frequent pairs are still frequent, and how far their supports moved."""
    before, after = totals.frequent_before(min_support), totals.frequent_after(min_support)
    kept = int(np.count_nonzero(before & after))
    n_before, n_after = int(np.count_nonzero(before)), int(np.count_nonzero(after))
    distance = support_distance(totals, before)
    return FrequentPairs(
        min_support=str(min_support),
        frequent_before=n_before,
        frequent_after=n_after,
        precision=kept / n_after if n_after else None,
        recall=kept / n_before if n_before else None,
        sum_support_distance=distance.sum_support_distance,
        average_support_distance=distance.average_support_distance,
    )
