"""Totals: c_ij and x_ij side by side, and the size that their supports are shares of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import PairHistogram


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Clicks of each pair in D and in O. A pair with no click before is no pair of D."""

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
        return self.before >= _least(min_support * self.size_before)

    def frequent_after(self, min_support: Fraction) -> Flags:
        """S: the pairs of O with κ·x_ij / |O| ≥ s."""
        if not self.coverage:
            return np.zeros(len(self.after), dtype=np.bool_)
        return self.after >= _least(min_support * self.size_after / self.coverage)


def _least(clicks: Fraction) -> int:
    """The fewest clicks that reach a support; a pair without any is never frequent."""
    return max(1, math.ceil(clicks))
