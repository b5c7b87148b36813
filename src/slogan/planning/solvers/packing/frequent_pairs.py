"""F-UMP: the frequent pairs first, exactly; then clicks of other pairs up to the output size."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from slogan.arrays import Ints
from slogan.planning.program import Program, SupportTargets
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers import exact as branch_and_bound
from slogan.planning.solvers._highs import model, run
from slogan.planning.solvers.packing.presolve import packing
from slogan.planning.solvers.packing.race import run_race

# Programs with more pairs than this are not given to branch and bound as a whole.
_MOST_PAIRS = 20_000


def solve_frequent(program: Program, effort: Effort) -> tuple[Ints, float]:
    """Counts that sum to |O|, and a proven lower bound on the sum of support distances.

    Only frequent pairs count in the objective, and they are few. Solved alone, with their sum at
    most |O|, they give a bound that holds for the whole problem. If the budget they leave has room
    for the rest of |O| in other pairs, which cost nothing, that answer is optimal.
    """
    targets = program.targets
    assert targets is not None  # the caller asked
    deadline = time.monotonic() + effort.time_limit
    half = replace(effort, time_limit=effort.time_limit / 2)
    chosen, bound = _frequent_alone(program, targets, half)
    missing = targets.output_size - int(chosen.sum())
    counts = chosen + _others(program, chosen, missing, deadline, effort)
    if counts.sum() == targets.output_size:
        return counts, bound
    # No room: frequent and other pairs compete, so the whole is searched from the known start.
    best = targets.start
    if program.pairs <= _MOST_PAIRS:
        left = max(0.05, deadline - time.monotonic())
        answer = branch_and_bound.solve(program, replace(effort, time_limit=left))
        bound = max(bound, answer.bound)
        best = min(best, answer.x.astype(np.int64), key=program.value)
    return best, bound


def _frequent_alone(
    program: Program, targets: SupportTargets, effort: Effort
) -> tuple[Ints, float]:
    counts = np.zeros(program.pairs, dtype=np.int64)
    kept = targets.frequent[program.upper[targets.frequent] > 0]
    constant = float(np.sum(targets.support))
    if len(kept) == 0:
        return counts, constant
    asked = model(program, kept=kept, upper=program.upper[kept].astype(np.float64))
    # The row Σx = |O| becomes Σx ≤ |O|: the rest is for other pairs.
    total = len(asked.row_lower) - 2 * len(kept) - 1
    lower = asked.row_lower.copy()
    lower[total] = -np.inf
    answer = run(replace(asked, row_lower=lower), effort, integer=True)
    if answer.z is not None:
        counts[kept] = np.rint(answer.z[: asked.pairs]).astype(np.int64)
    return counts, max(0.0, asked.constant + answer.objective_bound - 1e-9)


def _others(program: Program, chosen: Ints, missing: int, deadline: float, effort: Effort) -> Ints:
    """Up to `missing` clicks of pairs that are not frequent, in the room that is left."""
    targets = program.targets
    assert targets is not None  # the caller asked
    others = replace(program, targets=None)
    room = packing(others, without=chosen, barred=targets.frequent)
    if missing == 0 or room.pairs == 0:
        return np.zeros(program.pairs, dtype=np.int64)
    left = max(0.05, (deadline - time.monotonic()) / 2)
    found = run_race(room, replace(effort, time_limit=left, goal=missing, report=quiet)).x
    # Fewer clicks of a pair are always allowed, so any surplus is dropped.
    found = np.minimum(found, np.maximum(0, missing - (np.cumsum(found) - found)))
    return room.expand(found, program.pairs)
