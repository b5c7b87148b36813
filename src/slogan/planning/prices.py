"""prices(): which users' limits bind, what budget is worth, and what a larger budget would give."""

import math
import time
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import PrivacyBudget
from slogan.errors import SolverError
from slogan.planning import solvers
from slogan.planning.least_budget import LARGEST, budget_for
from slogan.planning.plan import plan
from slogan.planning.program import Program, Status
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers._highs import Running, model

LARGER = 0.1
"""How much larger the other budget is."""
TOP = (0.01, 0.1, 0.5)
"""Shares of the users with a price, those with the highest prices first."""
QUANTILES = (0.1, 0.5, 0.9, 1.0)
_DIGITS = 4
"""Of the larger ε and δ, rounded up."""
_MORE = 1 + 1e-6
"""The relaxation's limits are raised slightly: where prices are not unique, those for more."""
_NO_PRICE = 1e-7
"""HiGHS's tolerance for prices."""
_HALF, _LEAST_TIME = 0.5, 0.05
"""The part of the time for the relaxation; seconds for each problem, even if time is up."""

Binding = Literal["epsilon", "delta", "both"]
Unsolved = Literal["time", "budget", "solver"]
"""Why a larger budget was not solved: no time, none is planned with, or the solver failed."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Relaxed:
    """The optimum of the linear relaxation, and what each user's whole budget is worth there."""

    value: float
    worth: Floats
    """Price times b of each user, by the number of the user."""

    @property
    def priced(self) -> Floats:
        """The worth of the users with a price, the highest first."""
        return -np.sort(-self.worth[self.worth > 0])

    @property
    def elasticity(self) -> float:
        """By how many percent the value grows if every user's budget grows by one percent."""
        return float(self.worth.sum()) / self.value

    def quantile(self, share: float) -> float:
        """The worth that this share of the users with a price does not exceed; 0 without any."""
        return float(np.quantile(self.priced, share)) if self.worth.any() else 0.0

    def carried_by(self, share: float) -> float:
        """The part of all worth that belongs to this share of the users with a price."""
        priced = self.priced
        first = math.ceil(share * len(priced))
        return float(priced[:first].sum() / priced.sum()) if len(priced) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Larger:
    """A plan for a larger budget, found by solving again from the released one."""

    budget: PrivacyBudget
    value: float
    bound: float
    """Proven: no plan under that budget has a better value."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Prices:
    """What limits a plan. It depends on the log: for the curator only."""

    users_at_limit: int
    """Users for whom no further click of any of their pairs fits."""
    limited_by: Binding
    relaxed: Relaxed | None
    """None if the relaxation was not solved in time."""
    larger: Larger | Unsolved
    """The plan for a larger budget, or why there is none."""


def prices(
    program: Program,
    counts: Ints,
    budget: PrivacyBudget,
    *,
    solver: str,
    effort: Effort,
    again: bool = True,
) -> Prices:
    """Price the budget of a released plan.

    Args:
        program: A packing program.
        counts: The released counts.
        budget: Theirs.
        solver: A file of `solvers/`, or "auto".
        effort: For the relaxation and the larger budget together.
        again: Whether the program is solved again under a larger budget.
    """
    begin = time.monotonic()
    relaxed = relaxation_prices(program, effort.time_limit * (_HALF if again else 1.0))
    left = max(_LEAST_TIME, effort.time_limit - (time.monotonic() - begin))
    shorter = replace(effort, time_limit=left)
    return Prices(
        users_at_limit=len(users_at_limit(program, counts)),
        limited_by=binding(budget),
        relaxed=relaxed,
        larger=_larger(program, counts, budget, solver, shorter) if again else "time",
    )


def users_at_limit(program: Program, counts: Ints) -> Ints:
    """The users for whom no further click of any of their pairs fits their limit, exactly.

    Pairs that the objective counts once, and queries that it counts once, are not counted again.
    """
    constraints, hist = program.constraints, program.constraints.hist
    eligible = np.ones(program.pairs, np.bool_) if program.most is None else counts < program.most
    if program.at_most_one is not None:
        eligible &= ~np.isin(program.at_most_one, program.at_most_one[counts > 0])
    cost = constraints.cost.data
    rows = np.flatnonzero(eligible[hist.pair])
    rows = rows[np.lexsort((cost[rows], hist.user[rows]))]
    users, first = np.unique(hist.user[rows], return_index=True)
    cheapest = rows[first]
    excess = constraints.charge(counts)[users] + cost[cheapest] - constraints.limit
    full, tried = excess > 0, counts.copy()
    for n in np.flatnonzero(np.abs(excess) <= 2 * constraints.doubt[users]):
        pair = hist.pair[cheapest[n]]
        tried[pair] += 1
        full[n] = not constraints.allows_user(int(users[n]), tried)
        tried[pair] -= 1
    return users[full]


def relaxation_prices(program: Program, time_limit: float) -> Relaxed | None:
    """The optimum over fractions, none above its largest whole count; None if time is up.

    For any prices, limit·prices + Σ upper·max(0, 1 − price of a click) bounds the value, so the
    value is computed from them; HiGHS decides only whether they are the best.
    """
    hist, possible = program.constraints.hist, program.upper > 0
    kept = np.flatnonzero(possible)
    upper = program.upper[kept].astype(np.float64)
    problem = model(program, kept=kept, upper=upper)
    users = np.unique(hist.user[possible[hist.pair]])  # their rows are the first
    limit = problem.row_upper.copy()
    limit[: len(users)] *= _MORE
    raised = replace(problem, row_upper=limit)
    effort = Effort(time_limit=max(_LEAST_TIME, time_limit), report=quiet)
    answer = Running(raised, effort, integer=False, method="ipm").wait()
    if answer.prices is None or answer.status is not Status.OPTIMAL:
        return None
    price = np.where(-answer.prices > _NO_PRICE, -answer.prices, 0.0)
    reduced = np.maximum(0.0, 1.0 - problem.rows.T @ price)
    of_rows, worth = price * problem.row_upper, np.zeros(hist.users)
    worth[users] = of_rows[: len(users)]
    return Relaxed(value=float(of_rows.sum() + upper @ reduced), worth=worth)


def binding(budget: PrivacyBudget) -> Binding:
    """Which of ε and −log(1−δ) is the smaller one and so the budget per user."""
    epsilon, other = _both(budget)
    if math.isclose(epsilon, other, rel_tol=1e-6):
        return "both"
    return "epsilon" if epsilon < other else "delta"


def larger_budget(budget: PrivacyBudget) -> PrivacyBudget | None:
    """The budget with a b larger by `LARGER`; what need not change stays as it was written.

    None for a budget so large that no larger one is planned with.
    """
    b = (1 + LARGER) * budget.per_user
    if b > LARGEST.per_user:
        return None
    epsilon, other = _both(budget)
    enough = budget_for(b, digits=_DIGITS)
    return PrivacyBudget(
        epsilon=enough.epsilon if epsilon < b else budget.epsilon,
        exp_epsilon=None if epsilon < b else budget.exp_epsilon,
        delta=enough.delta if other < b else budget.delta,
    )


def _both(budget: PrivacyBudget) -> tuple[float, float]:
    return budget.epsilon_value, -math.log1p(-budget.delta_value)


def _larger(
    program: Program, counts: Ints, budget: PrivacyBudget, solver: str, effort: Effort
) -> Larger | Unsolved:
    """The program under a larger budget, from the released counts; nothing worse is returned."""
    more = larger_budget(budget)
    if more is None:
        return "budget"
    other = replace(program, constraints=program.constraints.under(more.allowance))
    effort = replace(effort, start=counts, report=quiet)
    try:
        answer = solvers.load(solver)(other, effort)
    except SolverError:
        return "solver"
    found = plan(answer.x, other.constraints).counts
    value = max(other.value(found), other.value(counts))
    return Larger(budget=more, value=value, bound=max(value, answer.bound))
