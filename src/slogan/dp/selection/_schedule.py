"""The public numbers of pooled selection: noise, thresholds, and what earns a pair attention."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from slogan.arrays import Ints
from slogan.dp.accounting import variance
from slogan.dp.selection import SelectionBudget
from slogan.dp.selection._contributions import MOST
from slogan.dp.selection._grid import GRID, quantile, root_up, steps_up
from slogan.dp.selection._spreading import UNIT

ROUNDS = 10
EARLY = Fraction(1, 50)
"""The share of delta that all rounds before the last have together."""

HEAVIEST = Fraction(2, 5)
"""The largest weight that a user with as many pairs as possible may give to one of them."""

FULL = Fraction(9, 16)
"""The part of the last threshold that a pair's sum has to be heading for, to get full weight."""

STEP = Fraction(1, 6)
"""The weight is halved once for each such part of a standard deviation that is missing."""

ABANDONED = (Fraction(7, 8), 3)
"""A pair so many standard deviations short of this part of the last threshold is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """For each round r = 1..ROUNDS, in steps of the grid; index 0 stands for nothing."""

    variance: Fraction
    """Of the noise of each round."""
    heaviest: Ints
    """The largest weight that a user with n pairs may give to one of them."""
    threshold: list[int]
    """Pairs with a larger sum are selected."""
    full: list[int]
    """Pairs with this sum or more get full weight in the next round."""
    step: list[int]
    """The weight is halved for each such step that is missing."""
    abandoned: list[int]
    """Pairs with a smaller sum are given up."""


@cache
def schedule(budget: SelectionBudget) -> Schedule:
    """Everything follows from the budget, nothing from the log."""
    square = variance(budget.mu_squared, norm_squared=ROUNDS)
    deltas = [budget.delta * EARLY / (ROUNDS - 1)] * (ROUNDS - 1) + [budget.delta * (1 - EARLY)]
    heaviest = _heaviest(root_up(square / ROUNDS), deltas[-1])
    scale = [root_up(square * r) for r in range(1, ROUNDS + 1)]
    threshold = [
        max(
            r * int(heaviest[t]) + steps_up(scale[r - 1] * quantile(deltas[r - 1], t))
            for t in range(1, MOST + 1)
        )
        for r in range(1, ROUNDS + 1)
    ]
    pace = threshold[-1] * GRID / ROUNDS
    part, deviations = ABANDONED
    rounds = list(enumerate(scale, start=1))
    return Schedule(
        variance=square,
        heaviest=heaviest,
        threshold=threshold,
        full=[steps_up(FULL * pace * r) for r, _ in rounds],
        step=[steps_up(STEP * sigma) for _, sigma in rounds],
        abandoned=[steps_up(part * pace * r - deviations * sigma) for r, sigma in rounds],
    )


def _heaviest(deviation: Fraction, delta: Fraction) -> Ints:
    """As heavy as the last threshold allows, at least 1/√n, at most 1.

    The threshold is that of users with MOST pairs; one with n pairs has Gaussian tails for n only,
    and what these leave below the threshold is room for weight.
    """
    last = HEAVIEST + deviation * quantile(delta, MOST)
    room = [last - deviation * quantile(delta, n) for n in range(1, MOST + 1)]
    even = [root_up(Fraction(1, n)) for n in range(1, MOST + 1)]
    heaviest = [min(UNIT, steps_up(max(r, e))) for r, e in zip(room, even, strict=True)]
    return np.array([0, *heaviest], dtype=np.int64)
