"""Weights, noise and thresholds as integers: multiples of the grid 2^-20."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np

from slogan.arrays import Ints
from slogan.dp.curves import normal_quantile

BITS = 20
GRID = Fraction(1, 1 << BITS)


@cache
def equal_weights(most: int) -> Ints:
    """w[n] = ⌊2^20 / √n⌋ for n = 1..most, in steps of the grid: n of them have an L2 norm ≤ 1."""
    return np.array([0, *(math.isqrt((1 << 2 * BITS) // n) for n in range(1, most + 1))])


def root_up(square: Fraction) -> Fraction:
    """√square, rounded up to a multiple of 2^-40."""
    return Fraction(math.isqrt(math.ceil(square * (1 << 80)) - 1) + 1, 1 << 40)


@cache
def threshold(most: int, *, variance: Fraction, delta: Fraction) -> int:
    """A level, in steps of the grid, that pairs of one user alone exceed with probability ≤ delta.

    The user has t of them, 1 ≤ t ≤ most, and gave each a weight of at most 1/√t.
    """
    scale = root_up(variance)
    levels = (
        root_up(Fraction(1, t)) + scale * normal_quantile(delta / t) for t in range(1, most + 1)
    )
    return math.ceil(max(levels) / GRID)
