"""What the stages of a release cost together, what a budget leaves, and how much noise it takes.

Costs add up in exact rationals; ε, δ and noise are rounded up, what may be spent is rounded down.
Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import add
from typing import NamedTuple

from slogan.dp import _enclosures as enclosures
from slogan.dp._enclosures import DOWN, enclose, shortened
from slogan.dp.curves import (
    TINIEST,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    zcdp_budget,
    zcdp_delta,
    zcdp_epsilon,
)
from slogan.dp.mechanisms import Cost, Stage
from slogan.errors import BudgetError
from slogan.privacy import Number, PrivacyBudget, exact

Curve = Callable[[Fraction, Fraction], Fraction]

GRID = Fraction(1, 1 << 20)
"""Noise scales are multiples of this."""

SET_ASIDE = Fraction(1, 2)
"""The share of δ for probabilities that stages set aside; the rest is for the curve."""

NOTHING = Cost()


class _Route(NamedTuple):
    """One sound way to read a cost: a curve's parameter, and ε to be added to the curve's."""

    delta: Curve
    epsilon: Curve
    parameter: Fraction
    linear: Fraction


def _routes(cost: Cost) -> list[_Route]:
    concentrated = cost.rho + cost.mu_squared / 2
    everything = concentrated + cost.rho_of_epsilon
    routes = [
        _Route(zcdp_delta, zcdp_epsilon, concentrated, cost.epsilon),
        _Route(zcdp_delta, zcdp_epsilon, everything, Fraction(0)),
    ]
    if cost.rho == 0:
        routes.append(_Route(gaussian_delta, gaussian_epsilon, cost.mu_squared, cost.epsilon))
    return routes


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
        power, cost = exact(epsilon), self.cost
        found = min(route.delta(power - route.linear, route.parameter) for route in _routes(cost))
        return min(Fraction(1), cost.delta + found)

    def epsilon(self, delta: Number) -> Fraction:
        """ε such that the stages together are (ε, δ)-DP, rounded up."""
        cost = self.cost
        left = exact(delta) - cost.delta
        if left >= 0 and cost.mu_squared == cost.rho == 0:
            return cost.epsilon if left < TINIEST else self._least_epsilon(left)
        _need_room(left, what="delta", whole=exact(delta), spent=cost.delta)
        return self._least_epsilon(left)

    def _least_epsilon(self, left: Fraction) -> Fraction:
        routes = _routes(self.cost)
        return min(route.epsilon(left, route.parameter) + route.linear for route in routes)

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
    if reserved.rho:
        whole = 2 * (zcdp_budget(epsilon, delta) - reserved.rho)
    else:
        whole = gaussian_budget(epsilon, delta)
    left = whole - reserved.mu_squared
    _need_room(left, what="mu squared", whole=whole, spent=reserved.mu_squared)
    return left


def zcdp_room(budget: PrivacyBudget, reserved: Cost = NOTHING) -> Fraction:
    """The largest ρ, rounded down, for concentrated stages beside what is reserved."""
    whole = zcdp_budget(*_left(budget, reserved))
    spent = reserved.rho + reserved.mu_squared / 2
    _need_room(whole - spent, what="rho", whole=whole, spent=spent)
    return whole - spent


def split(whole: Fraction, shares: Mapping[str, Number]) -> dict[str, Fraction]:
    """A part of μ² or ρ for each name. The parts are exact, so they never exceed the whole."""
    parts = {name: exact(share) for name, share in shares.items()}
    if not parts or min(parts.values()) <= 0 or sum(parts.values()) > 1:
        raise BudgetError(
            "the shares of a budget must be positive and sum to at most 1, got "
            + ", ".join(f"{name} {float(part):g}" for name, part in parts.items()),
            hint="write them as decimals, which are taken as they stand: 0.5, 0.3, 0.2",
        )
    return {name: whole * part for name, part in parts.items()}


def variance(mu_squared: Fraction, *, norm_squared: Number, grid: Fraction = GRID) -> Fraction:
    """The smallest multiple of the grid that is enough variance: norm²/variance ≤ μ².

    For a part of ρ give μ² = 2ρ.
    """
    return math.ceil(_needed(mu_squared, norm_squared) / grid) * grid


def deviation(mu_squared: Fraction, *, norm_squared: Number, grid: Fraction = GRID) -> Fraction:
    """The smallest multiple s of the grid that is enough standard deviation: norm²/s² ≤ μ²."""
    steps_squared = math.ceil(_needed(mu_squared, norm_squared) / grid**2)
    return (math.isqrt(steps_squared - 1) + 1) * grid


def rounded_up(number: Fraction) -> float:
    """The smallest float that is at least the number."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)


def rounded_down(number: Fraction) -> float:
    """The largest float that is at most the number."""
    near = float(number)
    return near if Fraction(near) <= number else math.nextafter(near, -math.inf)


def _needed(mu_squared: Fraction, norm_squared: Number) -> Fraction:
    if mu_squared <= 0 or (square := exact(norm_squared)) <= 0:
        raise BudgetError(
            f"noise needs a positive part of the budget and a positive norm, got mu squared = "
            f"{float(mu_squared):g} and norm squared = {norm_squared}",
            hint="give the stage a share of the budget",
        )
    return square / mu_squared


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
    parts = {
        "mu_squared": cost.mu_squared,
        "rho": cost.rho,
        "epsilon": cost.epsilon,
        "delta": cost.delta,
    }
    return {name: str(part) for name, part in parts.items() if part}
