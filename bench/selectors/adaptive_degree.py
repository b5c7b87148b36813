"""adaptive_degree: what popular pairs have too much goes back to light users (Chen et al. 2025).

Users with few pairs, at most `DEGREE`, put 1/n of their 1/√n under a rule: of what a pair has above
a cutoff, each giver gets a fixed share back and spreads it over its own pairs. The share is so
small that one user still moves the weights by one unit of L2 norm at most.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.accounting import Gaussian, variance
from slogan.dp.noise import floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._weights import (
    BITS,
    GRID,
    MOST,
    Contributions,
    capped,
    root_up,
    spread,
    threshold,
)
from slogan.dp.sums import AnyHistogram, brought
from slogan.errors import OptionError
from slogan.randomness import Randomness

DEGREE = 6
BACK = Fraction(1, 7)  # ≤ 1 / (2·√DEGREE + 2)
_BEYOND = 4
_WHOLE = math.lcm(*range(1, DEGREE + 1))
_RATIO_BITS = 24
_LARGEST = _WHOLE << 14
_STRAY = Fraction(1, 1 << 10)  # DEGREE · BACK · 2^-_RATIO_BITS · 2^14
_UNITS = _WHOLE**2 * BACK.denominator << _RATIO_BITS
"""Weights are multiples of 1 / _UNITS, so that nothing but ratios is rounded."""
_MOST_USERS = 1 << 24
"""This many users give less than 2^63 / _UNITS to a pair, even if all of them hold it."""


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Weigh pairs by that rule, add noise, keep what exceeds the threshold."""
    if hist.users > _MOST_USERS:
        raise OptionError(
            f"weights of adaptive_degree fit in 64 bits for {_MOST_USERS} users, these are more",
            hint="choose another selector",
        )
    norm_squared = (1 + _STRAY) ** 2
    square = variance(budget.mu_squared, norm_squared=norm_squared)
    level = threshold(MOST, variance=square, delta=budget.delta, extra=BACK) * GRID
    chosen = capped(brought(hist), rng)
    weight = adapted(chosen, math.ceil((level + _BEYOND * root_up(square)) * _WHOLE))
    held = np.flatnonzero(chosen.held)
    grid = Fraction(1, _UNITS)
    noisy = weight[held] + floored_gaussian(len(held), rng, variance=square, grid=grid)
    stage = Gaussian(
        name="selection", norm_squared=norm_squared, variance=square, slack=budget.delta
    )
    return Selected(pairs=held[noisy > math.ceil(level * _UNITS)], stages=(stage,))


def adapted(chosen: Contributions, cutoff: int) -> Ints:
    """The weights by the rule, in units of 1 / _UNITS; the cutoff is in units of 1 / _WHOLE."""
    degree = np.diff(chosen.start)
    light = np.repeat(degree <= DEGREE, degree)
    user, pair = np.repeat(np.arange(len(degree)), degree)[light], chosen.pair[light]
    part = _WHOLE // degree[user]  # 1/n
    given = _sums(part, pair, chosen.pairs)
    # (W − cutoff) / W of what a giver gave comes back; it stops growing at `_LARGEST`
    known = np.minimum(given, _LARGEST)
    ratio = (np.maximum(known - cutoff, 0) << _RATIO_BITS) // np.maximum(known, 1)
    returned = _sums(ratio[pair], user, len(degree))
    back = _sums(part**2 * returned[user], pair, chosen.pairs)
    even = spread(chosen, np.zeros(chosen.pairs, dtype=np.int8))
    above = np.maximum(given - cutoff, 0)
    return even * (_UNITS >> BITS) - above * (_UNITS // _WHOLE) + back


def _sums(value: Ints, place: Ints, places: int) -> Ints:
    total = np.zeros(places, dtype=np.int64)
    np.add.at(total, place, value)
    return total
