"""How often pairs are clicked by rank, in the log and in the release: log-log."""

from __future__ import annotations

from collections.abc import Sequence

from slogan.report.charts import svg

Curve = Sequence[tuple[int, int]]
"""Rank and clicks, most clicked first."""


def frequency_chart(before: Curve, after: Curve) -> svg.Chart:
    """Two falling lines; the gap between them is what was thinned out."""
    x = svg.log_scale([rank for rank, _ in (*before, *after)], svg.LEFT, svg.WIDTH - svg.RIGHT)
    y = svg.log_scale(
        [clicks for _, clicks in (*before, *after)], svg.HEIGHT - svg.BOTTOM, svg.TOP + 8
    )
    title = "How often pairs are clicked"
    summary = (
        f"The most clicked pair has {_most(before):,} clicks in the log and {_most(after):,} in "
        f"the release; of {_pairs(before):,} pairs {_pairs(after):,} are released."
    )
    lines = [
        svg.path([(x(rank), y(clicks)) for rank, clicks in curve], kind)
        for curve, kind in ((before, "before"), (after, "after"))
    ]
    entries = (("line before", "in the log"), ("line after", "in the release"))
    return svg.Chart(
        name="frequency",
        title=title,
        summary=summary,
        svg=svg.drawing(
            "frequency",
            title,
            summary,
            svg.axes(x, y, x_title="rank of the pair", y_title="clicks"),
            *lines,
            svg.key(entries),
        ),
        headings=("rank", "clicks in the log", "clicks in the release"),
        rows=tuple(
            (f"{rank:,}", f"{clicks:,}", f"{dict(after).get(rank, 0):,}") for rank, clicks in before
        ),
    )


def _most(curve: Curve) -> int:
    return curve[0][1] if curve else 0


def _pairs(curve: Curve) -> int:
    return curve[-1][0] if curve else 0
