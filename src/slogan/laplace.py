"""The paper's noisy counts: users who sway the counts leave, the others' get Laplace noise.

A heuristic [Hong12, 4.2]. docs/proofs/laplace.md says what is proven of it, which is not privacy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.noise import discrete_laplace
from slogan.errors import NothingLeftError
from slogan.modes import Laplace
from slogan.privacy import exact
from slogan.program import Program, Solution, Status
from slogan.randomness import Randomness
from slogan.solvers import Effort
from slogan.solvers._neighbours import Optimum

_BITS = 20
GRID = Fraction(1, 1 << _BITS)
"""Optimal counts are rounded to multiples of this before they are compared or get noise."""

Report = Callable[[int, int], None]
"""Told how many users are done, and how many there are."""


def swaying_users(program: Program, mode: Laplace, effort: Effort, report: Report) -> Ints:
    """The users without whom some optimal count differs by more than d.

    Every user is compared with the whole log, not with what others' removal left of it, so the
    order of users does not matter.
    """
    best = Optimum(program, effort)
    users = program.constraints.hist.users
    if not best.exists:
        raise NothingLeftError(
            "the relaxation has no counts of that output size",
            hint="ask for a smaller --output-size",
        )
    known, most = _on_grid(best.x), exact(mode.bound) / GRID
    asked = np.flatnonzero(~best.unmoved).astype(np.int64)

    def sways(user: int) -> bool:
        x = best.without_users(np.array([user]))
        return x is None or int(np.abs(_on_grid(x) - known).max(initial=0)) > most

    found: list[int] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (user, far) in enumerate(
            zip(asked.tolist(), pool.map(sways, asked.tolist()), strict=True)
        ):
            report(users - len(asked) + done + 1, users)
            if far:
                found.append(user)
    return np.array(found, dtype=np.int64)


def relaxed_solution(program: Program, effort: Effort) -> Solution:
    """x* of the linear relaxation, and the bound it proves for integer counts."""
    best = Optimum(program, effort)
    if not best.exists:
        raise NothingLeftError(
            "without the removed users there are no counts of that output size",
            hint="ask for a smaller --output-size, or raise --laplace-bound",
        )
    return Solution(x=best.x, bound=best.bound, status=Status.FEASIBLE, solver="relaxed")


def with_noise(x: Floats, mode: Laplace, rng: Randomness) -> Ints:
    """x* + Lap(d/ε') for every pair, rounded down to whole clicks; they may be negative.

    The noise is discrete on the grid, with the scale d/ε' exactly.
    """
    noise = discrete_laplace(len(x), rng, scale=mode.scale / GRID)
    return (_on_grid(x) + noise) >> _BITS


def _on_grid(x: Floats) -> Ints:
    return np.rint(np.ldexp(x, _BITS)).astype(np.int64)
