"""The kinds of stages a private release is made of, and what each one costs, exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import ClassVar

from slogan.budget import Number, exact
from slogan.dp import intervals as enclosures
from slogan.dp.intervals import UP, enclose, shortened
from slogan.errors import BudgetError

_NONE = Fraction(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What stages cost together. Costs add up, in exact arithmetic and in any order.

    Args:
        mu_squared: μ² of the Gaussian stages.
        epsilon: ε of the other stages.
        delta: the probabilities that stages set aside.
    """

    mu_squared: Fraction = _NONE
    epsilon: Fraction = _NONE
    delta: Fraction = _NONE

    def __post_init__(self) -> None:
        for name, part in self.parts().items():
            if part < 0:
                raise BudgetError(
                    f"a stage cannot cost a negative {name}, got {float(part):g}",
                    hint="no stage gives privacy back",
                )

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            mu_squared=self.mu_squared + other.mu_squared,
            epsilon=self.epsilon + other.epsilon,
            delta=self.delta + other.delta,
        )

    def parts(self) -> dict[str, Fraction]:
        """The three parts by name."""
        return {"mu_squared": self.mu_squared, "epsilon": self.epsilon, "delta": self.delta}

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
        """What the stage adds to the account."""

    def parameters(self) -> dict[str, str]:
        """The numbers of the stage, as exact fractions."""
        return {
            part.name: str(exact(getattr(self, part.name)))
            for part in fields(self)
            if part.name != "name"
        }


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
                hint="without noise nothing is private",
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
        # 1 − e^−B ≤ B and ≤ 1: of three upper bounds the smallest.
        shown = min(cap, Fraction(1), shortened(UP.subtract(1, rest), UP))
        return Cost(epsilon=cap, delta=shown)


def _slack(probability: Number) -> Fraction:
    if not 0 <= (slack := exact(probability)) < 1:
        raise BudgetError(
            f"a probability set aside must lie between 0 and 1, got {probability}",
            hint="it is a part of the budget's delta",
        )
    return slack
