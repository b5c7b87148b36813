"""Sums over users on a grid of integers, and the one place where they get their noise.

A user's part of a sum is rounded toward zero, so a norm that holds for real numbers holds here.
Proofs: docs/proofs/counts.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.accounting import GRID, variance
from slogan.dp.mechanisms import Gaussian
from slogan.dp.noise import floored_gaussian
from slogan.randomness import Randomness

BITS = GRID.denominator.bit_length() - 1
_STEP = 9  # a remainder below 2^53, shifted by so many bits, still fits


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySums:
    """Sums over users plus noise, in steps of the grid, and the stage that accounts for them."""

    steps: Ints
    stage: Gaussian

    @property
    def values(self) -> Floats:
        """The sums in their own unit. They are private already: floating point does no harm."""
        return self.steps.astype(np.float64) * float(GRID)


def noisy_sums(
    sums: Ints, *, name: str, norm_squared: int, mu_squared: Fraction, rng: Randomness
) -> NoisySums:
    """Add independent Gaussian noise, rounded down to the grid, to every sum.

    Args:
        sums: In steps of the grid; their length must not depend on the log.
        name: Of the stage.
        norm_squared: The square of the largest L2 norm of what one user adds, in units, not steps.
        mu_squared: What the stage may spend.
        rng: Where the noise comes from.
    """
    square = variance(mu_squared, norm_squared=norm_squared)
    noise = floored_gaussian(len(sums), rng, variance=square, grid=GRID)
    stage = Gaussian(name=name, norm_squared=norm_squared, variance=square)
    return NoisySums(steps=sums + noise, stage=stage)


def quotients(above: Ints, below: Ints, *, bits: int) -> Ints:
    """⌊above · 2^bits / below⌋ in 64 bits, by long division.

    Needs 0 ≤ above < 2^62 and 0 < below ≤ 2^53, and a result below 2^62.
    """
    found, rest = np.divmod(above, below)
    while bits:
        step = min(bits, _STEP)
        digit, rest = np.divmod(rest << step, below)
        found = (found << step) + digit
        bits -= step
    return found


def roots(square: Ints) -> Ints:
    """⌊√square⌋ for 0 ≤ square < 2^52: a guess in floating point, corrected in integers."""
    root = np.sqrt(square).astype(np.int64)
    root -= root * root > square
    return root + ((root + 1) * (root + 1) <= square)
