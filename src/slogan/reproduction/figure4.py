"""Figure 4: the largest share of pairs that each budget lets be released."""

from __future__ import annotations

import math

from slogan.frontier import DELTAS, EXP_EPSILONS
from slogan.privacy import PrivacyBudget
from slogan.report.charts.frontier import Line, line_chart
from slogan.report.charts.svg import Chart
from slogan.reproduction import _published as published
from slogan.reproduction._answers import spe
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose, grid
from slogan.reproduction._verdicts import Verdict, against_bound, observed

SECTION = "6.4.1"
TITLE = "Figure 4: maximum diversity"


def page(lab: Laboratory) -> Page:
    """Algorithm 2 and the best solution, in percent of the pairs of this log."""
    heuristic, pairs = spe(lab), max(1, lab.hist.pairs)

    def cell(row: int, column: int) -> str:
        budget = PrivacyBudget(exp_epsilon=EXP_EPSILONS[row], delta=DELTAS[column])
        step = lab.diverse[budget.allowance]
        shares = (heuristic[str(budget.allowance)], step.value, step.bound)
        return " / ".join(f"{n / pairs:.2%}" for n in shares)

    return Page(
        verdicts=[_published(), _highest(), _here(lab, heuristic)],
        blocks=[
            Prose(
                heading="On this log",
                sentences=[
                    "The figure is printed without numbers; Table 7 repeats twelve of its points.",
                    "Each cell shows Algorithm 2 (SPE), the best solution found, and the proven "
                    f"bound, in percent of {pairs:,} shared pairs.",
                ],
            ),
            grid("Retained pairs.", "e^ε \\ δ", EXP_EPSILONS, DELTAS, cell),
            _chart(lab, heuristic),
        ],
    )


def _published() -> Verdict:
    cells = [
        (percent / 100 * published.PAIRS, _bound(power, delta))
        for solver, power, delta, percent in published.table_7()
        if solver.startswith("SPE")
    ]
    return against_bound(
        cells,
        what="points of the figure that Table 7 repeats",
        why="each retained pair is at least one released click, and there are at most m·b of them",
    )


def _highest() -> Verdict:
    most = max(_bound(e, d) for e, d, _ in published.grid())
    return against_bound(
        [(published.FIGURE_4_HIGHEST / 100 * published.PAIRS, most)],
        what="highest point of the figure, 30 % of 6,043 pairs,",
        why=f"even the largest budget of the grid allows at most m·b = {most:,.0f} clicks",
    )


def _bound(exp_epsilon: str, delta: str) -> float:
    return published.USERS * PrivacyBudget(exp_epsilon=exp_epsilon, delta=delta).per_user


def _here(lab: Laboratory, heuristic: dict[str, int]) -> Verdict:
    last, step = next(reversed(lab.diverse.items()))
    pairs = max(1, lab.hist.pairs)
    return observed(
        holds=step.value >= published.FIGURE_4_HIGHEST / 100 * pairs,
        what="Diversity can be as high as 30 %",
        seen=f"on this log the largest budget retains {step.value / pairs:.1%} (at most "
        f"{step.bound / pairs:.1%}), and Algorithm 2 {heuristic[str(last)] / pairs:.1%}",
    )


def _chart(lab: Laboratory, heuristic: dict[str, int]) -> Chart:
    def line(name: str, values: dict[float, float]) -> Line:
        return Line(name=name, points=[(b, n) for b, n in values.items() if n > 0])

    best = {math.log(a): step.value for a, step in lab.diverse.items()}
    ours = {math.log(a): float(heuristic[str(a)]) for a in lab.diverse}
    bound = {b: lab.hist.users * b for b in best}
    return line_chart(
        [line("best found", best), line("Algorithm 2", ours)],
        line("m·b", bound),
        name="figure-4",
        title="Different pairs by b",
        summary="The best solution and that of Algorithm 2 on this log, below the bound m·b.",
        x_title="b",
        y_title="pairs",
        logarithmic=True,
    )
