"""The kinds of releases, and where the counts of real rows come from."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Literal

from slogan.budget import Number, exact
from slogan.errors import OptionError

Parameters = dict[str, str | int | float | None]
"""The curator's options by name; never a number from the log."""
Method = Literal["sanitize", "synthesize"]
CountsName = Literal["exact", "laplace", "private"]


class ReleaseKind(StrEnum):
    """The four kinds of releases, by the verb that makes them and where the counts come from."""

    EXACT_COUNTS = "sanitize, exact counts"
    LAPLACE_COUNTS = "sanitize, laplace counts"
    PRIVATE_ROWS = "sanitize, private counts"
    SYNTHETIC_USERS = "synthesize, private counts"

    @classmethod
    def of(cls, method: str, counts: str) -> "ReleaseKind":
        """The kind for a method and counts of a manifest; a ValueError if there is none."""
        return cls(f"{method}, {counts} counts")

    @property
    def method(self) -> Method:
        """The verb."""
        return "synthesize" if self is ReleaseKind.SYNTHETIC_USERS else "sanitize"

    @property
    def counts(self) -> CountsName:
        """Where the counts come from, as `--counts` names it."""
        if self is ReleaseKind.EXACT_COUNTS:
            return "exact"
        return "laplace" if self is ReleaseKind.LAPLACE_COUNTS else "private"

    @property
    def end_to_end(self) -> bool:
        """Whether the guarantee covers the counts, so that stages and their costs are published."""
        return self.counts == "private"


@dataclass(frozen=True, kw_only=True)
class ExactCounts:
    """The optimum for the log as it is. The guarantee holds given the counts."""

    kind: ClassVar[ReleaseKind] = ReleaseKind.EXACT_COUNTS

    def parameters(self) -> Parameters:
        """The curator's options."""
        return {}


@dataclass(frozen=True, kw_only=True)
class LaplaceCounts:
    """The paper's recipe [Hong12, 4.2], a heuristic: no end-to-end guarantee follows from it.

    Args:
        bound: d. Users whose absence changes any optimal count by more than d are removed.
        epsilon: ε' of the noise Lap(d/ε') on every optimal count.
    """

    bound: Number
    epsilon: Number

    kind: ClassVar[ReleaseKind] = ReleaseKind.LAPLACE_COUNTS

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
        """The curator's options."""
        return {"laplace_bound": str(self.bound), "laplace_epsilon": str(self.epsilon)}


@dataclass(frozen=True, kw_only=True)
class PrivateCounts:
    """Private statistics and rarely drawn rows of real users (Theorem R): private end to end.

    Args:
        sampling_share: The share of ε and of δ for sampling real rows.
        selector: A file of `dp/selection/`.
    """

    sampling_share: Number = "1/2"
    selector: str = "pooled"

    kind: ClassVar[ReleaseKind] = ReleaseKind.PRIVATE_ROWS

    def parameters(self) -> Parameters:
        """The curator's options."""
        return {"sampling_share": str(self.sampling_share), "selector": self.selector}


@dataclass(frozen=True, kw_only=True)
class SyntheticUsers:
    """Synthetic users that fit private statistics (Theorem S), as `synthesize` makes them.

    Args:
        selector: A file of `dp/selection/`.
        association: Which pairs synthetic users hold together; see `synthesize`.
        taxonomy: A public file of hosts or domains and their categories.
        contributions: "one" if one pair of each user counts; see `synthesize`.
        vocabulary: A public list of pairs, queries or sites.
        hints: An earlier release.
    """

    selector: str = "pooled"
    association: str | None = None
    taxonomy: str | Path | None = None
    contributions: Literal["several", "one"] = "several"
    vocabulary: str | Path | None = None
    hints: str | Path | None = None

    kind: ClassVar[ReleaseKind] = ReleaseKind.SYNTHETIC_USERS


Counts = ExactCounts | LaplaceCounts | PrivateCounts
