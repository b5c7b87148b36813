"""Packing: a reduced program, as integer arrays for the compiled search.

Presolve removes redundant rows and dominated pairs. Costs are integers here and every row may
spend `SCALE`, as in `search`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from slogan.arrays import Floats, Ints
from slogan.planning.program import Program
from slogan.planning.solvers._highs import Model
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix, sorted_within
from slogan.storage.compilation import compiled

# Longer rows and columns are rarely implied or dominated, and comparing them takes long.
_LONGEST_ROW, _ROWS_TRIED = 12, 64
_LONGEST_COLUMN = 8
# Presolving continues while a round removes this share of the pairs.
_WORTH_A_ROUND = 0.25
# A row whose load is this close to its limit, relatively, may bind: the sum is rounded.
_NEARLY = 1e-9
# Used for a limit or a cost of 0, to avoid division by 0: nothing fits, or everything does.
_NO_LIMIT, _NO_COST = 1e-300, 1e-18


@compiled
def implied_rows(start: Any, pair: Any, cost: Any, column: Any, row: Any) -> Any:
    """Rows that another row implies: its pairs are all there, at no lower cost.

    `start`, `pair`, `cost` are rows sorted by pair, with all limits equal; `column`, `row` are the
    rows of each pair. Only short rows are compared, each with a bounded number of others.
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
def dominated_pairs(m: Any) -> Any:
    """Pairs that another pair can always replace.

    Pair i dominates pair j if i costs no user more than j does and one click of each is too much
    for some user. Where j is released, i is not, and all its clicks can be clicks of i instead. Of
    two pairs with equal costs for every user, the first dominates the second. Dominance is
    transitive, so all dominated pairs can be removed together.
    """
    dominated = np.zeros(len(m.upper), np.bool_)
    charge = np.zeros(len(m.start) - 1, np.int64)
    for i in range(len(m.upper)):
        entries = range(m.column[i], m.column[i + 1])
        if dominated[i] or not 0 < len(entries) <= _LONGEST_COLUMN:
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
            if j != i and not dominated[j]:
                dominated[j] = _dominates(i, j, m, charge)
        for e in entries:
            charge[m.row[e]] = 0
    return dominated


@compiled
def _dominates(i: Any, j: Any, m: Any, charge: Any) -> Any:
    """Whether pair i dominates pair j; `charge` is the cost of i to each user."""
    rows, more = m.column[i + 1] - m.column[i], m.column[j + 1] - m.column[j]
    if more < rows:
        return False
    costlier, exclusive = more > rows, False
    for e in range(m.column[j], m.column[j + 1]):
        own, other = m.cost[e], charge[m.row[e]]
        if 0 < other <= own:
            rows -= 1
            costlier = costlier or other < own
            exclusive = exclusive or other + own > SCALE + TOLERANCE
    return rows == 0 and exclusive and (costlier or i < j)


@dataclass(frozen=True, kw_only=True)
class Packing:
    """max Σ x over rows·x ≤ limit, 0 ≤ x ≤ upper, x integer: a program reduced by presolve."""

    kept: Ints
    """The number of each column in the whole."""
    columns: sp.csc_array
    limit: Floats
    upper: Ints

    @property
    def pairs(self) -> int:
        """The number of counts to decide."""
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
        """The problem restricted to some pairs."""
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


def plain(problem: Packing) -> Model:
    """The problem for HiGHS, with one variable for each pair."""
    return Model(
        rows=problem.rows,
        row_lower=np.full(len(problem.limit), -np.inf),
        row_upper=problem.limit,
        cost=np.full(problem.pairs, -1.0),
        upper=problem.upper.astype(np.float64),
        pairs=problem.pairs,
    )


def _row_cost(rows: sp.csr_array, limit: Floats) -> Ints:
    share = rows.data / np.repeat(limit, np.diff(rows.indptr))
    return np.rint(share * SCALE).astype(np.int64)


def packing(
    program: Program, *, without: Ints | None = None, barred: Ints | None = None
) -> Packing:
    """Leave out pairs that no integer solution can use, and rows that cannot be violated.

    Args:
        program: The program; its support targets are ignored.
        without: Counts already decided, whose cost is subtracted from the limits.
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
    # A pair may need more than the remaining limit of a row: then no click of it fits.
    per_click = columns.data / np.maximum(limit, _NO_LIMIT)[columns.indices]
    costliest = np.zeros(len(upper))
    np.maximum.at(costliest, np.repeat(np.arange(len(upper)), np.diff(columns.indptr)), per_click)
    room = np.floor((1 + TOLERANCE / SCALE) / np.maximum(costliest, _NO_COST)).astype(np.int64)
    upper = np.minimum(upper, room)
    whole = Packing(kept=np.arange(len(upper)), columns=columns, limit=limit, upper=upper)
    problem = _with_binding_rows(whole, np.flatnonzero(upper > 0))
    while True:
        # Without the dominated pairs fewer rows bind, and with fewer rows more pairs are dominated.
        smaller = _with_binding_rows(problem, np.flatnonzero(~dominated_pairs(problem.matrix)))
        if smaller.pairs >= (1 - _WORTH_A_ROUND) * problem.pairs:
            return smaller
        problem = smaller


def _with_binding_rows(problem: Packing, left: Ints) -> Packing:
    """The problem of the remaining pairs, without rows that cannot be violated or are implied."""
    rows, upper = sp.csr_array(problem.columns[:, left].tocsr()), problem.upper[left]
    # A row that holds with all counts at their bounds cannot be violated.
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
    """The connected component of each row and each column of a matrix."""
    m, n = matrix.shape
    edges = matrix.tocoo()
    row, column = edges.coords
    graph = sp.coo_array((np.ones(edges.nnz, np.int8), (row, column + m)), shape=(m + n, m + n))
    label = connected_components(graph, directed=False)[1].astype(np.int64)
    return label[:m], label[m:]


def components(problem: Packing, *, small: int, most: int) -> list[Packing]:
    """Parts that share no row: the small ones together, then the `most` largest."""
    of_row, of_pair = linked(problem.columns)
    size = np.bincount(of_pair, minlength=of_row.max(initial=-1) + 1)
    rising = np.argsort(size, kind="stable")[-most:]
    large = rising[size[rising] > small]
    number = np.zeros(len(size), dtype=np.int64)
    number[large] = np.arange(1, len(large) + 1)
    parts: list[Packing] = []
    for part in range(len(large) + 1):
        rows, pairs = (np.flatnonzero(number[label] == part) for label in (of_row, of_pair))
        columns = sp.csc_array(problem.rows[rows].tocsc()[:, pairs])
        limit, upper = problem.limit[rows], problem.upper[pairs]
        parts.append(Packing(kept=pairs, columns=columns, limit=limit, upper=upper))
    return [part for part in parts if part.pairs]
