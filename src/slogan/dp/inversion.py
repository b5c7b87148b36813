"""Inversion: integers drawn from a law whose masses are enclosed as closely as a draw needs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from slogan.arrays import Ints
from slogan.dp.enclosures import quotient_up
from slogan.randomness import Randomness, Words

# A point starts with 63 digits: what a word has beside one bit, which is left for a sign.
_FIRST_DIGITS = 63


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
        # Beyond the last edge, 0 says that nothing is certain.
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
