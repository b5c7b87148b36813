"""frontier(): utility over a grid of budgets. It depends on the raw log: for the curator alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from slogan import engines
from slogan.dp import selection
from slogan.dp.kinds import Kinds
from slogan.dry_plans import DryPlans, SanitizedPoint, support_of
from slogan.dry_runs import DryRuns, SynthesizedPoint
from slogan.engines import Counted, Spark
from slogan.errors import OptionError, ReleaseExistsError
from slogan.objectives import Objective
from slogan.objectives.frequent_pairs import FrequentPairs
from slogan.objectives.output_size import OutputSize
from slogan.pipeline import check_shared
from slogan.privacy import Number, PrivacyBudget
from slogan.publishing import write_private
from slogan.report.charts.frontier import Line, frontier_chart
from slogan.report.charts.svg import Chart
from slogan.report.frontier import CURATOR_ONLY, MONOTONE, FrontierPage
from slogan.report.html import frontier_page, picture
from slogan.searchlog import SearchLog, Source
from slogan.solvers import Effort, require_limits
from slogan.stages import Stages, Watcher, silent

Mode = Literal["sanitize", "synthesize"]

EXP_EPSILONS = ("1.001", "1.01", "1.1", "1.4", "1.7", "2", "2.3")
DELTAS = ("1e-4", "1e-3", "1e-2", "0.1", "0.2", "0.5", "0.8")
"""The paper's grid, for sanitize."""
SYNTHETIC_EPSILONS = ("0.5", "1", "2", "4", "8")
SYNTHETIC_DELTAS = ("1e-9", "1e-6")
_UTILITY = {
    "output_size": "released clicks",
    "diversity": "different pairs",
    "query_diversity": "different queries",
    "frequent_pairs": "sum of support distances",
}


Point = SanitizedPoint | SynthesizedPoint


@dataclass(frozen=True, kw_only=True)
class Frontier:
    """What each budget buys. Everything depends on the log: it is for the curator."""

    mode: Mode
    objective: str
    utility: str
    log: dict[str, int]
    """Clicks, users and pairs; for sanitize those of shared pairs."""
    min_support: str
    output_size: int | None
    points: tuple[Point, ...]
    seconds: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """The fields of `frontier --json`."""
        return {
            "curator_only": CURATOR_ONLY,
            "mode": self.mode,
            "objective": self.objective,
            "utility": self.utility,
            "log": self.log,
            "min_support": self.min_support,
            "output_size": self.output_size,
            "points": [asdict(point) for point in self.points],
            "seconds": self.seconds,
        }

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
            utility=self.utility, facts=self._facts(), chart=chart, **_table(self.points)
        )
        files = {
            "frontier.svg": picture(chart),
            "frontier.html": frontier_page(page),
            "frontier.json": json.dumps(self.summary(), indent=2) + "\n",
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
        minimised = self.objective == FrequentPairs.name
        return None if minimised or not points else Line(name="bound m·b", points=points)

    def _facts(self) -> list[str]:
        said = ", ".join(f"{number:,} {name}" for name, number in self.log.items())
        facts = [f"The log: {said}.", f"A pair is frequent from {self.min_support} of clicks on."]
        if self.mode == "synthesize":
            facts.append(MONOTONE)
        if self.output_size is not None:
            facts.append(f"At every budget {self.output_size:,} clicks are asked for.")
        return facts


def frontier(
    log: SearchLog | Source,
    *,
    epsilons: Sequence[Number] | None = None,
    exp_epsilons: Sequence[Number] | None = None,
    deltas: Sequence[Number] | None = None,
    mode: Mode = "sanitize",
    objective: Objective | None = None,
    solver: str = "auto",
    time_limit: float = 10.0,
    gap: float = 1e-4,
    association: str | None = None,
    selector: str = selection.DEFAULT,
    runs: int = 3,
    seed: int = 0,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Frontier:
    """Utility over a grid of (ε, δ). Nothing is released, and nothing of it may be published.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        epsilons: The ε of the grid.
        exp_epsilons: e^ε instead; the paper's grid if neither is given.
        deltas: The δ of the grid.
        mode: What is tried: "sanitize" with exact counts, or "synthesize".
        objective: What utility means; for F-UMP half of the largest λ is asked for everywhere,
            unless it names an output size.
        solver: For sanitize: a file of `solvers/`, or "auto".
        time_limit: For sanitize: seconds for each budget.
        gap: For sanitize: relative distance from the proven bound at which a solver may stop.
        association: For synthesize, as there.
        selector: For synthesize, as there.
        runs: For synthesize: how many dry runs are averaged.
        seed: For synthesize: the same seed gives the same figures.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    require_limits(time_limit, gap)
    if runs < 1:
        raise OptionError(f"{runs} runs are not possible", hint="give --runs 1 or more")
    budgets = _grid(mode, epsilons, exp_epsilons, deltas)
    asked = objective or OutputSize()
    kinds = Kinds.asked(association, None)
    stages = Stages(watcher)
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    host = engines.start(engine, source, memory_limit=memory_limit, watcher=watcher)
    try:
        with stages.stage("count"):
            counted = host.count(source, unique_pairs=mode == "synthesize")
        if mode == "sanitize":
            check_shared(counted)
            effort = Effort(time_limit=time_limit, gap=gap)
            return _sanitized(counted, budgets, asked, solver, effort, stages)
        dry = DryRuns(
            counted=replace(counted, rows=counted.hist),  # so many runs are worth bringing it here
            engine=host,
            objective=asked,
            kinds=kinds,
            selector=selector,
            min_support=support_of(asked),
            runs=runs,
            seed=seed,
            stages=stages,
        )
        return Frontier(
            mode=mode,
            objective=asked.name,
            utility="released pairs",
            log={"clicks": counted.clicks, "users": counted.users, "pairs": counted.pairs},
            min_support=str(support_of(asked)),
            output_size=None,
            points=dry.over(budgets),
            seconds=stages.rounded(),
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
    solver: str,
    effort: Effort,
    stages: Stages,
) -> Frontier:
    hist = counted.hist
    plans = DryPlans(hist=hist, solver=solver, effort=effort, stages=stages)
    asked = plans.comparable(objective, budgets)
    points = plans.over(budgets, asked)
    return Frontier(
        mode="sanitize",
        objective=asked.name,
        utility=_UTILITY.get(asked.name, asked.name),
        log={"clicks": hist.clicks, "users": hist.users, "pairs": hist.pairs},
        min_support=str(support_of(asked)),
        output_size=asked.output_size if isinstance(asked, FrequentPairs) else None,
        points=points,
        seconds=stages.rounded(),
    )


def _table(points: Sequence[Point]) -> dict[str, list[Any]]:
    told = [asdict(point) for point in points]
    headings = [name.replace("_", " ") for name in (told[0] if told else {})]
    return {"headings": headings, "rows": [[_cell(v) for v in one.values()] for one in told]}


def _cell(value: float | str | bool | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:,.6g}"
