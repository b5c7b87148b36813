"""The same problem in binary columns: x_j = y_j1 + … + y_ju with y_j1 ≥ … ≥ y_ju."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from slogan.reproduction.peers import Problem, UnsupportedError


def unary(problem: Problem) -> tuple[Problem, sp.csr_array]:
    """The expanded problem, and the matrix that takes its columns back to those of the problem."""
    if problem.upper[: problem.integers].max(initial=0) <= 1:
        raise UnsupportedError("the counts are binary already: the same model as plain")
    times = np.ones(len(problem.upper), dtype=np.int64)
    times[: problem.integers] = problem.upper[: problem.integers].astype(np.int64)
    owner = np.repeat(np.arange(len(times)), times)
    n = len(owner)
    back = sp.csr_array((np.ones(n), (owner, np.arange(n))), shape=(len(times), n))
    earlier = np.flatnonzero(owner[:-1] == owner[1:])
    k = len(earlier)
    entries = np.concatenate([-np.ones(k), np.ones(k)])
    where = (np.tile(np.arange(k), 2), np.concatenate([earlier, earlier + 1]))
    order = sp.csr_array((entries, where), shape=(k, n))
    expanded = replace(
        problem,
        rows=sp.csr_array(sp.vstack([problem.rows @ back, order])),
        row_lower=np.concatenate([problem.row_lower, np.full(k, -np.inf)]),
        row_upper=np.concatenate([problem.row_upper, np.zeros(k)]),
        cost=problem.cost[owner],
        upper=np.where(owner < problem.integers, 1.0, problem.upper[owner]),
        integers=int(times[: problem.integers].sum()),
        start=_start(problem, times, owner),
    )
    return expanded, back


def _start(problem: Problem, times: np.ndarray, owner: np.ndarray) -> np.ndarray:
    if not problem.start.size:
        return problem.start
    first = np.cumsum(times) - times
    rank = np.arange(len(owner)) - first[owner]
    integer = owner < problem.integers
    ones = (rank < problem.start[owner]).astype(np.float64)
    return np.where(integer, ones, problem.start[owner])
