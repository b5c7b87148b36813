"""The feasibility pump of Fischetti, Glover and Lodi (2005), with an objective cut that rises."""

from __future__ import annotations

import time
from pathlib import Path

import highspy
import numpy as np

from bench import problem as files
from bench.peers import PROBLEM, Found, UnsupportedError
from bench.problem import Array, Problem

VARIANTS = ("restarts",)

_ROUNDS = 100
_FLIPS = 20


def solve(folder: Path, variant: str, seconds: float) -> Found:
    """Pump for a solution above a cut; raise the cut on success, lower it on failure, again.

    Counts above one are pumped as Bertacco, Fischetti and Lodi (2007) do, with a distance column.
    """
    del variant
    asked = files.load(folder / PROBLEM)
    if asked.minimises:
        raise UnsupportedError("an equation on the size leaves nothing to round")
    return _Pump(asked, seconds, np.random.default_rng(0)).run()


class _Pump:
    def __init__(self, asked: Problem, seconds: float, rng: np.random.Generator) -> None:
        self.begin = time.monotonic()
        self.end = self.begin + seconds
        self.asked, self.rng = asked, rng
        self.several = np.flatnonzero(asked.upper > 1)
        self.single = np.flatnonzero(asked.upper == 1)
        self.best = np.zeros(len(asked.upper))
        self.trace: list[tuple[float, float]] = []
        self.highs = self._loaded()

    def run(self) -> Found:
        relaxed = self._minimise(-np.ones(len(self.asked.upper)))
        assert relaxed is not None  # zero is always feasible
        bound = float(relaxed.sum())
        reach = 1.0  # the share of the way from the best value to the bound that the cut asks for
        while time.monotonic() < self.end and self.best.sum() < np.floor(bound + 1e-6):
            low = self.best.sum()
            cut = max(low + 1, np.floor(low + reach * (bound - low)))
            found = self._pump(cut, relaxed)
            if found is None:
                reach = max(reach / 2, 1e-3)
                continue
            self.best = found
            self.trace.append((time.monotonic() - self.begin, float(found.sum())))
        return Found(
            x=self.asked.counts(self.best),
            bound=bound + 1e-6,
            proven=bool(self.best.sum() >= np.floor(bound + 1e-6)),
            seconds=time.monotonic() - self.begin,
            trace=self.trace,
        )

    def _pump(self, cut: float, near: Array) -> Array | None:
        """Alternate between the nearest integers and the nearest relaxed point above the cut."""
        self.highs.changeRowBounds(len(self.asked.row_upper), cut - 1e-7, highspy.kHighsInf)
        point, target = near, np.rint(near)
        for _ in range(_ROUNDS):
            if time.monotonic() >= self.end:
                return None
            moved = self._nearest(target)
            if moved is None:
                return None
            point = moved
            rounded = np.rint(point)
            if np.abs(point - rounded).max() < 1e-6 and self._feasible(rounded):
                return rounded
            target = rounded if (rounded != target).any() else self._kicked(point, rounded)
        return None

    def _kicked(self, point: Array, rounded: Array) -> Array:
        """Out of a cycle: move the counts farthest from their integer to the other side."""
        away = np.abs(point - rounded) + 0.3 * self.rng.random(len(point)) * (rounded != point)
        flips = int(self.rng.integers(_FLIPS // 2, 3 * _FLIPS // 2))
        chosen = np.argsort(-away)[:flips]
        kicked = rounded.copy()
        kicked[chosen] += np.where(point[chosen] > rounded[chosen], 1.0, -1.0)
        return np.clip(kicked, 0.0, self.asked.upper)

    def _nearest(self, target: Array) -> Array | None:
        cost = np.zeros(len(target))
        cost[self.single] = np.where(target[self.single] > 0, -1.0, 1.0)
        first = len(self.asked.row_upper) + 1
        for k, j in enumerate(self.several):
            self.highs.changeRowBounds(first + 2 * k, -highspy.kHighsInf, target[j])
            self.highs.changeRowBounds(first + 2 * k + 1, target[j], highspy.kHighsInf)
        return self._minimise(cost)

    def _minimise(self, cost: Array) -> Array | None:
        n = len(cost)
        every = np.concatenate([cost, np.full(len(self.several), 1.0 if cost.max() > 0 else 0.0)])
        columns = np.arange(len(every), dtype=np.int32)
        self.highs.changeColsCost(len(every), columns, every)
        self.highs.setOptionValue("time_limit", max(0.1, self.end - self.begin))
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(self.highs.getSolution().col_value)[:n]

    def _feasible(self, x: Array) -> bool:
        return bool((self.asked.rows @ x <= self.asked.row_upper * (1 + 1e-9)).all())

    def _loaded(self) -> highspy.Highs:
        """The relaxation, a row for the cut, and two rows |x − target| ≤ d for each count."""
        highs = highspy.Highs()
        highs.silent()
        highs.setOptionValue("threads", 2)
        n, k, infinity = len(self.asked.upper), len(self.several), highspy.kHighsInf
        for upper in self.asked.upper:
            highs.addVar(0.0, float(upper))
        for _ in range(k):
            highs.addVar(0.0, infinity)
        rows = self.asked.rows
        for row, high in enumerate(self.asked.row_upper):
            part = slice(rows.indptr[row], rows.indptr[row + 1])
            index, data = rows.indices[part], rows.data[part]
            highs.addRow(-infinity, float(high), len(index), index, data)
        highs.addRow(-infinity, infinity, n, np.arange(n, dtype=np.int32), np.ones(n))
        for d, j in enumerate(self.several):
            index = np.array([j, n + d], dtype=np.int32)
            highs.addRow(-infinity, infinity, 2, index, np.array([1.0, -1.0]))
            highs.addRow(-infinity, infinity, 2, index, np.array([1.0, 1.0]))
        return highs
