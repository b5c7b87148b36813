"""Contributions: which pairs each user speaks for, at most so many, chosen by the user's coins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slogan.arrays import Flags, Ints
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
    def held(self) -> Flags:
        """Which pairs somebody speaks for."""
        return np.bincount(self.pair, minlength=self.pairs) > 0


def capped(hist: PairHistogram, rng: Randomness, most: int = MOST) -> Contributions:
    """At most so many pairs of each user, every choice equally likely, whatever others do."""
    degree = np.bincount(hist.user, minlength=hist.users)
    rows = np.flatnonzero((degree > most)[hist.user])
    order = rows[np.lexsort((rng.words(len(rows)), hist.user[rows]))]
    first = np.cumsum(degree * (degree > most)) - degree
    dropped = order[np.arange(len(order)) - first[hist.user[order]] >= most]
    pair = np.delete(hist.pair, dropped)
    start = np.concatenate(([0], np.cumsum(np.minimum(degree, most)))).astype(np.int64)
    return Contributions(start=start, pair=pair, pairs=hist.pairs, most=most)
