"""policy_gaussian: users in turn give weight only to what still lacks it (Gopi et al. 2020).

The step of a user, towards the cutoff by one unit of L2 norm, brings two states of the weights
never further apart. Rounded weights do, by less than `_STRAY` for as many users as there may be.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.accounting import Gaussian, variance
from slogan.dp.noise import floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import BITS, MOST, Contributions, capped, root_up, threshold
from slogan.dp.sums import AnyHistogram, brought
from slogan.errors import OptionError
from slogan.randomness import Randomness

_FINE_BITS = 40
_FINE_GRID = Fraction(1, 1 << _FINE_BITS)
_MOST_USERS = 1 << 24
_STRAY = Fraction(1, 1 << 10)  # ≥ _MOST_USERS · 4 · √MOST · _FINE_GRID
_BEYOND = 4
"""Weights grow up to the threshold and this many standard deviations beyond."""


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Let users fill up the weights in an order of their coins; add noise, keep what exceeds."""
    if hist.users > _MOST_USERS:
        raise OptionError(
            f"policy_gaussian is exact enough for {_MOST_USERS} users, and these are more",
            hint="choose another selector",
        )
    norm_squared = (1 + _STRAY) ** 2
    square = variance(budget.mu_squared, norm_squared=norm_squared)
    level = threshold(MOST, variance=square, delta=budget.delta, extra=Fraction(0))
    level <<= _FINE_BITS - BITS
    chosen = capped(brought(hist), rng)
    order = np.argsort(rng.words(hist.users), kind="stable")
    weight = filled(chosen, order, level + math.ceil(_BEYOND * root_up(square) / _FINE_GRID))
    held = np.flatnonzero(chosen.held)
    noisy = weight[held] + floored_gaussian(len(held), rng, variance=square, grid=_FINE_GRID)
    stage = Gaussian(
        name="selection", norm_squared=norm_squared, variance=square, slack=budget.delta
    )
    return Selected(pairs=held[noisy > level], stages=(stage,))


def filled(chosen: Contributions, order: Ints, cutoff: int) -> Ints:
    """The weights after every user's step, in steps of the fine grid."""
    weight = [0] * chosen.pairs
    start: list[int] = chosen.start.tolist()
    pair: list[int] = chosen.pair.tolist()
    users: list[int] = order.tolist()
    for user in users:
        pairs = pair[start[user] : start[user + 1]]
        missing = [cutoff - weight[i] for i in pairs]
        norm = math.isqrt(sum(lack * lack for lack in missing)) + 1
        if norm <= 1 << _FINE_BITS:
            steps = missing
        else:
            steps = [(lack << _FINE_BITS) // norm for lack in missing]
        for i, step in zip(pairs, steps, strict=True):
            weight[i] += step
    return np.array(weight, dtype=np.int64)
