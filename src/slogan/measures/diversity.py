"""How many different pairs and queries of D are in O [Hong12, section 6.4]."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slogan.arrays import Flags
from slogan.measures import Comparison, Headline, Measure, Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """How many of how many."""

    kept: int
    of: int

    @property
    def share(self) -> float | None:
        """The retained share; None of nothing."""
        return self.kept / self.of if self.of else None


def retained_pairs(totals: Totals) -> Retained:
    """Pairs of D with a released click."""
    return _retained(totals.before > 0, totals.after > 0)


def retained_queries(totals: Totals) -> Retained:
    """Queries of D with a released click."""
    queries = int(totals.query.max(initial=-1)) + 1
    before = np.bincount(totals.query, weights=totals.before > 0, minlength=queries) > 0
    after = np.bincount(totals.query, weights=totals.after > 0, minlength=queries) > 0
    return _retained(before, after)


def _retained(before: Flags, after: Flags) -> Retained:
    return Retained(kept=int(np.count_nonzero(before & after)), of=int(np.count_nonzero(before)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Retained pairs and queries, and released pairs that the log does not have."""

    pairs: Retained
    queries: Retained
    unknown_pairs: int


def _take(comparison: Comparison) -> Retention:
    before, after = comparison.log.pair_total, comparison.output.pair_total
    return Retention(
        pairs=retained_pairs(comparison.totals),
        queries=retained_queries(comparison.totals),
        unknown_pairs=int(np.count_nonzero((before == 0) & (after > 0))),
    )


def _fields(result: Retention) -> dict[str, Any]:
    return {
        "diversity": result.pairs.share,
        "query_diversity": result.queries.share,
        **asdict(result),
    }


MEASURE = Measure[Retention](
    name="diversity",
    order=30,
    take=_take,
    fields=_fields,
    headlines=(
        Headline("Pairs retained", lambda r: r.pairs.share, ".2%", "more"),
        Headline("Queries retained", lambda r: r.queries.share, ".2%", "more"),
    ),
)
