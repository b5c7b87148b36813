"""The integer program by branch and bound (HiGHS), after pruning and with a start."""

import time
from dataclasses import replace

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.planning.program import Program, Solution, Status
from slogan.planning.solvers import Effort, _joint, quiet
from slogan.planning.solvers._highs import Model, Running, model, most_clicks, outward
from slogan.planning.solvers._precision import most_precise

# The quotient of slack and cost may be rounded slightly below a whole number of clicks.
_ROUNDED_DOWN = 1 + 1e-12
# Of F-UMP's time, the share for the distances; the rest is for the choice among equal ones.
_FOR_DISTANCES = 0.75
# Seconds for that choice, even if the time is up.
_LEAST_TIME = 0.05


def greedy(program: Program) -> Ints:
    """Counts within every constraint (up to rounding), pairs of the lowest total cost first."""
    columns = program.constraints.cost.tocsc()
    slack = np.full(columns.shape[0], program.constraints.limit)
    counts = np.zeros(program.pairs, dtype=np.int64)
    taken: set[int] = set()
    total = np.asarray(columns.sum(axis=0)).ravel()
    candidates = np.flatnonzero(program.upper > 0)
    for pair in candidates[np.argsort(total[candidates], kind="stable")]:
        label = pair if program.at_most_one is None else int(program.at_most_one[pair])
        if label in taken:
            continue
        entries = slice(columns.indptr[pair], columns.indptr[pair + 1])
        users, cost = columns.indices[entries], columns.data[entries]
        fits = int(np.floor(np.min(slack[users] / cost) * _ROUNDED_DOWN))
        counts[pair] = min(fits, int(program.upper[pair]))
        slack[users] -= counts[pair] * cost
        if counts[pair]:
            taken.add(label)
    return counts


def solve(program: Program, effort: Effort) -> Solution:
    """The best counts found within the time limit, with HiGHS's proven bound.

    Pairs whose first click exceeds the budget are 0 in every integer solution
    (docs/explanation/limits): leaving them out tightens the bound.
    """
    if program.mixture is not None:
        return _joint.solve(program, program.mixture, replace(effort, start=None), solver="exact")
    kept = np.flatnonzero(program.upper > 0)
    x = np.zeros(program.pairs)
    if len(kept) == 0:
        return Solution(x=x, bound=0.0, status=Status.OPTIMAL, solver="exact")
    deadline = time.monotonic() + effort.time_limit
    start, effort = _start(program, effort)
    problem = model(program, kept=kept, upper=program.upper[kept].astype(np.float64))
    warm = _completed(start[kept].astype(np.float64), problem)
    answer = Running(problem, effort, integer=True, start=warm).wait()
    best = warm if answer.z is None else answer.z
    x[kept] = np.rint(best[: problem.pairs])
    bound = outward(problem.constant + answer.objective_bound, program)
    if program.targets is not None:
        left = replace(effort, time_limit=max(_LEAST_TIME, deadline - time.monotonic()))
        x = most_precise(program, program.targets, x.astype(np.int64), left).astype(np.float64)
    else:
        # Counts are integers, so the bound is one too.
        bound = min(float(np.floor(bound)), most_clicks(program), float(program.upper.sum()))
    return Solution(x=x, bound=bound, status=answer.status or Status.FEASIBLE, solver="exact")


def _start(program: Program, effort: Effort) -> tuple[Ints, Effort]:
    """Feasible counts to start from, and the remaining effort.

    Where several clicks of a pair may be released, a third of the time is spent on the problem with
    at most one of each: its counts are binary, so HiGHS finds cliques and solves it far better.
    """
    if program.targets is not None:
        return program.targets.start, replace(effort, time_limit=_FOR_DISTANCES * effort.time_limit)
    start = greedy(program)
    if program.upper.max() > 1:
        begin = time.monotonic()
        third = replace(effort, time_limit=effort.time_limit / 3, report=quiet)
        single = solve(replace(program, most=1), third).x.astype(np.int64)
        left = effort.time_limit - (time.monotonic() - begin)
        effort = replace(effort, time_limit=max(left, 0.0))
        start = max(start, single, key=program.value)
    return start, effort


def _completed(counts: Floats, problem: Model) -> Floats:
    """Give the distances y the values that the counts imply."""
    extra = len(problem.cost) - problem.pairs
    if extra == 0:
        return counts
    above, ideal = problem.rows[-2 * extra : -extra], problem.row_upper[-2 * extra : -extra]
    return np.concatenate([counts, np.abs(above[:, : problem.pairs] @ counts - ideal)])
