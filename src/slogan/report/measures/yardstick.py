"""The yardstick: clicks of the log drawn at random, as many as were released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, uniform_below


def random_sample(hist: PairHistogram, clicks: int, rng: Randomness) -> PairHistogram:
    """Draw clicks without replacement, each as likely as any other. It protects nobody."""
    clicks = min(clicks, hist.clicks)
    # The smaller part is drawn: what is taken, or what is left.
    few = min(clicks, hist.clicks - clicks)
    last_click = np.cumsum(hist.count)
    row = np.searchsorted(last_click, _distinct_below(hist.clicks, few, rng), side="right")
    drawn = np.bincount(row, minlength=len(hist.count)).astype(np.int64)
    count = drawn if few == clicks else hist.count - drawn
    kept = count > 0
    return replace(hist, user=hist.user[kept], pair=hist.pair[kept], count=count[kept])


def _distinct_below(bound: int, n: int, rng: Randomness) -> Ints:
    """Any n different integers below the bound, each set as likely as any other."""
    drawn = np.zeros(0, dtype=np.int64)
    while len(drawn) < n:
        more = uniform_below(np.full(n - len(drawn), bound, dtype=np.int64), rng)
        drawn = np.unique(np.concatenate([drawn, more]))
    return drawn
