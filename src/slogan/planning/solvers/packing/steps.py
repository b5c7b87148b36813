"""Primal-dual steps towards the optimum of the relaxation: products with a sparse matrix only."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.storage import limits
from slogan.storage.compilation import compiled

Late = Callable[[], bool]
"""Whether time is up."""
_ENTRIES_AT_ONCE = 20_000_000
"""Entries of the matrix between two checks of the time."""
_THREADS, _WORTH_SHARING = 2, 500_000
"""With fewer entries, a second thread costs more time than it saves."""
_EMPTY = 1e-12
"""The sum used for an empty line, which needs a step size too."""


class Walk:
    """Primal-dual steps for max Σx, Ax ≤ limit, 0 ≤ x ≤ upper, compiled, and their average.

    The saddle point of Σx + y·(limit − Ax) is approached from both sides [Chambolle and Pock]:

        x ← clip(x + τ·(1 − Aᵀy), 0, upper)           τ_j = 1 / Σ_k |A_kj|
        y ← max(0, y + σ·(A(2x − x_before) − limit))  σ_k = 1 / Σ_j |A_kj|

    `ahead` is 2x − x_before. With these step sizes the steps converge for any matrix.
    """

    def __init__(self, columns: sp.csr_array, limit: Floats, upper: Floats) -> None:
        rows = sp.csr_array(columns.T)
        self._rows, self._columns = lines(rows), lines(columns)
        self._limit, self._upper = limit, upper
        self._tau, self._sigma = (
            1.0 / np.maximum(sp.csr_array(abs(by_line)).sum(axis=1), _EMPTY)
            for by_line in (columns, rows)
        )
        threads = limits.threads(_THREADS) if rows.nnz > _WORTH_SHARING else 1
        self._parts = [_cut(start, threads) for start in (self._columns[0], self._rows[0])]
        self._at_once = max(1, _ENTRIES_AT_ONCE // max(1, 2 * rows.nnz))

    def begin(self, x: Floats, y: Floats) -> None:
        """Restart from this point."""
        self._x, self._y, self._ahead = x.copy(), y.copy(), x.copy()
        self._x_sum, self._y_sum = np.zeros_like(x), np.zeros_like(y)
        self._steps = 0

    def on(self, steps: int, late: Late) -> bool:
        """Take some steps; False if the time ran out first."""
        x, y, ahead = self._x, self._y, self._ahead
        of_counts = self._columns, self._upper, self._tau, x, y, ahead, self._x_sum
        of_prices = self._rows, self._limit, self._sigma, y, ahead, self._y_sum
        moves = partial(_move_counts, *of_counts), partial(_move_prices, *of_prices)
        with ThreadPoolExecutor(_THREADS) as pool:
            for step in range(steps):
                if step % self._at_once == 0 and self._steps and late():
                    return False
                # Each thread has its part of the counts, then of the prices; no sum is split.
                for move, parts in zip(moves, self._parts, strict=True):
                    list((pool.map if len(parts) > 1 else map)(move, *zip(*parts, strict=True)))
                self._steps += 1
        return True

    def places(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """The last step and the average since the last restart, as (counts, prices)."""
        last = self._x.copy(), self._y.copy()
        return last, (self._x_sum / self._steps, self._y_sum / self._steps)


def lines(rows: sp.csr_array) -> tuple[Any, Any, Any]:
    """The arrays of a matrix in the types of the compiled steps."""
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def _cut(start: Ints, parts: int) -> list[tuple[int, int]]:
    """Where lines begin and end if all parts have about as many entries."""
    shares = np.arange(1, parts) / parts
    inner = np.searchsorted(start, float(start[-1]) * shares).tolist()
    return list(pairwise([0, *inner, len(start) - 1]))


@compiled
def _dot(lines: Any, line: Any, vector: Any) -> Any:
    start, index, value = lines
    total = 0.0
    for e in range(start[line], start[line + 1]):
        total += value[e] * vector[index[e]]
    return total


@compiled
def product(lines: Any, vector: Any) -> Any:
    """The product of a matrix, given by its lines, and a vector."""
    out = np.empty(len(lines[0]) - 1)
    for line in range(len(out)):
        out[line] = _dot(lines, line, vector)
    return out


@compiled
def _move_counts(
    columns: Any, upper: Any, tau: Any, x: Any, y: Any, ahead: Any, x_sum: Any, begin: Any, end: Any
) -> None:
    for j in range(begin, end):
        to = x[j] + tau[j] * (1.0 - _dot(columns, j, y))
        to = min(max(to, 0.0), upper[j])
        ahead[j] = 2.0 * to - x[j]
        x[j] = to
        x_sum[j] += to


@compiled
def _move_prices(
    rows: Any, limit: Any, sigma: Any, y: Any, ahead: Any, y_sum: Any, begin: Any, end: Any
) -> None:
    for k in range(begin, end):
        y[k] = max(0.0, y[k] + sigma[k] * (_dot(rows, k, ahead) - limit[k]))
        y_sum[k] += y[k]
