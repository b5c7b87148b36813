"""Bars: triplets by DiffRatio, users by the share of the budget they were charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from slogan.report.charts import svg

Ratios = dict[str, Any]
"""The field `diff_ratio_histogram` of an evaluation."""
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
    parts = [_frame(x, y, bars.names, x_title=x_title, y_title=y_title)]
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
    beside = (bars.other_name,) if bars.others else ()
    return svg.Chart(
        name=name,
        title=title,
        summary=summary,
        svg=svg.drawing(name, title, summary, *parts),
        headings=(x_title, bars.value_name, *beside),
        rows=tuple(
            (words, *(_short(values[n]) for values, _ in series))
            for n, words in enumerate(bars.names)
        ),
    )


def _frame(x: svg.Scale, y: svg.Scale, names: Sequence[str], *, x_title: str, y_title: str) -> str:
    parts = [
        svg.element("line", x1=x.begin, x2=x.end, y1=y(at), y2=y(at), class_="grid")
        + svg.label(svg.told(at), x.begin - 8, y(at) + 4, anchor="end")
        for at in y.ticks()
    ]
    parts += [
        svg.label(words, x(n + 0.5), y.begin + 18, kind="narrow") for n, words in enumerate(names)
    ]
    parts.append(svg.element("line", x1=x.begin, x2=x.end, y1=y.begin, y2=y.begin, class_="axis"))
    parts.append(svg.label(x_title, (x.begin + x.end) / 2, y.begin + 38, kind="strong"))
    parts.append(svg.label(y_title, x.begin - 54, y.end - 14, kind="strong", anchor="start"))
    return "".join(parts)


def _short(value: float) -> str:
    return f"{value:,.1f}".removesuffix(".0")


def diff_ratio_chart(found: Ratios, beside: Ratios | None) -> svg.Chart:
    """How many triplets moved by how much, of those that are shown."""
    names = [*(f"<{10 * n}" for n in range(1, 11)), "more"]
    average = f", on average over {found['samples']} outputs" if found["samples"] > 1 else ""
    summary = (
        f"{_short(found['not_shown'])} of {found['triplets']:,} triplets of frequent pairs are "
        f"not shown{average}; {_short(sum(found['below'][:4]))} moved by less than 40%."
    )
    return bar_chart(
        Bars(
            names=names,
            values=[*found["below"], found["above"]],
            others=[] if beside is None else [*beside["below"], beside["above"]],
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
