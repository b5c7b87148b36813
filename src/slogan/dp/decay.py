"""Decay: the shape of a law whose logarithm falls like a line, a square, or their sum."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.enclosures import exp_enclosure, quotient_up, shifted_up
from slogan.dp.inversion import Window
from slogan.randomness import Words

_GUARD = 64
_LEFT_OUT = 48

# What `fall` is made for: steeper shapes and farther strips would not fit in 64 bits.
STEEPEST_LINEAR = Fraction(1, 2**7)
STEEPEST_SQUARE = Fraction(1, 2**15)
STRIPS = 2**12
# By how much `fall` may be short, in its unit.
FALL_ERROR = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay:
    """The shape e^−E(z) with E(z) = linear · z + square · z², z ≥ 0."""

    linear: Fraction = Fraction(0)
    square: Fraction = Fraction(0)

    def power(self, strip: int, x: Fraction) -> Fraction:
        """E(strip + x) − E(strip)."""
        return self.linear * x + self.square * x * (2 * strip + x)

    def fall(self, strip: Ints, fraction: Words) -> Words:
        """`power` for x = fraction / 2^64 in units of 2^−32, rounded down by less than FALL_ERROR.

        Every product below fits in 64 bits for strip < STRIPS and slopes up to the steepest.
        """
        linear = np.uint64(int(self.linear * 2**39))
        square = np.uint64(int(self.square * 2**47))
        # x in units of 2^−32; 2·strip + x in units of 2^−19, then its product with x
        x = fraction >> np.uint64(32)
        y = (strip.astype(np.uint64) << np.uint64(20)) + (fraction >> np.uint64(45))
        product = x * y >> np.uint64(32)
        return (linear * x >> np.uint64(39)) + (square * product >> np.uint64(34))

    def window(self, bits: int) -> Window:
        """The masses e^−E(k) for k = 0, 1, …, each from the one before.

        E(k + 1) − E(k) = linear + square·(2k + 1), so the ratio of neighbours shrinks by the
        factor e^−2·square at each step, and masses past the window fall at least geometrically.
        """
        unit = bits + _GUARD
        ratio_low, ratio_high = exp_enclosure(self.linear + self.square, unit)
        change_low, change_high = exp_enclosure(2 * self.square, unit)
        low, high = [1 << unit], [1 << unit]
        while high[-1] >> _LEFT_OUT:
            low.append(low[-1] * ratio_low >> unit)
            high.append(shifted_up(high[-1] * ratio_high, unit))
            ratio_low = ratio_low * change_low >> unit
            ratio_high = shifted_up(ratio_high * change_high, unit)
        after = quotient_up(high[-1] * ratio_high, (1 << unit) - ratio_high)
        return Window(first=0, low=low, high=high, before=0, after=after)
