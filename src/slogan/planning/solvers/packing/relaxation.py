"""Primal-dual steps for max Σx, Ax ≤ limit, 0 ≤ x ≤ upper (Chambolle and Pock), compiled.

The relaxation with cuts: prices for the search, and a bound that any prices prove.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers.packing.cuts import clicks, violated
from slogan.planning.solvers.packing.presolve import Packing
from slogan.storage.compilation import compiled

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


def _cut(start: Ints, parts: int) -> list[int]:
    """Where to cut lines so that all parts have about as many entries."""
    shares = np.arange(1, parts) / parts
    return [0, *np.searchsorted(start, start[-1] * shares).tolist(), len(start) - 1]


_CHECK_EVERY = 40
_CHECKS = 5
"""From one choice of the pairs in play to the next."""
_MOST_STRETCHES = 20
_IN_PLAY = 1.25
"""Clicks that cost more than this at the prices of now are left out of steps and cliques."""
_AT_REST = 5e-4
"""The bound has come to rest if this share of it is not gained in a stretch."""
_NO_GAIN = 1e-4
"""New rows that gain less are the last."""
# The bound is a sum of products in floating point; this covers its rounding many times over.
_ROUND_UP = 1 + 1e-9


class Relaxation:
    """max Σx, Ax ≤ limit, 0 ≤ x ≤ upper by primal-dual steps; rows are added as they are broken.

    The steps are those of Chambolle and Pock with their diagonal step sizes, averaged and
    restarted. They may be stopped at any time: whatever the prices y ≥ 0 of the rows,
    limit·y + Σ upper·max(0, 1 − Aᵀy) bounds the value of any whole counts.
    """

    def __init__(self, problem: Packing) -> None:
        self._clicks = clicks(problem)
        self._upper = self._clicks.upper.astype(np.float64)
        self._z = np.zeros(self._clicks.count)
        # Steps over all clicks take long. Most of the value is in first ones: they set the prices.
        self._price = np.where(self._clicks.rank == 1, 0.0, np.inf)
        self.bound = float(self._upper.sum())
        """No integer solution releases more: weak duality."""
        ordered, cliques = self._clicks.ordered(), self._clicks.exclusive()
        self._rows = sp.csr_array(sp.vstack([self._clicks.rows, ordered, cliques], format="csr"))
        most = [problem.limit, np.zeros(ordered.shape[0]), np.ones(cliques.shape[0])]
        self._columns = sp.csr_array(self._rows.T)
        self._limit = np.concatenate(most)
        self._y = np.zeros(len(self._limit))
        self._own = len(self._y) - cliques.shape[0]
        self.at_rest = False
        """Whether more steps promise nothing."""

    @property
    def x(self) -> Floats:
        """Fractional counts, nearly optimal, nearly feasible."""
        return self._clicks.of_pairs(self._z)

    @property
    def price(self) -> Floats:
        """What a click of each pair costs at the prices of now; 1 is what it is worth."""
        y = self._y.copy()
        y[len(self._clicks.limit) : self._own] = 0.0  # what later clicks pay to the first
        return product(lines(self._columns), y)[self._clicks.rank == 1]

    @property
    def linear_program(self) -> tuple[sp.csr_array, Floats, Floats]:
        """Rows, their limits, and the upper bounds of the variables, as they are now."""
        return self._rows, self._limit, self._upper

    def cuts(self, upper: Ints) -> sp.csr_array:
        """The added rows that have a price, over variables of one click each; 1 is the limit."""
        priced = self._own + np.flatnonzero(self._y[self._own :] > 0)
        return self._clicks.one_by_one(sp.csr_array(self._rows[priced]), upper)

    def tighten(self, late: Callable[[], bool]) -> bool:
        """Add rows that the fractional counts break; whether there are any and there is time."""
        eligible = np.flatnonzero((self._z > 0) | (self._price < _IN_PLAY))
        rows = violated(self._clicks, self._z, eligible, late)
        if rows.shape[0] == 0 or late():
            return False
        self._rows = sp.csr_array(sp.vstack([self._rows, rows], format="csr"))
        self._columns = sp.csr_array(self._rows.T)
        self._limit = np.concatenate([self._limit, np.ones(rows.shape[0])])
        self._y = np.concatenate([self._y, np.zeros(rows.shape[0])])
        return True

    def solve(self, late: Callable[[], bool], *, enough: float = _AT_REST) -> None:
        """Step until the bound comes to rest or it is late.

        Args:
            late: Whether time is up.
            enough: Stop when a stretch gains less than this share of the bound.
        """
        here, self.at_rest = np.inf, False
        for stretch in range(_MOST_STRETCHES):
            before = here
            # Few pairs are worth their price; the others do not move, and the bound sees them all.
            active = np.flatnonzero((self._price < _IN_PLAY) | (self._z > 0))
            walk = Walk(self._columns[active], self._limit, self._upper[active])
            walk.begin(self._z[active], self._y)
            for _ in range(min(_CHECKS, 1 + stretch)):
                on_time = walk.on(_CHECK_EVERY, late)
                (z, y), (mean_z, mean_y) = walk.places()
                (bound, price), mean = self._proven(y), self._proven(mean_y)
                if mean[0] < bound:
                    (bound, price), z, y = mean, mean_z, mean_y
                    walk.begin(z, y)
                if bound < here:
                    here, self.bound = bound, min(bound, self.bound)
                    self._price, self._y = price, y
                    self._z = np.zeros_like(self._z)
                    self._z[active] = z
                if not on_time:
                    return
            if stretch > (2 if enough <= _AT_REST else 0) and before - here < enough * here:
                break
        self.at_rest = enough <= _AT_REST

    def tighten_on(self, late: Callable[[], bool]) -> None:
        """Add rows and step on until that no longer helps or it is late."""
        if not self.at_rest:
            self.solve(late)
        gain = np.inf
        while gain > _NO_GAIN * self.bound and self.tighten(late):
            before = self.bound
            self.solve(late)
            gain = before - self.bound

    def _proven(self, y: Floats) -> tuple[float, Floats]:
        price = product(lines(self._columns), y)
        bound = float(self._limit @ y + self._upper @ np.maximum(0.0, 1.0 - price))
        return bound * _ROUND_UP, price


class Tightening:
    """A relaxation made tighter in a thread of its own; only its bound may be read meanwhile."""

    def __init__(self, relaxed: Relaxation, deadline: float) -> None:
        self._stopped, self._deadline = threading.Event(), deadline
        self._pool = ThreadPoolExecutor(1)
        self._work = self._pool.submit(relaxed.tighten_on, self._late)

    def _late(self) -> bool:
        return self._stopped.is_set() or time.monotonic() > self._deadline

    @property
    def finished(self) -> bool:
        """Whether it has come to an end."""
        return self._work.done()

    def stop(self) -> None:
        """End it soon; what went wrong there is raised here."""
        self._stopped.set()
        self._pool.shutdown()
        self._work.result()
