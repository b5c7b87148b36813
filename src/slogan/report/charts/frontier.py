"""The frontier: what utility each budget buys, and the bound that no output passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slogan.report.charts import svg


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Utility over ε at one δ."""

    name: str
    points: Sequence[tuple[float, float]]


def frontier_chart(lines: Sequence[Line], bound: Line, *, utility: str) -> svg.Chart:
    """One line per δ, each named at its end, and the bound above them all."""
    everything = [point for line in (*lines, bound) for point in line.points]
    x = svg.log_scale([at for at, _ in everything], svg.LEFT, svg.WIDTH - svg.RIGHT - 90)
    y = svg.Scale(
        low=0,
        high=max([value for _, value in everything], default=1.0) or 1.0,
        begin=svg.HEIGHT - svg.BOTTOM,
        end=svg.TOP + 8,
    )
    title = f"What each budget buys: {utility}"
    best = max((value for line in lines for _, value in line.points), default=0.0)
    summary = (
        f"{len(lines)} values of δ. The best utility is {best:,.6g}; no output passes the bound."
    )
    return svg.Chart(
        name="frontier",
        title=title,
        summary=summary,
        svg=svg.drawing(
            "frontier",
            title,
            summary,
            svg.axes(x, y, x_title="ε", y_title=utility),
            _drawn(bound, x, y, "bound"),
            *(_drawn(line, x, y, "after") for line in lines),
        ),
        headings=("ε", *(line.name for line in lines), bound.name),
        rows=tuple(_row(at, (*lines, bound)) for at in sorted({at for at, _ in everything})),
    )


def _drawn(line: Line, x: svg.Scale, y: svg.Scale, kind: str) -> str:
    points = [(x(at), y(value)) for at, value in line.points]
    if not points:
        return ""
    end_x, end_y = points[-1]
    dots = [svg.element("circle", cx=px, cy=py, r=2.6, class_=f"dot {kind}") for px, py in points]
    return "".join(
        [svg.path(points, kind), *dots, svg.label(line.name, end_x + 8, end_y + 4, anchor="start")]
    )


def _row(at: float, lines: Sequence[Line]) -> tuple[str, ...]:
    values = [dict(line.points).get(at) for line in lines]
    return (f"{at:g}", *("–" if value is None else f"{value:,.6g}" for value in values))
