"""least_exposure(): the fewest expected exposed users for a required utility under a given budget.

The expected number of users with a released row is Σ_k 1 − e^−c_k, concave in the charges c_k. A
linear function below it gives a proven bound, tangents above it and a search give the counts.
"""

import math
import time
from dataclasses import replace

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.errors import RequirementError
from slogan.planning import solvers
from slogan.planning.exposure import LeastExposure, search
from slogan.planning.exposure.proof import Below
from slogan.planning.exposure.weights import weights
from slogan.planning.plan import plan
from slogan.planning.program import Program, Status, empty, status
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers._highs import Running

# Of the time, the most for counts of the required value, and the parts of the rest for the first
# proof, whose answer the tangents start from, and for each later one.
_FOR_START, _FOR_FIRST, _FOR_PROOF = 1 / 3, 1 / 15, 1 / 3
# Tangents are tried for this part of the time that is left, and each for this many seconds.
_FOR_TANGENTS, _FOR_TANGENT = 1 / 4, 3.0
_LEAST_TIME = 0.05
# The moves of a round, and by how many users a kept move may be worse, from round to round.
_MOVES, _HEAT = 200, (0.3, 0.1, 0.03, 0.01, 0.0)
_SEED = 2012
# A distance from the exposure below this is none.
_EXACT = 1e-9
# The relative rounding error of a bound, many times over.
_BOUND_ROUNDED = 1e-8
# Exposures that differ by less are equal.
_ROUNDED = 1e-10


def least_exposure(
    program: Program, value: int, *, utility: str, solver: str, effort: Effort
) -> LeastExposure:
    """The counts with the fewest expected exposed users that were found within the time limit.

    Args:
        program: Of a packing objective, with the constraints of the given budget.
        value: The utility to reach.
        utility: Its unit, in words.
        solver: A file of `solvers/`, or "auto", for the counts to start from.
        effort: For all steps together. Its report receives the exposed users and the bound.
    """
    if program.upper.max(initial=0) == 0:
        raise empty(program.constraints)
    deadline = time.monotonic() + effort.time_limit
    first = replace(
        effort,
        time_limit=max(_LEAST_TIME, _FOR_START * effort.time_limit),
        report=quiet,
        goal=value,
        least=value,
    )
    answer = solvers.load(solver)(program, first)
    counts = plan(answer.x, program.constraints).counts
    found, most = int(program.value(counts)), math.floor(answer.bound)
    if found < value:
        raise RequirementError(utility, required=value, found=found, bound=most, of_budget=True)
    race = _Race(program, trimmed(counts, value, program), effort, deadline)
    race.run()
    best = race.counts
    if not program.allows(best) or int(program.value(best)) != value:
        raise AssertionError("a plan lost clicks of its value; please report this as a bug")
    exposed = program.constraints.expected_exposed(best)
    if race.bound > exposed * (1 + _BOUND_ROUNDED):
        raise AssertionError("a plan exposes fewer users than was proven; please report this")
    return LeastExposure(
        required=value,
        counts=best,
        exposed=exposed,
        lower_bound=min(race.bound, exposed),
        value_bound=float(max(most, value)),
        status=status(value=exposed, bound=race.bound, allowed=effort.gap),
        solver=answer.solver,
    )


def warm_up() -> None:
    """Compile every loop before a time limit starts."""
    solvers.warm_up("packing")
    search.warm_up()


def trimmed(counts: Ints, value: int, program: Program) -> Ints:
    """Without the clicks beyond the value, those first that expose the most users."""
    counts, cost = counts.copy(), program.constraints.cost
    # Without one click of a pair its users are exposed by Σ_k e^−c·(e^t − 1) less.
    factor = cost.copy()
    factor.data = np.expm1(cost.data)
    columns = factor.tocsc()
    for _ in range(int(counts.sum()) - value):
        hidden: Floats = np.exp(-program.constraints.charge(counts))
        counts[int(np.argmax(np.where(counts > 0, columns.T @ hidden, -1.0)))] -= 1
    return counts


class _Race:
    """A search lowers the exposure while HiGHS raises the bound; each starts from the other's."""

    def __init__(self, program: Program, start: Ints, effort: Effort, deadline: float) -> None:
        self._program, self._effort, self._deadline = program, effort, deadline
        self.counts = start
        self._exposed = program.constraints.expected_exposed(start)
        self._gained = time.monotonic()
        weight = weights(program, int(start.sum()))
        self._below = Below(program, weight, int(start.sum()))
        self.bound = self._below.known_bound()
        """Proven: no counts of this value expose fewer users."""
        self._problem = search.problem(program, weight)
        self._state = search.fresh_state(self._problem, start)
        self._rounds = 0

    def run(self) -> None:
        """Until exposure and bound meet, or time or patience ends."""
        while not self._over:
            counts, optimal = self._prove()
            exact = optimal
            for at in (counts, self.counts):
                # where the optimum of the model is exact for every user, it is the optimum
                if at is not None:
                    exact = not self._below.refine(at, _EXACT) and exact
            if exact:
                return
            if counts is not None:
                self._follow_tangents(counts)

    @property
    def _over(self) -> bool:
        now = time.monotonic()
        close = status(value=self._exposed, bound=self.bound, allowed=self._effort.gap)
        patient = now - self._gained <= self._effort.patience
        return close is Status.OPTIMAL or now > self._deadline or not patient

    def _prove(self) -> tuple[Ints | None, bool]:
        """Raise the bound by one integer program, and search beside it; its counts if any."""
        below, left = self._below, max(_LEAST_TIME, self._deadline - time.monotonic())
        share = _FOR_PROOF if self._rounds else _FOR_FIRST
        effort = Effort(time_limit=max(_LEAST_TIME, share * left), gap=self._effort.gap / 2)
        running = Running(below.model(), effort, integer=True, start=below.variables(self.counts))
        try:
            while not running.finished and not self._over:
                before = self._exposed
                self._round()
                if running.best is not None:
                    self._adopt(below.counts(running.best))
                if self._exposed < before:
                    running.offer(below.variables(self.counts))
                self._raise(running.bound)
            answer = running.stop()
        except BaseException:
            running.abandon()
            raise
        self._raise(answer.objective_bound)
        if answer.z is None:
            return None, False
        counts = below.counts(answer.z)
        self._adopt(counts)
        return counts, answer.status is Status.OPTIMAL

    def _follow_tangents(self, counts: Ints) -> None:
        """Minimise the tangent at these counts, and again at what is found, while that is better.

        The tangent lies above the concave exposure and touches it at the counts, so a smaller
        value of it is a smaller exposure.
        """
        constraints, model = (
            self._program.constraints,
            Below(self._program, self._below.weight, int(counts.sum())),
        )
        last = time.monotonic() + _FOR_TANGENTS * (self._deadline - time.monotonic())
        exposed = constraints.expected_exposed(counts)
        while not self._over and (left := last - time.monotonic()) > 0:
            slope: Floats = constraints.cost.T @ np.exp(-constraints.charge(counts))
            effort = Effort(time_limit=min(_FOR_TANGENT, left), gap=self._effort.gap)
            start = model.variables(counts)
            answer = Running(model.model(slope), effort, integer=True, start=start).wait()
            if answer.z is None:
                return
            counts = model.counts(answer.z)
            before, exposed = exposed, constraints.expected_exposed(counts)
            self._adopt(counts)
            if exposed >= before - _ROUNDED:
                return

    def _round(self) -> None:
        """Some moves of the search, from its own counts or from the best."""
        heat = _HEAT[self._rounds % len(_HEAT)]
        if self._rounds % len(_HEAT) == 0:
            self._state = search.fresh_state(self._problem, self.counts)
        found = search.search(self._problem, self._state, _MOVES, heat, _SEED + self._rounds)
        self._rounds += 1
        self._adopt(found)

    def _adopt(self, counts: Ints) -> None:
        """Keep counts that expose fewer users, if they are allowed exactly."""
        exposed = self._program.constraints.expected_exposed(counts)
        better = exposed < self._exposed - _ROUNDED and counts.sum() == self.counts.sum()
        if better and self._program.allows(counts):
            self.counts, self._exposed, self._gained = counts, exposed, time.monotonic()

    def _raise(self, objective_bound: float) -> None:
        self.bound = max(self.bound, self._below.proven(objective_bound))
        self._effort.report(self._exposed, self.bound)
