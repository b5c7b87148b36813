"""CP-SAT of OR-Tools, with as many workers as cores and with its recommended eight."""

import math
import time
from pathlib import Path

import numpy as np
from ortools.sat.python import cp_model

from slogan.reproduction.peers import Array, Problem, Proposal

VARIANTS = ("2 workers", "8 workers")

# CP-SAT has integers only. Costs are rounded to the nearest 2^-40 and each limit is raised by the
# largest total rounding of the row, so every solution of the problem, ties included, stays one and
# the bound stays valid. The gate refuses what this allows in excess (relative 1e-10).
_SCALE = 2.0**40
# Distances of F-UMP in 2^-20 clicks.
_FINE = 2.0**20


class _Watch(cp_model.CpSolverSolutionCallback):
    def __init__(self, begin: float, problem: Problem, unit: float) -> None:
        super().__init__()
        self.begin, self.problem, self.unit = begin, problem, unit
        self.trace: list[tuple[float, float]] = []

    def on_solution_callback(self) -> None:
        value = self.problem.value(self.objective_value * self.unit)
        self.trace.append((time.monotonic() - self.begin, value))


def solve(folder: Path, variant: str, seconds: float) -> Proposal:
    """The integers of the problem; the distances of F-UMP in millionths of a click."""
    begin = time.monotonic()
    problem = Problem.load(folder)
    model, columns = _loaded(problem)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = int(variant.split(maxsplit=1)[0])
    solver.parameters.max_time_in_seconds = seconds
    unit = _unit(problem)
    watch = _Watch(begin, problem, unit)
    status = solver.solve(model, watch)
    z = np.zeros(len(problem.cost))
    bound = -math.inf if problem.minimises else math.inf
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        z[: problem.integers] = [solver.value(column) for column in columns[: problem.integers]]
        # Without an answer CP-SAT reports 0, which bounds nothing.
        extra = len(problem.cost) - problem.integers
        bound = problem.value((solver.best_objective_bound - extra) * unit)
    return Proposal(
        x=problem.counts(z),
        bound=bound,
        proven=status == cp_model.OPTIMAL,
        seconds=time.monotonic() - begin,
        trace=watch.trace,
    )


def _unit(problem: Problem) -> float:
    """The value of one unit of CP-SAT's objective; a distance rounded up costs at most one."""
    return 1.0 if len(problem.cost) == problem.integers else float(problem.cost.max()) / _FINE


def _loaded(problem: Problem) -> tuple[cp_model.CpModel, list[cp_model.IntVar]]:
    model = cp_model.CpModel()
    most = np.where(np.isfinite(problem.upper), problem.upper, 2.0**20 * _FINE).astype(np.int64)
    columns = [model.new_int_var(0, int(upper), "") for upper in most]
    for row, (low, high) in enumerate(zip(problem.row_lower, problem.row_upper, strict=True)):
        part = slice(problem.rows.indptr[row], problem.rows.indptr[row + 1])
        index, cost = problem.rows.indices[part], problem.rows.data[part]
        scaled, *limits = _integer_row(problem, index, cost, low, high)
        total = cp_model.LinearExpr.weighted_sum([columns[j] for j in index], scaled)
        model.add_linear_constraint(total, *limits)
    goal = columns[problem.integers :] or columns
    weight = 1 if problem.minimises else -1
    model.minimize(cp_model.LinearExpr.weighted_sum(goal, [weight] * len(goal)))
    for column, value in zip(columns, np.ceil(problem.start[: problem.integers]), strict=False):
        model.add_hint(column, int(value))
    return model, columns


def _integer_row(
    problem: Problem, index: Array, cost: Array, low: float, high: float
) -> tuple[list[int], int, int]:
    if (index >= problem.integers).any():  # x ± y against an ideal count, y in its finer unit
        scaled = np.where(index >= problem.integers, cost, cost * _FINE).astype(np.int64)
        return scaled.tolist(), _limit(np.floor(low * _FINE)), _limit(np.ceil(high * _FINE))
    if (cost == np.rint(cost)).all():
        return cost.astype(np.int64).tolist(), _limit(np.ceil(low)), _limit(np.floor(high))
    scaled = np.rint(cost * _SCALE)
    slack = np.ceil(0.51 * problem.upper[index].sum())
    return scaled.astype(np.int64).tolist(), _limit(low), _limit(np.ceil(high * _SCALE + slack))


def _limit(number: float) -> int:
    return int(np.clip(number, cp_model.INT32_MIN * 2.0**30, cp_model.INT32_MAX * 2.0**30))
