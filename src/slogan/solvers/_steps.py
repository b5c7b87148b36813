"""Primal-dual steps for max Σx, Ax ≤ limit, 0 ≤ x ≤ upper (Chambolle and Pock), compiled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from slogan.arrays import Floats, Ints

_ENTRIES_AT_ONCE = 20_000_000
_THREADS = 2
_WORTH_SHARING = 500_000
"""With fewer entries, starting and awaiting threads takes longer than they save."""


class Walk:
    """Where the steps are, and the average of those since the last restart."""

    def __init__(self, columns: sp.csr_array, limit: Floats, upper: Floats) -> None:
        rows = sp.csr_array(columns.T)
        self._rows, self._columns = lines(rows), lines(columns)
        self._limit, self._upper = limit, upper
        self._tau = 1.0 / np.maximum(_sums(columns), 1e-12)
        self._sigma = 1.0 / np.maximum(_sums(rows), 1e-12)
        self._large = rows.nnz > _WORTH_SHARING
        self._at_once = max(1, _ENTRIES_AT_ONCE // max(1, 2 * rows.nnz))

    def begin(self, x: Floats, y: Floats) -> None:
        """Start anew from here."""
        self._x, self._y, self._ahead = x.copy(), y.copy(), x.copy()
        self._x_sum, self._y_sum = np.zeros_like(x), np.zeros_like(y)
        self._steps = 0

    def on(self, steps: int, late: Callable[[], bool]) -> bool:
        """Take some steps; False if time ran out before."""
        with ThreadPoolExecutor(_THREADS) as pool:
            while steps > 0:
                if self._steps and late():
                    return False
                now = min(steps, self._at_once)
                self._advance(now, pool)
                self._steps += now
                steps -= now
        return True

    def _advance(self, steps: int, pool: ThreadPoolExecutor) -> None:
        """Each thread has its part of the counts, then of the prices; no sum is divided."""
        for _ in range(steps):
            if self._large:
                list(pool.map(self._move_counts, pairwise(_cut(self._columns[0], _THREADS))))
                list(pool.map(self._move_prices, pairwise(_cut(self._rows[0], _THREADS))))
            else:
                self._move_counts((0, len(self._x)))
                self._move_prices((0, len(self._y)))

    def _move_counts(self, part: tuple[int, int]) -> None:
        _move_counts(
            *(self._columns, self._upper, self._tau, self._x, self._y, self._ahead, self._x_sum),
            *part,
        )

    def _move_prices(self, part: tuple[int, int]) -> None:
        _move_prices(
            *(self._rows, self._limit, self._sigma, self._y, self._ahead, self._y_sum),
            *part,
        )

    def places(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """The last step and the average, as (counts, prices)."""
        last = self._x.copy(), self._y.copy()
        return last, (self._x_sum / self._steps, self._y_sum / self._steps)


def lines(rows: sp.csr_array) -> tuple[Any, Any, Any]:
    """The arrays of a matrix in the types the compiled steps know."""
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def _sums(rows: sp.csr_array) -> Floats:
    return np.asarray(sp.csr_array(abs(rows)).sum(axis=1), dtype=np.float64).ravel()


@njit(cache=True, nogil=True)
def _dot(lines: Any, line: Any, vector: Any) -> Any:
    start, index, value = lines
    total = 0.0
    for e in range(start[line], start[line + 1]):
        total += value[e] * vector[index[e]]
    return total


@njit(cache=True, nogil=True)
def product(lines: Any, vector: Any) -> Any:
    out = np.empty(len(lines[0]) - 1)
    for line in range(len(out)):
        out[line] = _dot(lines, line, vector)
    return out


@njit(cache=True, nogil=True)
def _move_counts(
    columns: Any, upper: Any, tau: Any, x: Any, y: Any, ahead: Any, x_sum: Any, begin: Any, end: Any
) -> None:
    for j in range(begin, end):
        to = x[j] + tau[j] * (1.0 - _dot(columns, j, y))
        to = min(max(to, 0.0), upper[j])
        ahead[j] = 2.0 * to - x[j]
        x[j] = to
        x_sum[j] += to


@njit(cache=True, nogil=True)
def _move_prices(
    rows: Any, limit: Any, sigma: Any, y: Any, ahead: Any, y_sum: Any, begin: Any, end: Any
) -> None:
    for k in range(begin, end):
        y[k] = max(0.0, y[k] + sigma[k] * (_dot(rows, k, ahead) - limit[k]))
        y_sum[k] += y[k]


def _cut(start: Ints, parts: int) -> list[int]:
    """Where to cut lines so that all parts have about as many entries."""
    shares = np.arange(1, parts) / parts
    return [0, *np.searchsorted(start, start[-1] * shares).tolist(), len(start) - 1]
