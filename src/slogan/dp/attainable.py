"""Π: how many pairs of a log any method with the same guarantee can release on average.

It is computed from the raw log: for the curator only. Proof: docs/proofs/attainable.md.
"""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget, exact
from slogan.dp import intervals
from slogan.dp.intervals import enclose, quotient_up
from slogan.dp.sums import AnyHistogram
from slogan.histogram import PairHistogram

_BITS = 128
"""Probabilities are rounded up to multiples of about δ/2^128."""


def most_pairs(hist: AnyHistogram, budget: PrivacyBudget) -> Fraction:
    """At most this many pairs can be released on average, rounded up. Not private."""
    pairs = pairs_by_holders(hist)
    unit = 1 << (_BITS + exact(budget.delta).denominator.bit_length())
    chances = _chances(budget, unit)
    total = chance = 0
    for n in range(1, len(pairs)):
        if chance < unit:
            chance = next(chances)
        total += int(pairs[n]) * chance
    return Fraction(total, unit)


def pairs_by_holders(hist: AnyHistogram) -> Ints:
    """How many pairs have n holders, for n = 0, 1, … Not private."""
    if not isinstance(hist, PairHistogram):
        return hist.pairs_by_holders()
    return np.bincount(hist.holders)


def _chances(budget: PrivacyBudget, unit: int) -> Iterator[int]:
    """π(1), π(2), … in this unit, rounded up.

    π(n) = min(e^ε π(n−1) + δ, 1 − e^−ε (1 − π(n−1) − δ), 1).
    """
    above = _likelihood_at_most(budget)
    delta = quotient_up(exact(budget.delta).numerator * unit, exact(budget.delta).denominator)
    chance = 0
    while True:
        rest = max(unit - chance - delta, 0)
        chance = min(math.ceil(above * chance) + delta, unit - math.floor(rest / above), unit)
        yield chance


def _likelihood_at_most(budget: PrivacyBudget) -> Fraction:
    """e^ε, or slightly more."""
    if budget.exp_epsilon is not None:
        return exact(budget.exp_epsilon)
    return Fraction(intervals.exp(enclose(exact(budget.epsilon or 0))).high)
