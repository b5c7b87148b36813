"""Figure 3: recall and support distances of frequent pairs, over budgets, supports and sizes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

from slogan.frontier import DELTAS, EXP_EPSILONS
from slogan.privacy import PrivacyBudget
from slogan.report.charts.frontier import Line, line_chart
from slogan.report.charts.svg import Chart
from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Block, Page, Prose, grid, share
from slogan.reproduction._supports import Cell, cells, over_budgets
from slogan.reproduction._verdicts import Kind, Verdict, against_bound, observed

SECTION = "6.3"
TITLE = "Figure 3: F-UMP performance"


def page(lab: Laboratory) -> Page:
    """(a) and (b) over the grid of budgets, (c) over supports and sizes."""
    by_budget, by_support = over_budgets(lab), cells(lab)
    size, part = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SIZE / published.LARGEST
    return Page(
        verdicts=[_size(), _published_averages(), _trend(by_budget), _averages(by_support)],
        blocks=[
            Prose(
                heading="(a) and (b) over budgets",
                sentences=[
                    "The figure is printed without numbers.",
                    f"The published |O| = 3,000 is {part:.0%} of the published λ at e^ε = 2 and "
                    f"δ = 0.5; the same share of this log's λ is {size:,} clicks.",
                    "A dash stands where not even that many clicks can be released.",
                ],
            ),
            *_over_budgets(by_budget, "recall", "Recall at s = 1/500.", "figure-3a"),
            *_over_budgets(
                by_budget,
                "sum_support_distance",
                "Sum of support distances of frequent pairs at s = 1/500.",
                "figure-3b",
            ),
            Prose(heading="(c) over supports and sizes"),
            grid(
                "Average support distance of frequent pairs at e^ε = 2, δ = 0.5.",
                "s \\ published |O|",
                published.SUPPORTS,
                [str(n) for n in published.SIZES],
                lambda row, column: _average(
                    by_support[published.SUPPORTS[row], published.SIZES[column]]
                ),
            ),
            _chart_c(by_support),
        ],
    )


def _size() -> Verdict:
    budgets = [PrivacyBudget(exp_epsilon=e, delta=d) for e, d, _ in published.grid()]
    return against_bound(
        [(published.FIGURE_3_SIZE, published.USERS * b.per_user) for b in budgets],
        what="points of Figures 3(a) and 3(b), drawn at |O| = 3,000,",
        why="no output of 1,980 users is larger than m·b",
    )


def _published_averages() -> Verdict:
    first, last = published.TABLE_6[0], published.TABLE_6[-1]
    risen = [n for n, a, b in zip(published.SIZES, first, last, strict=True) if b >= a]
    return Verdict(
        kind=Kind.CONTRADICTORY,
        why="The text says that the average distance decreases as s increases, but from s = 1/1000 "
        "to s = 1/100 there are no more frequent pairs while the sums of Table 6 rise at |O| = "
        f"{', '.join(f'{n:,}' for n in risen)}, so the averages rise there.",
    )


def _trend(found: Mapping[tuple[str, str], Cell]) -> Verdict:
    known = sorted(
        (PrivacyBudget(exp_epsilon=e, delta=d).allowance, cell["value"])
        for (e, d), cell in found.items()
        if "value" in cell
    )
    falling = all(a[1] >= b[1] for a, b in itertools.pairwise(known))
    ends = f"from {known[0][1]:.4f} to {known[-1][1]:.4f}" if known else "nowhere to be seen"
    return observed(
        holds=falling and bool(known),
        what="The sum of support distances falls as b grows and stays where b does",
        seen=f"on this log it runs {ends} over the {len(known)} of {len(found)} budgets that "
        "allow the size",
    )


def _averages(found: Mapping[tuple[str, int], Cell]) -> Verdict:
    size = published.SIZES[0]
    averages = [found[s, size].get("average_support_distance") for s in published.SUPPORTS]
    known = [average for average in averages if average is not None]
    falling = all(a >= b for a, b in itertools.pairwise(known))
    ends = f"from {known[0]:.5f} to {known[-1]:.5f}" if known else "nowhere to be seen"
    return observed(
        holds=falling and len(known) > 1 and known[0] > known[-1],
        what="The average support distance decreases as s increases",
        seen=f"on this log it runs {ends} as s goes from 1/1000 to 1/100, at the smallest |O|",
    )


def _over_budgets(
    found: Mapping[tuple[str, str], Cell], measure: str, caption: str, name: str
) -> list[Block]:
    lines = [
        Line(
            name=f"δ = {delta}",
            points=[
                (PrivacyBudget(exp_epsilon=e, delta=delta).epsilon_value, cell[measure])
                for e in EXP_EPSILONS
                if (cell := found[e, delta]).get(measure) is not None
            ],
        )
        for delta in DELTAS
    ]
    table = grid(
        caption,
        "e^ε \\ δ",
        EXP_EPSILONS,
        DELTAS,
        lambda row, column: share(found[EXP_EPSILONS[row], DELTAS[column]].get(measure)),
    )
    chart = line_chart(
        [line for line in lines if line.points],
        None,
        name=name,
        title=caption.rstrip("."),
        summary="One line for each δ at which the output size can be reached.",
        x_title="ε",
        y_title=measure.replace("_", " "),
    )
    return [table, chart]


def _average(cell: Cell) -> str:
    value = cell.get("average_support_distance")
    return "–" if value is None else f"{value:.6f}"


def _chart_c(found: Mapping[tuple[str, int], Cell]) -> Chart:
    lines = [
        Line(
            name=f"|O| = {size}",
            points=[
                (float(Fraction(s)), value)
                for s in published.SUPPORTS
                if (value := found[s, size].get("average_support_distance")) is not None
            ],
        )
        for size in published.SIZES
    ]
    return line_chart(
        lines,
        None,
        name="figure-3c",
        title="Average support distance by minimum support",
        summary="One line for each output size, named by its published value.",
        x_title="s",
        y_title="average support distance",
    )
