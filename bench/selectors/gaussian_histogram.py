"""gaussian_histogram: a threshold before the noise and one after it (ZEALOUS, Götz et al. 2012)."""

from __future__ import annotations

import numpy as np

from slogan.dp.accounting import Gaussian, variance
from slogan.dp.noise import floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import GRID, capped, quantile, root_up, steps_up
from slogan.dp.sums import AnyHistogram
from slogan.randomness import Randomness

MOST = 20
"""For how many pairs a user may speak; the noise grows with its root."""

FIRST = 2
"""Pairs of fewer users are not looked at."""


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Count the users of each pair, drop small counts, add noise, keep what exceeds the second."""
    square = variance(budget.mu_squared, norm_squared=MOST)
    second = steps_up(FIRST + root_up(square) * quantile(budget.delta, MOST))
    chosen = capped(hist, rng, MOST)
    held = np.flatnonzero(chosen.speakers >= FIRST)
    noise = floored_gaussian(len(held), rng, variance=square, grid=GRID)
    noisy = chosen.speakers[held] * GRID.denominator + noise
    stage = Gaussian(name="selection", norm_squared=MOST, variance=square, slack=budget.delta)
    return Selected(pairs=held[noisy > second], stages=(stage,))
