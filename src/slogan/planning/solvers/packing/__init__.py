"""Our own solver: presolve, prices from a relaxation, compiled search, proof by HiGHS."""

import time
from dataclasses import replace
from functools import cache

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.program import Program, Solution, SupportTargets, status
from slogan.planning.solvers import Effort, Report, _joint, exact, quiet
from slogan.planning.solvers._highs import Running, model, most_clicks, outward
from slogan.planning.solvers._precision import most_precise
from slogan.planning.solvers.packing import search
from slogan.planning.solvers.packing.presolve import components, packing
from slogan.planning.solvers.packing.race import Search, run_race
from slogan.planning.solvers.packing.relaxation import Relaxation

Proven = tuple[Ints, float]
"""Counts, and a bound on the value of any."""
# Parts of at most this many pairs are solved together, and others too if they would have fewer than
# this many seconds each.
_SMALL, _FOR_PART = 100, 2.0
# Programs with more pairs than this are not given to branch and bound as a whole.
_MOST_PAIRS = 20_000
# Seconds for each part, even if the time is up: enough for a first solution.
_LEAST_TIME = 0.05


def solve(program: Program, effort: Effort) -> Solution:
    """Counts within a proven gap of the best; see docs/explanation/solving.md."""
    warm_up()
    if program.mixture is not None:
        return _joint.solve(program, program.mixture, effort, solver="packing")
    if program.targets is not None:
        counts, bound = _frequent_first(program, program.targets, effort)
    else:
        counts, bound = _packed(program, effort)
    # Apply the gate here too, so that the proposal passes the real one unchanged.
    counts = plan(counts, program.constraints).counts
    # Presolve may have removed pairs of the start: return the start where it releases more.
    start = None if program.minimises else effort.start
    if start is not None and start.sum() > counts.sum() and program.allows(start):
        counts = start
    reached = status(value=program.value(counts), bound=bound, allowed=effort.gap)
    return Solution(x=counts.astype(np.float64), bound=bound, status=reached, solver="packing")


@cache
def warm_up() -> None:
    """Compile every loop before a time limit starts; once per installation if it is cached."""
    # Three users of whom any two share a pair: fractions violate the clique, so every loop runs.
    user, pair, count = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2], [1, 1, 1, 1, 1, 1]])
    hist = PairHistogram(user=user, pair=pair, count=count, users=3, pairs=3, query=np.arange(3))
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    problem = packing(Program(constraints=constraints))
    relaxed = Relaxation(problem)
    relaxed.tighten_on(lambda: False)
    Search(problem, relaxed, start=np.zeros(problem.pairs, dtype=np.int64)).round()


def _packed(program: Program, effort: Effort) -> Proven:
    """Solve parts that share no user independently: the sum of their optima is the optimum."""
    begin = time.monotonic()
    whole = packing(program)
    # The gate afterwards takes a fraction of the time of the presolve.
    deadline = begin + effort.time_limit - (time.monotonic() - begin) / 3
    x = np.zeros(whole.pairs, dtype=np.int64)
    bound = int(whole.upper.sum())
    start = None if effort.start is None else effort.start[whole.kept]
    parts = components(whole, small=_SMALL, most=max(1, int(effort.time_limit / _FOR_PART)))
    sizes = [part.columns.nnz + part.pairs for part in parts]
    for n, part in enumerate(parts):
        bound -= int(part.upper.sum())
        value = int(x.sum())
        known = None if start is None else start[part.kept]
        # What a part leaves of its time is for those after it.
        left = (deadline - time.monotonic()) * sizes[n] / sum(sizes[n:])
        effort_here = replace(
            effort,
            time_limit=max(_LEAST_TIME, left),
            report=_in_the_whole(effort.report, value=value, bound=bound),
            goal=effort.goal - value,
            least=effort.least - bound,
        )
        x[part.kept], most = run_race(part, effort_here, known)
        bound += most
    return whole.expand(x, program.pairs), min(float(bound), most_clicks(program))


def _until(deadline: float, effort: Effort) -> Effort:
    return replace(effort, time_limit=max(_LEAST_TIME, deadline - time.monotonic()))


def _in_the_whole(report: Report, *, value: int, bound: int) -> Report:
    """Report the progress of a part as that of all parts together."""
    return lambda own, most: report(value + own, bound + most)


def _frequent_first(program: Program, targets: SupportTargets, effort: Effort) -> Proven:
    """F-UMP: counts that sum to |O|, and a proven lower bound on the sum of support distances.

    Only frequent pairs count in the objective, and they are few. Solved without the others, with
    their sum at most |O|, they give a bound for the whole problem. If the remaining budget has room
    for the rest of |O| in other pairs, which do not change the value, the solution is optimal.
    """
    deadline = time.monotonic() + effort.time_limit
    half = replace(effort, time_limit=effort.time_limit / 2)
    counts, bound = _frequent_alone(program, targets, half)
    counts = _with_others(program, targets, counts, _until(deadline, effort))
    small = program.pairs <= _MOST_PAIRS
    if counts.sum() == targets.output_size:
        effort.report(program.value(counts), bound)
        if small:
            counts = most_precise(program, targets, counts, _until(deadline, effort))
        return counts, bound
    # No room: frequent and other pairs compete, so solve the whole from the known start.
    best = targets.start
    if small:
        answer = exact.solve(program, _until(deadline, effort))
        bound = max(bound, answer.bound)
        best = min(answer.x.astype(np.int64), best, key=program.value)
    return best, bound


def _with_others(program: Program, targets: SupportTargets, counts: Ints, effort: Effort) -> Ints:
    """Fill up to |O| with other pairs: as few as possible of them become frequent.

    At first all of them stay infrequent. If that is not enough, those with most room get more.
    If there is still no room for |O|, any counts of other pairs will do.
    """
    others, deadline = replace(program, targets=None), time.monotonic() + effort.time_limit

    def raced(most: int | None) -> Ints:
        room = packing(replace(others, most=most), without=counts, barred=targets.frequent)
        missing, half = targets.output_size - int(counts.sum()), (deadline - time.monotonic()) / 2
        if missing == 0 or room.pairs == 0:
            return counts
        limited = replace(effort, time_limit=max(_LEAST_TIME, half), goal=missing, report=quiet)
        x = _at_most(missing, run_race(room, limited)[0], np.arange(room.pairs))
        return counts + room.expand(x, program.pairs)

    filled = raced(targets.infrequent)
    missing = targets.output_size - int(filled.sum())
    room = packing(others, without=filled, barred=targets.frequent)
    if missing and room.pairs:
        widest = np.argsort(-room.upper, kind="stable")
        state = search.fresh_state(np.zeros(room.pairs, dtype=np.int64), room.matrix)
        search.fill(widest, room.matrix, state)
        x = _at_most(missing, state.x, widest)
        filled = filled + room.expand(x, program.pairs)
    return filled if filled.sum() == targets.output_size else raced(None)


def _at_most(clicks: int, x: Ints, order: Ints) -> Ints:
    """Drop what exceeds this many clicks, last in this order; fewer are always allowed."""
    kept, before = np.empty_like(x), np.cumsum(x[order]) - x[order]
    kept[order] = np.minimum(x[order], np.maximum(0, clicks - before))
    return kept


def _frequent_alone(program: Program, targets: SupportTargets, effort: Effort) -> Proven:
    counts = np.zeros(program.pairs, dtype=np.int64)
    kept = targets.frequent[program.upper[targets.frequent] > 0]
    if len(kept) == 0:
        return counts, float(np.sum(targets.support))
    problem = model(program, kept=kept, upper=program.upper[kept].astype(np.float64))
    # The row Σx = |O| becomes Σx ≤ |O|: the rest is for other pairs.
    lower = problem.row_lower.copy()
    lower[-2 * len(kept) - 1] = -np.inf
    answer = Running(replace(problem, row_lower=lower), effort, integer=True).wait()
    if answer.z is not None:
        counts[kept] = np.rint(answer.z[: problem.pairs]).astype(np.int64)
    return counts, outward(problem.constant + answer.objective_bound, program)
