"""Objectives: each file here is one utility-maximizing problem, named as its option."""

import math
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
    """The pairs that may be released, with their private statistics."""

    counts: Ints
    """Private counts, rounded."""
    query: Ints
    """The query of each pair, as a number."""


@dataclass(frozen=True, kw_only=True)
class CappedPairs:
    """The pairs that may be sampled with at most `cap` expected clicks per user."""

    counts: Floats
    """Private counts c̃ ≥ 1."""
    query: Ints
    """The query of each pair, as a number."""
    cap: float
    """B, the largest expected number of released clicks of any user."""
    users: float
    """About how many users hold one of the pairs: about B·users clicks are released at most."""


class _Objective(ABC):
    name: ClassVar[str]
    """The name of its file."""
    utility: ClassVar[str]
    """The unit of its value, in words."""
    is_packing: ClassVar[bool]
    """Whether it maximises the number of released clicks."""

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        """The best counts without constraints per user: the private counts, or nearly."""
        return pairs.counts

    @abstractmethod
    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        """The expected clicks of each pair, from private statistics only."""


class PackingObjective(_Objective):
    """As many clicks as fit the constraints; two attributes restrict them."""

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

    @property
    def enough(self) -> float:
        """The clicks that the plan of O-UMP must have; a larger one is of no use."""
        return math.inf

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
