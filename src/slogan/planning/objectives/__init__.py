"""What "useful" means: each file here is one utility-maximizing problem, named as its option."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from slogan.arrays import Floats, Ints
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.plan import Plan
from slogan.planning.program import Program
from slogan.registry import load_module, module_names


@dataclass(frozen=True, kw_only=True)
class PrivatePairs:
    """The pairs that may be released, as private statistics have them."""

    counts: Ints
    """Private counts, rounded."""
    query: Ints
    """The query of each pair, as a number."""


@dataclass(frozen=True, kw_only=True)
class CappedPairs:
    """The pairs that may be drawn where no user shows more than `cap` clicks on average."""

    counts: Floats
    """Private counts c̃ ≥ 1."""
    query: Ints
    """The query of each pair, as a number."""
    cap: float
    """B, the most clicks that any user is expected to show."""
    users: float
    """About how many users hold one of the pairs: no more than B·users clicks are shown."""


class _Objective(ABC):
    name: ClassVar[str]
    """The name of its file."""
    utility: ClassVar[str]
    """What its value counts, in words."""
    is_packing: ClassVar[bool]
    """Whether it asks for as many clicks as fit, and for nothing else."""

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        """The best counts where no user is charged: the private counts, or changed a little."""
        return pairs.counts

    @abstractmethod
    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        """How often each pair should be drawn, given private statistics alone."""


class PackingObjective(_Objective):
    """As many clicks as fit the constraints; what they may be is said by two attributes."""

    is_packing = True
    most: ClassVar[int | None] = None
    """The most clicks of one pair."""
    one_of_query: ClassVar[bool] = False
    """Whether at most one click is released among the pairs of a query."""

    def program(self, constraints: PrivacyConstraints) -> Program:
        """The counts with the best utility under these constraints."""
        return Program(
            constraints=constraints,
            most=self.most,
            at_most_one=constraints.hist.query if self.one_of_query else None,
        )


class TargetedObjective(_Objective):
    """Counts of a given sum, as near as possible to a target."""

    is_packing = False

    @abstractmethod
    def program(self, constraints: PrivacyConstraints, largest: Plan, bound: float) -> Program:
        """The best utility, given the plan of O-UMP, of size λ, and the proven bound on λ."""


Objective = PackingObjective | TargetedObjective
Largest = Callable[[], tuple[Plan, float]]
"""Solves O-UMP when called: the plan of size λ, and the proven bound on λ."""


def program_of(objective: Objective, constraints: PrivacyConstraints, largest: Largest) -> Program:
    """The program of an objective; only one with a target needs the largest output."""
    if isinstance(objective, TargetedObjective):
        return objective.program(constraints, *largest())
    return objective.program(constraints)


def names() -> tuple[str, ...]:
    """The objectives there are."""
    return module_names(__name__)


def load(name: str) -> type[Objective]:
    """The objective of that name."""
    return load_module(__name__, name).OBJECTIVE
