"""The charts of the reports: bars, clicks by rank, the frontier, supports before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slogan.measures.triplets import DiffRatios
from slogan.report import svg

_GAP = 0.18


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """Named bars of one kind; the others are drawn beside them."""

    names: Sequence[str]
    values: Sequence[float]
    others: Sequence[float] = ()
    value_name: str
    other_name: str = ""


def bar_chart(
    bars: Bars, *, name: str, title: str, summary: str, x_title: str, y_title: str
) -> svg.Chart:
    """Upright bars from zero, in the order given."""
    top = max([*bars.values, *bars.others, 1.0])
    x = svg.Scale(low=0, high=len(bars.names), begin=svg.LEFT, end=svg.WIDTH - svg.RIGHT)
    y = svg.Scale(low=0, high=top * 1.05, begin=svg.HEIGHT - svg.BOTTOM, end=svg.TOP + 8)
    parts = [svg.axes(x, y, x_title=x_title, y_title=y_title, names=bars.names)]
    series = [(bars.values, "after"), (bars.others, "yardstick")][: 2 if bars.others else 1]
    wide = (1 - _GAP) / len(series)
    for n, (values, kind) in enumerate(series):
        for place, value in enumerate(values):
            begin, end = x(place + _GAP / 2 + n * wide), x(place + _GAP / 2 + (n + 1) * wide)
            parts.append(
                svg.element(
                    "rect",
                    x=begin,
                    y=y(value),
                    width=end - begin - 1,
                    height=y.begin - y(value),
                    class_=f"bar {kind}",
                )
            )
    if bars.others:
        entries = (("bar after", bars.value_name), ("bar yardstick", bars.other_name))
        parts.append(svg.key(entries))
    rows = zip(*(map(_short, values) for values, _ in series), strict=True)
    return svg.draw(
        name,
        title,
        summary,
        *parts,
        headings=(x_title, bars.value_name, bars.other_name)[: len(series) + 1],
        rows=((words, *row) for words, row in zip(bars.names, rows, strict=True)),
    )


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def diff_ratio_chart(ratios: DiffRatios, beside: DiffRatios | None) -> svg.Chart:
    """How many triplets moved by how much, of those that are shown."""
    names = [*(f"<{10 * n}" for n in range(1, 11)), "more"]
    average = f", on average over {ratios.samples} outputs" if ratios.samples > 1 else ""
    summary = (
        f"{_short(ratios.not_shown)} of {ratios.triplets:,} triplets of frequent pairs are "
        f"not shown{average}; {_short(sum(ratios.below[:4]))} moved by less than 40%."
    )
    return bar_chart(
        Bars(
            names=names,
            values=[*ratios.below, ratios.above],
            others=[] if beside is None else [*beside.below, beside.above],
            value_name="this release",
            other_name="random sample",
        ),
        name="diff-ratio",
        title="How far the shown triplets moved (DiffRatio)",
        summary=summary,
        x_title="difference in percent",
        y_title="triplets",
    )


def budget_chart(users: Sequence[int]) -> svg.Chart:
    """How many users were charged how much of what each may be charged; first those with none."""
    names = ["none", *(f"≤{10 * n}" for n in range(1, 11))]
    charged = sum(users) - users[0]
    return bar_chart(
        Bars(names=names, values=users, value_name="users"),
        name="budget",
        title="How much of the budget each user was charged",
        summary=f"{charged:,} of {sum(users):,} users with a constraint were charged anything; "
        f"{users[-1]:,} more than nine tenths of the limit.",
        x_title="charged, in percent of the limit",
        y_title="users",
    )


Curve = Sequence[tuple[int, int]]
"""Rank and clicks, most clicked first."""


def frequency_chart(before: Curve, after: Curve) -> svg.Chart:
    """Two falling lines; the gap between them is what was thinned out."""
    x, y = _log_axes([at for at, _ in (*before, *after)], [n for _, n in (*before, *after)])
    most, released_most = (curve[0][1] if curve else 0 for curve in (before, after))
    pairs, released_pairs = (curve[-1][0] if curve else 0 for curve in (before, after))
    return svg.draw(
        "frequency",
        "How often pairs are clicked",
        f"The most clicked pair has {most:,} clicks in the log and {released_most:,} in the "
        f"release; of {pairs:,} pairs {released_pairs:,} are released.",
        svg.axes(x, y, x_title="rank of the pair", y_title="clicks"),
        svg.path([(x(rank), y(clicks)) for rank, clicks in before], "before"),
        svg.path([(x(rank), y(clicks)) for rank, clicks in after], "after"),
        svg.key((("line before", "in the log"), ("line after", "in the release"))),
        headings=("rank", "clicks in the log", "clicks in the release"),
        rows=(
            (f"{rank:,}", f"{clicks:,}", f"{dict(after).get(rank, 0):,}") for rank, clicks in before
        ),
    )


def _log_axes(x: Sequence[float], y: Sequence[float]) -> tuple[svg.Scale, svg.Scale]:
    """Powers of ten around these values, both ways."""
    return (
        svg.log_scale(x, svg.LEFT, svg.WIDTH - svg.RIGHT),
        svg.log_scale(y, svg.HEIGHT - svg.BOTTOM, svg.TOP + 8),
    )


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
    return svg.draw(
        name,
        title,
        summary,
        svg.axes(x, y, x_title=x_title, y_title=y_title),
        *(_line(line, x, y, kind) for line, kind in zip(drawn, kinds, strict=True)),
        *_names(drawn, x, y),
        headings=(x_title, *(line.name for line in drawn)),
        rows=(_row(at, drawn) for at in sorted({at for at, _ in everything})),
    )


def _line(line: Line, x: svg.Scale, y: svg.Scale, kind: str) -> str:
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


Points = Sequence[tuple[float, float]]
"""c_ij/|D| and x_ij/|O|, most clicked in the log first."""
_LISTED = 20


def support_chart(points: Points) -> svg.Chart:
    """One mark per pair; a pair that is not released lies on the bottom edge."""
    everything = [value for point in points for value in point]
    x, y = _log_axes(everything, everything)
    lost = sum(after == 0 for _, after in points)
    marks = [
        svg.element(
            "circle", cx=x(before), cy=y(after), r=3.2, class_="mark" if after else "mark lost"
        )
        for before, after in points
    ]
    return svg.draw(
        "supports",
        "Supports before and after",
        f"The {len(points):,} most clicked pairs of the log: {len(points) - lost:,} are released, "
        f"{lost:,} are not and lie on the bottom edge.",
        svg.axes(x, y, x_title="share of the log's clicks", y_title="share of the release"),
        svg.path([(x(x.low), y(x.low)), (x(x.high), y(x.high))], "bound"),
        *marks,
        svg.key((("mark", "released"), ("mark lost", "not released"))),
        headings=("rank in the log", "share of the log", "share of the release"),
        rows=(
            (f"{rank:,}", f"{before:.5f}", f"{after:.5f}")
            for rank, (before, after) in enumerate(points[:_LISTED], start=1)
        ),
    )
