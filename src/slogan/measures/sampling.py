"""The yardstick: a random sample of the log. It protects no user."""

from dataclasses import replace

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, uniform_below


def random_sample(hist: PairHistogram, clicks: int, rng: Randomness) -> PairHistogram:
    """Clicks drawn uniformly without replacement."""
    count = sampled(hist.count, clicks, rng)
    positive = count > 0
    return replace(hist, user=hist.user[positive], pair=hist.pair[positive], count=count[positive])


def sampled(counts: Ints, size: int, rng: Randomness) -> Ints:
    """How many of each kind are drawn, if every set of this size is as likely."""
    total = int(counts.sum())
    size = min(size, total)
    # Draw the smaller part: the things to take, or the things to leave.
    few = min(size, total - size)
    row = np.searchsorted(np.cumsum(counts), _distinct_below(total, few, rng), side="right")
    drawn = np.bincount(row, minlength=len(counts)).astype(np.int64)
    return drawn if few == size else counts - drawn


def _distinct_below(bound: int, n: int, rng: Randomness) -> Ints:
    """Draw n different integers below the bound; every set is equally likely."""
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n:
        more = uniform_below(np.full(n - len(drawn), bound, dtype=np.int64), rng)
        drawn = np.unique(np.concatenate([drawn, more]))
    return drawn
