"""frontier(): what each budget of a grid buys, on a made-up log or on the log itself.

Figures of the log itself are computed without noise and are for the curator.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, Unpack, overload

from slogan import engines
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds, Urls
from slogan.engines import EngineChoice
from slogan.engines.engine import Counted
from slogan.errors import OptionError, ReleaseExistsError
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
from slogan.report.charts import Chart, Line, frontier_chart
from slogan.report.html import CHOICE, CURATOR_ONLY, FrontierPage, picture
from slogan.storage.atomic import write_private
from slogan.workflows.advise import declared_or_read, require_one_size
from slogan.workflows.arguments import FrontierOptions, objective_from, solver_from
from slogan.workflows.dry_runs import DryRuns
from slogan.workflows.frontier_points import (
    Point,
    SanitizedPoint,
    SynthesizedPoint,
)

Mode = Literal["sanitize", "synthesize"]

EXP_EPSILONS = ("1.001", "1.01", "1.1", "1.4", "1.7", "2", "2.3")
DELTAS = ("1e-4", "1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")
"""The paper's grid, for sanitize."""
SYNTHETIC_EPSILONS = ("0.5", "1", "2", "4", "8")
SYNTHETIC_DELTAS = ("1e-9", "1e-6")
_SIZE_OF_LOG = "The number of users and clicks was read from your log; the rest is made up."
_SUPPORT = Fraction(1, 500)
"""From which share of clicks on a pair is frequent, unless the objective says: the paper's."""
_COLUMNS = {
    "epsilon": "ε",
    "delta": "δ",
    "value": "",
    "average": "mean of dry runs",
    "bound": "best possible",
    "pairs": "pairs",
    "coverage": "share of clicks",
    "recall": "frequent pairs kept",
}
"""The columns of the short table, as far as the points have them; the value is the utility."""
ON_LOG, OF_LOG_SIZE, OF_DECLARED_SIZE = "log", "made-up log of its size", "made-up log"
"""What a frontier was computed on."""


PointT_co = TypeVar("PointT_co", bound=Point, covariant=True)


@dataclass(frozen=True, kw_only=True, repr=False)
class Frontier(Generic[PointT_co]):
    """What each budget buys. On the log itself, it is for the curator."""

    mode: Mode
    planned_on: str
    """The log, or a made-up log; its size was declared, or read from the log."""
    objective: str
    utility: str
    log: LogSizes
    """Clicks, users and pairs; for sanitize those of shared pairs."""
    min_support: str
    output_size: int | None
    runs: int | None
    """For synthesize: how many dry runs each point is the mean of."""
    points: tuple[PointT_co, ...]
    seconds: dict[str, float]
    items: str = PAIRS
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for figures that come from the log."""
        if self.planned_on == ON_LOG:
            return (CURATOR_ONLY, CHOICE)
        read = worded(_SIZE_OF_LOG, self.items)
        return (read,) if self.planned_on == OF_LOG_SIZE else ()

    def to_dict(self) -> dict[str, Any]:
        """The fields of `frontier --json`."""
        return {"curator_only": " ".join(self.warnings) or None, **asdict(self)}

    def useful(self) -> tuple[PointT_co, ...]:
        """The budgets that release something, and more than every smaller one."""
        found = [point for point in self.points if point.clicks and point.value is not None]
        return tuple(
            point
            for n, point in enumerate(found)
            if not any(
                other.epsilon <= point.epsilon
                and other.delta <= point.delta
                and self._no_worse(other, point)
                and (other.epsilon, other.delta, m) != (point.epsilon, point.delta, n)
                and not ((other.epsilon, other.delta) == (point.epsilon, point.delta) and m > n)
                for m, other in enumerate(found)
            )
        )

    def _no_worse(self, one: Point, other: Point) -> bool:
        """Whether one point has at least the utility of another; distances are better if small."""
        first, second = one.value or 0.0, other.value or 0.0
        distances = self.mode == "sanitize" and not objectives.load(self.objective).is_packing
        return first <= second if distances else first >= second

    def __repr__(self) -> str:
        values = [point.value for point in self.points if point.value is not None]
        reach = f"{min(values):,.6g} to {max(values):,.6g}" if values else "none"
        return f"<Frontier of {self.mode}: {len(self.points)} budgets, {self.utility} {reach}>"

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return html_table(headings, rows, note=" ".join((*self.warnings, *self.facts())))

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and one row for each useful budget, with what a person reads first."""
        present = {one.name for point in self.points for one in fields(point)}
        columns = {name: words for name, words in _COLUMNS.items() if name in present}
        rows = [[_cell(name, getattr(point, name)) for name in columns] for point in self.useful()]
        return [worded(words or self.utility, self.items) for words in columns.values()], rows

    def chart(self) -> Chart:
        """One line per δ of a useful budget; for outputs that can only grow, the most possible."""
        useful = sorted({point.delta for point in self.useful()})
        lines: list[Line] = []
        for delta in useful:
            points = self._line("value", delta)
            if not lines or lines[-1].points != points:
                lines.append(Line(name=f"δ = {delta:g}", points=points))
        grows = self.mode == "sanitize" and objectives.load(self.objective).is_packing
        bound = self._line("size_bound", useful[-1]) if grows and useful else []
        most = Line(name="size limit", points=bound) if bound else None
        return frontier_chart(lines, most, utility=self.utility)

    def _line(self, name: str, delta: float) -> list[tuple[float, float]]:
        """What the points of one δ have under this name, where they release something, by ε."""
        values = (
            (p.epsilon, getattr(p, name)) for p in self.points if p.delta == delta and p.clicks
        )
        return sorted((epsilon, value) for epsilon, value in values if value is not None)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write frontier.json, .svg and .html, which only their owner can open, into a folder."""
        target = Path(folder)
        if (target / "frontier.json").exists() and not force:
            raise ReleaseExistsError(
                f"{target} already holds a frontier", hint="give --force to replace it"
            )
        chart = self.chart()
        headings, rows = self.table()
        page = FrontierPage(
            utility=self.utility,
            facts=self.facts(),
            chart=chart,
            headings=headings,
            rows=rows,
            warnings=self.warnings,
            secret=self.planned_on == ON_LOG,
        )
        files = {
            "frontier.svg": picture(chart),
            "frontier.html": page.html(),
            "frontier.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        write_private(target, files)

    def facts(self) -> list[str]:
        """Sentences about what was computed."""
        of = "Your log" if self.planned_on == ON_LOG else "A made-up log"
        size = f"{self.log.users:,} users, {self.log.clicks:,} clicks, {self.log.pairs:,} pairs"
        hidden = len(self.points) - len(self.useful())
        facts = [f"{of}: {size}."]
        if self.mode == "sanitize":
            facts = [f"{of}, as far as 2+ users share it: {size}. Only this can be released."]
        if self.runs is not None:
            mean = "one dry run" if self.runs == 1 else f"the mean of {self.runs} dry runs"
            facts.append(
                f"Each point is {mean}; the line is smoothed so that it "
                "never falls as the budget grows."
            )
        if hidden:
            facts.append(
                f"{hidden} of {len(self.points)} budgets are not shown: they release nothing, or "
                "no more than a smaller budget."
            )
        if self.output_size is not None:
            facts.append(f"Compared at {self.output_size:,} released clicks for every budget.")
        return [worded(fact, self.items) for fact in facts]


@overload
def frontier(
    log: SearchLog | Source | None = None,
    *,
    mode: Literal["sanitize"] = "sanitize",
    **options: Unpack[FrontierOptions],
) -> Frontier[SanitizedPoint]: ...


@overload
def frontier(
    log: SearchLog | Source | None = None,
    *,
    mode: Literal["synthesize"],
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
    """Utility over a grid of (ε, δ), measured on a made-up log. Nothing is released.

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
        solver: For sanitize: a name or `Solver(name, time_limit, gap)`; "auto" if not given.
        time_limit: For sanitize: seconds for each budget; 10 if not given.
        gap: For sanitize: relative distance from the proven bound at which it may stop.
        association: For synthesize, as there.
        selector: For synthesize, as there.
        runs: For synthesize: how many dry runs are averaged.
        seed: The same seed gives the same made-up log and the same dry runs.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    with shown(progress) as on_progress:
        solving = solver_from(solver, time_limit, gap, default=Solver(time_limit=10.0))
        if runs < 1:
            raise OptionError(f"{runs} runs are not possible", hint="give --runs 1 or more")
        budgets = _grid(mode, epsilons, exp_epsilons, deltas)
        goal, kinds = objective_from(objective), Kinds.from_options(association, None)
        steps, plans, items = Steps(on_progress), mode == "sanitize", PAIRS
        require_one_size(log, users, clicks_per_user, "frontier")
        if on_log and log is None:
            raise OptionError("there is no log to look at", hint="slogan frontier LOG --on-log")
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
            hist = counted.hist
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
            planned_on=ON_LOG if on_log else OF_DECLARED_SIZE if log is None else OF_LOG_SIZE,
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


def _cell(name: str, value: float | None) -> str:
    """A number as a person reads it; budgets as they are, shares in percent."""
    if value is None:
        return "–"
    if name in ("epsilon", "delta"):
        return f"{value:.4g}"
    if name in ("coverage", "recall"):
        return f"{value:.1%}"
    return f"{value:,.4g}" if abs(value) < 1 else f"{round(value, 1):,.6g}"
