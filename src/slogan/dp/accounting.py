"""Privacy accounting: the cost of stages and releases, and the noise that a budget requires.

Costs add up in exact rationals; ε, δ and noise are rounded up, remaining budget is rounded down.
μ-GDP means: as hard to tell apart as N(0, 1) and N(μ, 1). Proofs: docs/proofs/accounting.md.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from scipy.special import ndtri

from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import intervals as enclosures
from slogan.dp.intervals import DOWN, UP, Enclosure, add, divide, enclose, shortened, subtract
from slogan.errors import BudgetError

GRID = Fraction(1, 1 << 20)
"""Noise scales are multiples of this."""

SET_ASIDE = Fraction(1, 2)
"""The share of δ for probabilities that stages set aside; the rest is for the curve."""

TINIEST = Fraction(1, 10**300)
"""Any smaller δ is treated as this one."""

_FAR = 40  # 1 − Φ(40) < 10^-340 < TINIEST
_BITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """μ² of Gaussian stages, ε of others, and δ that stages set aside.

    Costs add up, in exact arithmetic and in any order.
    """

    mu_squared: Fraction = Fraction(0)
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name, part in self.parts().items():
            if part < 0:
                raise BudgetError(
                    f"a stage cannot cost a negative {name}, got {float(part):g}",
                    hint="every cost is 0 or more",
                )

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            mu_squared=self.mu_squared + other.mu_squared,
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
        )

    def parts(self) -> dict[str, Fraction]:
        """The three parts by name."""
        return {"mu_squared": self.mu_squared, "epsilon": self.epsilon, "delta": self.delta}

    def covers(self, other: "Cost") -> bool:
        """Whether no part of the other is larger."""
        mine = self.parts()
        return all(part <= mine[name] for name, part in other.parts().items())

    def words(self) -> dict[str, str]:
        """The parts that are not 0, as exact fractions."""
        return {name: str(part) for name, part in self.parts().items() if part}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage(ABC):
    """One look at the log: a mechanism, its parameters, and the theorem that states its cost."""

    name: str

    mechanism: ClassVar[str]
    """The kind of the stage, as the manifest names it."""
    theorem: ClassVar[str]
    """Where the cost is proven."""

    def __post_init__(self) -> None:
        _ = self.cost  # a stage that exists has a cost

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The privacy cost that the stage adds to the account."""

    def parameters(self) -> dict[str, str]:
        """The numbers of the stage, as exact fractions."""
        names = [part.name for part in fields(self) if part.name != "name"]
        return {name: str(exact(getattr(self, name))) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(Stage):
    """Sums over users, plus normal noise; or anything computed from that, such as its floor.

    Args:
        norm_squared: the square of the largest L2 norm that one user adds to the sums.
        variance: of the noise of each coordinate, in the unit of the sums.
        slack: the largest probability that the stage departs from this description.
    """

    norm_squared: Number
    variance: Number
    slack: Number = 0

    mechanism = "gaussian"
    theorem = "Gaussian composition (Theorem S)"

    @property
    def cost(self) -> Cost:
        if (variance := exact(self.variance)) <= 0:
            raise BudgetError(
                f"stage {self.name!r} needs noise, got variance {self.variance}",
                hint="give the stage a positive variance",
            )
        return Cost(mu_squared=exact(self.norm_squared) / variance, delta=_slack(self.slack))


@dataclass(frozen=True, slots=True, kw_only=True)
class Approximate(Stage):
    """Any mechanism that is (ε, δ)-DP by itself; with δ = 0, pure."""

    epsilon: Number
    delta: Number = 0

    theorem = "basic composition"

    @property
    def cost(self) -> Cost:
        return Cost(epsilon=exact(self.epsilon), delta=_slack(self.delta))

    @property
    def mechanism(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "approximate" if exact(self.delta) else "pure"


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedSampling(Stage):
    """Poisson draws of real rows with at most `cap` expected draws per user (Theorem R)."""

    cap: Number

    mechanism = "capped_sampling"
    theorem = "Theorem R"

    @property
    def cost(self) -> Cost:
        cap = exact(self.cap)
        rest = enclosures.exp(enclose(-cap)).low
        # 1 − e^−B ≤ B and ≤ 1: take the smallest of three upper bounds.
        shown = min(cap, Fraction(1), shortened(UP.subtract(1, rest), UP))
        return Cost(epsilon=cap, delta=shown)


def _slack(probability: Number) -> Fraction:
    if not 0 <= (slack := exact(probability)) < 1:
        raise BudgetError(
            f"a probability set aside must lie between 0 and 1, got {probability}",
            hint="it is taken from the budget's delta",
        )
    return slack


NOTHING = Cost()


@dataclass(frozen=True, slots=True)
class Account:
    """The stages of one release, or of several on the same users, and their total cost."""

    stages: tuple[Stage, ...] = ()

    def __add__(self, other: "Account") -> "Account":
        return Account((*self.stages, *other.stages))

    @property
    def cost(self) -> Cost:
        """The total cost of the stages, each of which may use the outputs of the others."""
        return sum((stage.cost for stage in self.stages), NOTHING)

    def delta(self, epsilon: Number) -> Fraction:
        """δ such that the stages together are (ε, δ)-DP, rounded up; at most 1."""
        return delta_at(exact(epsilon), self.cost)

    def epsilon(self, delta: Number) -> Fraction:
        """ε such that the stages together are (ε, δ)-DP, rounded up."""
        return epsilon_at(exact(delta), self.cost)

    def require(self, budget: PrivacyBudget) -> None:
        """Raise an error if the stages exceed the budget, in exact arithmetic."""
        epsilon, delta = spendable(budget)
        if (spent := self.delta(epsilon)) > delta:
            raise BudgetError(
                f"the stages need delta = {rounded_up(spent):.6g} at epsilon = "
                f"{float(epsilon):.6g}, and the budget has {float(delta):.6g}",
                hint="use more noise, fewer stages, or a larger budget",
            )

    def summary(self, budget: PrivacyBudget) -> dict[str, object]:
        """For the manifest: every stage with its cost, and the total as δ at ε and as ε at δ."""
        epsilon, delta = spendable(budget)
        return {
            "stages": [
                {
                    "name": stage.name,
                    "mechanism": stage.mechanism,
                    "parameters": stage.parameters(),
                    "theorem": stage.theorem,
                    "cost": stage.cost.words(),
                }
                for stage in self.stages
            ],
            "cost": self.cost.words(),
            "delta_at_epsilon": rounded_up(self.delta(epsilon)),
            "epsilon_at_delta": rounded_up(self.epsilon(delta)),
        }


NO_STAGES = Account()


def delta_at(epsilon: Fraction, cost: Cost) -> Fraction:
    """δ such that a mechanism of this cost is (ε, δ)-DP, rounded up; at most 1."""
    curved = gaussian_delta(epsilon - cost.epsilon, cost.mu_squared)
    return min(Fraction(1), cost.delta + curved)


def epsilon_at(delta: Fraction, cost: Cost) -> Fraction:
    """ε such that a mechanism of this cost is (ε, δ)-DP, rounded up."""
    if delta >= cost.delta and cost.mu_squared == 0:
        return cost.epsilon
    return cost.epsilon + gaussian_epsilon(_left("delta", delta, cost.delta), cost.mu_squared)


# --- From a budget to noise ---


def spendable(budget: PrivacyBudget) -> tuple[Fraction, Fraction]:
    """ε and δ of a budget; ε is rounded down if the budget was given as e^ε."""
    if budget.epsilon is not None:
        return exact(budget.epsilon), exact(budget.delta)
    logarithm = enclosures.log(enclose(exact(budget.exp_epsilon or 1))).low
    # below 0 only where e^ε rounds to 1 in sixty digits
    return shortened(max(Decimal(0), logarithm), DOWN), exact(budget.delta)


def gaussian_room(budget: PrivacyBudget, reserved: Cost = NOTHING) -> Fraction:
    """The largest μ², rounded down, for Gaussian stages besides the reserved cost."""
    epsilon, delta = spendable(budget)
    epsilon = _left("epsilon", epsilon, reserved.epsilon)
    whole = gaussian_budget(epsilon, _left("delta", delta, reserved.delta))
    return _left("mu squared", whole, reserved.mu_squared)


def split(whole: Fraction, shares: Mapping[str, Number]) -> dict[str, Fraction]:
    """A part of μ² for each name. The parts are exact, so they never exceed the whole."""
    parts = {name: exact(share) for name, share in shares.items()}
    if not parts or min(parts.values()) <= 0 or sum(parts.values()) > 1:
        raise BudgetError(
            "the shares of a budget must be positive and sum to at most 1, got "
            + ", ".join(f"{name} {float(part):g}" for name, part in parts.items()),
            hint="write them as decimals, which are read exactly: 0.5, 0.3, 0.2",
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


def _left(what: str, whole: Fraction, spent: Fraction) -> Fraction:
    if whole <= spent:
        raise BudgetError(
            f"the budget has {what} = {float(whole):.6g}, of which {rounded_up(spent):.6g} is "
            "already spent",
            hint=f"raise the budget, or spend less {what} on the other stages",
        )
    return whole - spent


# --- From μ² to (ε, δ), and back ---


@lru_cache(maxsize=4096)
def gaussian_delta(epsilon: Fraction, mu_squared: Fraction) -> Fraction:
    """δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), rounded up; ε of any sign.

    With x = ε/μ − μ/2 and y = x + μ this is (1 − Φ(x)) − φ(x) · (1 − Φ(y))/φ(y), which needs
    no e^ε.
    """
    if epsilon < 0:  # δ(ε) = 1 − e^ε + e^ε δ(−ε), where δ(−ε) holds in both directions
        power, other = enclosures.exp(enclose(epsilon)), gaussian_delta(-epsilon, mu_squared)
        rest = UP.multiply(power.high, enclose(other).high)
        return _probability(UP.add(UP.subtract(1, power.low), rest))
    if mu_squared == 0:
        return Fraction(0)
    mu = enclosures.sqrt(enclose(mu_squared))
    ratio, half = divide(enclose(epsilon), mu), divide(mu, Enclosure(Decimal(2), Decimal(2)))
    x, y = subtract(ratio, half), add(ratio, half)
    if x.low > _FAR:
        return TINIEST
    if x.low < -_FAR:
        return Fraction(1)
    least_density = min(enclosures.density(x.low).low, enclosures.density(x.high).low)
    second = DOWN.multiply(least_density, enclosures.mills(y.high).low)
    return _probability(UP.subtract(enclosures.tail(x.low).high, second))


def gaussian_epsilon(delta: Fraction, mu_squared: Fraction) -> Fraction:
    """The smallest ε, rounded up, with δ(ε; μ) ≤ delta."""
    _need_probability(delta)
    return _least(lambda epsilon: gaussian_delta(epsilon, mu_squared) <= delta)


def gaussian_budget(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest μ², rounded down, with δ(ε; μ) ≤ delta."""
    _need_probability(delta)
    if epsilon <= 0:
        raise BudgetError(
            f"epsilon must be positive, got {float(epsilon):g}",
            hint="other stages have spent the whole budget",
        )
    return _greatest(lambda mu_squared: gaussian_delta(epsilon, mu_squared) <= delta)


def normal_quantile(probability: Fraction) -> Fraction:
    """A z ≥ 0, rounded up, that a standard normal exceeds with at most this probability.

    The largest of t of them exceeds `normal_quantile(delta / t)` with probability at most delta.
    """
    _need_probability(probability)
    grid = Fraction(1, 1 << _BITS)
    z = max(Fraction(0), math.ceil(Fraction(-float(ndtri(float(probability)))) / grid) * grid)
    while enclosures.tail(enclose(z).low).high > enclose(probability).low:
        z, grid = z + grid, 2 * grid
    return z


def _least(fits: Callable[[Fraction], bool]) -> Fraction:
    """The smallest number from 0 on that fits, where larger ones fit too, rounded up."""
    if fits(Fraction(0)):
        return Fraction(0)
    high, finest = Fraction(1), Fraction(1, 1 << _BITS)
    while not fits(high):
        high *= 2
    while high > finest and fits(high / 2):
        high /= 2
    return _bisected(fits, good=high, bad=high / 2 if high > finest else Fraction(0))


def _greatest(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest positive number that fits, where smaller ones fit too, rounded down."""
    low = Fraction(1)
    while not fits(low):
        low /= 2
    while fits(2 * low):
        low *= 2
    return _bisected(fits, good=low, bad=2 * low)


def _bisected(fits: Callable[[Fraction], bool], *, good: Fraction, bad: Fraction) -> Fraction:
    for _ in range(_BITS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _probability(bound: Decimal) -> Fraction:
    return min(Fraction(1), max(TINIEST, shortened(bound, UP)))


def _need_probability(delta: Fraction) -> None:
    if not TINIEST <= delta < 1:
        raise BudgetError(
            f"delta must lie between 10^-300 and 1, got {float(delta):g}",
            hint="1e-6 is common; Gaussian noise cannot guarantee delta = 0",
        )
