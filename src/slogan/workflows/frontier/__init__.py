"""frontier(): what each budget of a grid buys, on a made-up log or on the log itself.

Figures of the log itself are computed without noise and are for the curator.
"""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from fractions import Fraction
from typing import Literal, Unpack, overload

from slogan import engines
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds, Urls
from slogan.engines import EngineChoice
from slogan.engines.engine import Counted
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.ledger.ledger import Ledger
from slogan.logs.searchlog import SearchLog, Source
from slogan.logs.words import PAIRS, worded
from slogan.manifest.certificate import LogSizes
from slogan.measures import Totals
from slogan.measures.supports import frequent_pairs
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives import Objective
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.joint import Joint
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.planner import Planner, Sweep, SweepPoint, climb
from slogan.planning.solvers import Solver
from slogan.progress import Progress, Steps, shown
from slogan.workflows.advise import declared_or_read, require_one_size
from slogan.workflows.arguments import FrontierOptions, objective_from, solver_from
from slogan.workflows.frontier.dry_runs import DryRuns
from slogan.workflows.frontier.points import Point, SanitizedPoint, SynthesizedPoint
from slogan.workflows.frontier.result import (
    OF_DECLARED_SIZE,
    OF_LOG_SIZE,
    ON_LOG,
    Frontier,
    Mode,
)
from slogan.workflows.frontier.trade_off import (
    TradeOff,
    one_budget,
    pair_of,
    points_of,
    utility_of,
)

EXP_EPSILONS = ("1.001", "1.01", "1.1", "1.4", "1.7", "2", "2.3")
DELTAS = ("1e-4", "1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")
"""The paper's grid, for sanitize."""
SYNTHETIC_EPSILONS = ("0.5", "1", "2", "4", "8")
SYNTHETIC_DELTAS = ("1e-9", "1e-6")
TRIAL = Solver(time_limit=10.0, patience=3.0)
"""For each problem: there are many, and what a search finds late changes a frontier little."""
_SUPPORT = Fraction(1, 500)
"""From which share of clicks on a pair is frequent, unless the objective says: the paper's."""


@overload
def frontier(
    log: SearchLog | Source | None = None,
    *,
    mode: Literal["sanitize"] = "sanitize",
    objectives: None = None,
    **options: Unpack[FrontierOptions],
) -> Frontier[SanitizedPoint]: ...


@overload
def frontier(
    log: SearchLog | Source | None = None,
    *,
    mode: Mode = "sanitize",
    objectives: Sequence[str] | Joint,
    **options: Unpack[FrontierOptions],
) -> TradeOff: ...


@overload
def frontier(
    log: SearchLog | Source | None = None,
    *,
    mode: Literal["synthesize"],
    objectives: None = None,
    **options: Unpack[FrontierOptions],
) -> Frontier[SynthesizedPoint]: ...


def frontier(
    log: SearchLog | Source | None = None,
    *,
    users: int | None = None,
    clicks_per_user: float | None = None,
    on_log: bool = False,
    epsilons: Sequence[Number] | None = None,
    exp_epsilons: Sequence[Number] | None = None,
    deltas: Sequence[Number] | None = None,
    mode: Mode = "sanitize",
    objective: Objective | str | None = None,
    objectives: Sequence[str] | Joint | None = None,
    solver: Solver | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    association: str | None = None,
    selector: str = selection.DEFAULT,
    runs: int = 3,
    seed: int = 0,
    ledger: Ledger | None = None,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Frontier[Point] | TradeOff:
    """Utility over a grid of (ε, δ), measured on a made-up log. Nothing is released.

    With `objectives`, what one objective costs the other under one budget.

    Args:
        log: A log, whose number of users and clicks the made-up log gets. Leave it out and declare
            the numbers to choose a budget without looking at the log.
        users: The declared number of users.
        clicks_per_user: The declared mean number of clicks of a user; 20 if not given.
        on_log: Measure on the log itself. The figures are then for the curator, and a budget
            chosen from them is chosen after looking at the log.
        epsilons: The ε of the grid.
        exp_epsilons: e^ε instead; the paper's grid if neither is given.
        deltas: The δ of the grid.
        mode: What is tried: "sanitize" with exact counts, or "synthesize".
        objective: What utility means; for F-UMP half of the largest λ is asked for everywhere,
            unless it names an output size.
        objectives: For sanitize: two objectives to trade for each other, such as
            ("output_size", "diversity"); the grid must have one budget.
        solver: For sanitize: a name or `Solver(name, time_limit, gap)`; "auto" if not given.
        time_limit: For sanitize: seconds for each budget; 10 if not given, and no more than 3 after
            the last better solution.
        gap: For sanitize: relative distance from the proven bound at which it may stop.
        association: For synthesize, as there.
        selector: For synthesize, as there.
        runs: For synthesize: how many dry runs are averaged.
        seed: The same seed gives the same made-up log and the same dry runs.
        ledger: With `on_log`: records that budgets were compared on the log.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    with shown(progress) as on_progress:
        solving = solver_from(solver, time_limit, gap, default=TRIAL)
        if runs < 1:
            raise OptionError(f"{runs} runs are not possible", hint="give --runs 1 or more")
        budgets = _grid(mode, epsilons, exp_epsilons, deltas)
        goal, kinds = objective_from(objective), Kinds.from_options(association, None)
        steps, plans, items = Steps(on_progress), mode == "sanitize", PAIRS
        compared = None
        if objectives is not None:
            _require_plans(mode, objective)
            compared = Planner(pair_of(objectives), one_budget(budgets), solving, steps)
        require_one_size(log, users, clicks_per_user, "frontier")
        if on_log and log is None:
            raise OptionError("there is no log to look at", hint="slogan frontier LOG --on-log")
        _record_look(ledger, on_log=on_log)
        with ExitStack() as stack:
            if log is not None and on_log:
                settings = engines.resolve(engine, log)
                host = stack.enter_context(closing(settings.start(on_progress)))
                source = settings.describe(log)
                kinds, items = kinds.for_log(urls=source.columns.url is not None), source.items
                with steps.step("count"):
                    counted = host.count(source, unique_pairs=not plans)
                urls: Urls = host.urls
                if plans:
                    counted.require_shared_pairs()
            else:
                with steps.step("made-up log"):
                    size = declared_or_read(log, users, clicks_per_user, engine, steps)
                    twin = size.twin(seed=seed, progress=on_progress)
                kinds, items = size.kinds(kinds), size.items
                counted, urls = _counted(twin.hist, shared=plans), twin.urls
            hist, measured = counted.hist, ON_LOG
            if not on_log:
                measured = OF_DECLARED_SIZE if log is None else OF_LOG_SIZE
            if compared is not None:
                mixture, found = compared.compromises(hist)
                first, second = mixture.parts
                return TradeOff(
                    planned_on=measured,
                    epsilon=compared.budget.epsilon_value,
                    delta=compared.budget.delta_value,
                    objectives=(first.name, second.name),
                    utilities=(utility_of(first), utility_of(second)),
                    log=LogSizes(clicks=hist.clicks, users=hist.users, pairs=hist.pairs),
                    optima=(float(first.optimum), float(second.optimum)),
                    bounds=(float(first.bound), float(second.bound)),
                    points=points_of(mixture, found),
                    seconds=steps.rounded(),
                    items=items,
                )
            if plans:
                goal, points = _plan(hist, budgets, goal, solving, steps)
            else:
                trial = DryRuns(
                    counted=replace(counted, rows=hist),  # worth bringing here for this many runs
                    urls=urls,
                    objective=goal,
                    kinds=kinds,
                    selector=selector,
                    support=_support(goal),
                    seeds=range(seed, seed + runs),
                    steps=steps,
                )
                points = trial.under(budgets)
        sizes = hist if plans else counted
        return Frontier(
            mode=mode,
            planned_on=measured,
            objective=goal.name,
            utility=worded(goal.utility if plans else "released pairs", items),
            log=LogSizes(clicks=sizes.clicks, users=sizes.users, pairs=sizes.pairs),
            min_support=str(_support(goal)),
            output_size=goal.output_size if plans and isinstance(goal, FrequentPairs) else None,
            runs=None if plans else runs,
            points=points,
            seconds=steps.rounded(),
            items=items,
        )


def _record_look(ledger: Ledger | None, *, on_log: bool) -> None:
    """Have the ledger say that the log was looked at, before it is."""
    if ledger is None:
        return
    if not on_log:
        raise OptionError(
            "a made-up log is looked at, which no ledger records",
            hint="leave --population and --ledger out, or add --on-log",
        )
    ledger.note_look()


def _require_plans(mode: Mode, objective: Objective | str | None) -> None:
    """Refuse what makes no sense beside two objectives."""
    if mode != "sanitize":
        raise OptionError(
            "--objectives compares plans of sanitize", hint="leave --mode synthesize out"
        )
    if objective is not None:
        raise OptionError(
            "--objective and --objectives are both given", hint="give one of them, not both"
        )


def _counted(hist: PairHistogram, *, shared: bool) -> Counted:
    """A made-up log as an engine would have counted it."""
    return Counted(
        rows=hist.without_unique_pairs() if shared else hist,
        clicks=hist.clicks,
        users=hist.users,
        pairs=hist.pairs,
        rows_without_click=0,
    )


def _grid(
    mode: Mode,
    epsilons: Sequence[Number] | None,
    exp_epsilons: Sequence[Number] | None,
    deltas: Sequence[Number] | None,
) -> list[PrivacyBudget]:
    if mode not in ("sanitize", "synthesize"):
        raise OptionError(f"there is no mode {mode!r}", hint="sanitize or synthesize")
    if epsilons is not None and exp_epsilons is not None:
        raise OptionError(
            "a grid has values of ε or of e^ε, and not both",
            hint="give --epsilons or --exp-epsilons",
        )
    synthetic = mode == "synthesize"
    if epsilons is None and exp_epsilons is None:
        epsilons = SYNTHETIC_EPSILONS if synthetic else None
        exp_epsilons = None if synthetic else EXP_EPSILONS
    given = deltas if deltas is not None else SYNTHETIC_DELTAS if synthetic else DELTAS
    powers = [{"epsilon": e} for e in epsilons or ()]
    powers += [{"exp_epsilon": e} for e in exp_epsilons or ()]
    budgets = [PrivacyBudget(**power, delta=delta) for power in powers for delta in given]
    if not budgets:
        raise OptionError("the grid is empty", hint="give at least one ε and one δ")
    return budgets


def _support(objective: Objective) -> Fraction:
    return exact(objective.min_support) if isinstance(objective, FrequentPairs) else _SUPPORT


def _plan(
    hist: PairHistogram,
    budgets: list[PrivacyBudget],
    objective: Objective,
    solver: Solver,
    steps: Steps,
) -> tuple[Objective, tuple[SanitizedPoint, ...]]:
    """What sanitize() would give: a point for every budget, none worse than of a smaller one.

    F-UMP's values compare at one output size: half of the largest λ if the objective names none.
    """
    largest: Sweep = {}

    def climbed(goal: Objective) -> Sweep:
        with steps.step("solve"):
            return climb(
                hist,
                budgets,
                goal,
                solver=solver.name,
                effort=solver.effort,
                largest=largest,
                done=lambda done, of: steps.note(f"{done} of {of} budgets"),
            )

    if isinstance(objective, FrequentPairs):
        largest |= climbed(OutputSize())
        most = max(step.plan.size for step in largest.values())
        objective = replace(objective, output_size=objective.output_size or max(1, most // 2))
    sweep, support = climbed(objective), _support(objective)
    with steps.step("measure"):
        return objective, tuple(_point(hist, b, sweep.get(b.allowance), support) for b in budgets)


def _point(
    hist: PairHistogram, budget: PrivacyBudget, step: SweepPoint | None, support: Fraction
) -> SanitizedPoint:
    constraints = privacy_constraints(hist, budget)
    point = SanitizedPoint(
        epsilon=budget.epsilon_value,
        delta=budget.delta_value,
        budget_per_user=constraints.limit,
        size_bound=constraints.size_bound,
    )
    if step is None:
        return point
    counts = step.plan.counts
    kept = frequent_pairs(Totals(before=hist.pair_total, after=counts, query=hist.query), support)
    return replace(
        point,
        value=step.value,
        bound=step.bound,
        gap=step.gap,
        status=str(step.status),
        carried=step.carried,
        clicks=step.plan.size,
        pairs=step.plan.pairs,
        recall=kept.recall,
        precision=kept.precision,
        sum_support_distance=kept.sum_support_distance,
        exposed_users_expected=constraints.expected_exposed(counts),
    )
