"""What a packing problem can do without: rows and pairs that others make superfluous, compiled.

Costs are integers and every row may spend `SCALE`, as in `_kernels`.

Packing: a program reduced to what can matter, as integer arrays for the compiled search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from slogan.arrays import Flags, Floats, Ints
from slogan.planning.program import Program
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix, sorted_within
from slogan.storage.compilation import compiled

_LONGEST_ROW, _ROWS_TRIED = 12, 64
_LONGEST_COLUMN = 8


@compiled
def implied_rows(start: Any, pair: Any, cost: Any, column: Any, row: Any) -> Any:
    """Rows that another row implies: its pairs are all there, at no lower cost.

    `start`, `pair`, `cost` are rows sorted by pair, with all limits equal; `column`, `row` say in
    which rows a pair is. Only short rows are looked at, and for each a bounded number of others.
    """
    implied = np.zeros(len(start) - 1, np.bool_)
    for k in range(len(start) - 1):
        length = start[k + 1] - start[k]
        if length == 0 or length > _LONGEST_ROW:
            continue
        rarest = pair[start[k]]
        for f in range(start[k], start[k + 1]):
            j = pair[f]
            if column[j + 1] - column[j] < column[rarest + 1] - column[rarest]:
                rarest = j
        for e in range(column[rarest], min(column[rarest + 1], column[rarest] + _ROWS_TRIED)):
            other = row[e]
            if other == k or implied[other] or start[other + 1] - start[other] < length:
                continue
            f, g = start[k], start[other]
            same = start[other + 1] - start[other] == length
            while f < start[k + 1] and g < start[other + 1]:
                if pair[g] < pair[f]:
                    g += 1
                elif pair[g] > pair[f] or cost[g] < cost[f]:
                    break
                else:
                    same = same and cost[g] == cost[f]
                    f += 1
                    g += 1
            if f == start[k + 1] and (not same or other < k):
                implied[k] = True
                break
    return implied


@compiled
def outdone_pairs(m: Any) -> Any:
    """Pairs in whose place another can always be released.

    Pair i outdoes pair j if i costs nobody more than j does and one click of each is too much for
    some user. Where j is released, i is not, and all its clicks can be clicks of i instead. Of two
    pairs that cost everybody the same, the first outdoes the second. Who is outdone by a pair that
    is itself outdone is outdone by the other too, so all of them may go at once.
    """
    outdone = np.zeros(len(m.upper), np.bool_)
    charge = np.zeros(len(m.start) - 1, np.int64)
    for i in range(len(m.upper)):
        entries = range(m.column[i], m.column[i + 1])
        if outdone[i] or not 0 < len(entries) <= _LONGEST_COLUMN:
            continue
        shortest = m.row[m.column[i]]
        for e in entries:
            k = m.row[e]
            charge[k] = m.cost[e]
            if m.start[k + 1] - m.start[k] < m.start[shortest + 1] - m.start[shortest]:
                shortest = k
        f = m.start[shortest + 1] - 1
        while f >= m.start[shortest] and m.row_cost[f] >= charge[shortest]:
            j = m.pair[f]
            f -= 1
            if j != i and not outdone[j]:
                outdone[j] = _outdoes(i, j, m, charge)
        for e in entries:
            charge[m.row[e]] = 0
    return outdone


@compiled
def _outdoes(i: Any, j: Any, m: Any, charge: Any) -> Any:
    """Whether pair i outdoes pair j; `charge` is what i costs each user."""
    rows, more = m.column[i + 1] - m.column[i], m.column[j + 1] - m.column[j]
    if more < rows:
        return False
    dearer, exclusive = more > rows, False
    for e in range(m.column[j], m.column[j + 1]):
        own, other = m.cost[e], charge[m.row[e]]
        if 0 < other <= own:
            rows -= 1
            dearer = dearer or other < own
            exclusive = exclusive or other + own > SCALE + TOLERANCE
    return rows == 0 and exclusive and (dearer or i < j)


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
        # Without the outdone pairs fewer rows bind, and with fewer rows more pairs are outdone.
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
