"""What a packing problem can do without: rows and pairs that others make superfluous, compiled.

Costs are integers and every row may spend `SCALE`, as in `_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from slogan.solvers._kernels import SCALE, TOLERANCE

_LONGEST_ROW, _ROWS_TRIED = 12, 64
_LONGEST_COLUMN = 8


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
