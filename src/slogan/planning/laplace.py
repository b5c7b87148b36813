"""The paper's noisy counts: influential users are removed, then counts get Laplace noise.

A heuristic [Hong12, 4.2]. docs/proofs/laplace.md states what is proven about it; not privacy.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cached_property

import numpy as np
from highspy import HighsBasisStatus

from slogan.arrays import Flags, Floats, Ints
from slogan.budget import exact
from slogan.dp.noise import discrete_laplace
from slogan.errors import NothingLeftError
from slogan.histogram import PairHistogram, Remainder
from slogan.modes import LaplaceCounts
from slogan.planning.program import Program, Solution, Status
from slogan.planning.solvers import Effort
from slogan.planning.solvers._highs import Basis, Statuses, outward, relaxation, vertex
from slogan.randomness import Randomness

_BITS = 20
GRID = Fraction(1, 1 << _BITS)
"""Optimal counts are rounded to multiples of this before they are compared or get noise."""


class Optimum:
    """An optimal vertex x* of the linear relaxation, which the paper calls the optimal counts.

    Optimal counts are rarely unique. Those of a neighbouring log are found by the simplex method
    from the basis of x*, so that they differ from x* little more than necessary.
    """

    def __init__(self, program: Program, effort: Effort) -> None:
        best = vertex(relaxation(program), effort)
        if best is None:
            raise NothingLeftError(
                "there are no counts of that output size, even if fractions are allowed",
                hint="use a smaller --output-size, or raise --laplace-bound",
            )
        self._program, self._effort, self._vertex = program, effort, best
        self.x: Floats = best.z[: program.pairs]
        """x*, one count for each pair."""

    @property
    def solution(self) -> Solution:
        """x*, and the bound it proves: no fractional or integer counts are better."""
        bound = outward(self._vertex.value, self._program)
        return Solution(x=self.x, bound=bound, status=Status.FEASIBLE, solver="relaxed")

    @cached_property
    def unmoved(self) -> Flags:
        """Users without whom x* is still optimal: their rows have no price, their pairs no click.

        Without such a user x* stays feasible, because the charges that change are those of its
        pairs. They only grow, so the prices of the other rows still prove that x* is optimal.
        This does not hold where the program depends on the log's size.
        """
        hist = self._program.constraints.hist
        if self._program.targets is not None:
            return np.zeros(hist.users, dtype=np.bool_)
        clicks = np.bincount(hist.user, weights=self.x[hist.pair], minlength=hist.users)
        return ~self._vertex.binding[: hist.users] & (clicks == 0.0)

    def without_users(self, gone: Ints) -> Floats | None:
        """Optimal counts without these users, 0 for pairs no longer shared; None if infeasible."""
        program, left = self._program.without_users(gone)
        if program.pairs == 0:
            return np.zeros(self._program.pairs) if program.targets is None else None
        best = vertex(relaxation(program), self._effort, begin=self._basis(program, left))
        if best is None:
            return None
        x = np.zeros(self._program.pairs)
        x[left.pairs] = best.z[: program.pairs]
        return x

    def _basis(self, program: Program, left: Remainder) -> Basis:
        """The basis of x*, for the remaining rows and columns."""
        hist, (columns, rows) = self._program.constraints.hist, self._vertex.basis
        column, row = _names(self._program, np.arange(hist.users), np.arange(hist.pairs), hist)
        wanted_column, wanted_row = _names(program, left.users, left.pairs, hist)
        return (
            _looked_up(wanted_column, column, columns, HighsBasisStatus.kLower),
            _looked_up(wanted_row, row, rows, HighsBasisStatus.kBasic),
        )


def _names(program: Program, user: Ints, pair: Ints, whole: PairHistogram) -> tuple[Ints, Ints]:
    """Numbers for the columns and rows of a program's model, the same for any removed users.

    Columns are pairs, then distances of frequent pairs. Rows are users, then labels with more than
    one remaining pair, then the output size and two sides of each distance.
    """
    columns, rows, users, pairs = [pair], [user], whole.users, whole.pairs
    if program.at_most_one is not None:
        label, holders = np.unique(program.at_most_one, return_counts=True)
        rows.append(users + label[holders > 1])
    if program.targets is not None:
        # an objective has labels or targets, never both
        frequent = pair[program.targets.frequent]
        columns.append(pairs + frequent)
        rows += [np.array([users]), users + 1 + frequent, users + 1 + pairs + frequent]
    return np.concatenate(columns), np.concatenate(rows)


def _looked_up(wanted: Ints, names: Ints, statuses: Statuses, missing: object) -> Statuses:
    table = np.full(max(int(names.max(initial=0)), int(wanted.max(initial=0))) + 1, missing)
    table[names] = statuses
    return table[wanted]


def influential_users(
    program: Program, mode: LaplaceCounts, effort: Effort, report: Callable[[int, int], None]
) -> Ints:
    """The users without whom some optimal count differs by more than d.

    Every user is compared with the whole log, before any removal, so the order of users does not
    matter. `report` receives the number of users done, and of all.
    """
    best = Optimum(program, effort)
    users = program.constraints.hist.users
    known, most = _on_grid(best.x), exact(mode.bound) / GRID
    candidates = np.flatnonzero(~best.unmoved)

    def is_influential(user: int) -> bool:
        x = best.without_users(np.array([user]))
        return x is None or int(np.abs(_on_grid(x) - known).max(initial=0)) > most

    far = np.zeros(len(candidates), dtype=np.bool_)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for n, influential in enumerate(pool.map(is_influential, candidates.tolist())):
            far[n] = influential
            report(users - len(candidates) + n + 1, users)
    return candidates[far]


def with_noise(x: Floats, mode: LaplaceCounts, rng: Randomness) -> Ints:
    """x* + Lap(d/ε') for every pair, rounded down to whole clicks; it may be negative.

    The noise is discrete on the grid, with the scale d/ε' exactly.
    """
    noise = discrete_laplace(len(x), rng, scale=mode.scale / GRID)
    return (_on_grid(x) + noise) >> _BITS


def _on_grid(x: Floats) -> Ints:
    return np.rint(np.ldexp(x, _BITS)).astype(np.int64)
