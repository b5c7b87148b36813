"""How many users it takes until pairs can be released: for the curator's eyes, not for release."""

from __future__ import annotations

import math

import numpy as np

from slogan.dp.accounting import Account
from slogan.dp.curves import normal_quantile
from slogan.dp.remote import AnyHistogram
from slogan.dp.selection import SelectionBudget
from slogan.errors import TooFewUsersError
from slogan.histogram import PairHistogram

SPOKEN_FOR = 100
"""A user speaks for at most so many pairs."""


def weight_needed(budget: SelectionBudget) -> float:
    """About the weight above which a pair is released: 1 + z/μ, by the budget alone.

    A user who holds n pairs adds 1/√n to the weight of each.
    """
    quantile = normal_quantile(budget.delta)
    return 1 + float(quantile) / math.sqrt(budget.mu_squared)


def heaviest(hist: AnyHistogram) -> float:
    """The largest weight of a pair of the log. Not private: to be told to the curator alone."""
    if not isinstance(hist, PairHistogram):
        return hist.heaviest(SPOKEN_FOR)
    held = np.minimum(np.bincount(hist.user, minlength=hist.users), SPOKEN_FOR)
    each = 1 / np.sqrt(np.maximum(held, 1))
    return float(np.bincount(hist.pair, each[hist.user]).max(initial=0.0))


def too_few(
    hist: AnyHistogram, users: int, budget: SelectionBudget, spent: Account
) -> TooFewUsersError:
    """Why nothing came through, and what it cost to find out."""
    needed = weight_needed(budget)
    share = heaviest(hist) / needed
    return TooFewUsersError(users=users, share=share, needed=needed, cost=spent.cost)
