"""ε and δ in plain odds: what an attacker's best test can achieve, whatever it is."""

from __future__ import annotations

import math
import sys

from slogan.privacy import PrivacyBudget

_FALSE_ALARMS = 0.01
_RAREST = sys.float_info.min
"""The inverse of a smaller probability may be too large for a float."""


def one_in(probability: float) -> str:
    """A probability as people say it: 1 in 2, 1 in 1,000,000."""
    if probability <= 0:
        return "never"
    around = 1 / max(probability, _RAREST)
    exact = abs(around - round(around)) < 0.05
    return f"{'' if exact else 'about '}1 in {around:,.0f}"


def found_in_hundred(budget: PrivacyBudget, *, end_to_end: bool) -> float:
    """How many of a hundred users in the log any test can point out at most.

    The test may wrongly point out one of a hundred users who are not in it. End to end
    Pr_D[Y] ≤ e^ε·Pr_D'[Y] + δ for every event Y; given the counts Pr_D[Y] ≤ Pr_D'[Y] + δ.
    """
    ratio = math.exp(budget.epsilon_value) if end_to_end else 1.0
    return 100 * min(1.0, ratio * _FALSE_ALARMS + budget.delta_value)
