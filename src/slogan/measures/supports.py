"""Size of the release, and how well pairs keep their supports: distances, precision, recall."""

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from slogan.arrays import Flags
from slogan.measures import Headline, Measure, Task, Totals


@dataclass(frozen=True, slots=True)
class Size:
    """|O|, and its share of |D| (the paper's section 6.2)."""

    size: int
    size_ratio: float


SIZE = Measure[Size](
    name="size",
    order=10,
    take=lambda c: Size(c.output.clicks, c.totals.size_after / max(1, c.totals.size_before)),
    fields=asdict,
    headlines=(
        Headline("Clicks released", lambda r: r.size, ",d"),
        Headline("Clicks kept", lambda r: r.size_ratio, ".2%"),
    ),
)


@dataclass(frozen=True, slots=True)
class SupportDistance:
    """[eq. 5] Σ |x_ij/|O| − c_ij/|D|| over some pairs of D, and its average."""

    sum_support_distance: float
    average_support_distance: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentSupports:
    """Frequent pairs at one minimum support [eq. 9]; None stands for 0/0."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Supports:
    """Frequent pairs at every minimum support, and all pairs of D."""

    frequent: tuple[FrequentSupports, ...]
    all_pairs: SupportDistance

    @property
    def first(self) -> FrequentSupports:
        """At the first minimum support, that of the headlines."""
        return self.frequent[0]


def support_distance(totals: Totals, pairs: Flags | None = None) -> SupportDistance:
    """The distance over the given pairs of D; over all of them if none are given."""
    counted = totals.before > 0 if pairs is None else pairs
    apart = np.abs(totals.supports_after[counted] - totals.supports_before[counted])
    total = float(apart.sum())
    return SupportDistance(total, total / len(apart) if len(apart) else None)


def frequent_pairs(totals: Totals, min_support: Fraction) -> FrequentSupports:
    """Which frequent pairs are still frequent, and how far their supports moved."""
    before, after = totals.frequent_before(min_support), totals.frequent_after(min_support)
    n_before, n_after, kept = (int(np.count_nonzero(a)) for a in (before, after, before & after))
    return FrequentSupports(
        min_support=str(min_support),
        frequent_before=n_before,
        frequent_after=n_after,
        precision=kept / n_after if n_after else None,
        recall=kept / n_before if n_before else None,
        **asdict(support_distance(totals, before)),
    )


def _worse(precision: float | None, recall: float | None) -> float | None:
    """The lower of the two; a release without frequent pairs has recall 0 and no precision."""
    return recall if precision is None or recall is None else min(precision, recall)


def _fields(result: Supports) -> dict[str, Any]:
    at_top = ("precision", "recall", "sum_support_distance", "average_support_distance")
    return {
        **{name: getattr(result.first, name) for name in at_top},
        "frequent_pairs": [asdict(one) for one in result.frequent],
        "all_pairs": asdict(result.all_pairs),
    }


SUPPORTS = Measure[Supports](
    name="supports",
    order=20,
    take=lambda c: Supports(
        frequent=tuple(frequent_pairs(c.totals, support) for support in c.supports),
        all_pairs=support_distance(c.totals),
    ),
    fields=_fields,
    headlines=(
        Headline(
            "Frequent pairs that are right (precision)",
            lambda r: r.first.precision,
            ".3f",
            "higher",
            "Popular searches",
        ),
        Headline(
            "Frequent pairs found (recall)",
            lambda r: r.first.recall,
            ".3f",
            "higher",
            "Popular searches",
            Task(
                name="listing the frequent pairs",
                good=0.8,
                poor=0.5,
                evidence="the lower of precision and recall is {:.0%}",
                value=lambda r: _worse(r.first.precision, r.first.recall),
            ),
        ),
        Headline(
            "Share errors, frequent pairs (0 = same)",
            lambda r: r.first.sum_support_distance,
            ".4f",
            "lower",
            "Shares of clicks",
        ),
        Headline(
            "Share errors, all pairs (0 = same)",
            lambda r: r.all_pairs.sum_support_distance,
            ".4f",
            "lower",
            "Shares of clicks",
            Task(
                name="estimating the share of each pair",
                good=0.2,
                poor=0.6,
                evidence="the errors of all shares add up to {:.0%}",
                value=lambda r: r.all_pairs.sum_support_distance,
            ),
        ),
    ),
)
