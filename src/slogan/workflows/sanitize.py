"""sanitize(): the paper's Algorithm 1 on one page."""

from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack, overload

from slogan.budget import Number, PrivacyBudget
from slogan.dp.private_rows import divide
from slogan.engines import EngineChoice
from slogan.errors import OptionError
from slogan.ledger.ledger import Ledger
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.labels import Labels
from slogan.manifest.promise import MINIMIZE, REQUIRE
from slogan.modes import Counts, ExactCounts, LaplaceCounts, PrivateCounts
from slogan.planning.least_budget import LARGEST
from slogan.planning.objectives import Objective
from slogan.planning.planner import Planner
from slogan.planning.solvers import Solver
from slogan.progress import Progress
from slogan.release.job import Destination, Pseudonyms, started_job
from slogan.release.kinds import PrivateRowsRelease, SanitizedRelease
from slogan.workflows.arguments import (
    SanitizeOptions,
    accepted,
    budget_from,
    counts_from,
    objective_from,
    require_alone,
    require_exact_counts,
    require_possible,
    require_with_budget,
    solver_from,
)
from slogan.workflows.sanitize_distributed import distribution
from slogan.workflows.sanitize_private import sanitize_private


@overload
def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    *,
    counts: PrivateCounts | Literal["private"],
    **options: Unpack[SanitizeOptions],
) -> PrivateRowsRelease: ...


@overload
def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    *,
    counts: ExactCounts | LaplaceCounts | Literal["exact"] | None = None,
    **options: Unpack[SanitizeOptions],
) -> SanitizedRelease: ...


@overload
def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    *,
    counts: Counts | str | None,
    **options: Unpack[SanitizeOptions],
) -> SanitizedRelease | PrivateRowsRelease: ...


def sanitize(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    *,
    epsilon: Number | None = None,
    exp_epsilon: Number | None = None,
    delta: Number | None = None,
    require: int | None = None,
    minimize: Literal["exposure"] | None = None,
    objective: Objective | str | None = None,
    counts: Counts | str | None = None,
    solver: Solver | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    pseudonyms: Pseudonyms = "fresh",
    engine: EngineChoice = "duckdb",
    output: str | Path | None = None,
    force: bool = False,
    ledger: Ledger | None = None,
    labels: Labels | None = None,
    recipient: str | None = None,
    approver: str | None = None,
    allow_unaccounted: bool = False,
    accept_weak_privacy: bool = False,
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> SanitizedRelease | PrivateRowsRelease:
    """Choose the counts with the best utility, and draw a user for every released click.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ; or give `epsilon` or `exp_epsilon` (e^ε), and `delta`.
        epsilon: ε, as a number or as text, so that "0.1" means exactly 1/10.
        exp_epsilon: e^ε instead of ε.
        delta: δ, the largest chance that a given person's real rows are published.
        require: In place of a budget: the utility to reach, such as 1000 clicks. The least budget
            for it is found on the log, and the manifest says so.
        minimize: "exposure", with a budget and `require`: of the plans under the budget with the
            required utility, one that is expected to expose the fewest users.
        objective: What utility means, such as "diversity" or `FrequentPairs(min_support="1/500")`;
            the output size if not given. `Joint(weights={…}, at_least={…})` weighs several.
        counts: Where the counts come from: "exact", "private" (private end to end), or the
            heuristic `LaplaceCounts(bound, epsilon)`.
        solver: A name or `Solver(name, time_limit, gap)`; "auto" if not given.
        time_limit: Seconds the solver may take for each problem; 60 if not given.
        gap: Relative distance from the proven bound at which it may stop; 1e-4 if not given.
        pseudonyms: "fresh" random user-IDs, or "keep" the log's own.
        engine: What counts: a name, or settings such as `DuckDB(memory_limit="4GB")`.
        output: The folder for `save()`, checked before the log is counted.
        force: Replace an older release there.
        ledger: Records the release. The planned cost is reserved before noise is drawn, and counts
            unless nothing was drawn.
        labels: Title, publisher, contact, period and licence, all of them published. The ledger
            keeps the title too.
        recipient: For whom it is, for the ledger and the memo; never published.
        approver: Who approved it, for the ledger and the memo; never published.
        allow_unaccounted: Release although the ledger's cap says nothing about it.
        accept_weak_privacy: For private counts: release although ε is above 10, and say so.
        seed: Makes a reproducible test run, which `verify` refuses.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    goal, mode = objective_from(objective), counts_from(counts)
    require_exact_counts(goal, mode)
    given = budget, epsilon, exp_epsilon, delta
    if minimize is not None:
        require = require_with_budget(minimize, require, *given)
    elif require is not None:
        require_alone(require, *given)
    if require is not None:
        require_possible(require, goal, mode, solver, minimize)
    spendable = LARGEST if require is not None and minimize is None else budget_from(*given)
    private = isinstance(mode, PrivateCounts)
    weak = accepted(mode.kind, spendable, accept=accept_weak_privacy)
    if private and solver is not None:
        raise OptionError(
            "private counts are solved by a formula, so there is no solver to choose",
            hint="leave --solver out, or --counts",
        )
    solving = solver_from(solver, time_limit, gap)
    with started_job(
        mode.kind,
        log,
        spendable,
        destination=Destination(
            folder=output,
            force=force,
            ledger=ledger,
            allow_unaccounted=allow_unaccounted,
            labels=labels or Labels(),
            recipient=recipient,
            approver=approver,
        ),
        planned_cost=divide(spendable, mode.sampling_share).cost if private else None,
        pseudonyms=pseudonyms,
        seed=seed,
        engine=engine,
        progress=progress,
    ) as job:
        if private:
            return sanitize_private(job, mode, goal, weak)
        apart = None if require else distribution(job, goal, mode, solving)
        with job.steps.step("count"):
            counted = apart.count(job.log) if apart else job.engine.count(job.log)
        counted.require_shared_pairs()
        ids = job.id_kind()
        planner = Planner(goal, spendable, solving, job.steps)
        least = exposure = priced = None
        if require is not None and minimize is not None:
            exposure, planned = planner.exposing_few(counted.hist, require)
        elif require is not None:
            least, planned = planner.required(counted.hist, require)
            priced = replace(planner, budget=least.budget).prices(planned)
        elif isinstance(mode, LaplaceCounts):
            planned = planner.laplace(counted.hist, mode, job.rng)
        elif apart and counted.stayed:
            planned, counted = apart.plan(counted, planner)
        else:
            planned = planner.exact(counted.hist)
            priced = planner.prices(planned)
        with job.steps.step("sample"):
            output_log = planned.sample(job.rng)
            names = job.names_for(output_log, ids)
        return SanitizedRelease(
            job=job if least is None else replace(job, budget=least.budget),
            parameters=job.parameters(
                goal,
                {} if require is None else {REQUIRE: require},
                {} if minimize is None else {MINIMIZE: minimize},
                solving.parameters(),
                mode.parameters(),
            ),
            counted=counted,
            output=output_log,
            pseudonyms=names,
            objective=goal.name,
            mode=mode,
            removed=planned.removed,
            constraints=planned.constraints,
            program=planned.program,
            solution=planned.solution,
            plan=planned.plan,
            least=least,
            prices=priced,
            exposure=exposure,
        )
