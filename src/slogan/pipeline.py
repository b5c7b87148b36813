"""sanitize(): the paper's Algorithm 1 on one page."""

from __future__ import annotations

from importlib.metadata import version
from typing import Literal

import numpy as np

from slogan import engines, objectives, solvers
from slogan.constraints import PrivacyConstraints, privacy_constraints
from slogan.engines import Counted
from slogan.errors import AllPairsUniqueError, EmptyPlanError, OptionError, SingleUserError
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.plan import Plan, plan
from slogan.privacy import PrivacyBudget
from slogan.program import Program, Solution
from slogan.program import gap as relative_gap
from slogan.pseudonyms import fresh_pseudonyms
from slogan.randomness import randomness
from slogan.release import Release
from slogan.sampling import sample_users
from slogan.searchlog import SearchLog, Source, read
from slogan.solvers import Effort
from slogan.stages import Stages, Watcher, silent


def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget,
    *,
    objective: Objective | None = None,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-4,
    pseudonyms: Literal["fresh", "keep"] = "fresh",
    seed: int | None = None,
    engine: str = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Release:
    """Publishable counts with the best utility, and a user drawn for every released click.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ.
        objective: What utility means; the output size if not given.
        solver: A file of `solvers/`, or "auto".
        time_limit: Seconds the solver may take for each problem.
        gap: Relative distance from the proven bound at which the solver may stop.
        pseudonyms: "fresh" random user-IDs, or "keep" the log's own.
        seed: Makes a reproducible test run, which `verify` refuses.
        engine: A file of `engines/`.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    if pseudonyms not in ("fresh", "keep"):
        raise OptionError("pseudonyms are 'fresh' or 'keep'", hint="leave the option out for fresh")
    if not (time_limit > 0 and gap >= 0):
        raise OptionError(
            f"a time limit of {time_limit} s and a gap of {gap} are not possible",
            hint="the time limit is above 0 seconds, the gap is 0 or more",
        )
    asked = objective or OutputSize()
    stages, rng = Stages(watcher), randomness(seed)
    host = engines.load(engine)(memory_limit=memory_limit)
    try:
        source = log if isinstance(log, SearchLog) else read(log)
        with stages.stage("count"):
            counted = host.count(source)
        _check_shared(counted)
        with stages.stage("constrain"):
            constraints = privacy_constraints(counted.hist, budget)
            fitting, entries = np.count_nonzero(constraints.upper), constraints.cost.nnz
            stages.note(f"{fitting:,} of {counted.hist.pairs:,} pairs fit, {entries:,} charges")
        effort = Effort(
            time_limit=time_limit,
            gap=gap,
            report=lambda value, bound: stages.note(_so_far(value, bound)),
        )
        with stages.stage("solve"):
            program, solution = _solve(asked, constraints, solver, effort)
        with stages.stage("gate"):
            planned = plan(solution.x, constraints)
        if planned.size == 0:
            raise _empty(constraints)
        with stages.stage("sample"):
            output = sample_users(constraints.hist, planned, rng)
            names = None
            if pseudonyms == "fresh":
                names = fresh_pseudonyms(output.users, host.id_kind(output), rng)
        return Release(
            log=source,
            budget=budget,
            objective=asked.name,
            parameters={
                **_parameters(asked, solver=solver, time_limit=time_limit, gap=gap),
                "encoding": source.encoding,
                "on_bad_row": "skip" if source.skip_bad_rows else "error",
            },
            counted=counted,
            constraints=constraints,
            program=program,
            solution=solution,
            plan=planned,
            output=output,
            pseudonyms=names,
            seed=seed,
            engine=host,
            stages=stages,
            slogan_version=version("slogan"),
        )
    except BaseException:
        host.close()
        raise


def _solve(
    objective: Objective, constraints: PrivacyConstraints, solver: str, effort: Effort
) -> tuple[Program, Solution]:
    solve = solvers.load(solver)

    def largest() -> tuple[Plan, float]:
        answer = solve(OutputSize().program(constraints, largest=largest), effort)
        return plan(answer.x, constraints), answer.bound

    program = objective.program(constraints, largest=largest)
    return program, solve(program, effort)


def _so_far(value: float, bound: float) -> str:
    reached = f"value {value:,.6g}, bound {bound:,.6g}"
    return f"{reached}, gap {100 * relative_gap(value=value, bound=bound):.1f} %"


def _check_shared(counted: Counted) -> None:
    if counted.users == 1:
        raise SingleUserError
    if counted.hist.pairs == 0:
        raise AllPairsUniqueError(users=counted.users, pairs=counted.pairs)


def _empty(constraints: PrivacyConstraints) -> EmptyPlanError:
    cheapest = float(constraints.cost_of_rows(constraints.dearest).min())
    return EmptyPlanError(limit=constraints.limit, cheapest=cheapest)


def _parameters(
    objective: Objective, *, solver: str, time_limit: float, gap: float
) -> dict[str, str | int | float | None]:
    """The resolved configuration: what the curator chose, never what the log gave."""
    own = {
        name: value if isinstance(value, int) else str(value)
        for name, value in vars(objective).items()
        if value is not None
    }
    return {
        "objective": objective.name,
        **own,
        "solver": solver,
        "time_limit": time_limit,
        "gap": gap,
    }


__all__ = ["objectives", "sanitize"]
