"""Histograms that stand elsewhere, such as in Spark: what comes from there are sums over users.

Each sum is what the function of the same name computes here, number for number, so noise, order of
stages and proofs are the same wherever the rows of a log stand.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slogan.arrays import Flags, Ints
from slogan.dp.grouping import Grouping
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness


class RemoteContributions(Protocol):
    """The sets C_u of `capped`, elsewhere."""

    @property
    def pairs(self) -> int:
        """How many pairs the histogram has."""
        ...

    @property
    def most(self) -> int:
        """No user speaks for more."""
        ...

    @property
    def speakers(self) -> Ints:
        """How many users speak for each pair."""
        ...

    @property
    def held(self) -> Flags:
        """Which pairs somebody speaks for."""
        ...

    def spread(self, halvings: NDArray[np.int8], heaviest: Ints) -> Ints:
        """The sums of `spread`."""
        ...


class RemoteHistogram(Protocol):
    """The clicks c_ijk of a log, elsewhere."""

    @property
    def users(self) -> int:
        """How many users the log has."""
        ...

    @property
    def pairs(self) -> int:
        """How many pairs it has."""
        ...

    @property
    def pair_total(self) -> Ints:
        """c_ij: all clicks on each pair."""
        ...

    def query_of(self, pairs: Ints) -> Ints:
        """The queries of these pairs, given sorted, as numbers."""
        ...

    def brought(self) -> PairHistogram:
        """All rows, in this process; refused if they do not fit."""
        ...

    def heaviest(self, most: int) -> float:
        """What `heaviest` tells the curator."""
        ...

    def capped(self, rng: Randomness, most: int) -> RemoteContributions:
        """The choices of `capped`."""
        ...

    def clipped_counts(self, pairs: Ints, *, norm: int) -> Ints:
        """The sums of `clipped_counts`."""
        ...

    def size_sums(self, pairs: Ints) -> Ints:
        """The sums of `size_sums`."""
        ...

    def coverage_sums(self, pairs: Ints) -> Ints:
        """The sums of `coverage_sums`."""
        ...

    def together_sums(self, pairs: Ints, grouping: Grouping) -> Ints:
        """The sums of `together_sums`."""
        ...


AnyHistogram = PairHistogram | RemoteHistogram


def brought(hist: AnyHistogram) -> PairHistogram:
    """The histogram in this process."""
    return hist if isinstance(hist, PairHistogram) else hist.brought()
