"""Noise and thresholds as integers: multiples of the grid 2^-20."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from slogan.dp.curves import normal_quantile

BITS = 20
GRID = Fraction(1, 1 << BITS)


def steps_up(number: Fraction) -> int:
    """The number in steps of the grid, rounded up."""
    return math.ceil(number / GRID)


def root_up(square: Fraction) -> Fraction:
    """√square for square > 0, rounded up to a multiple of 2^-40."""
    return Fraction(math.isqrt(math.ceil(square * (1 << 80)) - 1) + 1, 1 << 40)


@cache
def quantile(delta: Fraction, pairs: int) -> Fraction:
    """A z that one of so many standard normal variables exceeds with probability ≤ delta."""
    return normal_quantile(delta / pairs)


@cache
def threshold(most: int, *, variance: Fraction, delta: Fraction, extra: Fraction) -> int:
    """A level, in steps of the grid, that pairs of one user alone exceed with probability ≤ delta.

    The user has t of them, 1 ≤ t ≤ most, and gave each a weight of at most 1/√t + extra/t.
    """
    scale = root_up(variance)
    return max(
        steps_up(root_up(Fraction(1, t)) + extra / t + scale * quantile(delta, t))
        for t in range(1, most + 1)
    )
