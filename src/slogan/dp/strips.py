"""Strips: exact draws from a decaying density on both sides of 0, as integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.decay import FALL_ERROR, STRIPS, Decay
from slogan.dp.enclosures import exp_enclosure
from slogan.dp.inversion import Inversion
from slogan.randomness import Randomness, Words

_DRAWS_AT_ONCE = 2**16
_FARTHEST_STRIP = 2**20
_GUARD = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Proposals: an integer |z| or ⌊|z|⌋, the sign of z, and whether the proposal is kept."""

    magnitude: Ints
    negative: Flags
    kept: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
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
    strips: Inversion = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strips", Inversion(self.decay.window))

    def trial(self, n: int, rng: Randomness) -> Trial:
        """Make n proposals; those kept have the law, independently."""
        word = rng.words(n)
        strip = self.strips.draw(word, rng)
        negative = (word & 1) == 1
        if self.lattice and self.shift == 0:
            return Trial(magnitude=strip, negative=negative, kept=np.ones(n, dtype=np.bool_))
        fraction = self._places(rng.words(n))
        kept = self._kept(strip, fraction, rng.words(n), rng)
        return Trial(magnitude=self._magnitude(strip, fraction), negative=negative, kept=kept)

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
        """The same decision with as many digits of U, and of x where it has more, as it takes."""
        if strip >= _FARTHEST_STRIP:
            raise OverflowError("noise of more than 4,000 scales, which no computer ever draws")
        digits = 64
        while True:
            nearest = Fraction(fraction, 1 << digits)
            farthest = nearest if self.lattice else Fraction(fraction + 1, 1 << digits)
            low, _ = exp_enclosure(self.decay.power(strip, farthest), digits + _GUARD)
            _, high = exp_enclosure(self.decay.power(strip, nearest), digits + _GUARD)
            if (chance + 1) << _GUARD <= low:
                return True
            if chance << _GUARD >= high:
                return False
            more, further = (int(word) for word in rng.words(2))
            digits, chance = digits + 64, chance << 64 | more
            fraction = fraction << 64 | (0 if self.lattice else further)


def until_kept(n: int, trial: Callable[[int], tuple[Ints, Flags]]) -> Ints:
    """Draw n values of `trial`, each tried again until it is kept."""
    drawn = np.empty(n, dtype=np.int64)
    for first in range(0, n, _DRAWS_AT_ONCE):
        missing = np.arange(first, min(first + _DRAWS_AT_ONCE, n))
        while len(missing):
            value, kept = trial(len(missing))
            drawn[missing[kept]] = value[kept]
            missing = missing[~kept]
    return drawn
