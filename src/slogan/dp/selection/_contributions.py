"""Contributions: which pairs each user speaks for, at most so many, chosen by the user's coins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.remote import RemoteContributions, RemoteHistogram
from slogan.dp.selection._coins import tossed
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

MOST = 100
"""L0: for how many pairs a user may speak."""


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """The sets C_u: those of user u are start[u]..start[u+1] of `pair`."""

    start: Ints
    pair: Ints
    pairs: int
    """How many pairs the histogram has."""
    most: int
    """No user speaks for more."""

    @cached_property
    def speakers(self) -> Ints:
        """How many users speak for each pair."""
        return np.bincount(self.pair, minlength=self.pairs)

    @property
    def held(self) -> Flags:
        """Which pairs somebody speaks for."""
        return self.speakers > 0


@overload
def capped(hist: PairHistogram, rng: Randomness, most: int = MOST) -> Contributions: ...
@overload
def capped(hist: RemoteHistogram, rng: Randomness, most: int = MOST) -> RemoteContributions: ...
def capped(
    hist: PairHistogram | RemoteHistogram, rng: Randomness, most: int = MOST
) -> Contributions | RemoteContributions:
    """At most so many pairs of each user, chosen at random, whatever others do.

    A user with more has one random word, and from it coins for its first pair, its second, and so
    on; the pairs with the smallest are kept.
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
