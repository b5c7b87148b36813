"""Where the released counts come from: exact, with the paper's Laplace noise, or private."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from slogan.errors import OptionError
from slogan.privacy import Number, exact

Parameters = dict[str, str | int | float | None]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """The optimum for the log as it is. The promise holds given the counts."""

    name: ClassVar[Literal["exact"]] = "exact"

    def parameters(self) -> Parameters:
        """What the curator chose."""
        return {}


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """The paper's recipe [Hong12, 4.2], a heuristic: no end-to-end guarantee follows from it.

    Args:
        bound: d. Users without whom some optimal count differs by more are removed beforehand.
        epsilon: ε' of the noise Lap(d/ε') on every optimal count.
    """

    bound: Number
    epsilon: Number

    name: ClassVar[Literal["laplace"]] = "laplace"

    def __post_init__(self) -> None:
        for what, number in (("bound", self.bound), ("epsilon", self.epsilon)):
            if exact(number) <= 0:
                raise OptionError(
                    f"the Laplace {what} must be above 0, got {number}",
                    hint="for example --laplace-bound 2 --laplace-epsilon 1",
                )

    @property
    def scale(self) -> Fraction:
        """d/ε'."""
        return exact(self.bound) / exact(self.epsilon)

    def parameters(self) -> Parameters:
        """What the curator chose."""
        return {"laplace_bound": str(self.bound), "laplace_epsilon": str(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class Private:
    """Private statistics and rarely drawn rows of real users (Theorem R): private end to end.

    Args:
        sampling_share: The share of ε and of δ that drawing real rows may spend.
        selector: A file of `dp/selection/`.
    """

    sampling_share: Number = "1/2"
    selector: str = "pooled"

    name: ClassVar[Literal["private"]] = "private"

    def parameters(self) -> Parameters:
        """What the curator chose."""
        return {"sampling_share": str(self.sampling_share), "selector": self.selector}


Counts = Exact | Laplace | Private
