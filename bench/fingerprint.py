"""What a selector does to small logs with seeded coins, as a digest by which records are kept."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import cache

import numpy as np

from bench import end_to_end, selectors
from bench.selection_tables import Asked
from bench.selectors import BudgetWithEpsilon
from bench.shapes import SHAPES
from slogan.dp.accounting import gaussian_budget
from slogan.randomness import randomness

_USERS, _SEED = 400, 2026
_EPSILON, _DELTA = "8", "1e-2"


@cache
def of_selection(selector: str) -> str:
    """Changes if the selector selects or spends otherwise, or if a shape is made otherwise."""
    digest = hashlib.sha256()
    epsilon, delta = Fraction(_EPSILON), Fraction(_DELTA)
    budget = BudgetWithEpsilon(
        mu_squared=gaussian_budget(epsilon, delta / 2), delta=delta / 2, epsilon=epsilon
    )
    for make in SHAPES.values():
        log = make(_USERS, _SEED)
        found = selectors.load(selector)(log.hist, budget, randomness(_SEED))
        digest.update(log.hist.digest().encode())
        digest.update(np.sort(found.pairs).tobytes())
        digest.update(repr(found.stages).encode())
    return digest.hexdigest()[:12]


@cache
def of_synthetic_logs(selector: str) -> str:
    """Changes if the selector, a later stage, or a measure does otherwise."""
    digest = hashlib.sha256(of_selection(selector).encode())
    for shape, make in SHAPES.items():
        log = make(_USERS, _SEED)
        asked = Asked(shape=shape, users=_USERS, epsilon=_EPSILON, delta=_DELTA, selector=selector)
        worth = end_to_end.answer(log, np.arange(log.hist.pairs), asked, 1, seed=_SEED)
        told = {name: value for name, value in worth.items() if name != "seconds"}
        digest.update(repr(sorted(told.items())).encode())
    return digest.hexdigest()[:12]
