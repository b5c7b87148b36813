"""Canaries: planted users, as bad for privacy as users can be, on pairs of their own.

Groups that share nothing, neither with each other nor with the log, do not influence each other,
so each is a trial of its own and one run of a mechanism is worth thousands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram

_ALONE = (1, 10, 100, 2_000)
"""Pairs of a user; the last is far more than a user may speak for."""
_CLICKS = 1_000
_MOST_ROWS = 400_000
_FEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Loner:
    """Users whose pairs cannot be selected without them; row n of `pairs` is what the n-th holds.

    Nobody else has the pairs, or only users of the attacker's own, too few by themselves.
    """

    pairs: Ints

    @property
    def name(self) -> str:
        """How it is called in the table."""
        return f"{self.pairs.shape[1]} pairs of its own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Joiner:
    """Groups of users with the same pairs, some with the canary and some without."""

    name: str
    holders: int
    with_user: Ints
    without: Ints
    canaries: Ints
    """Who joined the groups with one, by the numbers of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A log with canaries in it."""

    hist: PairHistogram
    loners: tuple[Loner, ...]
    joiners: tuple[Joiner, ...]


class _Garden:
    """Adds users and pairs to a log, numbered after those it has."""

    def __init__(self, hist: PairHistogram) -> None:
        self._hist = hist
        self._rows = [(hist.user, hist.pair, hist.count)]
        self._users, self._pairs = hist.users, hist.pairs

    def pairs(self, groups: int, each: int) -> Ints:
        """New pairs: a row for each group."""
        self._pairs += groups * each
        return np.arange(self._pairs - groups * each, self._pairs).reshape(groups, each)

    def users(self, pairs: Ints, each: int, clicks: int) -> Ints:
        """For every row of pairs so many new users, who click all of them; their numbers."""
        groups, held = len(pairs), int(pairs.shape[1])
        new = np.arange(self._users, self._users + groups * each)
        user: Ints = np.repeat(new, held)
        pair: Ints = np.repeat(pairs, each, axis=0).ravel()
        count: Ints = np.full(len(user), clicks, dtype=np.int64)
        self._rows.append((user, pair, count))
        self._users += groups * each
        return new

    def joiner(self, name: str, groups: int, held: int, *, holders: int, clicks: int) -> Joiner:
        """Groups of users with the same pairs, half of which one more user joins."""
        with_user, without = (self.pairs(groups, held) for _ in range(2))
        for pairs in (with_user, without):
            self.users(pairs, holders, 1)
        canaries = self.users(with_user, 1, clicks)
        return Joiner(
            name=name, holders=holders, with_user=with_user, without=without, canaries=canaries
        )

    def grown(self) -> PairHistogram:
        user, pair, count = (np.concatenate(column) for column in zip(*self._rows, strict=True))
        new = np.arange(self._pairs - self._hist.pairs) + self._hist.query.max(initial=-1) + 1
        query = np.concatenate([self._hist.query, new])
        return PairHistogram.of_rows(
            user=user, pair=pair, count=count, users=self._users, query=query
        )


def planted(hist: PairHistogram, *, trials: int, weight: float) -> Planted:
    """Plant canaries of every kind.

    Args:
        hist: The log.
        trials: Groups of each kind; fewer where that would be millions of rows, and none where
            hardly any would be left.
        weight: About the weight at which a pair is released, where one user more tells most.
    """
    garden = _Garden(hist)
    loners: list[Loner] = []
    for held in _ALONE:
        pairs = garden.pairs(min(trials, _MOST_ROWS // held), held)
        garden.users(pairs, 1, 1)
        loners.append(Loner(pairs=pairs))
    joiners: list[Joiner] = []
    for share in (0.7, 1.0):
        for name, held, clicks in (("duplicate of others", 3, 1), ("dominates a pair", 1, _CLICKS)):
            holders = math.ceil(share * weight * math.sqrt(held))
            groups = min(trials, _MOST_ROWS // (2 * held * (holders + 1)))
            if groups < _FEWEST:
                continue
            joiners.append(garden.joiner(name, groups, held, holders=holders, clicks=clicks))
    return Planted(hist=garden.grown(), loners=tuple(loners), joiners=tuple(joiners))
