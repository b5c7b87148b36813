"""What `frontier` shows: the useful budgets of a grid, as a table, a chart and a page."""

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from slogan.budget import readable, short
from slogan.errors import ReleaseExistsError
from slogan.logs.words import PAIRS, worded
from slogan.manifest.certificate import LogSizes, html_table
from slogan.planning import objectives
from slogan.report.charts import Chart, Line, frontier_chart
from slogan.report.html import CHOICE, CURATOR_ONLY, FrontierPage, picture
from slogan.storage.atomic import check_outside_releases, write_private
from slogan.workflows.frontier.points import Point

Mode = Literal["sanitize", "synthesize"]

_SIZE_OF_LOG = "The number of users and clicks was read from your log; the rest is made up."
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


def check_place(folder: Path, *, force: bool) -> None:
    """Refuse a folder inside a release, and unless asked for, one that holds a frontier."""
    check_outside_releases(folder / "frontier.json")
    if (folder / "frontier.json").exists() and not force:
        raise ReleaseExistsError(
            f"{folder} already holds a frontier", hint="give --force to replace it"
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Study(ABC):
    """What can be had for what, on a made-up log or on the log itself. Nothing is released."""

    planned_on: str
    """The log, or a made-up log; its size was declared, or read from the log."""
    log: LogSizes
    """Clicks, users and pairs; for sanitize those of shared pairs."""
    seconds: dict[str, float]
    """The time of each step."""
    items: str = PAIRS
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The heading of the page."""

    @property
    @abstractmethod
    def caption(self) -> str:
        """What the rows of the table are."""

    @abstractmethod
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headings and one row for each useful choice, with what a person reads first."""

    @abstractmethod
    def chart(self) -> Chart:
        """The useful choices as lines."""

    @abstractmethod
    def facts(self) -> list[str]:
        """Sentences about what was computed."""

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

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        return html_table(headings, rows, note=" ".join((*self.warnings, *self.facts())))

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write frontier.json, .svg and .html, which only their owner can open, into a folder."""
        target = Path(folder)
        check_place(target, force=force)
        chart = self.chart()
        headings, rows = self.table()
        page = FrontierPage(
            title=worded(self.title, self.items),
            facts=self.facts(),
            chart=chart,
            caption=worded(self.caption, self.items),
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

    def _size(self, *, shared: bool) -> str:
        of = "Your log" if self.planned_on == ON_LOG else "A made-up log"
        log = self.log
        size = f"{log.users:,} users, {log.clicks:,} clicks, {log.pairs:,} pairs"
        if shared:
            return f"{of}, as far as 2+ users share it: {size}. Only this can be released."
        return f"{of}: {size}."


@dataclass(frozen=True, kw_only=True, repr=False)
class Frontier(Study, Generic[PointT_co]):
    """What each budget buys. On the log itself, it is for the curator."""

    mode: Mode
    objective: str
    utility: str
    min_support: str
    output_size: int | None
    runs: int | None
    """For synthesize: how many dry runs each point is the mean of."""
    points: tuple[PointT_co, ...]

    @property
    def title(self) -> str:
        return f"What each budget buys: {self.utility}"

    @property
    def caption(self) -> str:
        return (
            "One row for each budget that releases something, and more than every smaller one. "
            "All budgets are in frontier.json."
        )

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
        reach = f"{readable(min(values))} to {readable(max(values))}" if values else "none"
        return f"<Frontier of {self.mode}: {len(self.points)} budgets, {self.utility} {reach}>"

    def table(self) -> tuple[list[str], list[list[str]]]:
        present = {one.name for point in self.points for one in fields(point)}
        columns = {name: words for name, words in _COLUMNS.items() if name in present}
        rows = [[cell(name, getattr(point, name)) for name in columns] for point in self.useful()]
        return [worded(words or self.utility, self.items) for words in columns.values()], rows

    def chart(self) -> Chart:
        """One line per δ of a useful budget; for outputs that can only grow, the most possible."""
        useful = sorted({point.delta for point in self.useful()})
        lines: list[Line] = []
        for delta in useful:
            points = self._line("value", delta)
            if not lines or lines[-1].points != points:
                lines.append(Line(name=f"δ = {short(delta)}", points=points))
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

    def facts(self) -> list[str]:
        hidden = len(self.points) - len(self.useful())
        facts = [self._size(shared=self.mode == "sanitize")]
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


def cell(name: str, value: float | None) -> str:
    """A number as a person reads it; budgets as they are, shares in percent."""
    if value is None:
        return "–"
    if name in ("epsilon", "delta"):
        return f"{value:.4g}"
    if name in ("coverage", "recall"):
        return f"{value:.1%}"
    return f"{value:,.4g}" if abs(value) < 1 else readable(round(value, 1))
