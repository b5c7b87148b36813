"""Our own solver: presolve, prices from a relaxation, compiled search, proof by HiGHS."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.program import Program, Solution, status
from slogan.planning.solvers import Effort, Report
from slogan.planning.solvers.packing.frequent_pairs import solve_frequent
from slogan.planning.solvers.packing.presolve import components, packing
from slogan.planning.solvers.packing.race import Search, run_race
from slogan.planning.solvers.packing.relaxation import Relaxation

# Parts of at most this many pairs are solved together: branch and bound takes them apart at once.
_SMALL = 500


def solve(program: Program, effort: Effort) -> Solution:
    """Counts within a proven gap of the best; see docs/explanation/solving.md."""
    warm_up()
    if program.targets is not None:
        counts, bound = solve_frequent(program, effort)
    else:
        counts, bound = _packed(program, effort)
    # The gate here too, so that what is proposed passes the real one unchanged.
    counts = plan(counts, program.constraints).counts
    if effort.start is not None:
        counts = _no_fewer(counts, effort.start, program)
    reached = status(value=program.value(counts), bound=bound, allowed=effort.gap)
    return Solution(x=counts.astype(np.float64), bound=bound, status=reached, solver="packing")


@cache
def warm_up() -> None:
    """Compile every loop before a time limit counts; once for this installation if it is cached."""
    # Three users of whom any two share a pair: fractions break the clique, so every loop runs.
    hist = PairHistogram(
        user=np.array([0, 0, 1, 1, 2, 2]),
        pair=np.array([0, 1, 0, 2, 1, 2]),
        count=np.ones(6, dtype=np.int64),
        users=3,
        pairs=3,
        query=np.arange(3),
    )
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    problem = packing(Program(constraints=constraints))
    relaxed = Relaxation(problem)
    relaxed.tighten_on(lambda: False)
    Search(problem, relaxed, start=np.zeros(problem.pairs, dtype=np.int64)).round()


def _packed(program: Program, effort: Effort) -> tuple[Ints, float]:
    """Parts that share no user are independent: the sum of their bests is the best."""
    begin = time.monotonic()
    whole = packing(program)
    # The gate afterwards takes a fraction of what the presolve took.
    deadline = begin + effort.time_limit - (time.monotonic() - begin) / 3
    x = np.zeros(whole.pairs, dtype=np.int64)
    bound = int(whole.upper.sum())
    start = None if effort.start is None else effort.start[whole.kept]
    for part in components(whole, small=_SMALL):
        left = max(0.05, deadline - time.monotonic())
        bound -= int(part.upper.sum())
        report = _in_the_whole(effort.report, value=int(x.sum()), bound=bound)
        known = None if start is None else start[part.kept]
        outcome = run_race(part, replace(effort, time_limit=left, report=report), known)
        x[part.kept] = outcome.x
        bound += outcome.bound
    most = np.floor(program.constraints.size_bound + 1e-6)
    return whole.expand(x, program.pairs), min(float(bound), float(most))


def _no_fewer(counts: Ints, start: Ints, program: Program) -> Ints:
    """The counts, or the start where it releases more: presolve may have taken its pairs away."""
    more = not program.minimises and int(start.sum()) > int(counts.sum())
    return start if more and program.allows(start) else counts


def _in_the_whole(report: Report, *, value: int, bound: int) -> Report:
    """Tell of a part what it means for all parts together."""
    return lambda own, most: report(value + own, bound + most)
