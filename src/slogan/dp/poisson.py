"""poisson_window(): the masses of a Poisson law, enclosed from its mode outwards."""

from __future__ import annotations

from fractions import Fraction

from slogan.dp.enclosures import quotient_up
from slogan.dp.inversion import Window

_GUARD = 64
_LEFT_OUT = 48


def poisson_window(rate: Fraction, bits: int) -> Window:
    """The masses rate^k / k!, divided by the one of the mode ⌊rate⌋.

    The mass of k + 1 is that of k times rate/(k + 1), at most 1 above the mode, and the mass of
    k − 1 is that of k times k/rate, at most 1 below it. Both ratios shrink on the way out, so what
    lies past the window is at most a geometric series. No exponential is needed.
    """
    mode = int(rate)
    peak = 1 << (bits + _GUARD)
    low, high = [peak], [peak]
    last = mode
    while high[-1] >> _LEFT_OUT:
        last += 1
        _append(low, high, rate / last)
    after = _rest(high[-1], rate / (last + 1))
    first = mode
    # masses below the mode, from the mode downwards
    low_below, high_below = [peak], [peak]
    while first > 0 and high_below[-1] >> _LEFT_OUT:
        _append(low_below, high_below, first / rate)
        first -= 1
    before = _rest(high_below[-1], first / rate) if first else 0
    low, high = low_below[:0:-1] + low, high_below[:0:-1] + high
    return Window(first=first, low=low, high=high, before=before, after=after)


def _append(low: list[int], high: list[int], ratio: Fraction) -> None:
    low.append(low[-1] * ratio.numerator // ratio.denominator)
    high.append(quotient_up(high[-1] * ratio.numerator, ratio.denominator))


def _rest(mass: int, ratio: Fraction) -> int:
    """The sum mass · (ratio + ratio² + …), rounded up."""
    return quotient_up(mass * ratio.numerator, ratio.denominator - ratio.numerator)
