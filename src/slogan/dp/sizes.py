"""Private sizes: how many users hold how many of the released pairs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.mechanisms import Gaussian
from slogan.dp.remote import AnyHistogram
from slogan.dp.sums import BITS, noisy_sums
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

LARGEST = 30
"""Users with more released pairs than this are counted with those that have this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """About how many users hold 0, 1, …, 30 released pairs."""

    bins: Floats
    stage: Gaussian

    @property
    def users(self) -> int:
        """How many users a synthetic log should have: those that hold a released pair."""
        return max(0, round(float(self.bins[1:].sum())))

    @property
    def shape(self) -> Floats:
        """How sizes 1, …, 30 are distributed: no share is negative, and they sum to 1."""
        positive = np.maximum(self.bins[1:], 0.0)
        total = float(positive.sum())
        return positive / total if total > 0 else np.eye(LARGEST)[0]


def noisy_sizes(hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness) -> Sizes:
    """Count the users by how many of these pairs they hold, and add noise."""
    sums = size_sums(hist, pairs)
    noisy = noisy_sums(sums, name="sizes", norm_squared=1, mu_squared=mu_squared, rng=rng)
    return Sizes(bins=noisy.values, stage=noisy.stage)


def size_sums(hist: AnyHistogram, pairs: Ints) -> Ints:
    """One step of 1 for each user that has a click, in the bin of its size. Not private yet."""
    if not isinstance(hist, PairHistogram):
        return hist.size_sums(pairs)
    present = np.bincount(hist.user, minlength=hist.users) > 0
    size = np.bincount(hist.only(pairs).user, minlength=hist.users)
    return np.bincount(np.minimum(size[present], LARGEST), minlength=LARGEST + 1) << BITS
