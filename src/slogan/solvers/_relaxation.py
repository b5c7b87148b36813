"""The relaxation with cliques: prices for the search, and a bound that any prices prove."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats
from slogan.solvers._presolve import Packing

_CHECK_EVERY = 40
_MOST_STEPS = 4_000
# The bound is a sum of products in floating point; this covers its rounding many times over.
_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """What the linear relaxation says of a packing problem."""

    price: Floats
    """What one click of each pair costs at the prices of its rows; 1 is what it is worth."""
    x: Floats
    """Fractional counts, nearly optimal, nearly feasible."""
    bound: float
    """No integer solution releases more, whatever the prices: weak duality."""


def relaxation(problem: Packing, *, seconds: float, gap: float = 1e-4) -> Relaxation:
    """Solve max Σx, Ax ≤ limit, 0 ≤ x ≤ upper by primal-dual steps, cliques included.

    The steps are those of Chambolle and Pock with their diagonal step sizes, averaged and
    restarted. They stop when the bound has come to rest, or time is up: any y ≥ 0 proves
    limit·y + Σ upper·max(0, 1 − Aᵀy).
    """
    rows, limit = _with_cliques(problem)
    columns = sp.csr_array(rows.T)
    upper = problem.upper.astype(np.float64)
    tau = 1.0 / np.maximum(_sums(rows, 0), 1e-12)
    sigma = 1.0 / np.maximum(_sums(rows, 1), 1e-12)
    x, y = np.zeros(problem.pairs), np.zeros(len(limit))
    x_sum, y_sum, steps = np.zeros_like(x), np.zeros_like(y), 0
    best = (float(upper.sum()), y)
    recent = best[0]
    deadline = time.monotonic() + seconds
    for step in range(1, _MOST_STEPS + 1):
        ahead = np.clip(x + tau * (1.0 - columns @ y), 0.0, upper)
        y = np.maximum(0.0, y + sigma * (rows @ (2.0 * ahead - x) - limit))
        x = ahead
        x_sum, y_sum, steps = x_sum + x, y_sum + y, steps + 1
        late = time.monotonic() > deadline
        if step % _CHECK_EVERY == 0 or late:
            mean = y_sum / steps
            now, averaged = _bound(y, limit, upper, columns), _bound(mean, limit, upper, columns)
            best = min(best, (now, y.copy()), (averaged, mean), key=lambda found: found[0])
            if averaged < now:
                x, y = x_sum / steps, mean
                x_sum, y_sum, steps = np.zeros_like(x), np.zeros_like(y), 0
            if late:
                break
            if step % (10 * _CHECK_EVERY) == 0:
                if recent - best[0] < gap * best[0]:
                    break
                recent = best[0]
    bound, y = best
    return Relaxation(price=np.asarray(columns @ y), x=x, bound=bound * _ROUND_UP)


def _with_cliques(problem: Packing) -> tuple[sp.csr_array, Floats]:
    """Add, for each row, that of the pairs costing more than half its limit one is released.

    Two such pairs do not fit together, so at most one of them has a positive count, and that is
    at most its upper bound: Σ x_j / upper_j ≤ 1.
    """
    rows = problem.rows
    user = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    dear = rows.data > problem.limit[user] / 2 * (1 + 1e-9)
    dear &= np.bincount(user[dear], minlength=rows.shape[0])[user] >= 2
    which, clique = np.unique(user[dear], return_inverse=True)
    pair = rows.indices[dear]
    cliques = sp.csr_array(
        (1.0 / problem.upper[pair], (clique, pair)), shape=(len(which), rows.shape[1])
    )
    limit = np.concatenate([problem.limit, np.ones(len(which))])
    return sp.csr_array(sp.vstack([rows, cliques], format="csr")), limit


def _bound(y: Floats, limit: Floats, upper: Floats, columns: sp.csr_array) -> float:
    return float(limit @ y + upper @ np.maximum(0.0, 1.0 - columns @ y))


def _sums(rows: sp.csr_array, axis: int) -> Floats:
    return np.asarray(rows.sum(axis=axis), dtype=np.float64).ravel()
