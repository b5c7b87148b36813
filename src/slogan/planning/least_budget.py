"""least_budget(): the least privacy loss for a required utility, with a proven lower bound on it.

A plan that one budget allows is allowed by every larger one, so the best value never falls as b
grows: a solver's counts and its bounds close in on the least b from both sides.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import PrivacyBudget, exp_rounded_down
from slogan.errors import OptionError, RequirementError
from slogan.histogram import PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives import Objective, PackingObjective, refusal_of
from slogan.planning.plan import plan
from slogan.planning.solvers import Effort, quiet

LARGEST = PrivacyBudget(epsilon="10", delta="0.99995")
"""The largest budget that is tried. It protects hardly anybody: δ is the chance to be shown."""
_DIGITS = 7
"""Of ε and of δ, which are published: enough for people, and rounded up."""
_FINEST = 1e-6
"""Relative distance of two budgets that solvers, with their tolerances, cannot tell apart."""
_NEARLY = 1e-11
"""Many times the relative rounding error of a charge."""
_SHARE, _LEAST_TIME = 1 / 6, 0.05
"""The part of the time for one problem, and the seconds that each gets even if time is up."""
_MOST_TRIMS = 1_000


@dataclass(frozen=True, kw_only=True, repr=False)
class LeastBudget:
    """A budget that suffices for a required value, and what is proven about smaller ones."""

    budget: PrivacyBudget
    lower_bound: float
    """Proven: no b below it reaches the value."""
    counts: Ints
    """Counts of at least that value, which the budget allows exactly."""


def packing_objective(objective: Objective, value: int) -> PackingObjective:
    """The objective, if a value of it can be required."""
    if objective.exact_only:
        raise refusal_of(objective, "--require", "give --epsilon and --delta instead of --require")
    if not isinstance(objective, PackingObjective):
        raise OptionError(
            f"no value of {objective.name} can be required: a distance of 0 is reached by outputs "
            "of any size",
            hint="leave --require out and give a budget, or choose another --objective",
        )
    if value < 1:
        raise OptionError(
            f"the required {objective.utility} must be at least 1, got {value}",
            hint="give the number you need, such as --require 100",
        )
    return objective


def least_budget(
    hist: PairHistogram, objective: Objective, value: int, *, solver: str, effort: Effort
) -> LeastBudget:
    """The least budget found within the time limit for which the objective reaches the value.

    Args:
        hist: Shared pairs only.
        objective: A packing objective.
        value: The utility to reach.
        solver: A file of `solvers/`, or "auto".
        effort: For all problems together; bisection stops when the two ends differ by its gap.
            Its report receives both ends.
    """
    goal = packing_objective(objective, value)
    constraints = privacy_constraints(hist, LARGEST)
    most = _largest_value(goal, hist)
    if most is not None and value > most:
        raise RequirementError(goal.utility, required=value, found=most, bound=most)
    search = _Bisection(constraints, goal, value, solver, effort)
    search.bracket()
    search.bisect(max(effort.gap, _FINEST))
    return LeastBudget(
        budget=budget_of(search.counts, constraints),
        lower_bound=search.lower * (1 - _NEARLY),
        counts=search.counts,
    )


def budget_of(counts: Ints, constraints: PrivacyConstraints) -> PrivacyBudget:
    """The least ε and δ of a few digits that allow these counts exactly: ε = b, δ = 1 − e^−b."""
    (epsilon, step), (delta, finer) = _written_up(float(constraints.charge(counts).max()), _DIGITS)
    while True:
        budget = PrivacyBudget(epsilon=_written(epsilon), delta=_written(delta))
        if constraints.under(budget.allowance).allows(counts):
            return budget
        epsilon, delta = epsilon + step, delta + finer


def budget_for(b: float, *, digits: int) -> PrivacyBudget:
    """A budget of b per user, rounded up to a few digits: ε = b, δ = 1 − e^−b."""
    (epsilon, _), (delta, _) = _written_up(b, digits)
    return PrivacyBudget(epsilon=_written(epsilon), delta=_written(delta))


def _written_up(b: float, digits: int) -> Iterator[tuple[Decimal, Decimal]]:
    """The numbers ε and δ of a few digits for b, rounded up, each with its last unit."""
    share = -math.expm1(-b)
    # 1 − δ decides where δ is near 1, so its digits are kept too.
    units = _unit(b, digits), min(_unit(share, digits), _unit(1 - share, digits))
    for number, unit in zip((b, share), units, strict=True):
        yield _rounded_up(number * (1 - _NEARLY), unit), unit


def _unit(number: float, digits: int) -> Decimal:
    """The unit of the last digit that is kept."""
    return Decimal(1).scaleb(Decimal(number).adjusted() + 1 - digits)


def _rounded_up(number: float, unit: Decimal) -> Decimal:
    return Decimal(number).quantize(unit, context=Context(prec=60, rounding=ROUND_CEILING))


def _written(number: Decimal) -> str:
    shortest = number.normalize()
    return f"{shortest:f}" if shortest.adjusted() > -_DIGITS else f"{shortest:e}"


def _largest_value(objective: PackingObjective, hist: PairHistogram) -> int | None:
    """The value that no budget exceeds; None if there is none."""
    if objective.most is None:
        return None
    return len(np.unique(hist.query)) if objective.one_of_query else objective.most * hist.pairs


class _Bisection:
    """The two ends of the least b, and between them the budgets that no solver decided."""

    def __init__(
        self,
        constraints: PrivacyConstraints,
        objective: PackingObjective,
        value: int,
        solver: str,
        effort: Effort,
    ) -> None:
        self._constraints, self._objective, self._value = constraints, objective, value
        self._columns = constraints.cost.tocsc()
        self._solve, self._effort = solvers.load(solver), effort
        self._deadline = time.monotonic() + effort.time_limit
        self.lower = self._known_bound() * (1 - _NEARLY)
        """Proven: no smaller b suffices."""
        self.upper = math.inf
        """It suffices, by `counts`."""
        self.counts: Ints = np.zeros(constraints.hist.pairs, dtype=np.int64)
        self._undecided: list[float] = []
        self._start: Ints | None = None
        """The best counts of a budget that is too small: a start for the larger ones."""

    def _known_bound(self) -> float:
        """What follows from the charges alone, without a solver.

        All users together are charged at most m·b, and each click charges them the sum of its
        column; the value needs that many clicks. A released pair charges some user its largest
        cost, and a value of binary counts needs that many different pairs.
        """
        hist, constraints = self._constraints.hist, self._constraints
        total = np.bincount(hist.pair, weights=constraints.cost.data, minlength=hist.pairs)
        peak = constraints.cost_of_rows(constraints.costliest)
        if self._objective.one_of_query:
            total, peak = (_least_of_each(hist.query, cost) for cost in (total, peak))
        total, peak, most = np.sort(total), np.sort(peak), self._objective.most
        needed = self._value * total[0] if most is None else total[: self._value].sum()
        return max(float(needed) / hist.users, float(peak[0 if most is None else self._value - 1]))

    def bracket(self) -> None:
        """Raise b until the value is reached; the best value grows about as b does."""
        largest, b = self._constraints.limit, 1.5 * self.lower
        while True:
            b = min(b, largest)
            found, bound = self._try(b)
            if self.upper < math.inf:
                return
            if b == largest:
                raise RequirementError(
                    self._objective.utility, required=self._value, found=found, bound=bound
                )
            b *= min(max(1.02 * self._value / max(found, 1), 1.1), 2.0)

    def bisect(self, apart: float) -> None:
        """Halve the larger side of what is undecided until the ends are near, or time is up."""
        while time.monotonic() < self._deadline:
            # below the undecided budgets a proof is missing, above them a plan
            ends = [self.lower, *sorted(self._undecided), self.upper]
            below, above = ends[1] / ends[0], ends[-1] / ends[-2]
            if max(below, above) <= 1 + apart:
                return
            one, other = ends[:2] if below > above else ends[-2:]
            self._try(math.sqrt(one * other))

    def _try(self, b: float) -> tuple[int, int]:
        """Solve under one budget; the value found and the proven bound on it."""
        constraints = self._constraints.under(exp_rounded_down(Fraction(b)))
        program = self._objective.program(constraints)
        left = min(_SHARE * self._effort.time_limit, self._deadline - time.monotonic())
        effort = replace(
            self._effort,
            time_limit=max(_LEAST_TIME, left),
            gap=0.0,
            report=quiet,
            goal=self._value,
            least=self._value,
            start=self._start,
        )
        answer = self._solve(program, effort)
        counts = plan(answer.x, constraints).counts
        found, bound = int(program.value(counts)), math.floor(answer.bound)
        if found >= self._value:
            self._reach(counts)
        elif bound < self._value:
            self.lower = max(self.lower, b)
        else:
            self._undecided.append(b)
        if found < self._value and (self._start is None or found > self._start.sum()):
            self._start = counts
        self._undecided = [b for b in self._undecided if self.lower < b < self.upper]
        self._effort.report(self.lower, self.upper)
        return found, bound

    def _reach(self, counts: Ints) -> None:
        """Keep counts of the value if their largest charge is below that of the known ones."""
        counts, charge = self._trimmed(counts)
        if charge < self.upper:
            self.upper, self.counts = charge, counts
            # Proofs and charges are rounded: counts at hand decide.
            self.lower = min(self.lower, charge)

    def _trimmed(self, counts: Ints) -> tuple[Ints, float]:
        """Without clicks beyond the value, taken from who is charged most; the largest charge."""
        rows, counts = self._constraints.cost, counts.copy()
        charge: Floats = self._constraints.charge(counts)
        for _ in range(min(_MOST_TRIMS, int(counts.sum()) - self._value)):
            k = int(np.argmax(charge))
            entries = slice(rows.indptr[k], rows.indptr[k + 1])
            pairs, cost = rows.indices[entries], rows.data[entries]
            pair = int(pairs[np.argmax(np.where(counts[pairs] > 0, cost, -1.0))])
            counts[pair] -= 1
            column = slice(self._columns.indptr[pair], self._columns.indptr[pair + 1])
            charge[self._columns.indices[column]] -= self._columns.data[column]
        return counts, float(self._constraints.charge(counts).max())


def _least_of_each(label: Ints, cost: Floats) -> Floats:
    """The least cost among the pairs of each label."""
    order = np.lexsort((cost, label))
    return cost[order[np.flatnonzero(np.diff(label[order], prepend=-1))]]
