"""Charts of the reports as static SVG: bars, clicks by rank, the frontier, supports.

Colours come from the page's style.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape

from slogan.budget import readable

WIDTH, HEIGHT = 480, 300
RIGHT, TOP = 24, 26
_ACROSS, _UPRIGHT = (58, WIDTH - RIGHT), (HEIGHT - 46, TOP + 8)
"""Where both axes begin and end."""
_GAP = 0.18
_FEW_POWERS = 3
"""With fewer powers of ten, a logarithmic axis has finer ticks."""
_LETTER = 7.6
"""Approximate width of a letter; the page's style sets the font."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A drawing, what it shows in words, and the numbers behind it."""

    name: str
    """Unique on a page."""
    title: str
    summary: str
    svg: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def element(tag: str, *inside: str, **attributes: str | float) -> str:
    """An element; the inside is markup, attribute values are escaped."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_written(value))}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{written}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{written}/>"


def label(words: str, x: float, y: float, *, kind: str = "", anchor: str = "middle") -> str:
    """A text element; its content is escaped."""
    kind = f"label {kind}".strip()
    return element("text", escape(words), x=x, y=y, class_=kind, text_anchor=anchor)


def draw(
    name: str,
    title: str,
    summary: str,
    *parts: str,
    headings: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> Chart:
    """A chart of these parts, with a title and a description for screen readers."""
    drawing = element(
        "svg",
        element("title", escape(title), id=f"{name}-title"),
        element("desc", escape(summary), id=f"{name}-desc"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_labelledby=f"{name}-title {name}-desc",
        class_="chart",
    )
    return Chart(
        name=name, title=title, summary=summary, svg=drawing, headings=headings, rows=tuple(rows)
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """The position of a value on an axis."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value; values outside are drawn on the edge."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values from end to end: powers of ten, or steps of 1, 2 or 5."""
        if self.logarithmic:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            if len(powers) < _FEW_POWERS:
                finer = [at for at in self._finer() if self.low <= at <= self.high]
                return finer if len(finer) > 1 else replace(self, logarithmic=False).ticks()
            step = max(1, math.ceil(len(powers) / 7))
            return [10.0**power for power in powers[::step]]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        rough = span / 5
        unit = 10 ** math.floor(math.log10(rough))
        step = next(unit * n for n in (1, 2, 5, 10) if unit * n >= rough)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _finer(self) -> list[float]:
        """1, 2 and 5 times every power of ten around the scale."""
        first, last = (math.floor(math.log10(end)) for end in (self.low, self.high))
        return [n * 10.0**power for power in range(first, last + 1) for n in (1, 2, 5)]


def log_scale(values: Iterable[float], begin: float, end: float) -> Scale:
    """Powers of ten around all positive values."""
    positive = [value for value in values if value > 0] or [1.0]
    low = 10.0 ** max(-300, math.floor(math.log10(min(positive))))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    high = high if high > low else low * 10
    return Scale(low, high, begin, end, logarithmic=True)


def axes(x: Scale, y: Scale, *, x_title: str, y_title: str, names: Sequence[str] = ()) -> str:
    """Grid, ticks and titles of both axes; names, if given, replace the ticks of x."""
    parts: list[str] = []
    for at in [] if names else x.ticks():
        parts.append(element("line", x1=x(at), x2=x(at), y1=y.begin, y2=y.end, class_="grid"))
        parts.append(label(_tick(at), x(at), y.begin + 18))
    for at in y.ticks():
        parts.append(element("line", x1=x.begin, x2=x.end, y1=y(at), y2=y(at), class_="grid"))
        parts.append(label(_tick(at), x.begin - 8, y(at) + 4, anchor="end"))
    parts += (label(one, x(n + 0.5), y.begin + 18, kind="narrow") for n, one in enumerate(names))
    parts.append(element("line", x1=x.begin, x2=x.end, y1=y.begin, y2=y.begin, class_="axis"))
    parts.append(label(x_title, (x.begin + x.end) / 2, y.begin + 38, kind="strong"))
    parts.append(label(y_title, x.begin - 54, y.end - 14, kind="strong", anchor="start"))
    return "".join(parts)


def _tick(value: float) -> str:
    """A number as short as it can be."""
    for unit, letter in ((1_000_000, " M"), (1_000, " k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    steps = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("path", d=f"M{steps}", class_=f"line {kind}") if points else ""


def key(*entries: tuple[str, str]) -> str:
    """The legend: one line above the chart, at the right."""
    widths = [30 + _LETTER * len(words) for _, words in entries]
    x, y = WIDTH - RIGHT - sum(widths), TOP - 6
    parts: list[str] = []
    for (kind, words), width in zip(entries, widths, strict=True):
        parts.append(_sign(kind, x, y - 4))
        parts.append(label(words, x + 21, y, anchor="start"))
        x += width
    return "".join(parts)


def _sign(kind: str, x: float, y: float) -> str:
    match kind.split(maxsplit=1)[0]:
        case "line":
            return element("line", x1=x, x2=x + 16, y1=y, y2=y, class_=kind)
        case "mark":
            return element("circle", cx=x + 11, cy=y, r=3.6, class_=kind)
        case _:
            return element("rect", x=x + 5, y=y - 6, width=11, height=11, class_=kind)


def _written(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


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
) -> Chart:
    """Upright bars from zero, in the order given."""
    top = max([*bars.values, *bars.others, 1.0])
    x, y = Scale(0, len(bars.names), *_ACROSS), Scale(0, top * 1.05, *_UPRIGHT)
    parts = [axes(x, y, x_title=x_title, y_title=y_title, names=bars.names)]
    series = [(bars.values, "after"), (bars.others, "yardstick")][: 2 if bars.others else 1]
    wide = (1 - _GAP) / len(series)
    for n, (values, kind) in enumerate(series):
        for place, value in enumerate(values):
            begin, end = x(place + _GAP / 2 + n * wide), x(place + _GAP / 2 + (n + 1) * wide)
            size = {"width": end - begin - 1, "height": y.begin - y(value)}
            parts.append(element("rect", x=begin, y=y(value), **size, class_=f"bar {kind}"))
    if bars.others:
        parts.append(key(("bar after", bars.value_name), ("bar yardstick", bars.other_name)))
    rows = zip(*(map(decimal, values) for values, _ in series), strict=True)
    return draw(
        name,
        title,
        summary,
        *parts,
        headings=(x_title, bars.value_name, bars.other_name)[: len(series) + 1],
        rows=((words, *row) for words, row in zip(bars.names, rows, strict=True)),
    )


def decimal(value: float) -> str:
    """A number with one decimal, which is left out if it is zero."""
    return f"{value:,.1f}".removesuffix(".0")


def budget_chart(users: Sequence[int]) -> Chart:
    """How many users used which part of their limit; first those who used none."""
    names = ["none", *(f"≤{10 * n}" for n in range(1, 11))]
    return bar_chart(
        Bars(names=names, values=users, value_name="users"),
        name="budget",
        title="How much of the limit each user used",
        summary=f"{sum(users[1:]):,} of {sum(users):,} users with a limit used a part of it; "
        f"{users[-1]:,} used more than nine tenths.",
        x_title="used, in percent of the limit",
        y_title="users",
    )


Curve = Sequence[tuple[int, int]]
"""Rank and clicks, most clicked first."""


def frequency_chart(before: Curve, after: Curve) -> Chart:
    """Clicks by rank in the log and in the release."""
    x = log_scale([rank for rank, _ in (*before, *after)], *_ACROSS)
    y = log_scale([clicks for _, clicks in (*before, *after)], *_UPRIGHT)
    most, released_most = (curve[0][1] if curve else 0 for curve in (before, after))
    pairs, released_pairs = (curve[-1][0] if curve else 0 for curve in (before, after))
    return draw(
        "frequency",
        "How often pairs are clicked",
        f"The most clicked pair has {most:,} clicks in the log and {released_most:,} in the "
        f"release; of {pairs:,} pairs {released_pairs:,} are released.",
        axes(x, y, x_title="rank of the pair", y_title="clicks"),
        path([(x(rank), y(clicks)) for rank, clicks in before], "before"),
        path([(x(rank), y(clicks)) for rank, clicks in after], "after"),
        key(("line before", "in the log"), ("line after", "in the release")),
        headings=("rank", "clicks in the log", "clicks in the release"),
        rows=(
            (f"{rank:,}", f"{clicks:,}", f"{dict(after).get(rank, 0):,}") for rank, clicks in before
        ),
    )


_APART = 14
"""Distance between the names of two lines that end at the same position."""
_MOST_FAINT = 0.65


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Utility over ε at one δ."""

    name: str
    points: Sequence[tuple[float, float]]


def frontier_chart(lines: Sequence[Line], bound: Line | None, *, utility: str) -> Chart:
    """One line per δ, each named at its end, and the bound if there is one."""
    values = [value for line in lines for _, value in line.points]
    reach = f"from {readable(min(values))} to {readable(max(values))}" if values else "over nothing"
    limit = "" if bound is None else " No output exceeds the dotted line."
    return line_chart(
        lines,
        bound,
        name="frontier",
        title=f"What each budget buys: {utility}",
        summary=f"{len(lines)} values of δ; {utility} run {reach}.{limit}",
        x_title="privacy budget ε (larger = weaker protection)",
        y_title=utility,
        tight=True,
    )


def trade_off_chart(found: Line, most: Line, *, x_title: str, y_title: str) -> Chart:
    """What was found of one objective beside each value of another, and the most possible."""
    return line_chart(
        [found],
        most,
        name="frontier",
        title=f"What {x_title} cost in {y_title}",
        summary=f"{len(found.points)} outputs: as {x_title} rise, {y_title} fall. No output is "
        "above the dotted line.",
        x_title=x_title,
        y_title=y_title,
        even=True,
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
    tight: bool = False,
    even: bool = False,
) -> Chart:
    """Lines over a logarithmic axis, upright from zero or logarithmic too.

    The axis reaches to powers of ten; a tight one ends at the first and the last point. An even
    one is not logarithmic and begins at zero.
    """
    drawn = [*lines] if bound is None else [*lines, bound]
    everything = [point for line in drawn for point in line.points]
    across = [at for at, _ in everything]
    x = log_scale(across, _ACROSS[0], _ACROSS[1] - 90)
    if even:
        x = Scale(0, max(across, default=1.0) or 1.0, _ACROSS[0], _ACROSS[1] - 90)
    if tight and 0 < min(across, default=0) < max(across, default=0):
        x = replace(x, low=min(across), high=max(across))
    heights = [value for _, value in everything]
    y = Scale(0, max(heights, default=1.0) or 1.0, *_UPRIGHT)
    if logarithmic:
        y = log_scale(heights, *_UPRIGHT)
    kinds = ["after"] * len(lines) + ["bound"] * (len(drawn) - len(lines))
    return draw(
        name,
        title,
        summary,
        axes(x, y, x_title=x_title, y_title=y_title),
        *(
            _line(line, x, y, kind, faint=n / len(drawn) if kind == "after" else 0.0)
            for n, (line, kind) in enumerate(zip(reversed(drawn), reversed(kinds), strict=True))
        ),
        *_names(drawn, x, y),
        headings=(x_title, *(line.name for line in drawn)),
        rows=(_row(at, drawn) for at in sorted({at for at, _ in everything})),
    )


def _line(line: Line, x: Scale, y: Scale, kind: str, *, faint: float) -> str:
    points = [(x(at), y(value)) for at, value in line.points]
    dots = [element("circle", cx=px, cy=py, r=2.6, class_=f"dot {kind}") for px, py in points]
    return element("g", path(points, kind), *dots, opacity=1 - _MOST_FAINT * faint)


def _names(lines: Sequence[Line], x: Scale, y: Scale) -> list[str]:
    """Each name at the end of its line, moved up or down where names would touch."""
    ends = sorted((y(line.points[-1][1]), n) for n, line in enumerate(lines) if line.points)
    places: list[float] = []
    for end, _ in ends:
        places.append(max(end + 4, places[-1] + _APART if places else end + 4))
    lowest = y.begin - _APART / 2  # not on the axis
    for n in reversed(range(len(places))):
        places[n] = min(places[n], lowest)
        lowest = places[n] - _APART
    return [
        label(lines[n].name, x(lines[n].points[-1][0]) + 8, place, anchor="start")
        for (_, n), place in zip(ends, places, strict=True)
    ]


def _row(at: float, lines: Sequence[Line]) -> tuple[str, ...]:
    values = [dict(line.points).get(at) for line in lines]
    return (f"{at:g}", *("–" if value is None else readable(value) for value in values))


def support_chart(points: Sequence[tuple[float, float]]) -> Chart:
    """One mark per pair at c_ij/|D| and x_ij/|O|, most clicked first; lost ones at the bottom."""
    everything = [value for point in points for value in point]
    x, y = log_scale(everything, *_ACROSS), log_scale(everything, *_UPRIGHT)
    lost = sum(after == 0 for _, after in points)
    marks = [
        element("circle", cx=x(before), cy=y(after), r=3.2, class_="mark" if after else "mark lost")
        for before, after in points
    ]
    return draw(
        "supports",
        "Supports before and after",
        f"The {len(points):,} most clicked pairs of the log: {len(points) - lost:,} are released, "
        f"{lost:,} are not and lie on the bottom edge.",
        axes(x, y, x_title="share of the log's clicks", y_title="share of the release"),
        path([(x(x.low), y(x.low)), (x(x.high), y(x.high))], "bound"),
        *marks,
        key(("mark", "released"), ("mark lost", "not released")),
        headings=("rank in the log", "share of the log", "share of the release"),
        rows=(
            (f"{rank:,}", f"{before:.5f}", f"{after:.5f}")
            for rank, (before, after) in enumerate(points[:20], start=1)
        ),
    )
