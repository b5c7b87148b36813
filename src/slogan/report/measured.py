"""Measured: everything that is measured of one output beside the log it stands for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from slogan.histogram import PairHistogram
from slogan.report.measures.association import (
    CoOccurrence,
    HitRate,
    LiftDistance,
    agreement,
    hit_rate,
    lift_distance,
)
from slogan.report.measures.bundles import Bundles, bundle_distance, bundles
from slogan.report.measures.click_distribution import UrlDistance, url_distance
from slogan.report.measures.coverage import Part, click_coverage
from slogan.report.measures.diversity import Retained, retained_pairs, retained_queries
from slogan.report.measures.ranking import by_query, top_overlap
from slogan.report.measures.supports import (
    FrequentPairs,
    SupportDistance,
    frequent_pairs,
    support_distance,
)
from slogan.report.measures.totals import Totals
from slogan.report.measures.triplets import DiffRatios, Triplets


@dataclass(frozen=True, kw_only=True)
class Reference:
    """D, and what is learnt from it once for all outputs that are compared with it."""

    log: PairHistogram
    """The whole log, unique pairs included."""
    pairs: CoOccurrence
    queries: CoOccurrence
    pair_hits: HitRate
    """What the log itself predicts of its users."""
    query_hits: HitRate
    bundles: Bundles

    @classmethod
    def of(cls, log: PairHistogram) -> Reference:
        """Learn from a log."""
        pairs, queries = CoOccurrence.learn(log), CoOccurrence.learn(queries_of(log))
        return cls(
            log=log,
            pairs=pairs,
            queries=queries,
            pair_hits=hit_rate(log, pairs, same_users=True),
            query_hits=hit_rate(queries.log, queries, same_users=True),
            bundles=bundles(log),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """What is learnt from an output about items that go together, beside what the log teaches."""

    hit_at_10: float | None
    hit_at_10_of_original: float | None
    hit_at_10_of_popularity: float | None
    """With the popularity of the output's items alone."""
    agreement_at_10: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Every measure of one output. All depend on the log."""

    size: int
    size_ratio: float
    unknown_pairs: int
    """Released pairs that the log does not have."""
    frequent: tuple[FrequentPairs, ...]
    all_pairs: SupportDistance
    pairs: Retained
    queries: Retained
    diff_ratios: DiffRatios | None
    click_coverage: dict[str, Part]
    url_distance: UrlDistance
    top_pairs: dict[int, float | None]
    top_queries: dict[int, float | None]
    bundles: Bundles
    bundle_distance: float | None
    lift: LiftDistance
    also_clicked: Association
    suggestions: Association

    def fields(self) -> dict[str, Any]:
        """The measures by the names of `evaluate --json`; the first support gives the headline."""
        first = self.frequent[0]
        return {
            "size": self.size,
            "size_ratio": self.size_ratio,
            "precision": first.precision,
            "recall": first.recall,
            "sum_support_distance": first.sum_support_distance,
            "average_support_distance": first.average_support_distance,
            "frequent_pairs": [asdict(one) for one in self.frequent],
            "all_pairs": asdict(self.all_pairs),
            "diversity": self.pairs.share,
            "query_diversity": self.queries.share,
            "pairs": asdict(self.pairs),
            "queries": asdict(self.queries),
            "unknown_pairs": self.unknown_pairs,
            "diff_ratio_histogram": None if self.diff_ratios is None else asdict(self.diff_ratios),
            "click_coverage": {name: asdict(part) for name, part in self.click_coverage.items()},
            "url_distance": asdict(self.url_distance),
            "top_pairs": {str(k): share for k, share in self.top_pairs.items()},
            "top_queries": {str(k): share for k, share in self.top_queries.items()},
            "bundles": asdict(self.bundles),
            "bundle_distance": self.bundle_distance,
            "lift": asdict(self.lift),
            "also_clicked": asdict(self.also_clicked),
            "suggestions": asdict(self.suggestions),
        }


def measured(
    reference: Reference,
    output: PairHistogram,
    *,
    supports: tuple[Fraction, ...],
    coverage: Fraction | None,
    same_users: bool,
    samples: Iterable[PairHistogram] | None,
) -> Measured:
    """Take every measure.

    Args:
        reference: The log.
        output: What was released, or the yardstick, numbered as the log.
        supports: Minimum supports; the first is the one that triplets are judged at.
        coverage: The published κ, if the release has one: supports are then of the whole log.
        same_users: Whether a user number means the same person in both.
        samples: Outputs whose triplets are compared; None if no triplet can be.
    """
    log = reference.log
    totals = Totals.of(log, output, coverage)
    before, after = log.pair_total, output.pair_total
    triplets = Triplets.frequent(log, totals, supports[0])
    learnt, suggesting = CoOccurrence.learn(output), CoOccurrence.learn(queries_of(output))
    return Measured(
        size=output.clicks,
        size_ratio=totals.size_after / max(1, totals.size_before),
        unknown_pairs=int(np.count_nonzero((before == 0) & (after > 0))),
        frequent=tuple(frequent_pairs(totals, s) for s in supports),
        all_pairs=support_distance(totals),
        pairs=retained_pairs(totals),
        queries=retained_queries(totals),
        diff_ratios=None if samples is None else triplets.diff_ratios(samples),
        click_coverage=click_coverage(before, after),
        url_distance=url_distance(before, after, log.query),
        top_pairs=top_overlap(before, after),
        top_queries=top_overlap(by_query(before, log.query), by_query(after, log.query)),
        bundles=bundles(output),
        bundle_distance=bundle_distance(log, output),
        lift=lift_distance(reference.pairs, learnt),
        also_clicked=_association(
            reference.pairs, learnt, reference.pair_hits, same_users=same_users
        ),
        suggestions=_association(
            reference.queries, suggesting, reference.query_hits, same_users=same_users
        ),
    )


def _association(
    original: CoOccurrence, model: CoOccurrence, best: HitRate, *, same_users: bool
) -> Association:
    hits = hit_rate(original.log, model, same_users=same_users)
    return Association(
        hit_at_10=hits.share,
        hit_at_10_of_original=best.share,
        hit_at_10_of_popularity=hits.share_of_popularity,
        agreement_at_10=agreement(original, model),
    )


def queries_of(hist: PairHistogram) -> PairHistogram:
    """The same clicks by query: who searched what."""
    queries = int(hist.query.max(initial=-1)) + 1
    return PairHistogram.of_rows(
        user=hist.user,
        pair=hist.query[hist.pair],
        count=hist.count,
        users=hist.users,
        query=np.arange(queries, dtype=np.int64),
    )
