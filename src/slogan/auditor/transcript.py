"""What a run read, drew and gave: the transcript that `replay` records and repeats."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.selection import Selected
from slogan.dp.selection._weights import CLOSED
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, Words

NO_PAIRS = np.zeros(0, dtype=np.int64)


class PartedError(Exception):
    """The replay differs from the recorded run, and cannot continue."""

    def __init__(self, target: str) -> None:
        super().__init__(target)
        self.target = target


@dataclass(kw_only=True)
class Weighed:
    """One round of selection: weights by pair, and the noise of the pairs that were tried."""

    halvings: Ints
    held: Flags
    weight: Ints
    variance: Fraction = Fraction(0)
    drawn: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The noise as drawn; `noise` is shifted."""
    noise: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def tried(self) -> Ints:
        """The pairs that are still open."""
        return np.flatnonzero(self.held & (self.halvings < CLOSED))


@dataclass(kw_only=True)
class Summed:
    """One stage: exact sums, the same with noise, and the contribution of each attacked user."""

    exact: Ints
    noisy: Ints
    norm_squared: int
    variance: Fraction
    own: dict[int, Ints]
    pairs: Ints | None = None
    """The pair of each sum, where there is one."""


@dataclass(kw_only=True)
class Transcript:
    """The input, draws and output of one run."""

    read: PairHistogram | None = None
    spoken: PairHistogram | None = None
    """The histogram that contributions were bounded in, with the bound."""
    most: int = 0
    coins: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    listed: Ints = field(default_factory=lambda: NO_PAIRS)
    """The pairs that are public knowledge."""
    selected: Selected | None = None
    rounds: list[Weighed] = field(default_factory=list[Weighed])
    stages: dict[str, Summed] = field(default_factory=dict[str, Summed])
    rate: Fraction | None = None
    drawn: Ints | None = None
    bounds: Ints | None = None
    points: Ints | None = None
    names: list[str] = field(default_factory=list[str])
    account: tuple[Any, ...] = ()
    public: dict[str, bytes] | str = ""
    """The published files by name, or the kind of error that the run ended with."""
    failure: Exception | None = None


class Coins:
    """Random words that are recorded; or given words only."""

    seed: int | None = None

    def __init__(self, source: Randomness | None, given: Words | None = None) -> None:
        self.all = np.zeros(0, dtype=np.uint64)
        self._source, self._given = source, given

    def words(self, n: int) -> Words:
        if self._source is None:
            if self._given is None or n != len(self._given):
                raise PartedError("selection")
            return self._given
        drawn = self._source.words(n)
        self.all = np.concatenate([self.all, drawn])
        return drawn


def kept(hist: PairHistogram, gone: int | None, listed: Ints = NO_PAIRS) -> Ints:
    """The pairs that have a number without a user too, by their old numbers."""
    left = hist.pair if gone is None else hist.pair[hist.user != gone]
    found = np.bincount(left, minlength=hist.pairs) > 0
    found[listed] = True
    return np.flatnonzero(found)


def without(hist: PairHistogram, gone: int | None, listed: Ints = NO_PAIRS) -> PairHistogram:
    """The histogram of the log without a user, as an engine numbers it."""
    rows = np.ones(len(hist.user), dtype=np.bool_) if gone is None else hist.user != gone
    left, users = kept(hist, gone, listed), np.unique(hist.user[rows])
    return PairHistogram(
        user=np.searchsorted(users, hist.user[rows]),
        pair=np.searchsorted(left, hist.pair[rows]),
        count=hist.count[rows],
        users=len(users),
        pairs=len(left),
        query=np.unique(hist.query[left], return_inverse=True)[1].astype(np.int64),
    )
