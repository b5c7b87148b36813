"""frontier(): utility over a grid of budgets. It depends on the raw log: for the curator alone."""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean
from typing import Any, Generic, Literal, TypeVar, Unpack, overload

import numpy as np

from slogan import engines
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds
from slogan.dp.statistics import spread
from slogan.engines import EngineChoice
from slogan.engines.engine import Counted, Engine
from slogan.errors import OptionError, ReleaseExistsError, TooFewUsersError
from slogan.histogram import PairHistogram
from slogan.logs.searchlog import SearchLog, Source
from slogan.logs.words import PAIRS, worded
from slogan.manifest.certificate import LogSizes, html_table
from slogan.measures import Totals
from slogan.measures.supports import frequent_pairs
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives import Objective
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.planner import Sweep, SweepPoint, climb
from slogan.planning.solvers import Solver
from slogan.progress import Progress, Steps, shown
from slogan.randomness import SeededRandomness
from slogan.report.charts import Chart, Line, frontier_chart
from slogan.report.html import CURATOR_ONLY, MONOTONE, FrontierPage, picture
from slogan.storage.atomic import write_private
from slogan.workflows.arguments import FrontierOptions, objective_from, solver_from
from slogan.workflows.synthesize import make_users

Mode = Literal["sanitize", "synthesize"]

EXP_EPSILONS = ("1.001", "1.01", "1.1", "1.4", "1.7", "2", "2.3")
DELTAS = ("1e-4", "1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")
"""The paper's grid, for sanitize."""
SYNTHETIC_EPSILONS = ("0.5", "1", "2", "4", "8")
SYNTHETIC_DELTAS = ("1e-9", "1e-6")
_SUPPORT = Fraction(1, 500)
"""From which share of clicks on a pair is frequent, unless the objective says: the paper's."""
_COLUMNS = {
    "epsilon": "ε",
    "delta": "δ",
    "value": "",
    "average": "average",
    "bound": "proven bound",
    "size_bound": "m·b",
    "pairs": "pairs",
    "coverage": "coverage",
    "recall": "recall",
}
"""The columns of the short table, as far as the points have them; the value is the utility."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """What one budget buys."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizedPoint(FrontierPoint):
    """What sanitize() gives under one budget; None where F-UMP's output size is out of reach."""

    budget_per_user: float
    size_bound: float
    """m·b: no output is larger."""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    status: str | None = None
    carried: bool = False
    clicks: int = 0
    pairs: int = 0
    recall: float | None = None
    precision: float | None = None
    sum_support_distance: float | None = None
    exposed_users_expected: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizedPoint(FrontierPoint):
    """What synthesize() would give, on average; None where nothing is frequent."""

    value: float
    """Different released pairs: of all values that never fall as a budget grows, the nearest."""
    average: float
    """Different released pairs, as the dry runs of this budget alone had them."""
    pairs_least: int
    pairs_most: int
    clicks: float
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


Point = SanitizedPoint | SynthesizedPoint
PointT_co = TypeVar("PointT_co", bound=Point, covariant=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class Frontier(Generic[PointT_co]):
    """What each budget buys. Everything depends on the log: it is for the curator."""

    mode: Mode
    objective: str
    utility: str
    log: LogSizes
    """Clicks, users and pairs; for sanitize those of shared pairs."""
    min_support: str
    output_size: int | None
    points: tuple[PointT_co, ...]
    seconds: dict[str, float]
    items: str = PAIRS
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of `frontier --json`."""
        return {"curator_only": CURATOR_ONLY, **asdict(self)}

    def __repr__(self) -> str:
        values = [point.value for point in self.points if point.value is not None]
        reach = f"{min(values):,.6g} to {max(values):,.6g}" if values else "none"
        return f"<Frontier of {self.mode}: {len(self.points)} budgets, {self.utility} {reach}>"

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return html_table(headings, rows, note=CURATOR_ONLY)

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and one row for each budget, with what a person reads first."""
        present = {one.name for point in self.points for one in fields(point)}
        columns = {name: words for name, words in _COLUMNS.items() if name in present}
        rows = [[_number(getattr(point, name)) for name in columns] for point in self.points]
        return [worded(words or self.utility, self.items) for words in columns.values()], rows

    def chart(self) -> Chart:
        """One line per δ; for what can only grow with the output, m·b at the largest δ."""
        deltas = sorted({point.delta for point in self.points})
        lines = [Line(name=f"δ = {delta:g}", points=self._line("value", delta)) for delta in deltas]
        grows = self.mode == "sanitize" and objectives.load(self.objective).is_packing
        bound = self._line("size_bound", deltas[-1]) if grows and deltas else []
        most = Line(name="bound m·b", points=bound) if bound else None
        return frontier_chart(lines, most, utility=self.utility)

    def _line(self, name: str, delta: float) -> list[tuple[float, float]]:
        """What the points of one δ have under this name, where they have it, by ε."""
        values = ((p.epsilon, getattr(p, name)) for p in self.points if p.delta == delta)
        return sorted((epsilon, value) for epsilon, value in values if value is not None)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write frontier.json, .svg and .html, which only their owner can open, into a folder."""
        target = Path(folder)
        if (target / "frontier.json").exists() and not force:
            raise ReleaseExistsError(
                f"{target} already holds a frontier", hint="give --force to replace it"
            )
        chart = self.chart()
        page = FrontierPage(
            utility=self.utility,
            facts=self._facts(),
            chart=chart,
            headings=[self._heading(one.name) for one in fields(self.points[0])],
            rows=[[_cell(value) for value in astuple(point)] for point in self.points],
        )
        files = {
            "frontier.svg": picture(chart),
            "frontier.html": page.html(),
            "frontier.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        write_private(target, files)

    def _heading(self, name: str) -> str:
        return worded(name.replace("_", " "), self.items)

    def _facts(self) -> list[str]:
        log = f"{self.log.clicks:,} clicks, {self.log.users:,} users, {self.log.pairs:,} pairs"
        facts = [f"The log: {log}.", f"A pair is frequent from {self.min_support} of clicks on."]
        if self.mode == "synthesize":
            facts.append(MONOTONE)
        if self.output_size is not None:
            facts.append(f"At every budget {self.output_size:,} clicks are asked for.")
        return [worded(fact, self.items) for fact in facts]


@overload
def frontier(
    log: SearchLog | Source,
    *,
    mode: Literal["sanitize"] = "sanitize",
    **options: Unpack[FrontierOptions],
) -> Frontier[SanitizedPoint]: ...


@overload
def frontier(
    log: SearchLog | Source,
    *,
    mode: Literal["synthesize"],
    **options: Unpack[FrontierOptions],
) -> Frontier[SynthesizedPoint]: ...


def frontier(
    log: SearchLog | Source,
    *,
    epsilons: Sequence[Number] | None = None,
    exp_epsilons: Sequence[Number] | None = None,
    deltas: Sequence[Number] | None = None,
    mode: Mode = "sanitize",
    objective: Objective | str | None = None,
    solver: Solver | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    association: str | None = None,
    selector: str = selection.DEFAULT,
    runs: int = 3,
    seed: int = 0,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Frontier[Point]:
    """Utility over a grid of (ε, δ). Nothing is released, and nothing of it may be published.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        epsilons: The ε of the grid.
        exp_epsilons: e^ε instead; the paper's grid if neither is given.
        deltas: The δ of the grid.
        mode: What is tried: "sanitize" with exact counts, or "synthesize".
        objective: What utility means; for F-UMP half of the largest λ is asked for everywhere,
            unless it names an output size.
        solver: For sanitize: a name or `Solver(name, time_limit, gap)`; "auto" if not given.
        time_limit: For sanitize: seconds for each budget; 10 if not given.
        gap: For sanitize: relative distance from the proven bound at which it may stop.
        association: For synthesize, as there.
        selector: For synthesize, as there.
        runs: For synthesize: how many dry runs are averaged.
        seed: For synthesize: the same seed gives the same figures.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    with shown(progress) as on_progress:
        solving = solver_from(solver, time_limit, gap, default=Solver(time_limit=10.0))
        if runs < 1:
            raise OptionError(f"{runs} runs are not possible", hint="give --runs 1 or more")
        budgets = _grid(mode, epsilons, exp_epsilons, deltas)
        goal, asked = objective_from(objective), Kinds.asked(association, None)
        steps, settings = Steps(on_progress), engines.resolve(engine, log)
        source, plans = settings.describe(log), mode == "sanitize"
        with closing(settings.start(on_progress)) as host:
            with steps.step("count"):
                counted = host.count(source, unique_pairs=not plans)
            hist = counted.hist
            if plans:
                counted.require_shared_pairs()
                goal, points = _plan(hist, budgets, goal, solving, steps)
            else:
                trial = _Trial(
                    counted=replace(counted, rows=hist),  # so many runs are worth bringing it here
                    engine=host,
                    objective=goal,
                    kinds=asked.for_log(urls=source.columns.url is not None),
                    selector=selector,
                    seeds=range(seed, seed + runs),
                    steps=steps,
                )
                points = trial.under(budgets)
        sizes = hist if plans else counted
        return Frontier(
            mode=mode,
            objective=goal.name,
            utility=worded(goal.utility if plans else "released pairs", source.items),
            log=LogSizes(clicks=sizes.clicks, users=sizes.users, pairs=sizes.pairs),
            min_support=str(_support(goal)),
            output_size=goal.output_size if plans and isinstance(goal, FrequentPairs) else None,
            points=points,
            seconds=steps.rounded(),
            items=source.items,
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


@dataclass(frozen=True, kw_only=True)
class _Trial:
    """Dry runs of synthesize(): a log, counted whole, and all of the method but the budget."""

    counted: Counted
    engine: Engine
    objective: Objective
    kinds: Kinds
    selector: str
    seeds: range
    steps: Steps

    def under(self, budgets: list[PrivacyBudget]) -> tuple[SynthesizedPoint, ...]:
        """A point for every budget, none below that of a smaller one."""
        points: list[SynthesizedPoint] = []
        for n, budget in enumerate(budgets):
            self.steps.note(f"{n} of {len(budgets)} budgets")
            points.append(self._point(budget))
        return running_maximum(points)

    def _point(self, budget: PrivacyBudget) -> SynthesizedPoint:
        """Average over runs. Every budget meets the same seeds, so that points compare."""
        runs = [self._run(budget, seed) for seed in self.seeds]
        kept = [frequent_pairs(run, _support(self.objective)) for run in runs]
        pairs = [int(np.count_nonzero(run.after)) for run in runs]
        return SynthesizedPoint(
            epsilon=budget.epsilon_value,
            delta=budget.delta_value,
            value=fmean(pairs),
            average=fmean(pairs),
            pairs_least=min(pairs),
            pairs_most=max(pairs),
            clicks=fmean(int(run.after.sum()) for run in runs),
            coverage=fmean(float(run.coverage) for run in runs),
            recall=_mean([one.recall for one in kept]),
            precision=_mean([one.precision for one in kept]),
            sum_support_distance=fmean(one.sum_support_distance for one in kept),
        )

    def _run(self, budget: PrivacyBudget, seed: int) -> Totals:
        hist = self.counted.hist
        after, coverage = np.zeros(hist.pairs, dtype=np.int64), Fraction(0)
        try:
            users, statistics = make_users(
                self.counted,
                budget,
                spread(budget, association=self.kinds.looks),
                selection.load(self.selector),
                objective=self.objective,
                group=self.kinds.grouping(self.engine.urls),
                rng=SeededRandomness(seed),
                steps=self.steps,
            )
        except TooFewUsersError:
            pass  # nothing would be released, and that is an answer
        else:
            np.add.at(after, users.pair, users.count)
            coverage = exact(statistics.coverage.share)
        return Totals(before=hist.pair_total, after=after, query=hist.query, coverage=coverage)


def running_maximum(points: Sequence[SynthesizedPoint]) -> tuple[SynthesizedPoint, ...]:
    """The points with the best average that this budget or a smaller one reaches as their value.

    A release under a smaller budget keeps the promise of a larger one, so it can always be had.
    """

    def best(point: SynthesizedPoint) -> float:
        smaller = (p for p in points if p.epsilon <= point.epsilon and p.delta <= point.delta)
        return max(p.average for p in smaller)

    return tuple(replace(point, value=best(point)) for point in points)


def _mean(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None


def _cell(value: float | str | bool | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,.6g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.6g}"
