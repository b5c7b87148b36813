"""Parts shared by selectors: contribution bounding, thresholds on a grid, weights of L2 norm 1.

`capped` keeps at most `most` pairs of each user, `spread` divides one unit of L2 norm over them,
and `threshold` is a level that pairs of only one user rarely exceed. All in integers, in
steps of 2^-20.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from slogan.arrays import Flags, Ints
from slogan.dp.accounting import GRID, normal_quantile
from slogan.dp.sums import BITS, AnyHistogram, RemoteContributions, RemoteHistogram
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, Words
from slogan.storage.compilation import compiled

_FIRST = np.uint64(42)
"""The initial value of Spark's xxhash64."""
_A, _B = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F)
_C, _D = np.uint64(0x165667B19E3779F9), np.uint64(0x85EBCA77C2B2AE63)
_E = np.uint64(0x27D4EB2F165667C5)


def tossed(own: Words, nth: Ints) -> Ints:
    """xxhash64(own, nth): the random number of row nth of a user with that word."""
    return _hashed(nth.astype(np.uint64), _hashed(own, _FIRST)).view(np.int64)


def _hashed(number: Words, so_far: Words | np.uint64) -> Words:
    """The hash of one more 64-bit integer."""
    whole = (so_far + (_E + np.uint64(8))) ^ (_turned(number * _B, 31) * _A)
    whole = _turned(whole, 27) * _A + _D
    whole = (whole ^ (whole >> np.uint64(33))) * _B
    whole = (whole ^ (whole >> np.uint64(29))) * _C
    return whole ^ (whole >> np.uint64(32))


def _turned(word: Words, bits: int) -> Words:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


MOST = 100
"""L0: the largest number of pairs that a user contributes."""


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """The sets C_u: those of user u are start[u]..start[u+1] of `pair`."""

    start: Ints
    pair: Ints
    pairs: int
    """How many pairs the histogram has."""
    most: int
    """The largest number of pairs per user."""

    @cached_property
    def speakers(self) -> Ints:
        """The number of users who contribute each pair."""
        return np.bincount(self.pair, minlength=self.pairs)

    @property
    def held(self) -> Flags:
        """Which pairs at least one user contributes."""
        return self.speakers > 0


@overload
def capped(hist: PairHistogram, rng: Randomness, most: int = MOST) -> Contributions: ...
@overload
def capped(hist: RemoteHistogram, rng: Randomness, most: int = MOST) -> RemoteContributions: ...
def capped(
    hist: AnyHistogram, rng: Randomness, most: int = MOST
) -> Contributions | RemoteContributions:
    """Contribution bounding: keep at most `most` random pairs per user, independent of others.

    A user with more has one random word, and from it a random number for each pair; the pairs
    with the smallest numbers are kept.
    """
    if not isinstance(hist, PairHistogram):
        return hist.capped(rng, most)
    degree = np.bincount(hist.user, minlength=hist.users)
    many = degree > most
    own = np.zeros(hist.users, dtype=np.uint64)
    own[many] = rng.words(int(np.count_nonzero(many)))
    rows = np.flatnonzero(many[hist.user])
    user = hist.user[rows]
    nth = rows - (np.cumsum(degree) - degree)[user]
    order = np.lexsort((nth, tossed(own[user], nth), user))
    turn = np.arange(len(rows)) - (np.cumsum(degree * many) - degree * many)[user]
    pair = np.delete(hist.pair, rows[order[turn >= most]])
    start = np.concatenate(([0], np.cumsum(np.minimum(degree, most)))).astype(np.int64)
    return Contributions(start=start, pair=pair, pairs=hist.pairs, most=most)


def steps_up(number: Fraction) -> int:
    """The number in steps of the grid, rounded up."""
    return math.ceil(number / GRID)


def root_up(square: Fraction) -> Fraction:
    """√square for square > 0, rounded up to a multiple of 2^-40."""
    return Fraction(math.isqrt(math.ceil(square * (1 << 80)) - 1) + 1, 1 << 40)


@cache
def quantile(delta: Fraction, pairs: int | Fraction) -> Fraction:
    """A z that any of `pairs` standard normal variables exceeds with probability ≤ delta.

    A random number of pairs counts with its mean, if the variables do not depend on it.
    """
    return normal_quantile(delta / pairs)


@cache
def threshold(most: int, *, variance: Fraction, delta: Fraction, extra: Fraction) -> int:
    """A level, in steps of the grid, that pairs of only one user exceed with probability ≤ delta.

    The user has t of them, 1 ≤ t ≤ most, each with a weight of at most 1/√t + extra/t.
    """
    scale = root_up(variance)
    return max(
        steps_up(root_up(Fraction(1, t)) + extra / t + scale * quantile(delta, t))
        for t in range(1, most + 1)
    )


HALVINGS = 6
"""The largest number of halvings of a pair's weight."""

CLOSED = HALVINGS + 1
"""The value for a pair without weight."""

_SQUARES = np.array([4**n for n in range(HALVINGS, -1, -1)] + [0])
"""The square of a weight by its halvings, in units of 4^-HALVINGS; 0 for a closed pair."""

UNIT = 1 << BITS
"""A weight of 1, in steps of the grid."""

Halvings = NDArray[np.int8]


def spread(
    contributions: Contributions | RemoteContributions,
    halvings: Halvings,
    heaviest: Ints | None = None,
) -> Ints:
    """The sum over users of ⌊2^20 · g / √(Σ g²)⌋, where g = 2^-halvings of a pair, by pairs.

    Weights are rounded towards zero, so each user adds a vector of L2 norm at most 2^20.
    No weight of a user with n pairs exceeds heaviest[n], if that is given.
    """
    if heaviest is None:
        heaviest = np.full(contributions.most + 1, UNIT, dtype=np.int64)
    if not isinstance(contributions, Contributions):
        return contributions.spread(halvings, heaviest)
    total = np.zeros(contributions.pairs, dtype=np.int64)
    _spread(contributions.start, contributions.pair, halvings, heaviest, total)
    return total


def caps(contributions: Contributions | RemoteContributions, heaviest: Ints) -> Ints:
    """The sum of heaviest[n] over the users of each pair, n being how many pairs a user gives to.

    No noise: this is for backing, which compares it with a random number.
    """
    if not isinstance(contributions, Contributions):
        return contributions.caps(heaviest)
    number = np.diff(contributions.start)
    total = np.zeros(contributions.pairs, dtype=np.int64)
    np.add.at(total, contributions.pair, np.repeat(heaviest[number], number))
    return total


@compiled
def _root(square: Any) -> Any:
    """⌊√square⌋ for 0 ≤ square < 2^53: a float's root may have been rounded up to an integer."""
    root = np.int64(np.sqrt(np.float64(square)))
    while root * root > square:
        root -= 1
    return root


@compiled
def _spread(start: Any, pair: Any, halvings: Any, heaviest: Any, total: Any) -> None:
    weight = np.zeros(CLOSED + 1, dtype=np.int64)
    for user in range(len(start) - 1):
        first, last = start[user], start[user + 1]
        square = np.int64(0)  # Σ g²
        for at in range(first, last):
            square += _SQUARES[halvings[pair[at]]]
        if square == 0:
            continue
        most = heaviest[last - first]
        for times in range(CLOSED):
            exact = (np.int64(1) << (2 * (BITS + HALVINGS - times))) // square
            weight[times] = min(_root(exact), most)
        for at in range(first, last):
            total[pair[at]] += weight[halvings[pair[at]]]
