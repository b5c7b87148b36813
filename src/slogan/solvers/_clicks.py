"""Clicks: a packing problem with variables of their own for the first, second and further clicks.

Two pairs of which one click each fits may not fit with two clicks of one. Such conflicts are seen
only if "at least c clicks of pair j" is a variable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.solvers._kernels import Matrix
from slogan.solvers._presolve import Packing, scaled

_APART = 3


@dataclass(frozen=True, kw_only=True)
class Clicks:
    """Σ_c z_jc = x_j; z_jc is positive only if at least c clicks of pair j are released."""

    pair: Ints
    rank: Ints
    """c: 1 for a pair's first click, up to 3 for the third and all that follow."""
    upper: Ints
    columns: sp.csc_array
    limit: Floats

    @property
    def count(self) -> int:
        """How many variables there are."""
        return len(self.pair)

    @cached_property
    def rows(self) -> sp.csr_array:
        """What a click costs, user by user."""
        return sp.csr_array(self.columns.tocsr())

    @cached_property
    def share(self) -> Floats:
        """The same as shares of the limit, entry by entry of `rows`."""
        return self.rows.data / np.repeat(self.limit, np.diff(self.rows.indptr))

    def conflicts(self, chosen: Ints) -> Matrix:
        """For the chosen variables: what c clicks of a pair cost, in place of what each costs."""
        columns = sp.csc_array(self.columns[:, chosen])
        columns.data *= np.repeat(self.rank[chosen], np.diff(columns.indptr))
        return scaled(sp.csr_array(columns.tocsr()), columns, self.limit, self.upper[chosen])

    def ordered(self) -> sp.csr_array:
        """A later click needs the one before: z_c / upper_c − z_(c−1) ≤ 0."""
        later = np.flatnonzero(self.rank > 1)
        n = np.arange(len(later))
        value = np.concatenate([1.0 / self.upper[later], -np.ones(len(later))])
        places = np.concatenate([n, n]), np.concatenate([later, later - 1])
        return sp.csr_array((value, places), shape=(len(later), self.count))

    def exclusive(self) -> sp.csr_array:
        """For each row one clique: Σ z / upper ≤ 1 over clicks that take more than half the limit.

        Of each pair it has the first click with which this is so; two pairs that have come so far
        do not fit together.
        """
        click = self.rows.indices
        row = np.repeat(np.arange(len(self.limit)), np.diff(self.rows.indptr))
        needed, half = self.rank[click] * self.share, 0.5 * (1 + 1e-9)
        chosen = np.flatnonzero((needed > half) & (needed - self.share <= half))
        several = np.bincount(row[chosen], minlength=len(self.limit))[row[chosen]] > 1
        chosen = chosen[several]
        which, clique = np.unique(row[chosen], return_inverse=True)
        value = 1.0 / self.upper[click[chosen]]
        shape = (len(which), self.count)
        return sp.csr_array((value, (clique, click[chosen])), shape=shape)

    def of_pairs(self, z: Floats) -> Floats:
        """The counts x of variables z."""
        return np.bincount(self.pair, weights=z).astype(np.float64)

    def one_by_one(self, rows: sp.csr_array, upper: Ints) -> sp.csr_array:
        """The same rows over variables of one click each; `upper` are those of the pairs."""
        pair = np.repeat(np.arange(len(upper)), upper)
        rank = np.arange(len(pair)) - np.repeat(np.cumsum(upper) - upper, upper)
        first = np.flatnonzero(self.rank == 1)
        place = first[pair] + np.minimum(rank, _APART - 1)
        return sp.csr_array(rows.tocsc()[:, place].tocsr())


def clicks(problem: Packing) -> Clicks:
    """Split each pair into its first two clicks and the rest."""
    parts = np.minimum(problem.upper, _APART)
    pair = np.repeat(np.arange(problem.pairs), parts)
    rank = np.arange(len(pair)) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    upper = np.where(rank == _APART, problem.upper[pair] - _APART + 1, 1)
    columns = sp.csc_array(problem.columns[:, pair])
    return Clicks(pair=pair, rank=rank, upper=upper, columns=columns, limit=problem.limit)
