"""sanitize(): the paper's Algorithm 1 on one page."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from slogan import engines, objectives
from slogan.capped import capped
from slogan.capped_release import CappedRelease
from slogan.distributing import distribution
from slogan.engines import Counted, Spark
from slogan.errors import AllPairsUniqueError, OptionError, SingleUserError
from slogan.modes import Counts, Exact, Laplace, Parameters, Private
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.planning import Planning
from slogan.privacy import PrivacyBudget
from slogan.program import gap as relative_gap
from slogan.pseudonyms import fresh_pseudonyms
from slogan.randomness import randomness
from slogan.release import Release
from slogan.sampling import sample_users
from slogan.searchlog import SearchLog, Source
from slogan.solvers import Effort, require_limits
from slogan.stages import Stages, Watcher, silent


def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget,
    *,
    objective: Objective | None = None,
    solver: str = "auto",
    time_limit: float = 60.0,
    gap: float = 1e-4,
    counts: Counts | None = None,
    pseudonyms: Literal["fresh", "keep"] = "fresh",
    seed: int | None = None,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    checkpoints: str | Path | None = None,
    watcher: Watcher = silent,
) -> Release | CappedRelease:
    """Publishable counts with the best utility, and a user drawn for every released click.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ.
        objective: What utility means; the output size if not given.
        solver: A file of `solvers/`, "distributed" for Spark's, or "auto".
        time_limit: Seconds the solver may take for each problem.
        gap: Relative distance from the proven bound at which the solver may stop.
        counts: Where the counts come from: `Exact()`, the heuristic `Laplace(bound, epsilon)`, or
            `Private()`, which is private end to end.
        pseudonyms: "fresh" random user-IDs, or "keep" the log's own.
        seed: Makes a reproducible test run, which `verify` refuses.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        checkpoints: Folder for those of the distributed solver, which a run that was killed leaves
            there for the next; it is removed at the end. If not given, none outlive the run.
        watcher: Told the stage and how far it is.
    """
    if pseudonyms not in ("fresh", "keep"):
        raise OptionError("pseudonyms are 'fresh' or 'keep'", hint="leave the option out for fresh")
    require_limits(time_limit, gap)
    asked, mode = objective or OutputSize(), counts or Exact()
    if isinstance(mode, Private) and solver != "auto":
        raise OptionError(
            "private counts are solved by a formula, so there is no solver to choose",
            hint="leave --solver out, or --counts",
        )
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    stages = Stages(watcher)
    host = engines.start(engine, source, memory_limit=memory_limit, watcher=watcher)
    try:
        parameters = {
            **_parameters(asked, mode, solver=solver, time_limit=time_limit, gap=gap),
            "engine": engines.name_of(engine, source),
            "encoding": source.encoding,
            "on_bad_row": "skip" if source.skip_bad_rows else "error",
        }
        if isinstance(mode, Private):
            return capped(
                source,
                host,
                budget,
                mode,
                objective=asked,
                parameters=parameters,
                pseudonyms=pseudonyms,
                seed=seed,
                stages=stages,
            )
        rng = randomness(seed)
        folder = None if checkpoints is None else Path(checkpoints)
        apart = distribution(host, asked, mode, budget, solver=solver, folder=folder)
        with stages.stage("count"):
            counted = apart.count(source) if apart else host.count(source)
        check_shared(counted)
        effort = Effort(
            time_limit=time_limit,
            gap=gap,
            report=lambda value, bound: stages.note(_so_far(value, bound)),
        )
        planning = Planning(asked, budget, solver, effort, stages)
        if isinstance(mode, Laplace):
            found = planning.laplace(counted.hist, mode, rng)
        elif apart and counted.stayed:
            found, counted = apart.plan(counted, planning)
        else:
            found = planning.exact(counted.hist)
        with stages.stage("sample"):
            if apart and counted.stayed:
                output = apart.sample(found, rng)
            else:
                drawn = sample_users(found.constraints.hist, found.plan, rng)
                output = replace(
                    drawn, user=found.left.users[drawn.user], pair=found.left.pairs[drawn.pair]
                )
            names = None
            if pseudonyms == "fresh":
                names = fresh_pseudonyms(output.users, host.id_kind(output), rng)
        return Release(
            log=source,
            budget=budget,
            objective=asked.name,
            mode=mode,
            parameters=parameters,
            counted=counted,
            removed=found.removed,
            constraints=found.constraints,
            program=found.program,
            solution=found.solution,
            plan=found.plan,
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


def _so_far(value: float, bound: float) -> str:
    reached = f"value {value:,.6g}, bound {bound:,.6g}"
    return f"{reached}, gap {100 * relative_gap(value=value, bound=bound):.1f} %"


def check_shared(counted: Counted) -> None:
    """Say why nothing can be released of a log without a shared pair."""
    if counted.users == 1:
        raise SingleUserError
    if counted.shared.pairs == 0:
        raise AllPairsUniqueError(users=counted.users, pairs=counted.pairs)


def _parameters(
    objective: Objective, mode: Counts, *, solver: str, time_limit: float, gap: float
) -> Parameters:
    """The resolved configuration: what the curator chose, never what the log gave."""
    own = {
        name: value if isinstance(value, int) else str(value)
        for name, value in vars(objective).items()
        if value is not None
    }
    solving = {"solver": solver, "time_limit": time_limit, "gap": gap}
    return {
        "objective": objective.name,
        **own,
        **({} if isinstance(mode, Private) else solving),
        **mode.parameters(),
    }


__all__ = ["objectives", "sanitize"]
