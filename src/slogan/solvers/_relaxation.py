"""The relaxation with cuts: prices for the search, and a bound that any prices prove."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.solvers._clicks import clicks
from slogan.solvers._cuts import violated
from slogan.solvers._presolve import Packing
from slogan.solvers._steps import Walk, lines, product

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
