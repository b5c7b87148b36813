"""The paper's Algorithm 2, Sensitive query-url Pair Eliminating, as one sorted pass."""

from __future__ import annotations

import numpy as np

from slogan.errors import UnsupportedProgramError
from slogan.planning.program import Program, Solution, Status
from slogan.planning.solvers import Effort


def solve(program: Program, _effort: Effort) -> Solution:
    """Start with one click of every pair; drop the most sensitive pair until all users are safe.

    The loop of [Hong12, Algorithm 2] always drops the pair with the largest t_ijk, so what it
    keeps is a prefix of the pairs sorted by their own largest t_ijk, cheapest first: the longest
    prefix no user objects to. Charges only grow along it, so bisection finds its end.
    Two liberties, both never worse: nothing is dropped from pairs that are safe together, and of
    several urls of a query only the first counts where the objective asks for one.
    """
    if program.targets is not None:
        raise UnsupportedProgramError(
            "spe chooses pairs, it cannot meet a given output size",
            hint="use --solver exact or relaxed with --objective frequent_pairs",
        )
    order = _cheapest_first(program)
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if len(program.constraints.violated(_released(order[:middle], program.pairs))):
            high = middle - 1
        else:
            low = middle
    x = _released(order[:low], program.pairs)
    bound = min(float(program.upper.sum()), np.floor(program.constraints.size_bound))
    return Solution(x=x.astype(np.float64), bound=bound, status=Status.FEASIBLE, solver="spe")


def _cheapest_first(program: Program) -> np.ndarray:
    hist = program.constraints.hist
    row = program.constraints.dearest
    order = np.argsort(hist.count[row] / hist.pair_total, kind="stable")
    order = order[program.upper[order] >= 1]
    if program.at_most_one is None:
        return order
    _, first = np.unique(program.at_most_one[order], return_index=True)
    return order[np.sort(first)]


def _released(pairs: np.ndarray, size: int) -> np.ndarray:
    x = np.zeros(size, dtype=np.int64)
    x[pairs] = 1
    return x
