"""Program: the utility-maximizing problem for a solver, and Solution: its answer."""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.errors import EmptyPlanError
from slogan.histogram import Remainder
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.mixture import Mixture

_ROUNDED_OUTWARD = 1e-8


class Status(StrEnum):
    """Whether a solution is proven optimal."""

    OPTIMAL = "optimal"
    """Proven to be within the requested gap of the best."""
    FEASIBLE = "feasible"
    """Stopped early; the bound limits the distance from the optimum."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SupportTargets:
    """F-UMP's goal: at a fixed output size, supports of frequent pairs as in the log [eq. 5].

    Of several optima, the best is the one in which the fewest other pairs become frequent.
    """

    frequent: Ints
    """The numbers of the frequent pairs."""
    support: Floats
    """Their supports c_ij / |D| in the log."""
    output_size: int
    """|O|: the counts must sum to it."""
    infrequent: int
    """The most clicks of a pair that is not frequent in an output of size |O|."""
    start: Ints
    """Counts to start from, feasible and of sum |O|; fewer where users were removed."""

    def of(self, left: Remainder) -> "SupportTargets":
        """The targets for the remaining log, with their supports in it."""
        frequent = np.flatnonzero(np.isin(left.pairs, self.frequent)).astype(np.int64)
        return SupportTargets(
            frequent=frequent,
            support=left.hist.pair_total[frequent] / max(left.hist.clicks, 1),
            output_size=self.output_size,
            infrequent=self.infrequent,
            start=self.start[left.pairs],
        )

    def newly_frequent(self, counts: Ints) -> Ints:
        """The pairs that are frequent in an output with these counts, but not in the log."""
        above = np.flatnonzero(counts > self.infrequent)
        return np.setdiff1d(above, self.frequent).astype(np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class Program:
    """Choose integer counts x ≥ 0 within the privacy constraints, none above `most`.

    Maximise Σ x, or with `targets` minimise the sum of support distances at a fixed Σ x.
    With `at_most_one`, no more than one click is released among pairs of equal label.
    With `mixture`, maximise a weighted mean of objectives, each at least its floor.
    """

    constraints: PrivacyConstraints
    most: int | None = None
    at_most_one: Ints | None = None
    targets: SupportTargets | None = None
    mixture: Mixture | None = None

    @cached_property
    def upper(self) -> Ints:
        """The most clicks of each pair that an integer solution can release."""
        alone = self.constraints.upper
        return alone if self.most is None else np.minimum(alone, self.most)

    @property
    def pairs(self) -> int:
        """The number of counts to decide."""
        return self.constraints.hist.pairs

    @property
    def minimises(self) -> bool:
        """Whether a smaller value is better."""
        return self.targets is not None

    def without_users(self, gone: Ints) -> "tuple[Program, Remainder]":
        """The same program for the log without some users: same |O|, same frequent pairs."""
        left = self.constraints.hist.without_users(gone)
        smaller = replace(
            self,
            constraints=replace(self.constraints, hist=left.hist),
            at_most_one=None if self.at_most_one is None else self.at_most_one[left.pairs],
            targets=None if self.targets is None else self.targets.of(left),
        )
        return smaller, left

    def allows(self, counts: Ints) -> bool:
        """Whether the counts are feasible, decided exactly."""
        if self.targets is not None and int(counts.sum()) != self.targets.output_size:
            return False
        if self.mixture is not None and not self.mixture.meets(counts):
            return False
        if self.at_most_one is not None:
            labels = np.repeat(self.at_most_one, np.clip(counts, 0, 2))
            if len(np.unique(labels)) < len(labels):
                return False
        return bool((counts <= self.upper).all()) and self.constraints.allows(counts)

    def value(self, counts: Ints) -> float:
        """The objective, in its own unit, of counts that will be released.

        Support distances use the released size, which flooring makes less than |O|.
        """
        if self.mixture is not None:
            return float(self.mixture.value(counts))
        size = int(counts.sum())
        if self.targets is None:
            return float(size)
        released = counts[self.targets.frequent] / max(size, 1)
        return math.fsum(np.abs(released - self.targets.support))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Solution:
    """A solver's proposal. Its counts are not trusted until they pass `plan()`."""

    x: Floats
    bound: float
    """Proven: no integer solution has a better value."""
    status: Status
    solver: str
    trace: tuple[tuple[int, float, float], ...] = ()
    """The convergence of an iterative solver: steps, value of fractional counts, bound."""


def empty(constraints: PrivacyConstraints) -> EmptyPlanError:
    """The error for a budget that allows no click, with the smallest charge."""
    cheapest = float(constraints.cost_of_rows(constraints.costliest).min())
    return EmptyPlanError(limit=constraints.limit, cheapest=cheapest)


def gap(*, value: float, bound: float) -> float:
    """The largest distance of a value from the optimum, relative to the bound."""
    return abs(bound - value) / max(1.0, abs(bound))


def status(*, value: float, bound: float, allowed: float) -> Status:
    """Optimal if the gap is allowed, apart from the outward rounding of the bound."""
    within = gap(value=value, bound=bound) <= allowed + _ROUNDED_OUTWARD
    return Status.OPTIMAL if within else Status.FEASIBLE
