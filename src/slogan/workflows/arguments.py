"""Arguments of the library: objects of ours, or the names and numbers that one would guess."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypedDict

from slogan.budget import Number, PrivacyBudget
from slogan.engines import EngineChoice
from slogan.errors import BudgetError, OptionError
from slogan.ledger.ledger import Ledger
from slogan.manifest.labels import Labels
from slogan.manifest.promise import ACCEPTED, weaknesses
from slogan.modes import Counts, ExactCounts, Parameters, PrivateCounts, ReleaseKind
from slogan.planning import objectives
from slogan.planning.least_budget import packing_objective
from slogan.planning.objectives import Objective
from slogan.planning.solvers import DISTRIBUTED, Solver
from slogan.progress import Progress
from slogan.release.job import Pseudonyms

MINIMIZED = ("exposure",)
"""What can be minimised for a required utility under a given budget."""


class SanitizeOptions(TypedDict, total=False):
    """The keywords of `sanitize()` that do not decide which release it returns."""

    epsilon: Number | None
    exp_epsilon: Number | None
    delta: Number | None
    require: int | None
    minimize: Literal["exposure"] | None
    objective: Objective | str | None
    solver: Solver | str | None
    time_limit: float | None
    gap: float | None
    pseudonyms: Pseudonyms
    engine: EngineChoice
    output: str | Path | None
    force: bool
    ledger: Ledger | None
    labels: Labels | None
    recipient: str | None
    approver: str | None
    allow_unaccounted: bool
    accept_weak_privacy: bool
    seed: int | None
    progress: Progress | bool | None


class FrontierOptions(TypedDict, total=False):
    """The keywords of `frontier()` that do not decide which points it returns."""

    users: int | None
    clicks_per_user: float | None
    on_log: bool
    epsilons: Sequence[Number] | None
    exp_epsilons: Sequence[Number] | None
    deltas: Sequence[Number] | None
    objective: Objective | str | None
    solver: Solver | str | None
    time_limit: float | None
    gap: float | None
    association: str | None
    selector: str
    runs: int
    seed: int
    ledger: Ledger | None
    engine: EngineChoice
    progress: Progress | bool | None


def budget_from(
    budget: PrivacyBudget | None,
    epsilon: Number | None,
    exp_epsilon: Number | None,
    delta: Number | None,
) -> PrivacyBudget:
    """The budget that was given as one object, or as numbers."""
    if isinstance(budget, PrivacyBudget):
        if not (epsilon is exp_epsilon is delta is None):
            raise OptionError(
                "the budget is given twice", hint="give either a budget, or epsilon= and delta="
            )
        return budget
    if budget is not None or delta is None:
        raise _refusal(
            "a release needs a privacy budget",
            'write epsilon=1, delta="1e-6", or PrivacyBudget(epsilon=1, delta="1e-6")',
        )
    return PrivacyBudget(epsilon=epsilon, exp_epsilon=exp_epsilon, delta=delta)


def require_alone(require: int | None, *budget: object) -> None:
    """Refuse a budget beside a required utility, which takes its place."""
    if any(part is not None for part in budget):
        raise OptionError(
            "a budget and a required utility are both given",
            hint=f"leave --epsilon, --exp-epsilon and --delta out: --require {require} finds the "
            "least budget; or add --minimize exposure, which keeps the given one",
        )


def require_with_budget(minimize: str, require: int | None, *budget: object) -> int:
    """The required utility, if what is minimised is known and a budget is given beside it."""
    if minimize not in MINIMIZED:
        raise OptionError(
            f"{_kind(minimize)} cannot be minimised", hint=f"give --minimize {MINIMIZED[0]}"
        )
    if require is None:
        raise OptionError(
            "--minimize exposure needs a utility to reach: without one, releasing nothing is best",
            hint="add the number you need, such as --require 1000",
        )
    if all(part is None for part in budget):
        raise OptionError(
            "--minimize exposure needs a privacy budget beside the required utility",
            hint="add --epsilon 0.7 --delta 0.1; without --minimize, --require finds the least "
            "budget",
        )
    return require


def require_possible(
    require: int,
    objective: Objective,
    mode: Counts,
    solver: Solver | str | None,
    minimize: str | None = None,
) -> None:
    """Refuse a utility that cannot be required, or not with what is minimised."""
    aim = "search for the least budget" if minimize is None else "minimise the exposure"
    other = "give --epsilon and --delta instead of --require"
    other = other if minimize is None else "leave --require and --minimize out"
    if not isinstance(mode, ExactCounts):
        raise OptionError(
            "a utility can be required of exact counts only: others depend on chance",
            hint=f"leave --counts out, or {other}",
        )
    if DISTRIBUTED in (solver, getattr(solver, "name", None)):
        raise OptionError(
            f"the distributed solver does not {aim}",
            hint=f"leave --solver out, or {other}",
        )
    packing_objective(objective, require)


def accepted(kind: ReleaseKind, budget: PrivacyBudget, *, accept: bool) -> Parameters:
    """What the manifest says of a weak budget that was accepted; one that was not is refused."""
    if accept and not kind.end_to_end:
        raise OptionError(
            f"no budget is refused for {kind}, so there is nothing to accept",
            hint="leave --accept-weak-privacy out",
        )
    if accept:
        return {ACCEPTED: "yes"}
    if refusals := [weakness.text for weakness in weaknesses(kind, budget) if weakness.refused]:
        raise BudgetError(
            f"this budget protects too little: {' '.join(refusals)}",
            hint="choose a smaller ε or δ, such as --epsilon 1 --delta 1e-6; "
            "--accept-weak-privacy overrides this, and the release will say so",
        )
    return {}


def objective_from(objective: Objective | str | None) -> Objective:
    """The objective that was given as an object, by name, or not at all."""
    if isinstance(objective, str) or objective is None:
        return objectives.load(objective or "output_size")()
    if isinstance(objective, type):
        return objective()
    if not hasattr(objective, "program"):
        known = ", ".join(repr(name) for name in objectives.names())
        raise _refusal(
            f"{_kind(objective)} is not an objective", f"write objective= as one of: {known}"
        )
    return objective


def require_exact_counts(objective: Objective, counts: Counts | None) -> None:
    """Refuse an objective that is defined for exact counts only; None stands for made-up users."""
    if not objective.exact_only or isinstance(counts, ExactCounts):
        return
    if counts is None:
        raise objectives.refusal_of(objective, "synthetic users", "leave --objective out")
    kind = counts.kind.counts
    raise objectives.refusal_of(objective, f"--counts {kind}", "leave --counts out")


def counts_from(counts: Counts | str | None) -> Counts:
    """Where the counts come from, given as an object, by name, or not at all."""
    if isinstance(counts, Counts):
        return counts
    if counts is None or counts == "exact":
        return ExactCounts()
    if counts == "private":
        return PrivateCounts()
    if counts == "laplace":
        raise _refusal(
            "laplace counts need a bound d and an ε'",
            "write counts=LaplaceCounts(bound=2, epsilon=1)",
        )
    raise _refusal(
        f"{_kind(counts)} does not say where the counts come from",
        "write counts='exact', counts='private' or counts=LaplaceCounts(bound=2, epsilon=1)",
    )


def solver_from(
    solver: Solver | str | None,
    time_limit: float | None = None,
    gap: float | None = None,
    *,
    default: Solver | None = None,
) -> Solver:
    """The solver that was given as an object, or by name and limits; else the default."""
    limits = {"time_limit": time_limit, "gap": gap}
    given = {name: value for name, value in limits.items() if value is not None}
    if isinstance(solver, Solver):
        if given:
            raise _refusal(
                "the limits of the solver are given twice", "write them in Solver(…) alone"
            )
        return solver
    if solver is None or isinstance(solver, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        start = default or Solver()
        return replace(start, name=solver or start.name, **given)
    raise _refusal(
        f"{_kind(solver)} is not a solver", "write solver=Solver('packing', time_limit=60)"
    )


def _kind(value: object) -> str:
    """The value, if it is a short word that a person typed; else its type alone."""
    return repr(value) if isinstance(value, str) and len(value) <= 40 else type(value).__name__


def _refusal(problem: str, hint: str) -> OptionError:
    return OptionError(problem, hint=hint)
