"""Objectives: each file here is one utility-maximizing problem, named as its option."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

from slogan.arrays import Floats, Ints
from slogan.errors import OptionError
from slogan.modes import Parameters
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
    exact_only: ClassVar[bool] = False
    """Whether it is defined for exact counts under one budget only."""

    def parameters(self) -> Parameters:
        """Its own options that were given, for the manifest."""
        own = {name: value for name, value in vars(self).items() if value is not None}
        return {name: v if isinstance(v, int) else str(v) for name, v in own.items()}

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


class SolvePart(Protocol):
    """Solves another program under the same constraints, such as O-UMP."""

    def __call__(
        self, program: Program, *, goal: float = math.inf, share: float = 1.0
    ) -> tuple[Plan, float]:
        """A plan and the proven bound on its value.

        Args:
            program: What to solve.
            goal: A value that is good enough.
            share: Of the time limit.
        """
        ...


class CompositeObjective(_Objective):
    """Made of other objectives: its program needs the optimum of each."""

    is_packing = False
    exact_only = True

    @abstractmethod
    def program(self, constraints: PrivacyConstraints, solve: SolvePart) -> Program:
        """The best utility, given what solves the parts."""

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        raise self._refusal(pairs)

    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        raise self._refusal(pairs)

    def _refusal(self, _pairs: object) -> OptionError:
        return refusal_of(self, "noisy counts", "leave --counts out")


Objective = PackingObjective | TargetedObjective | CompositeObjective


def refusal_of(objective: Objective, what: str, instead: str) -> OptionError:
    """The error for an objective that needs exact counts under one budget."""
    return OptionError(
        f"--objective {objective.name} does not work with {what}: its shares are relative to "
        "optima of exact counts under one given budget",
        hint=f"{instead}, or choose another --objective",
    )


def program_of(objective: Objective, constraints: PrivacyConstraints, solve: SolvePart) -> Program:
    """The program of an objective; one with a target needs the largest output, a joint one more."""
    if isinstance(objective, TargetedObjective):
        # A given |O| needs no larger plan, so all other time is left for the objective.
        largest, bound = solve(Program(constraints=constraints), goal=objective.enough)
        return objective.program(constraints, largest, bound)
    if isinstance(objective, CompositeObjective):
        return objective.program(constraints, solve)
    return objective.program(constraints)


def names() -> tuple[str, ...]:
    """The objectives there are."""
    return module_names(__name__)


def load(name: str) -> type[Objective]:
    """The objective of that name."""
    return load_module(__name__, name).OBJECTIVE
