"""Comparison: a log D and one output O, numbered alike, and what several measures need of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import PairHistogram
from slogan.measures._cooccurrence import CoOccurrence, HitRate, hit_rate
from slogan.randomness import Randomness, uniform_below


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Clicks of each pair in D and in O. A pair without a click in D is not a pair of D."""

    before: Ints
    """c_ij."""
    after: Ints
    """x_ij."""
    query: Ints
    coverage: Fraction = Fraction(1)
    """κ: the share of the log's clicks that the released pairs stand for, where it is published."""

    @classmethod
    def of(
        cls, original: PairHistogram, released: PairHistogram, coverage: Fraction | None
    ) -> Totals:
        """The paper's D has no unique pair; with a published coverage D is the whole log."""
        if coverage is not None:
            return cls(
                before=original.pair_total,
                after=released.pair_total,
                query=original.query,
                coverage=coverage,
            )
        unique = original.holders == 1
        return cls(
            before=np.where(unique, 0, original.pair_total),
            after=np.where(unique, 0, released.pair_total),
            query=original.query,
        )

    @property
    def size_before(self) -> int:
        """|D|."""
        return int(self.before.sum())

    @property
    def size_after(self) -> int:
        """|O|."""
        return int(self.after.sum())

    @property
    def supports_before(self) -> Floats:
        """c_ij / |D|."""
        return self.before / max(1, self.size_before)

    @property
    def supports_after(self) -> Floats:
        """x_ij / |O|, times κ."""
        share: Floats = self.after / max(1, self.size_after)
        return share * float(self.coverage)

    def frequent_before(self, min_support: Fraction) -> Flags:
        """S₀: the pairs of D with c_ij / |D| ≥ s."""
        return self.before >= _least_clicks(min_support * self.size_before)

    def frequent_after(self, min_support: Fraction) -> Flags:
        """S: the pairs of O with κ·x_ij / |O| ≥ s."""
        if not self.coverage:
            return np.zeros(len(self.after), dtype=np.bool_)
        return self.after >= _least_clicks(min_support * self.size_after / self.coverage)


def _least_clicks(clicks: Fraction) -> int:
    """The fewest clicks that reach a support; a pair without any is never frequent."""
    return max(1, math.ceil(clicks))


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
        )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One output beside the log: what every measure is given."""

    reference: Reference
    output: PairHistogram
    """What was released, or the yardstick, numbered as the log."""
    supports: tuple[Fraction, ...]
    """Minimum supports; the first is that of the headlines and of the triplets."""
    coverage: Fraction | None
    """The published κ, if the release has one: supports are then of the whole log."""
    same_users: bool
    """Whether a user number means the same person in both."""
    samples: Iterable[PairHistogram] | None
    """Outputs whose triplets are compared, for one reading; None if no triplet can be."""

    @property
    def log(self) -> PairHistogram:
        """D, the whole log."""
        return self.reference.log

    @cached_property
    def totals(self) -> Totals:
        """c_ij and x_ij as the paper's measures take them."""
        return Totals.of(self.log, self.output, self.coverage)

    @cached_property
    def pairs(self) -> CoOccurrence:
        """Which pairs the users of the output hold together."""
        return CoOccurrence.learn(self.output)

    @cached_property
    def queries(self) -> CoOccurrence:
        """Which queries the users of the output hold together."""
        return CoOccurrence.learn(queries_of(self.output))


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


def random_sample(hist: PairHistogram, clicks: int, rng: Randomness) -> PairHistogram:
    """The yardstick: clicks drawn without replacement, each as likely as any other.

    It protects nobody.
    """
    clicks = min(clicks, hist.clicks)
    # The smaller part is drawn: what is taken, or what is left.
    few = min(clicks, hist.clicks - clicks)
    last_click = np.cumsum(hist.count)
    row = np.searchsorted(last_click, _distinct_below(hist.clicks, few, rng), side="right")
    drawn = np.bincount(row, minlength=len(hist.count)).astype(np.int64)
    count = drawn if few == clicks else hist.count - drawn
    positive = count > 0
    return replace(hist, user=hist.user[positive], pair=hist.pair[positive], count=count[positive])


def _distinct_below(bound: int, n: int, rng: Randomness) -> Ints:
    """Any n different integers below the bound, each set as likely as any other."""
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n:
        more = uniform_below(np.full(n - len(drawn), bound, dtype=np.int64), rng)
        drawn = np.unique(np.concatenate([drawn, more]))
    return drawn
