"""The feasibility pump of Fischetti, Glover and Lodi (2005), with an objective cut that rises."""

import time
from pathlib import Path

import highspy
import numpy as np

from slogan.reproduction.peers import Array, Problem, Proposal, UnsupportedError

VARIANTS = ("restarts",)

_ROUNDS = 100
_FLIPS = 20


def solve(folder: Path, variant: str, seconds: float) -> Proposal:
    """Pump for a solution above a cut; raise the cut on success, lower it on failure, again.

    Counts above one are pumped as Bertacco, Fischetti and Lodi (2007) do, with a distance column.
    """
    del variant
    problem = Problem.load(folder)
    if problem.minimises:
        raise UnsupportedError("an equation on the size leaves nothing to round")
    return _Pump(problem, seconds, np.random.default_rng(0)).run()


class _Pump:
    def __init__(self, problem: Problem, seconds: float, rng: np.random.Generator) -> None:
        self.begin = time.monotonic()
        self.end = self.begin + seconds
        self.problem, self.rng = problem, rng
        self.several = np.flatnonzero(problem.upper > 1)
        self.single = np.flatnonzero(problem.upper == 1)
        self.best = np.zeros(len(problem.upper))
        self.trace: list[tuple[float, float]] = []
        self.highs = self._loaded()

    def run(self) -> Proposal:
        relaxed = self._minimise(-np.ones(len(self.problem.upper)))
        if relaxed is None:
            raise UnsupportedError("the relaxation is not solved within the time")
        bound = float(relaxed.sum())
        reach = 1.0  # the position of the cut between the best value and the bound
        while time.monotonic() < self.end and self.best.sum() < np.floor(bound + 1e-6):
            low = self.best.sum()
            cut = max(low + 1, np.floor(low + reach * (bound - low)))
            found = self._pump(cut, relaxed)
            if found is None:
                reach = max(reach / 2, 1e-3)
                continue
            self.best = found
            self.trace.append((time.monotonic() - self.begin, float(found.sum())))
        return Proposal(
            x=self.problem.counts(self.best),
            bound=bound + 1e-6,
            proven=bool(self.best.sum() >= np.floor(bound + 1e-6)),
            seconds=time.monotonic() - self.begin,
            trace=self.trace,
        )

    def _pump(self, cut: float, near: Array) -> Array | None:
        """Alternate between the nearest integers and the nearest relaxed point above the cut."""
        self.highs.changeRowBounds(len(self.problem.row_upper), cut - 1e-7, highspy.kHighsInf)
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
        farthest = np.argsort(-away)[:flips]
        kicked = rounded.copy()
        kicked[farthest] += np.where(point[farthest] > rounded[farthest], 1.0, -1.0)
        return np.clip(kicked, 0.0, self.problem.upper)

    def _nearest(self, target: Array) -> Array | None:
        cost = np.zeros(len(target))
        cost[self.single] = np.where(target[self.single] > 0, -1.0, 1.0)
        first = len(self.problem.row_upper) + 1
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
        return bool((self.problem.rows @ x <= self.problem.row_upper * (1 + 1e-9)).all())

    def _loaded(self) -> highspy.Highs:
        """The relaxation, a row for the cut, and two rows |x − target| ≤ d for each count."""
        highs = highspy.Highs()
        highs.silent()
        highs.setOptionValue("threads", 2)
        n, k, infinity = len(self.problem.upper), len(self.several), highspy.kHighsInf
        for upper in self.problem.upper:
            highs.addVar(0.0, float(upper))
        for _ in range(k):
            highs.addVar(0.0, infinity)
        rows = self.problem.rows
        for row, high in enumerate(self.problem.row_upper):
            part = slice(rows.indptr[row], rows.indptr[row + 1])
            index, data = rows.indices[part], rows.data[part]
            highs.addRow(-infinity, float(high), len(index), index, data)
        highs.addRow(-infinity, infinity, n, np.arange(n, dtype=np.int32), np.ones(n))
        for d, j in enumerate(self.several):
            index = np.array([j, n + d], dtype=np.int32)
            highs.addRow(-infinity, infinity, 2, index, np.array([1.0, -1.0]))
            highs.addRow(-infinity, infinity, 2, index, np.array([1.0, 1.0]))
        return highs
