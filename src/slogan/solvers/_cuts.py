"""What whole counts obey and fractions break: cliques over several users, and rounded rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from slogan.arrays import Floats, Ints
from slogan.solvers._clicks import Clicks
from slogan.solvers._kernels import SCALE, TOLERANCE

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


@njit(cache=True, nogil=True)
def _mark(j: Any, m: Any, pair: Any, seen: Any, stamp: Any) -> None:
    """Stamp the clicks that do not fit together with click j."""
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        f = m.start[k + 1] - 1
        while f >= m.start[k] and m.row_cost[f] + m.cost[e] > SCALE + TOLERANCE:
            if pair[m.pair[f]] != pair[j]:
                seen[m.pair[f]] = stamp
            f -= 1


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
