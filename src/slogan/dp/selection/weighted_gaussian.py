"""weighted_gaussian: each user spreads one unit of L2 norm evenly (Gopi et al. 2020)."""

from fractions import Fraction

import numpy as np

from slogan.dp.accounting import Gaussian, variance
from slogan.dp.noise import floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import GRID, MOST, capped, spread, threshold
from slogan.dp.sums import AnyHistogram
from slogan.randomness import Randomness


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Sum up 1/√|C_u| over the users of each pair, add noise, keep what exceeds the threshold."""
    square = variance(budget.mu_squared, norm_squared=1)
    level = threshold(MOST, variance=square, delta=budget.delta, extra=Fraction(0))
    contributions = capped(hist, rng)
    weight = spread(contributions, np.zeros(hist.pairs, dtype=np.int8))
    held = np.flatnonzero(contributions.held)
    noisy = weight[held] + floored_gaussian(len(held), rng, variance=square, grid=GRID)
    stage = Gaussian(name="selection", norm_squared=1, variance=square, slack=budget.delta)
    return Selected(pairs=held[noisy > level], stages=(stage,))
