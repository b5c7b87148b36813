"""Exact noise on integers: Gaussian rounded down, discrete Laplace, Poisson."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.exact_sampling import (
    STEEPEST_LINEAR,
    STEEPEST_SQUARE,
    Decay,
    Inversion,
    Strips,
    Window,
    until_kept,
)
from slogan.dp.intervals import quotient_up
from slogan.errors import NoiseError
from slogan.randomness import Randomness

Rational = int | Fraction
_LARGEST_SCALE = 2**48
_LARGEST_RATE = 10**8
_GUARD = 64
_LEFT_OUT = 48


def floored_gaussian(
    n: int, rng: Randomness, *, variance: Rational, grid: Rational = Fraction(1)
) -> Ints:
    """Draw n independent ⌊N / grid⌋, where N is a true Gaussian of mean 0 and this variance.

    For w on the grid, w + grid·⌊N/grid⌋ = grid·⌊(w + N)/grid⌋, which is computed from w + N alone:
    the Gaussian mechanism's guarantee holds as it stands. Proof: docs/proofs/noise.md.
    """
    square = _positive(variance, "variance") / _positive(grid, "grid") ** 2
    _within_reach(square, _LARGEST_SCALE**2, "variance / grid²")
    strips = _gaussian(square)

    def trial(k: int) -> tuple[Ints, Flags]:
        tried = strips.trial(k, rng)
        # ⌊−a⌋ = −1 − ⌊a⌋ for every a that is no integer, which a is with probability 1.
        return np.where(tried.negative, -1 - tried.magnitude, tried.magnitude), tried.kept

    return until_kept(n, trial)


def discrete_laplace(n: int, rng: Randomness, *, scale: Rational) -> Ints:
    """Draw n independent integers k with probability ∝ e^(−|k| / scale)."""
    width = _positive(scale, "scale")
    _within_reach(width, _LARGEST_SCALE, "scale")
    strips = _laplace(width)

    def trial(k: int) -> tuple[Ints, Flags]:
        tried = strips.trial(k, rng)
        # 0 has two signs and would be drawn twice as often: −0 is tried again.
        twice = tried.negative & (tried.magnitude == 0)
        return np.where(tried.negative, -tried.magnitude, tried.magnitude), tried.kept & ~twice

    return until_kept(n, trial)


def poisson(n: int, rng: Randomness, *, rate: Rational) -> Ints:
    """Draw n independent integers k ≥ 0 with probability e^−rate · rate^k / k!."""
    mean = _positive(rate, "rate")
    if mean > _LARGEST_RATE:
        raise NoiseError(
            f"a Poisson rate of {float(mean):.4g} is above {_LARGEST_RATE:.0e}",
            hint="add the draws of several smaller rates: their sum is Poisson too",
        )
    return _poisson(mean).draw(rng.words(n), rng)


@lru_cache(maxsize=64)
def _gaussian(variance: Fraction) -> Strips:
    # the widest strips with square = 4^shift / (2·variance) ≤ STEEPEST_SQUARE
    shift = _log2(2 * variance * STEEPEST_SQUARE) // 2
    decay = Decay(square=Fraction(4) ** shift / (2 * variance))
    return Strips(decay=decay, shift=shift, lattice=False)


@lru_cache(maxsize=64)
def _laplace(scale: Fraction) -> Strips:
    shift = max(_log2(scale * STEEPEST_LINEAR), 0)
    return Strips(decay=Decay(linear=2**shift / scale), shift=shift, lattice=True)


@lru_cache(maxsize=64)
def _poisson(rate: Fraction) -> Inversion:
    return Inversion(partial(poisson_window, rate))


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


def _log2(number: Fraction) -> int:
    """The largest s with 2^s ≤ number."""
    s = number.numerator.bit_length() - number.denominator.bit_length()
    return s if Fraction(2) ** s <= number else s - 1


def _positive(number: Rational, name: str) -> Fraction:
    # a float would be another number than the one that was accounted for
    if not isinstance(number, int | Fraction):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NoiseError(
            f"the {name} of noise must be an int or a Fraction, got {type(number).__name__}",
            hint="write Fraction(1, 10) or slogan.budget.exact('0.1')",
        )
    if number <= 0:
        raise NoiseError(
            f"the {name} of noise must be positive, got {number}",
            hint="without noise there is no privacy; an infinite budget is not one either",
        )
    return Fraction(number)


def _within_reach(number: Fraction, largest: int, name: str) -> None:
    if not Fraction(1, largest) <= number <= largest:
        raise NoiseError(
            f"{name} must lie between 1/{largest} and {largest}, got about {float(number):.4g}",
            hint="choose another grid: noise must fit in 64 bits, and be more than none",
        )
