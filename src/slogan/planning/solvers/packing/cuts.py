"""Clicks: a packing problem with variables of their own for the first, second and further clicks.

Two pairs of which one click each fits may not fit with two clicks of one. Such conflicts are seen
only if "at least c clicks of pair j" is a variable.

What whole counts obey and fractions break: cliques over several users, and rounded rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers.packing.presolve import Packing, scaled
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix
from slogan.storage.compilation import compiled

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


_EXCESS = 0.02
"""An inequality is worth adding if the fractions break it by this much."""
_FOLDS = (2, 3, 4, 5, 6)
_TIE = 1e-9
_LONGEST = 256
_REPEATS = 3
_AT_ONCE = 10_000


def violated(problem: Clicks, z: Floats, eligible: Ints, late: Callable[[], bool]) -> sp.csr_array:
    """Rows r ≥ 0 with r·z > 1 although r·z ≤ 1 for all whole z that fit; fewer of them if late.

    Cliques are looked for among the eligible clicks.
    """
    cliques = _cliques(problem, z, eligible, late)
    rounded = [_rounded(problem, z, fold) for fold in _FOLDS if not late()]
    nothing = sp.csr_array((0, len(z)))
    return sp.csr_array(sp.vstack([nothing, *cliques, *rounded], format="csr"))


def _rounded(problem: Clicks, z: Floats, fold: int) -> sp.csr_array:
    """Each row with its shares a of the limit replaced by ⌊(fold+1)·a⌋ / fold.

    This is a dual feasible function (Fekete and Schepers): shares that sum to at most 1 keep doing
    so, if those with (fold+1)·a whole are left alone. Nearly whole counts as whole.
    """
    rows, share = problem.rows, problem.share
    times = (fold + 1) * share
    whole = np.abs(times - np.rint(times)) < _TIE
    value = np.where(whole, share, np.floor(times) / fold)
    rounded = sp.csr_array((value, rows.indices, rows.indptr), shape=rows.shape)
    total = np.asarray(rounded @ z)
    chosen = sp.csr_array(rounded[np.flatnonzero(total > 1 + _EXCESS)])
    chosen.eliminate_zeros()
    return chosen


def _cliques(
    problem: Clicks, z: Floats, eligible: Ints, late: Callable[[], bool]
) -> list[sp.csr_array]:
    """Clicks of different pairs of which no two fit together: Σ z / upper ≤ 1."""
    matrix, pair = problem.conflicts(eligible), problem.pair[eligible]
    part = z[eligible] / matrix.upper
    order = np.argsort(-part, kind="stable")
    order = order[part[order] > _EXCESS]
    used = np.zeros(len(part), np.int64)
    found: list[sp.csr_array] = []
    for begin in range(0, len(order), _AT_ONCE):
        if late():
            break
        seeds = order[begin : begin + _AT_ONCE]
        start, click = grow(matrix, pair, part, seeds, 1 + _EXCESS, used)
        rows = (1.0 / matrix.upper[click], eligible[click], start)
        found.append(sp.csr_array(rows, shape=(len(start) - 1, len(z))))
    return found


@compiled
def _mark(j: Any, m: Any, pair: Any, seen: Any, stamp: Any) -> None:
    """Stamp the clicks that do not fit together with click j."""
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        f = m.start[k + 1] - 1
        while f >= m.start[k] and m.row_cost[f] + m.cost[e] > SCALE + TOLERANCE:
            if pair[m.pair[f]] != pair[j]:
                seen[m.pair[f]] = stamp
            f -= 1


@compiled
def _neighbours(j: Any, m: Any, pair: Any, seen: Any, stamp: Any, near: Any) -> Any:
    """List the clicks that do not fit together with click j, each once; how many."""
    n = 0
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        f = m.start[k + 1] - 1
        while f >= m.start[k] and m.row_cost[f] + m.cost[e] > SCALE + TOLERANCE:
            i = m.pair[f]
            if seen[i] != stamp and pair[i] != pair[j]:
                seen[i] = stamp
                near[n] = i
                n += 1
            f -= 1
    return n


@compiled
def grow(m: Any, pair: Any, part: Any, order: Any, least: Any, used: Any) -> Any:
    """Cliques whose parts sum to more than `least`, as the starts and members of rows.

    From each click of `order`, take the common neighbour with the largest part until there is none.
    One that is `used` often enough is no longer begun with.
    """
    seen, near = np.zeros(len(part), np.int64), np.empty(len(part), np.int64)
    members = np.empty(_LONGEST, np.int64)
    start, found = [np.int64(0)], [np.int64(0)]
    found.pop()
    stamp = 0
    for j in order:
        if used[j] >= _REPEATS:
            continue
        stamp += 1
        waiting = _neighbours(j, m, pair, seen, stamp, near)
        members[0], size, total = j, 1, part[j]
        while waiting > 0 and size < _LONGEST:
            best = 0
            for w in range(1, waiting):
                if part[near[w]] > part[near[best]]:
                    best = w
            chosen = near[best]
            members[size] = chosen
            size += 1
            total += part[chosen]
            stamp += 1
            _mark(chosen, m, pair, seen, stamp)
            seen[chosen] = 0
            left = 0
            for w in range(waiting):
                if seen[near[w]] == stamp:
                    near[left] = near[w]
                    left += 1
            waiting = left
        if total > least:
            for w in range(size):
                found.append(members[w])
                used[members[w]] += 1
            start.append(np.int64(len(found)))
    return np.array(start), np.array(found)
