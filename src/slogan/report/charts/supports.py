"""The support of each pair before and after: on the diagonal nothing moved."""

from __future__ import annotations

from collections.abc import Sequence

from slogan.report.charts import svg

Points = Sequence[tuple[float, float]]
"""c_ij/|D| and x_ij/|O|, most clicked in the log first."""
_TOLD = 20


def support_chart(points: Points) -> svg.Chart:
    """One mark per pair; a pair that is not released lies on the bottom edge."""
    everything = [value for point in points for value in point]
    x = svg.log_scale(everything, svg.LEFT, svg.WIDTH - svg.RIGHT)
    y = svg.log_scale(everything, svg.HEIGHT - svg.BOTTOM, svg.TOP + 8)
    lost = sum(after == 0 for _, after in points)
    title = "Supports before and after"
    summary = (
        f"The {len(points):,} most clicked pairs of the log: {len(points) - lost:,} are released, "
        f"{lost:,} are not and lie on the bottom edge."
    )
    marks = [
        svg.element(
            "circle", cx=x(before), cy=y(after), r=3.2, class_="mark" if after else "mark lost"
        )
        for before, after in points
    ]
    diagonal = svg.path([(x(x.low), y(x.low)), (x(x.high), y(x.high))], "bound")
    return svg.Chart(
        name="supports",
        title=title,
        summary=summary,
        svg=svg.drawing(
            "supports",
            title,
            summary,
            svg.axes(x, y, x_title="share of the log's clicks", y_title="share of the release"),
            diagonal,
            *marks,
            svg.key((("mark", "released"), ("mark lost", "not released"))),
        ),
        headings=("rank in the log", "share of the log", "share of the release"),
        rows=tuple(
            (f"{rank:,}", f"{before:.5f}", f"{after:.5f}")
            for rank, (before, after) in enumerate(points[:_TOLD], start=1)
        ),
    )
