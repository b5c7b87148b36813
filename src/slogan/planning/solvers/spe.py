"""The paper's Algorithm 2, Sensitive query-url Pair Eliminating, as one sorted pass."""

from bisect import bisect_left

import numpy as np

from slogan.arrays import Ints
from slogan.errors import UnsupportedProgramError
from slogan.planning.program import Program, Solution, Status
from slogan.planning.solvers import Effort, no_mixture


def solve(program: Program, _effort: Effort) -> Solution:
    """Start with one click of every pair; drop the most sensitive pair until all users are safe.

    The loop of [Hong12, Algorithm 2] always drops the pair with the largest t_ijk, so it keeps a
    prefix of the pairs sorted by their own largest t_ijk, cheapest first: the longest prefix within
    every user's limit. Charges only grow along it, so bisection finds its end.
    Two deviations, never worse: pairs that are safe together are all kept, and of several urls of a
    query only the first is used where the objective allows one.
    """
    if program.targets is not None:
        raise UnsupportedProgramError(
            "spe selects pairs and cannot meet a given output size",
            hint="use --solver exact or relaxed with --objective frequent_pairs",
        )
    if program.mixture is not None:
        raise no_mixture("spe")
    order = _cheapest_first(program)

    def released(first: int) -> Ints:
        x = np.zeros(program.pairs, dtype=np.int64)
        x[order[:first]] = 1
        return x

    def exceeds(first: int) -> bool:
        return len(program.constraints.violated(released(first))) > 0

    x = released(bisect_left(range(1, len(order) + 1), x=True, key=exceeds))
    bound = min(float(program.upper.sum()), np.floor(program.constraints.size_bound))
    return Solution(x=x.astype(np.float64), bound=bound, status=Status.FEASIBLE, solver="spe")


def _cheapest_first(program: Program) -> Ints:
    hist = program.constraints.hist
    share = hist.count[program.constraints.costliest] / hist.pair_total
    order = np.argsort(share, kind="stable")
    order = order[program.upper[order] >= 1]
    if program.at_most_one is None:
        return order
    _, first = np.unique(program.at_most_one[order], return_index=True)
    return order[np.sort(first)]
