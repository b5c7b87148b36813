"""laplace_histogram: noisy counts of users above a threshold (Korolova et al. 2009)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from bench.selectors import BudgetWithEpsilon
from slogan.dp import intervals as enclosures
from slogan.dp.accounting import Approximate
from slogan.dp.intervals import UP, enclose
from slogan.dp.noise import discrete_laplace
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import capped
from slogan.dp.sums import AnyHistogram
from slogan.randomness import Randomness

MOST = 1
"""For how many pairs a user may speak. The noise grows with it, so that one is best."""

_ROOT_BITS = 40


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Count the users of each pair, add discrete Laplace noise, keep what exceeds the threshold.

    Without a separate ε, √μ² is spent.
    """
    epsilon = (
        budget.epsilon if isinstance(budget, BudgetWithEpsilon) else root_down(budget.mu_squared)
    )
    scale = MOST / epsilon
    chosen = capped(hist, rng, MOST)
    held = np.flatnonzero(chosen.speakers)
    noisy = chosen.speakers[held] + discrete_laplace(len(held), rng, scale=scale)
    stage = Approximate(name="selection", epsilon=epsilon, delta=budget.delta)
    return Selected(pairs=held[noisy > level(scale, budget.delta)], stages=(stage,))


def level(scale: Fraction, delta: Fraction) -> int:
    """The least K, rounded up, such that one of MOST draws is K or more with probability ≤ delta.

    A draw is K ≥ 1 or more with probability e^(−K/scale) / (1 + e^(−1/scale)).
    """
    both = enclosures.add(enclose(Fraction(1)), enclosures.exp(enclose(-1 / scale)))
    power = enclosures.subtract(enclosures.log(enclose(MOST / delta)), enclosures.log(both))
    return max(1, math.ceil(Fraction(UP.multiply(power.high, enclose(scale).high))))


def root_down(square: Fraction) -> Fraction:
    """√square, rounded down."""
    return Fraction(math.isqrt(int(square * (1 << 2 * _ROOT_BITS))), 1 << _ROOT_BITS)
