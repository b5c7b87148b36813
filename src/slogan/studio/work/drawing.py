"""Drawing: the frontier as one curve, with a mark for each budget of the slider."""

from __future__ import annotations

from collections.abc import Sequence

from slogan.report.charts import HEIGHT, RIGHT, TOP, WIDTH, Scale, axes, draw, element, path

_ACROSS, _UPRIGHT = (58, WIDTH - RIGHT), (HEIGHT - 46, TOP + 8)


def frontier_svg(points: Sequence[tuple[float, float]], *, x_title: str, y_title: str) -> str:
    """A curve through the points; each point is a circle with its place in the order."""
    top = max([value for _, value in points] + [1.0])
    x = Scale(0, max(at for at, _ in points) * 1.04, *_ACROSS)
    y = Scale(0, top * 1.08, *_UPRIGHT)
    circles = [
        element("circle", cx=x(at), cy=y(value), r=5, class_="stop", data_stop=str(place))
        for place, (at, value) in enumerate(points)
    ]
    least, most = points[0], points[-1]
    return draw(
        "frontier",
        "What each budget keeps",
        f"{y_title}: {least[1]:,.0f} at {least[0]:g}, {most[1]:,.0f} at {most[0]:g}.",
        axes(x, y, x_title=x_title, y_title=y_title),
        path([(x(at), y(value)) for at, value in points], "after"),
        *circles,
        headings=(x_title, y_title),
        rows=((f"{at:g}", f"{value:,.0f}") for at, value in points),
    ).svg
