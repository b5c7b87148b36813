"""Exact noise on integers: Gaussian rounded down, discrete Laplace, Poisson.

`Inversion` draws from a law whose masses are enclosed as closely as a draw needs. `Strips` draws
from a density whose logarithm falls like a line or a square (`Decay`), on both sides of 0. Random
digits are used as they are needed, so no probability is ever rounded. Proof: docs/proofs/noise.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from itertools import accumulate

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.intervals import exp_enclosure, quotient_up, shifted_up
from slogan.errors import NoiseError
from slogan.randomness import Randomness, Words

Rational = int | Fraction
_LARGEST_SCALE = 2**48
_LARGEST_RATE = 10**8

# A point starts with 63 digits: the bits of a word but one, which is the sign.
_FIRST_DIGITS = 63
_GUARD = 64
_LEFT_OUT = 48

# The limits of `fall`: steeper shapes and farther strips would not fit in 64 bits.
STEEPEST_LINEAR = Fraction(1, 2**7)
STEEPEST_SQUARE = Fraction(1, 2**15)
STRIPS = 2**12

# The error of `fall`, in its unit.
FALL_ERROR = 4
_DRAWS_AT_ONCE = 2**16
_FARTHEST_STRIP = 2**20
_SPARE_BITS = 8


def floored_gaussian(
    n: int, rng: Randomness, *, variance: Rational, grid: Rational = Fraction(1)
) -> Ints:
    """Draw n independent ⌊N / grid⌋, where N is a true Gaussian of mean 0 and this variance.

    For w on the grid, w + grid·⌊N/grid⌋ = grid·⌊(w + N)/grid⌋, which is computed from w + N alone:
    the Gaussian mechanism's guarantee holds as it stands. Proof: docs/proofs/noise.md.
    """
    square = _positive(variance, "variance") / _positive(grid, "grid") ** 2
    _within_reach(square, _LARGEST_SCALE**2, "variance / grid²")
    return _gaussian(square).draw(n, rng)


def discrete_laplace(n: int, rng: Randomness, *, scale: Rational) -> Ints:
    """Draw n independent integers k with probability ∝ e^(−|k| / scale)."""
    width = _positive(scale, "scale")
    _within_reach(width, _LARGEST_SCALE, "scale")
    return _laplace(width).draw(n, rng)


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
    k − 1 is that of k times k/rate, at most 1 below it. Both ratios decrease outward, so the mass
    outside the window is at most a geometric series. No exponential is needed.
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
    # a float would differ from the accounted number
    if not isinstance(number, int | Fraction):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise NoiseError(
            f"the {name} of noise must be an int or a Fraction, got {type(number).__name__}",
            hint="write Fraction(1, 10) or slogan.budget.exact('0.1')",
        )
    if number <= 0:
        raise NoiseError(
            f"the {name} of noise must be positive, got {number}",
            hint="without noise there is no privacy",
        )
    return Fraction(number)


def _within_reach(number: Fraction, largest: int, name: str) -> None:
    if not Fraction(1, largest) <= number <= largest:
        raise NoiseError(
            f"{name} must lie between 1/{largest} and {largest}, got about {float(number):.4g}",
            hint="choose another grid: noise must fit in 64 bits, and not vanish",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Masses of first, first + 1, …, up to a common factor: low[i] ≤ mass ≤ high[i].

    `before` and `after` are at least the masses of everything below and above the window.
    """

    first: int
    low: list[int]
    high: list[int]
    before: int
    after: int


# The window that holds all but about 2^−bits of the mass, each mass known to about 2^−bits.
Law = Callable[[int], Window]


class Inversion:
    """Draws the k with F(k − 1) ≤ U < F(k), for a uniform real U whose digits come as needed.

    F is known between integers low and high in units of 2^−digits. If the known digits of U leave
    a doubt, U gets more of them and F is enclosed more closely. Proof: docs/proofs/noise.md.
    """

    def __init__(self, law: Law) -> None:
        self._law = law
        self._first, low, high = _edges(law, _FIRST_DIGITS)
        # Beyond the last edge, 0 makes every point doubtful.
        self._low = np.array([*low, 0], dtype=np.int64)
        self._high = np.array(high, dtype=np.int64)

    def draw(self, word: Words, rng: Randomness) -> Ints:
        """One integer from the upper 63 bits of each word; more words where these do not decide."""
        point = (word >> 1).astype(np.int64)
        place = np.searchsorted(self._high, point, side="right").astype(np.int64)
        doubtful = np.flatnonzero(point >= self._low[place])
        drawn = place + self._first
        for i in doubtful.tolist():
            drawn[i] = self._settled(int(point[i]), rng)
        return drawn

    def _settled(self, point: int, rng: Randomness) -> int:
        digits = _FIRST_DIGITS
        while True:
            digits, point = digits + 64, point << 64 | int(rng.words(1)[0])
            first, low, high = _edges(self._law, digits)
            place = bisect_right(high, point)
            if place < len(low) and point < low[place]:
                return first + place


def _edges(law: Law, digits: int) -> tuple[int, list[int], list[int]]:
    """(k, low, high) with low[i] ≤ 2^digits · F(k + i) ≤ high[i]; k lies before the window."""
    window = law(digits)
    low = list(accumulate(window.low, initial=0))
    high = list(accumulate(window.high, initial=window.before))
    least, most = low[-1], high[-1] + window.after
    one = 1 << digits
    return (
        window.first - 1,
        [one * mass // most for mass in low],
        [min(quotient_up(one * mass, least), one - 1) for mass in high],
    )


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


@dataclass(frozen=True, kw_only=True)
class Strips:
    """The law ∝ e^−E(|z| / 2^shift), with E that of the decay.

    The half-line is cut into strips of width 2^shift. A strip k is proposed in proportion to the
    density at its inner edge, e^−E(k), a place x in it uniformly, and kept with probability
    e^−(E(k + x) − E(k)). Proof: docs/proofs/noise.md.
    """

    decay: Decay
    shift: int
    lattice: bool
    """Whether z is an integer; otherwise it is real, and its magnitude is rounded down."""

    @cached_property
    def strips(self) -> Inversion:
        """Draws the strip."""
        return Inversion(self.decay.window)

    def draw(self, n: int, rng: Randomness) -> Ints:
        """Draw n independent z, rounded down, each tried again until it is kept."""
        drawn = np.empty(n, dtype=np.int64)
        for first in range(0, n, _DRAWS_AT_ONCE):
            missing = np.arange(first, min(first + _DRAWS_AT_ONCE, n))
            while len(missing):
                magnitude, negative, kept = self.trial(len(missing), rng)
                if self.lattice:  # 0 has two signs and would be drawn twice as often: refuse −0
                    below = -magnitude
                    kept &= ~negative | (magnitude > 0)
                else:  # ⌊−a⌋ = −1 − ⌊a⌋ if a is not an integer, which has probability 1
                    below = -1 - magnitude
                value = np.where(negative, below, magnitude)
                drawn[missing[kept]] = value[kept]
                missing = missing[~kept]
        return drawn

    def trial(self, n: int, rng: Randomness) -> tuple[Ints, Flags, Flags]:
        """Propose n times |z| or ⌊|z|⌋, the sign of z, and whether the proposal is kept."""
        word = rng.words(n)
        strip = self.strips.draw(word, rng)
        negative = (word & 1) == 1
        if self.lattice and self.shift == 0:
            return strip, negative, np.ones(n, dtype=np.bool_)
        fraction = self._places(rng.words(n))
        kept = self._kept(strip, fraction, rng.words(n), rng)
        return self._magnitude(strip, fraction), negative, kept

    def _places(self, word: Words) -> Words:
        """The places x in units of 2^−64: all of x on a lattice, else its first 64 digits."""
        if not self.lattice:
            return word
        unused = np.uint64(64 - self.shift)
        return word >> unused << unused

    def _magnitude(self, strip: Ints, fraction: Words) -> Ints:
        if self.shift <= 0:
            return strip >> -self.shift
        return (strip << self.shift) + (fraction >> (64 - self.shift)).astype(np.int64)

    def _kept(self, strip: Ints, fraction: Words, chance: Words, rng: Randomness) -> Flags:
        """Whether U < e^−t, where t = E(k + x) − E(k) and U begins with the digits of `chance`.

        1 − t ≤ e^−t ≤ 1 − t + t²/2 decides all but about one in 10^5, in units of 2^−32.
        """
        fall = self.decay.fall(strip, fraction)
        u = chance >> 32
        kept = u + fall + (1 + FALL_ERROR) <= 2**32
        refused = u + fall > 2**32 + (fall * fall >> 33)
        doubtful = ~(kept | refused) | (strip >= STRIPS)
        for i in np.flatnonzero(doubtful).tolist():
            kept[i] = self._settled(int(strip[i]), int(fraction[i]), int(chance[i]), rng)
        return kept

    def _settled(self, strip: int, fraction: int, chance: int, rng: Randomness) -> bool:
        """The same decision with as many digits of U, and of x if it is real, as needed."""
        if strip >= _FARTHEST_STRIP:
            raise OverflowError("noise of more than 4,000 scales, which is never drawn in practice")
        digits = 64
        while True:
            nearest = Fraction(fraction, 1 << digits)
            farthest = nearest if self.lattice else Fraction(fraction + 1, 1 << digits)
            low, _ = exp_enclosure(self.decay.power(strip, farthest), digits + _SPARE_BITS)
            _, high = exp_enclosure(self.decay.power(strip, nearest), digits + _SPARE_BITS)
            if (chance + 1) << _SPARE_BITS <= low:
                return True
            if chance << _SPARE_BITS >= high:
                return False
            more, further = (int(word) for word in rng.words(2))
            digits, chance = digits + 64, chance << 64 | more
            fraction = fraction << 64 | (0 if self.lattice else further)
