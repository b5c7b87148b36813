"""Packing: a program reduced to what can matter, as integer arrays for the compiled search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from slogan.arrays import Flags, Floats, Ints
from slogan.program import Program
from slogan.solvers._dominance import implied_rows, outdone_pairs
from slogan.solvers._kernels import SCALE, TOLERANCE, Matrix, sorted_within


# Presolving goes on while a round takes away this share of the pairs.
_WORTH_A_ROUND = 0.25


@dataclass(frozen=True, kw_only=True)
class Packing:
    """max Σ x over rows·x ≤ limit, 0 ≤ x ≤ upper, x integer: a program without what cannot bind."""

    kept: Ints
    """The number of each column in the whole."""
    columns: sp.csc_array
    limit: Floats
    upper: Ints

    @property
    def pairs(self) -> int:
        """How many counts are left to choose."""
        return len(self.upper)

    @cached_property
    def rows(self) -> sp.csr_array:
        """The same matrix by rows."""
        return sp.csr_array(self.columns.tocsr())

    @cached_property
    def matrix(self) -> Matrix:
        """Rows and columns for the compiled search; no prices yet."""
        return scaled(self.rows, self.columns, self.limit, self.upper)

    def of_pairs(self, chosen: Ints) -> Packing:
        """What is left if the other pairs may not be released."""
        columns = sp.csc_array(self.columns[:, chosen])
        return Packing(kept=chosen, columns=columns, limit=self.limit, upper=self.upper[chosen])

    def expand(self, x: Ints, pairs: int) -> Ints:
        """Counts of the whole that this is a part of."""
        whole = np.zeros(pairs, dtype=np.int64)
        whole[self.kept] = x
        return whole


def scaled(rows: sp.csr_array, columns: sp.csc_array, limit: Floats, upper: Ints) -> Matrix:
    """A matrix for the compiled loops: every limit is `SCALE`, rows are sorted by cost."""
    share = rows.data / np.repeat(limit, np.diff(rows.indptr))
    row_cost = np.rint(share * SCALE).astype(np.int64)
    order = sorted_within(rows.indptr.astype(np.int64), row_cost)
    return Matrix(
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        np.rint(columns.data / limit[columns.indices] * SCALE).astype(np.int64),
        rows.indptr.astype(np.int64),
        rows.indices[order].astype(np.int64),
        row_cost[order],
        upper,
        np.zeros(len(upper)),
    )


def packing(
    program: Program, *, without: Ints | None = None, barred: Ints | None = None
) -> Packing:
    """Leave out pairs that no integer solution can use, and rows that cannot be broken.

    Args:
        program: What is asked; its support targets are not looked at.
        without: Counts already decided, whose cost is taken off the limits.
        barred: Pairs that may not be released.
    """
    limit = np.full(program.constraints.hist.users, program.constraints.limit)
    upper = program.upper
    if without is not None:
        limit = limit - program.constraints.charge(without)
    if barred is not None:
        upper = upper.copy()
        upper[barred] = 0
    columns = program.constraints.cost.tocsc()
    if program.at_most_one is not None:
        columns, limit = _with_groups(columns, limit, program.at_most_one)
    return _reduced(columns, limit, upper)


def _with_groups(columns: sp.csc_array, limit: Floats, label: Ints) -> tuple[sp.csc_array, Floats]:
    """At most one click per label is one more packing row: cost 1 each, limit 1."""
    pairs = columns.shape[1]
    groups = int(label.max()) + 1
    rows = sp.csr_array((np.ones(pairs), (label, np.arange(pairs))), shape=(groups, pairs))
    return sp.csc_array(sp.vstack([columns, rows])), np.concatenate([limit, np.ones(groups)])


def _reduced(columns: sp.csc_array, limit: Floats, upper: Ints) -> Packing:
    # Of what is left of a row, a pair may need more: then not one click of it fits.
    per_click = columns.data / np.maximum(limit, 1e-300)[columns.indices]
    dearest = np.zeros(columns.shape[1])
    np.maximum.at(
        dearest, np.repeat(np.arange(columns.shape[1]), np.diff(columns.indptr)), per_click
    )
    room = np.floor((1 + TOLERANCE / SCALE) / np.maximum(dearest, 1e-18)).astype(np.int64)
    upper = np.minimum(upper, room)
    kept = np.flatnonzero(upper > 0).astype(np.int64)
    problem = _with_binding_rows(kept, sp.csr_array(columns[:, kept].tocsr()), limit, upper[kept])
    while True:
        # Without the outdone pairs further rows cannot bind, without those further pairs are outdone.
        left = np.flatnonzero(~outdone_pairs(problem.matrix))
        smaller = _with_binding_rows(
            problem.kept[left],
            sp.csr_array(problem.columns[:, left].tocsr()),
            problem.limit,
            problem.upper[left],
        )
        if smaller.pairs >= (1 - _WORTH_A_ROUND) * problem.pairs:
            return smaller
        problem = smaller


def _with_binding_rows(kept: Ints, rows: sp.csr_array, limit: Floats, upper: Ints) -> Packing:
    # A row that all bounds together do not exceed cannot be broken while the bounds are kept.
    load = rows @ upper.astype(np.float64)
    binding = np.flatnonzero(load > np.maximum(limit, 0.0) * (1 - 1e-9))
    rows, limit = sp.csr_array(rows[binding]), limit[binding]
    needed = np.flatnonzero(~_implied(rows, limit))
    columns = sp.csc_array(rows[needed].tocsc())
    return Packing(kept=kept, columns=columns, limit=limit[needed], upper=upper)


def _implied(rows: sp.csr_array, limit: Floats) -> Flags:
    """Rows that another row makes superfluous."""
    columns = sp.csc_array(rows.tocsc())
    rows.sort_indices()
    share = rows.data / np.repeat(limit, np.diff(rows.indptr))
    cost = np.rint(share * SCALE).astype(np.int64)
    wide = [
        a.astype(np.int64) for a in (rows.indptr, rows.indices, columns.indptr, columns.indices)
    ]
    return implied_rows(wide[0], wide[1], cost, wide[2], wide[3])


def components(problem: Packing, *, small: int) -> list[Packing]:
    """Parts that share no row: the small ones together, then each large one, for itself."""
    m, n = problem.rows.shape
    edges = problem.rows.tocoo()
    user, pair = edges.coords
    graph = sp.coo_array((np.ones(edges.nnz, np.int8), (user, pair + m)), shape=(m + n, m + n))
    _, label = connected_components(graph, directed=False)
    size = np.bincount(label[m:], minlength=label.max(initial=-1) + 1)
    large = np.flatnonzero(size > small)
    part = np.zeros(len(size), dtype=np.int64)
    part[large] = np.arange(1, len(large) + 1)
    parts = [_part(problem, part[label], p) for p in range(len(large) + 1)]
    return [one for one in parts if one.pairs]


def _part(problem: Packing, label: Ints, part: int) -> Packing:
    m = len(problem.limit)
    rows, columns = np.flatnonzero(label[:m] == part), np.flatnonzero(label[m:] == part)
    return Packing(
        kept=columns.astype(np.int64),
        columns=sp.csc_array(problem.rows[rows].tocsc()[:, columns]),
        limit=problem.limit[rows],
        upper=problem.upper[columns],
    )
