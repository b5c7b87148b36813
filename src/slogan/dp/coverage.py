"""Private coverage: which share of the clicks falls on the released pairs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.mechanisms import Gaussian
from slogan.dp.remote import AnyHistogram
from slogan.dp.sums import BITS, noisy_sums, quotients
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

MOST_CLICKS = 75
"""Each user's clicks are scaled to a total of at most this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """κ: the support of a released pair over the whole log is about κ·x/|O|."""

    share: float
    stage: Gaussian


def noisy_coverage(
    hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness
) -> Coverage:
    """Count the clicks on these pairs and on others, scaled user by user, and add noise."""
    sums = coverage_sums(hist, pairs)
    noisy = noisy_sums(
        sums, name="coverage", norm_squared=MOST_CLICKS**2, mu_squared=mu_squared, rng=rng
    )
    inside, outside = np.maximum(noisy.values, 0.0).tolist()
    whole = inside + outside
    return Coverage(share=inside / whole if whole > 0 else 0.0, stage=noisy.stage)


def coverage_sums(hist: AnyHistogram, pairs: Ints) -> Ints:
    """(clicks on these pairs, clicks on others), each user's total at most 75. Not private yet."""
    if not isinstance(hist, PairHistogram):
        return hist.coverage_sums(pairs)
    held = hist.only(pairs)
    inside, total = (np.zeros(hist.users, dtype=np.int64) for _ in range(2))
    np.add.at(inside, held.user, held.count)
    np.add.at(total, hist.user, hist.count)
    both = np.stack([inside, total - inside])
    heavy = np.flatnonzero(total > MOST_CLICKS)
    scaled = both << BITS
    scaled[:, heavy] = quotients(both[:, heavy] * MOST_CLICKS, total[heavy], bits=BITS)
    return scaled.sum(axis=1)
