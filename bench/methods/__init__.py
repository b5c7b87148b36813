"""Methods beside slogan's own, one file each, made from their papers: to compare, not to release.

Each says in its own terms what it promises. Two promises are comparable only if unit, meaning and
numbers agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

USER = "one user's whole log, added or removed"
REPLACED = "one user's whole log, replaced by any other"
CROWD = "what is true of many; other releases on the same people add up"
"""What no method of differential privacy protects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a method guarantees, in its own terms."""

    kind: str
    """In two or three words, for a table."""
    unit: str | None
    """By what two logs differ that an observer cannot tell apart; None if nothing is promised."""
    meaning: str
    """What ε and δ, or whatever else, say."""
    open: str
    """What is not protected."""
    epsilon: Fraction | None = None
    delta: Fraction | None = None


class Method(Protocol):
    """A way to publish a log."""

    @property
    def name(self) -> str:
        """With its parameters."""
        ...

    @property
    def promise(self) -> Promise: ...

    @property
    def same_schema(self) -> bool:
        """Whether users come out with their rows, or counts of pairs alone."""
        ...

    @property
    def head_only(self) -> bool:
        """Whether unpopular pairs are kept back: what is released stands for a part of the log."""
        ...

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:
        """What is published of a whole log, numbered as the log."""
        ...


def counts_alone(released: Ints, query: Ints) -> PairHistogram:
    """Published counts as a log in which every click has its own user.

    So measures of pairs see the counts, and measures of users see that none are published.
    """
    pair = np.repeat(np.arange(len(released)), released)
    return PairHistogram(
        user=np.arange(len(pair)),
        pair=pair,
        count=np.ones_like(pair),
        users=len(pair),
        pairs=len(query),
        query=query,
    )
