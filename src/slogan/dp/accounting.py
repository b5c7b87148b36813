"""What the stages of a release cost together, what a budget leaves, and how much noise it takes.

Costs add up in exact rationals; ε, δ and noise are rounded up, what may be spent is rounded down.
Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import add

from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import intervals as enclosures
from slogan.dp.curves import gaussian_budget, gaussian_delta, gaussian_epsilon
from slogan.dp.intervals import DOWN, enclose, shortened
from slogan.dp.mechanisms import Cost, Stage
from slogan.errors import BudgetError

GRID = Fraction(1, 1 << 20)
"""Noise scales are multiples of this."""

SET_ASIDE = Fraction(1, 2)
"""The share of δ for probabilities that stages set aside; the rest is for the curve."""

NOTHING = Cost()


@dataclass(frozen=True, slots=True)
class Account:
    """The stages of one release, or of several on the same users, and what they cost together."""

    stages: tuple[Stage, ...] = ()

    def __add__(self, other: Account) -> Account:
        return Account((*self.stages, *other.stages))

    @property
    def cost(self) -> Cost:
        """The sum of the stages' costs."""
        return composed(stage.cost for stage in self.stages)

    def delta(self, epsilon: Number) -> Fraction:
        """δ such that the stages together are (ε, δ)-DP, rounded up; at most 1."""
        cost = self.cost
        curved = gaussian_delta(exact(epsilon) - cost.epsilon, cost.mu_squared)
        return min(Fraction(1), cost.delta + curved)

    def epsilon(self, delta: Number) -> Fraction:
        """ε such that the stages together are (ε, δ)-DP, rounded up."""
        cost = self.cost
        left = exact(delta) - cost.delta
        if left >= 0 and cost.mu_squared == 0:
            return cost.epsilon
        _need_room(left, what="delta", whole=exact(delta), spent=cost.delta)
        return cost.epsilon + gaussian_epsilon(left, cost.mu_squared)

    def require(self, budget: PrivacyBudget) -> None:
        """Refuse what exceeds the budget; decided in exact arithmetic."""
        epsilon, delta = spendable(budget)
        if (spent := self.delta(epsilon)) > delta:
            raise BudgetError(
                f"the stages need delta = {rounded_up(spent):.6g} at epsilon = "
                f"{float(epsilon):.6g}, and the budget holds {float(delta):.6g}",
                hint="more noise, fewer stages, or a larger budget",
            )

    def summary(self, budget: PrivacyBudget) -> dict[str, object]:
        """For the manifest: every stage with its cost, and the whole as (ε, δ), read both ways."""
        epsilon, delta = spendable(budget)
        return {
            "stages": [
                {
                    "name": stage.name,
                    "mechanism": stage.mechanism,
                    "parameters": stage.parameters(),
                    "theorem": stage.theorem,
                    "cost": _words(stage.cost),
                }
                for stage in self.stages
            ],
            "cost": _words(self.cost),
            "delta_at_epsilon": rounded_up(self.delta(epsilon)),
            "epsilon_at_delta": rounded_up(self.epsilon(delta)),
        }


def composed(costs: Iterable[Cost]) -> Cost:
    """What several stages or releases cost, each allowed to look at the outputs of the others."""
    return reduce(add, costs, NOTHING)


# --- From a budget to noise ---


def spendable(budget: PrivacyBudget) -> tuple[Fraction, Fraction]:
    """ε and δ of a budget; ε is rounded down if the budget was given as e^ε."""
    if budget.epsilon is not None:
        return exact(budget.epsilon), exact(budget.delta)
    logarithm = enclosures.log(enclose(exact(budget.exp_epsilon or 1))).low
    # below 0 only where sixty digits do not tell e^ε from 1
    return shortened(max(Decimal(0), logarithm), DOWN), exact(budget.delta)


def gaussian_room(budget: PrivacyBudget, reserved: Cost = NOTHING) -> Fraction:
    """The largest μ², rounded down, for Gaussian stages beside what is reserved."""
    epsilon, delta = _left(budget, reserved)
    whole = gaussian_budget(epsilon, delta)
    left = whole - reserved.mu_squared
    _need_room(left, what="mu squared", whole=whole, spent=reserved.mu_squared)
    return left


def split(whole: Fraction, shares: Mapping[str, Number]) -> dict[str, Fraction]:
    """A part of μ² for each name. The parts are exact, so they never exceed the whole."""
    parts = {name: exact(share) for name, share in shares.items()}
    if not parts or min(parts.values()) <= 0 or sum(parts.values()) > 1:
        raise BudgetError(
            "the shares of a budget must be positive and sum to at most 1, got "
            + ", ".join(f"{name} {float(part):g}" for name, part in parts.items()),
            hint="write them as decimals, which are taken as they stand: 0.5, 0.3, 0.2",
        )
    return {name: whole * part for name, part in parts.items()}


def variance(mu_squared: Fraction, *, norm_squared: Number, grid: Fraction = GRID) -> Fraction:
    """The smallest multiple of the grid that is enough variance: norm²/variance ≤ μ²."""
    if mu_squared <= 0 or (square := exact(norm_squared)) <= 0:
        raise BudgetError(
            f"noise needs a positive part of the budget and a positive norm, got mu squared = "
            f"{float(mu_squared):g} and norm squared = {norm_squared}",
            hint="give the stage a share of the budget",
        )
    return math.ceil(square / mu_squared / grid) * grid


def rounded_up(number: Fraction) -> float:
    """The smallest float that is at least the number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def rounded_down(number: Fraction) -> float:
    """The largest float that is at most the number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _left(budget: PrivacyBudget, reserved: Cost) -> tuple[Fraction, Fraction]:
    epsilon, delta = spendable(budget)
    _need_room(epsilon - reserved.epsilon, what="epsilon", whole=epsilon, spent=reserved.epsilon)
    _need_room(delta - reserved.delta, what="delta", whole=delta, spent=reserved.delta)
    return epsilon - reserved.epsilon, delta - reserved.delta


def _need_room(left: Fraction, *, what: str, whole: Fraction, spent: Fraction) -> None:
    if left <= 0:
        raise BudgetError(
            f"the budget holds {what} = {float(whole):.6g}, of which {rounded_up(spent):.6g} is "
            "spent already",
            hint=f"raise the budget, or spend less {what} on the other stages",
        )


def _words(cost: Cost) -> dict[str, str]:
    parts = {"mu_squared": cost.mu_squared, "epsilon": cost.epsilon, "delta": cost.delta}
    return {name: str(part) for name, part in parts.items() if part}
