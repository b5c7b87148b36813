"""fitted: pooled, or the Laplace histogram where a private look says that users have one pair.

For a selection that is all that is ever computed from a log. Beside other stages Gaussian noise
is the better choice whatever users hold, so without an ε of its own it is `pooled`.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from slogan.dp.curves import gaussian_budget
from slogan.dp.mechanisms import Approximate
from slogan.dp.noise import discrete_laplace
from slogan.dp.remote import AnyHistogram, brought
from slogan.dp.selection import Selected, SelectionBudget, laplace_histogram, pooled
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

LOOK = Fraction(1, 100)
"""The share of ε for the look at how many pairs users hold."""


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Select by whichever rule suits; either may spend what the look leaves."""
    if budget.epsilon is None:
        return pooled.select(hist, budget, rng)
    left = budget.epsilon * (1 - LOOK)
    if mostly_single(hist, budget.epsilon * LOOK, rng):
        found = laplace_histogram.select(hist, replace(budget, epsilon=left), rng)
    else:
        found = pooled.select(hist, gaussian_part(budget.epsilon, budget.delta), rng)
    stage = Approximate(name="selection", epsilon=budget.epsilon, delta=budget.delta)
    return Selected(pairs=found.pairs, stages=(stage,))


def gaussian_part(epsilon: Fraction, delta: Fraction) -> SelectionBudget:
    """What `pooled` may spend: no more than is left of ε, nor of what the stage says it costs in ρ.

    With half of δ for the threshold, μ² is as large as (ε − look, δ/2) and ε² − look² allow.
    """
    look, half = epsilon * LOOK, delta / 2
    mu_squared = min(gaussian_budget(epsilon - look, half), epsilon**2 - look**2)
    return SelectionBudget(mu_squared=mu_squared, delta=half)


def mostly_single(hist: AnyHistogram, epsilon: Fraction, rng: Randomness) -> bool:
    """Whether more users seem to hold one pair than several."""
    return lead(brought(hist)) + int(discrete_laplace(1, rng, scale=1 / epsilon)[0]) > 0


def lead(hist: PairHistogram) -> int:
    """How many more users hold one pair than several. Not private; one user moves it by 1."""
    held = np.bincount(hist.user, minlength=hist.users)
    return int(np.count_nonzero(held == 1) - np.count_nonzero(held > 1))
