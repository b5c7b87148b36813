"""frontier(): utility over a grid of budgets. It depends on the raw log: for the curator alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, Unpack, overload

from slogan import engines
from slogan.budget import Number, PrivacyBudget
from slogan.dp import selection
from slogan.dp.grouping import Kinds
from slogan.engines import EngineChoice
from slogan.engines.engine import Counted
from slogan.errors import OptionError, ReleaseExistsError
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.certificate import LogSizes, html_table
from slogan.planning import objectives
from slogan.planning.objectives import Objective
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.solvers import Solver
from slogan.progress import Progress, Steps, shown
from slogan.report.charts import Line, frontier_chart
from slogan.report.html import CURATOR_ONLY, MONOTONE, FrontierPage, picture
from slogan.report.svg import Chart
from slogan.storage.atomic import write_private
from slogan.workflows.arguments import FrontierOptions, objective_from, solver_from
from slogan.workflows.dry_runs import (
    DryPlans,
    DryRuns,
    SanitizedPoint,
    SynthesizedPoint,
    support_of,
)

Mode = Literal["sanitize", "synthesize"]

EXP_EPSILONS = ("1.001", "1.01", "1.1", "1.4", "1.7", "2", "2.3")
DELTAS = ("1e-4", "1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")
"""The paper's grid, for sanitize."""
SYNTHETIC_EPSILONS = ("0.5", "1", "2", "4", "8")
SYNTHETIC_DELTAS = ("1e-9", "1e-6")
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

    def to_dict(self) -> dict[str, Any]:
        """The fields of `frontier --json`."""
        return {
            "curator_only": CURATOR_ONLY,
            "mode": self.mode,
            "objective": self.objective,
            "utility": self.utility,
            "log": asdict(self.log),
            "min_support": self.min_support,
            "output_size": self.output_size,
            "points": [asdict(point) for point in self.points],
            "seconds": self.seconds,
        }

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
        return [words or self.utility for words in columns.values()], rows

    def chart(self) -> Chart:
        """One line per δ; for what can only grow with the output, m·b at the largest δ."""
        lines = [
            Line(name=f"δ = {delta:g}", points=self._line(delta))
            for delta in sorted({point.delta for point in self.points})
        ]
        return frontier_chart(lines, self._bound(), utility=self.utility)

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
            headings=[one.name.replace("_", " ") for one in fields(self.points[0])],
            rows=[[_cell(value) for value in astuple(point)] for point in self.points],
        )
        files = {
            "frontier.svg": picture(chart),
            "frontier.html": page.html(),
            "frontier.json": json.dumps(self.to_dict(), indent=2) + "\n",
        }
        write_private(target, files)

    def _line(self, delta: float) -> list[tuple[float, float]]:
        return sorted(
            (point.epsilon, point.value)
            for point in self.points
            if point.delta == delta and point.value is not None
        )

    def _bound(self) -> Line | None:
        largest = max((point.delta for point in self.points), default=0.0)
        points = sorted(
            (point.epsilon, point.size_bound)
            for point in self.points
            if isinstance(point, SanitizedPoint) and point.delta == largest
        )
        grows = objectives.load(self.objective).is_packing
        return Line(name="bound m·b", points=points) if grows and points else None

    def _facts(self) -> list[str]:
        log = f"{self.log.clicks:,} clicks, {self.log.users:,} users, {self.log.pairs:,} pairs"
        facts = [f"The log: {log}.", f"A pair is frequent from {self.min_support} of clicks on."]
        if self.mode == "synthesize":
            facts.append(MONOTONE)
        if self.output_size is not None:
            facts.append(f"At every budget {self.output_size:,} clicks are asked for.")
        return facts


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
) -> Frontier[SanitizedPoint] | Frontier[SynthesizedPoint]:
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
        asked = objective_from(objective)
        kinds = Kinds.asked(association, None)
        steps = Steps(on_progress)
        settings = engines.resolve(engine, log)
        source, host = settings.describe(log), settings.start(on_progress)
        try:
            with steps.step("count"):
                counted = host.count(source, unique_pairs=mode == "synthesize")
            if mode == "sanitize":
                counted.require_shared_pairs()
                return _sanitized(counted, budgets, asked, solving, steps)
            dry = DryRuns(
                counted=replace(
                    counted, rows=counted.hist
                ),  # so many runs are worth bringing it here
                engine=host,
                objective=asked,
                kinds=kinds,
                selector=selector,
                min_support=support_of(asked),
                runs=runs,
                seed=seed,
                steps=steps,
            )
            return Frontier(
                mode=mode,
                objective=asked.name,
                utility="released pairs",
                log=LogSizes(clicks=counted.clicks, users=counted.users, pairs=counted.pairs),
                min_support=str(support_of(asked)),
                output_size=None,
                points=dry.over(budgets),
                seconds=steps.rounded(),
            )
        finally:
            host.close()


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


def _sanitized(
    counted: Counted,
    budgets: list[PrivacyBudget],
    objective: Objective,
    solver: Solver,
    steps: Steps,
) -> Frontier[SanitizedPoint]:
    hist = counted.hist
    plans = DryPlans(hist=hist, solver=solver.name, effort=solver.effort, steps=steps)
    asked = plans.comparable(objective, budgets)
    points = plans.over(budgets, asked)
    return Frontier(
        mode="sanitize",
        objective=asked.name,
        utility=asked.utility,
        log=LogSizes(clicks=hist.clicks, users=hist.users, pairs=hist.pairs),
        min_support=str(support_of(asked)),
        output_size=asked.output_size if isinstance(asked, FrequentPairs) else None,
        points=points,
        seconds=steps.rounded(),
    )


def _cell(value: float | str | bool | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,.6g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.6g}"
