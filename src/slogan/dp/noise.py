"""Noise on integers: Gaussian rounded down, discrete Gaussian, discrete Laplace, Poisson; exact."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.decay import STEEPEST_LINEAR, STEEPEST_SQUARE, Decay
from slogan.dp.inversion import Inversion
from slogan.dp.poisson import poisson_window
from slogan.dp.strips import Strips, until_kept
from slogan.errors import NoiseError
from slogan.randomness import Randomness

Rational = int | Fraction

_LARGEST_SCALE = 2**48
_LARGEST_RATE = 10**8


def floored_gaussian(
    n: int, rng: Randomness, *, variance: Rational, grid: Rational = Fraction(1)
) -> Ints:
    """Draw n independent ⌊N / grid⌋, where N is a true Gaussian of mean 0 and this variance.

    For w on the grid, w + grid·⌊N/grid⌋ = grid·⌊(w + N)/grid⌋, which is computed from w + N alone:
    the Gaussian mechanism's guarantee holds as it stands. Proof: docs/proofs/noise.md.
    """
    square = _positive(variance, "variance") / _positive(grid, "grid") ** 2
    _within_reach(square, _LARGEST_SCALE**2, "variance / grid²")
    strips = _gaussian(square, lattice=False)

    def trial(k: int) -> tuple[Ints, Flags]:
        tried = strips.trial(k, rng)
        # ⌊−a⌋ = −1 − ⌊a⌋ for every a that is no integer, which a is with probability 1.
        return np.where(tried.negative, -1 - tried.magnitude, tried.magnitude), tried.kept

    return until_kept(n, trial)


def discrete_gaussian(n: int, rng: Randomness, *, variance: Rational) -> Ints:
    """Draw n independent integers k with probability ∝ e^(−k² / (2·variance)).

    `variance` is the parameter σ² of that formula; the variance itself is a little less.
    """
    square = _positive(variance, "variance")
    _within_reach(square, _LARGEST_SCALE**2, "variance")
    return _on_lattice(n, rng, _gaussian(square, lattice=True))


def discrete_laplace(n: int, rng: Randomness, *, scale: Rational) -> Ints:
    """Draw n independent integers k with probability ∝ e^(−|k| / scale)."""
    width = _positive(scale, "scale")
    _within_reach(width, _LARGEST_SCALE, "scale")
    return _on_lattice(n, rng, _laplace(width))


def poisson(n: int, rng: Randomness, *, rate: Rational) -> Ints:
    """Draw n independent integers k ≥ 0 with probability e^−rate · rate^k / k!."""
    mean = _positive(rate, "rate")
    if mean > _LARGEST_RATE:
        raise NoiseError(
            f"a Poisson rate of {float(mean):.4g} is above {_LARGEST_RATE:.0e}",
            hint="add the draws of several smaller rates: their sum is Poisson too",
        )
    return _poisson(mean).draw(rng.words(n), rng)


def _on_lattice(n: int, rng: Randomness, strips: Strips) -> Ints:
    def trial(k: int) -> tuple[Ints, Flags]:
        tried = strips.trial(k, rng)
        # 0 has two signs and would be drawn twice as often: −0 is tried again.
        twice = tried.negative & (tried.magnitude == 0)
        return np.where(tried.negative, -tried.magnitude, tried.magnitude), tried.kept & ~twice

    return until_kept(n, trial)


@lru_cache(maxsize=64)
def _gaussian(variance: Fraction, *, lattice: bool) -> Strips:
    # the widest strips with square = 4^shift / (2·variance) ≤ STEEPEST_SQUARE
    shift = _log2(2 * variance * STEEPEST_SQUARE) // 2
    shift = max(shift, 0) if lattice else shift
    decay = Decay(square=Fraction(4) ** shift / (2 * variance))
    return Strips(decay=decay, shift=shift, lattice=lattice)


@lru_cache(maxsize=64)
def _laplace(scale: Fraction) -> Strips:
    shift = max(_log2(scale * STEEPEST_LINEAR), 0)
    return Strips(decay=Decay(linear=2**shift / scale), shift=shift, lattice=True)


@lru_cache(maxsize=64)
def _poisson(rate: Fraction) -> Inversion:
    return Inversion(partial(poisson_window, rate))


def _log2(number: Fraction) -> int:
    """The largest s with 2^s ≤ number."""
    s = number.numerator.bit_length() - number.denominator.bit_length()
    return s if Fraction(2) ** s <= number else s - 1


def _positive(number: Rational, name: str) -> Fraction:
    # a float would be another number than the one that was accounted for
    if not isinstance(number, int | Fraction):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NoiseError(
            f"the {name} of noise must be an int or a Fraction, got {type(number).__name__}",
            hint="write Fraction(1, 10) or slogan.privacy.exact('0.1')",
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
