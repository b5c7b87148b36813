"""Private association: which kinds of released pairs the same users hold.

Proof: docs/proofs/association.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.dp.grouping import INDEPENDENT, MOST_CATEGORIES, Grouping
from slogan.dp.mechanisms import Gaussian
from slogan.dp.remote import AnyHistogram
from slogan.dp.sums import BITS, noisy_sums, quotients, roots
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

MOST_HELD = 255
"""Of one category a user is taken to hold at most so many pairs."""
CLEAR = 1.05
"""An eigenvalue counts as signal from this many times the largest one that noise alone has."""
EDGE = 3.0
"""And by so many standard deviations of the noise more, which small tables need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """How often pairs of two categories are held together, as far as that is clear of the noise."""

    grouping: Grouping
    together: Floats
    """A symmetric table over the categories, nowhere negative, of two pairs in either order."""
    rank: int
    """How many eigenvalues are clear of the noise."""
    stage: Gaussian

    @property
    def kind(self) -> str:
        """What the synthetic users follow: the grouping, or nothing."""
        return self.grouping.name if self.rank >= self.grouping.least_rank else INDEPENDENT


def noisy_association(
    hist: AnyHistogram, pairs: Ints, grouping: Grouping, *, mu_squared: Fraction, rng: Randomness
) -> Association:
    """Count how often two of these pairs are held together, by their categories, and add noise."""
    sums = together_sums(hist, pairs, grouping)
    noisy = noisy_sums(sums, name="association", norm_squared=1, mu_squared=mu_squared, rng=rng)
    table, rank = denoised(noisy.values, grouping.categories, float(noisy.stage.variance) ** 0.5)
    return Association(grouping=grouping, together=table, rank=rank, stage=noisy.stage)


def together_sums(hist: AnyHistogram, pairs: Ints, grouping: Grouping) -> Ints:
    """The upper triangle, row by row, of how many two different pairs each user holds together.

    A user that holds v_g pairs of category g adds v_g·v_h for g < h and v_g(v_g − 1)/2 for g = h,
    all multiplied by ⌊2^20/√N⌋ steps, N being the sum of their squares. Not private yet.
    """
    size = grouping.categories
    if not 0 < size <= MOST_CATEGORIES:
        raise ValueError(f"a table of {size} categories does not fit in 64 bits")
    if not isinstance(hist, PairHistogram):
        return hist.together_sums(pairs, grouping)
    held = hist.only(pairs[grouping.category >= 0])
    category = grouping.category[grouping.category >= 0][held.pair]
    # v: one row for each user, one column for each category; what is there twice is added up
    v = sp.csr_array((np.ones_like(category), (held.user, category)), shape=(hist.users, size))
    v.data = np.minimum(v.data, MOST_HELD)
    same = v.copy()
    same.data = v.data * (v.data - 1) // 2
    second, fourth, inside = (
        np.asarray(power.sum(axis=1), dtype=np.int64) for power in (v**2, v**4, same**2)
    )
    square = (second * second - fourth) // 2 + inside
    weight = np.zeros(hist.users, dtype=np.int64)
    holds_two = np.flatnonzero(square)
    ones = np.ones_like(holds_two)
    weight[holds_two] = roots(quotients(ones, square[holds_two], bits=2 * BITS))
    weighted = v.copy()
    weighted.data = v.data * np.repeat(weight, np.diff(v.indptr))
    table = (v.T @ weighted).toarray()
    table[np.diag_indices(size)] = np.asarray(same.T @ weight)
    return table[np.triu_indices(size)].astype(np.int64)


def denoised(triangle: Floats, size: int, deviation: float) -> tuple[Floats, int]:
    """The table that the eigenvalues clear of the noise make up, and how many there are.

    The largest eigenvalue of a symmetric table of noise alone is about 2·deviation·√size; that of
    a small table varies by a few deviations.
    """
    table = np.zeros((size, size))
    table[np.triu_indices(size)] = triangle
    # two pairs in either order: those of one category are counted once so far
    table = table + table.T
    value, vector = np.linalg.eigh(table)
    kept = value > deviation * (CLEAR * 2 * size**0.5 + EDGE)
    clear = (vector[:, kept] * value[kept]) @ vector[:, kept].T
    return np.maximum(clear, 0.0), int(kept.sum())
