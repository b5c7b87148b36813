"""SVG by hand: elements, scales and the frame of a chart. Colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 24, 26, 46
_LETTER = 7.6
"""About the width of one; the page's style decides."""


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
    names = [key.rstrip("_").replace("_", "-") for key in attributes]
    values = [escape(_value(value)) for value in attributes.values()]
    written = "".join(f' {n}="{v}"' for n, v in zip(names, values, strict=True))
    return f"<{tag}{written}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{written}/>"


def label(words: str, x: float, y: float, *, kind: str = "", anchor: str = "middle") -> str:
    """A text; whatever it says is escaped."""
    return element(
        "text", escape(words), x=x, y=y, class_=f"label {kind}".strip(), text_anchor=anchor
    )


def draw(
    name: str,
    title: str,
    summary: str,
    *parts: str,
    headings: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
) -> Chart:
    """A chart of these parts, with a title and a description for those who do not see it."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where a value lies on an axis, between two places."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; what lies outside is drawn on the edge."""
        low, high, at = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, at = math.log10(low), math.log10(high), math.log10(at)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values from end to end: powers of ten, or steps of 1, 2 or 5."""
        if self.logarithmic:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
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


def log_scale(values: Iterable[float], begin: float, end: float) -> Scale:
    """Powers of ten around all positive values."""
    positive = [value for value in values if value > 0] or [1.0]
    low = 10.0 ** max(-300, math.floor(math.log10(min(positive))))
    high = 10.0 ** math.ceil(math.log10(max(positive)))
    return Scale(
        low=low, high=high if high > low else low * 10, begin=begin, end=end, logarithmic=True
    )


def axes(x: Scale, y: Scale, *, x_title: str, y_title: str, names: Sequence[str] = ()) -> str:
    """Grid, ticks and titles of both axes; names, where given, stand in place of x's ticks."""
    return "".join(
        [
            *(
                element("line", x1=x(at), x2=x(at), y1=y.begin, y2=y.end, class_="grid")
                + label(_short(at), x(at), y.begin + 18)
                for at in ([] if names else x.ticks())
            ),
            *(
                element("line", x1=x.begin, x2=x.end, y1=y(at), y2=y(at), class_="grid")
                + label(_short(at), x.begin - 8, y(at) + 4, anchor="end")
                for at in y.ticks()
            ),
            *(label(one, x(n + 0.5), y.begin + 18, kind="narrow") for n, one in enumerate(names)),
            element("line", x1=x.begin, x2=x.end, y1=y.begin, y2=y.begin, class_="axis"),
            label(x_title, (x.begin + x.end) / 2, y.begin + 38, kind="strong"),
            label(y_title, x.begin - 54, y.end - 14, kind="strong", anchor="start"),
        ]
    )


def _short(value: float) -> str:
    """A number as short as it can be."""
    for unit, letter in ((1_000_000, " M"), (1_000, " k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    if not points:
        return ""
    steps = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return element("path", d=f"M{steps}", class_=f"line {kind}")


def key(entries: Sequence[tuple[str, str]]) -> str:
    """What the kinds of marks mean: one line above the chart, at the right."""
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


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
