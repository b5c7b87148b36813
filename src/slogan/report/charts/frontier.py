"""The frontier: what utility each budget buys, and the bound that no output passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slogan.report.charts import svg

_APART = 13
"""Between the names of two lines that end at the same place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Utility over ε at one δ."""

    name: str
    points: Sequence[tuple[float, float]]


def frontier_chart(lines: Sequence[Line], bound: Line | None, *, utility: str) -> svg.Chart:
    """One line per δ, each named at its end, and the bound above them all where there is one."""
    values = [value for line in lines for _, value in line.points]
    reach = f"from {min(values):,.6g} to {max(values):,.6g}" if values else "over nothing"
    limit = "" if bound is None else " No output passes the bound."
    return line_chart(
        lines,
        bound,
        name="frontier",
        title=f"What each budget buys: {utility}",
        summary=f"{len(lines)} values of δ; the utility runs {reach}.{limit}",
        x_title="ε",
        y_title=utility,
    )


def line_chart(
    lines: Sequence[Line],
    bound: Line | None,
    *,
    name: str,
    title: str,
    summary: str,
    x_title: str,
    y_title: str,
    logarithmic: bool = False,
) -> svg.Chart:
    """Lines over a logarithmic axis, upright from zero or logarithmic too."""
    drawn = [*lines, *([bound] if bound is not None else [])]
    everything = [point for line in drawn for point in line.points]
    x = svg.log_scale([at for at, _ in everything], svg.LEFT, svg.WIDTH - svg.RIGHT - 90)
    floor, ceiling = svg.HEIGHT - svg.BOTTOM, svg.TOP + 8
    heights = [value for _, value in everything]
    y = svg.Scale(low=0, high=max(heights, default=1.0) or 1.0, begin=floor, end=ceiling)
    if logarithmic:
        y = svg.log_scale(heights, floor, ceiling)
    kinds = ["after"] * len(lines) + ["bound"] * (len(drawn) - len(lines))
    return svg.Chart(
        name=name,
        title=title,
        summary=summary,
        svg=svg.drawing(
            name,
            title,
            summary,
            svg.axes(x, y, x_title=x_title, y_title=y_title),
            *(_drawn(line, x, y, kind) for line, kind in zip(drawn, kinds, strict=True)),
            *_names(drawn, x, y),
        ),
        headings=(x_title, *(line.name for line in drawn)),
        rows=tuple(_row(at, drawn) for at in sorted({at for at, _ in everything})),
    )


def _drawn(line: Line, x: svg.Scale, y: svg.Scale, kind: str) -> str:
    points = [(x(at), y(value)) for at, value in line.points]
    dots = [svg.element("circle", cx=px, cy=py, r=2.6, class_=f"dot {kind}") for px, py in points]
    return "".join([svg.path(points, kind), *dots])


def _names(lines: Sequence[Line], x: svg.Scale, y: svg.Scale) -> list[str]:
    """Each name at the end of its line, or above it where another name stands already."""
    ends = [(y(line.points[-1][1]), n) for n, line in enumerate(lines) if line.points]
    labels: list[str] = []
    free = float("inf")
    for end, n in sorted(ends, key=lambda place: (-place[0], place[1])):
        free = min(end + 4, free - _APART)
        at = x(lines[n].points[-1][0]) + 8
        labels.append(svg.label(lines[n].name, at, free, anchor="start"))
    return labels


def _row(at: float, lines: Sequence[Line]) -> tuple[str, ...]:
    values = [dict(line.points).get(at) for line in lines]
    return (f"{at:g}", *("–" if value is None else f"{value:,.6g}" for value in values))
