"""sips: rounds of the weighted Gaussian, each on what is not selected yet (Swanberg et al. 2023).

A later round has more of the budget: popular pairs need little of it, and stop taking weight.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.dp.accounting import Gaussian, variance
from slogan.dp.noise import floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import CLOSED, GRID, MOST, capped, spread, threshold
from slogan.dp.sums import AnyHistogram
from slogan.randomness import Randomness

SHARES = (Fraction(1, 13), Fraction(3, 13), Fraction(9, 13))


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Select, close what is selected, and let users spread their weight over the rest."""
    chosen = capped(hist, rng)
    held = np.flatnonzero(chosen.held)
    halvings = np.zeros(hist.pairs, dtype=np.int8)
    stages: list[Gaussian] = []
    for number, share in enumerate(SHARES, start=1):
        square = variance(budget.mu_squared * share, norm_squared=1)
        slack = budget.delta * share
        level = threshold(MOST, variance=square, delta=slack, extra=Fraction(0))
        weight = spread(chosen, halvings)
        noisy = weight[held] + floored_gaussian(len(held), rng, variance=square, grid=GRID)
        halvings[held[noisy > level]] = CLOSED
        stage = Gaussian(name=f"selection {number}", norm_squared=1, variance=square, slack=slack)
        stages.append(stage)
    return Selected(pairs=np.flatnonzero(halvings == CLOSED), stages=tuple(stages))
