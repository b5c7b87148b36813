"""Packing: a program reduced to what can matter, as integer arrays for the compiled search.

Presolve leaves out rows and pairs that others make superfluous. Costs are integers here and every
row may spend `SCALE`, as in `search`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from slogan.arrays import Floats, Ints
from slogan.planning.program import Program
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix, sorted_within
from slogan.storage.compilation import compiled

# Longer rows and columns are seldom implied or outdone, and comparing them takes long.
_LONGEST_ROW, _ROWS_TRIED = 12, 64
_LONGEST_COLUMN = 8
# Presolving goes on while a round takes away this share of the pairs.
_WORTH_A_ROUND = 0.25
# A row whose load is this close to its limit, relatively, may bind: the sum is rounded.
_NEARLY = 1e-9
# In place of a limit or a cost of 0, which are divided by: nothing fits, or everything does.
_NO_LIMIT, _NO_COST = 1e-300, 1e-18


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
        for j in pair[start[k] : start[k + 1]]:
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
    pairs that cost everybody the same, the first outdoes the second. This is transitive, so all
    outdone pairs can be removed together.
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

    def of_pairs(self, chosen: Ints) -> "Packing":
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
    row_cost = _row_cost(rows, limit)
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


def _row_cost(rows: sp.csr_array, limit: Floats) -> Ints:
    share = rows.data / np.repeat(limit, np.diff(rows.indptr))
    return np.rint(share * SCALE).astype(np.int64)


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
    upper = program.upper.copy()
    if without is not None:
        limit -= program.constraints.charge(without)
    if barred is not None:
        upper[barred] = 0
    columns = program.constraints.cost.tocsc()
    label = program.at_most_one
    if label is not None:
        # At most one click per label is one more packing row: cost 1 each, limit 1.
        groups, each = int(label.max()) + 1, np.ones(program.pairs)
        rows = sp.csr_array((each, (label, np.arange(program.pairs))), (groups, program.pairs))
        columns = sp.csc_array(sp.vstack([columns, rows]))
        limit = np.concatenate([limit, np.ones(groups)])
    return _reduced(columns, limit, upper)


def _reduced(columns: sp.csc_array, limit: Floats, upper: Ints) -> Packing:
    # Of what is left of a row, a pair may need more: then not one click of it fits.
    per_click = columns.data / np.maximum(limit, _NO_LIMIT)[columns.indices]
    dearest = np.zeros(len(upper))
    np.maximum.at(dearest, np.repeat(np.arange(len(upper)), np.diff(columns.indptr)), per_click)
    room = np.floor((1 + TOLERANCE / SCALE) / np.maximum(dearest, _NO_COST)).astype(np.int64)
    upper = np.minimum(upper, room)
    whole = Packing(kept=np.arange(len(upper)), columns=columns, limit=limit, upper=upper)
    problem = _with_binding_rows(whole, np.flatnonzero(upper > 0))
    while True:
        # Without the outdone pairs fewer rows bind, and with fewer rows more pairs are outdone.
        smaller = _with_binding_rows(problem, np.flatnonzero(~outdone_pairs(problem.matrix)))
        if smaller.pairs >= (1 - _WORTH_A_ROUND) * problem.pairs:
            return smaller
        problem = smaller


def _with_binding_rows(problem: Packing, left: Ints) -> Packing:
    """The problem of the pairs that are left, without rows that cannot be broken or are implied."""
    rows, upper = sp.csr_array(problem.columns[:, left].tocsr()), problem.upper[left]
    # A row that all bounds together do not exceed cannot be broken while the bounds are kept.
    load = rows @ upper.astype(np.float64)
    binding = np.flatnonzero(load > np.maximum(problem.limit, 0.0) * (1 - _NEARLY))
    rows, limit = sp.csr_array(rows[binding]), problem.limit[binding]
    rows.sort_indices()
    columns = sp.csc_array(rows.tocsc())
    start, pair, column, row = (
        a.astype(np.int64) for a in (rows.indptr, rows.indices, columns.indptr, columns.indices)
    )
    needed = np.flatnonzero(~implied_rows(start, pair, _row_cost(rows, limit), column, row))
    columns = sp.csc_array(rows[needed].tocsc())
    return Packing(kept=problem.kept[left], columns=columns, limit=limit[needed], upper=upper)


def linked(matrix: sp.csc_array) -> tuple[Ints, Ints]:
    """Numbers of the connected parts in which the rows and the columns of a matrix are."""
    m, n = matrix.shape
    edges = matrix.tocoo()
    row, column = edges.coords
    graph = sp.coo_array((np.ones(edges.nnz, np.int8), (row, column + m)), shape=(m + n, m + n))
    label = connected_components(graph, directed=False)[1].astype(np.int64)
    return label[:m], label[m:]


def components(problem: Packing, *, small: int) -> list[Packing]:
    """Parts that share no row: the small ones together, then each large one, for itself."""
    of_row, of_pair = linked(problem.columns)
    size = np.bincount(of_pair, minlength=of_row.max(initial=-1) + 1)
    large = np.flatnonzero(size > small)
    number = np.zeros(len(size), dtype=np.int64)
    number[large] = np.arange(1, len(large) + 1)
    parts: list[Packing] = []
    for part in range(len(large) + 1):
        rows, pairs = (np.flatnonzero(number[label] == part) for label in (of_row, of_pair))
        columns = sp.csc_array(problem.rows[rows].tocsc()[:, pairs])
        limit, upper = problem.limit[rows], problem.upper[pairs]
        parts.append(Packing(kept=pairs, columns=columns, limit=limit, upper=upper))
    return [part for part in parts if part.pairs]
