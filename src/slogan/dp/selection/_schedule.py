"""The public numbers of pooled selection: noise, thresholds, and what earns a pair attention."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np

from slogan.arrays import Ints
from slogan.dp.accounting import variance
from slogan.dp.selection import SelectionBudget
from slogan.dp.selection._contributions import MOST
from slogan.dp.selection._grid import GRID, quantile, root_up, steps_up
from slogan.dp.selection._spreading import UNIT

LENGTHS = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10)
"""What part of the budget each round has: one of length n counts as much as n of length 1."""

EARLY = Fraction(1, 50)
"""The share of delta that all rounds before the last have together."""

HEAVIEST = Fraction(1, 3)
"""The largest weight that a user with as many pairs as possible may give to one of them."""

# What a pair's sum says, compared with its share so far of the last threshold, the pace, and with
# the standard deviation σ of its noise so far:
FULL, STEP = Fraction(5, 8), Fraction(1, 3)
"""Below FULL of the pace the weight is halved, once for each STEP·σ that is missing."""

EASE, EASED = Fraction(3, 2), 4
"""Above the pace + σ/2 it is halved too, again at each factor EASE, EASED times at most."""

ABANDONED = (Fraction(7, 8), 3)
"""A pair so many σ short of this part of the pace is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: its noise, and what is decided by a pair's sum after it, in steps of the grid."""

    length: int
    variance: Fraction
    """Of the noise; a round of length n has an n-th of that of length 1, and counts n times."""
    threshold: int
    """Pairs with a larger sum are selected."""
    full: int
    """Pairs with this sum or more get full weight in the next round."""
    step: int
    """The weight is halved for each such step that is missing."""
    eased: Ints
    """The weight is halved for each of these that the sum reaches."""
    abandoned: int
    """Pairs with a smaller sum are given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All rounds, and how much of its norm a user may put on one pair."""

    rounds: tuple[Round, ...]
    variance: Fraction
    """Of the noise of a round of length 1."""
    heaviest: Ints
    """The largest weight that a user with n pairs may give to one of them."""


@cache
def schedule(budget: SelectionBudget) -> Schedule:
    """Everything follows from the budget, nothing from the log."""
    square = variance(budget.mu_squared, norm_squared=sum(LENGTHS))
    last = budget.delta * (1 - EARLY)
    early = budget.delta * EARLY / (len(LENGTHS) - 1)
    deltas = [early] * (len(LENGTHS) - 1) + [last]
    heaviest = _heaviest(root_up(square / sum(LENGTHS)), last)
    pace = _threshold(sum(LENGTHS), square, last, heaviest) * GRID / sum(LENGTHS)
    rounds = [
        _round(length, square, _threshold(so_far, square, delta, heaviest), so_far, pace)
        for length, so_far, delta in zip(LENGTHS, accumulate(LENGTHS), deltas, strict=True)
    ]
    return Schedule(rounds=tuple(rounds), variance=square, heaviest=heaviest)


def _round(length: int, square: Fraction, threshold: int, so_far: int, pace: Fraction) -> Round:
    sigma, level = root_up(square * so_far), pace * so_far
    part, deviations = ABANDONED
    eased = [steps_up((level + sigma / 2) * EASE**n) for n in range(EASED)]
    return Round(
        length=length,
        variance=square / length,
        threshold=threshold,
        full=steps_up(FULL * level),
        step=steps_up(STEP * sigma),
        eased=np.array(eased, dtype=np.int64),
        abandoned=steps_up(part * level - deviations * sigma),
    )


def _threshold(so_far: int, square: Fraction, delta: Fraction, heaviest: Ints) -> int:
    """What sums of one user's own pairs exceed with probability ≤ delta, t ≤ MOST of them."""
    scale = root_up(square * so_far)
    return max(
        so_far * int(heaviest[t]) + steps_up(scale * quantile(delta, t)) for t in range(1, MOST + 1)
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
    return np.array([UNIT, *accumulate(heaviest, min)], dtype=np.int64)
