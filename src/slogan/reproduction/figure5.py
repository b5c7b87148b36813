"""Figure 5: how long different solvers take for a D-UMP."""

from __future__ import annotations

import math
from collections.abc import Mapping

from slogan.privacy import PrivacyBudget
from slogan.report.charts.bars import Bars, bar_chart
from slogan.report.charts.svg import Chart
from slogan.reproduction import _published as published
from slogan.reproduction._answers import NAMES, Answer, answers
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose, Table
from slogan.reproduction._verdicts import Kind, Verdict, observed

SECTION = "6.4.2"
TITLE = "Figure 5: run times for D-UMP"


def page(lab: Laboratory) -> Page:
    """Seconds at the paper's budget, and at one where there is something to solve."""
    found = answers(lab)
    typical, hard = found[published.FIGURE_5], found[published.FIXED]
    fitting = int((lab.constraints(*published.FIGURE_5).upper > 0).sum())
    return Page(
        verdicts=[_trivial(), _fastest(hard)],
        blocks=[
            Prose(
                heading="On this log",
                sentences=[
                    "The figure is printed without numbers.",
                    f"At e^ε = 1.7 and δ = 10⁻³ {fitting:,} pairs fit the budget at all.",
                    "At e^ε = 2 and δ = 0.5 there is a problem to solve; each solver had "
                    f"{lab.seconds.solver:g} seconds.",
                    "Seconds are those of the solver alone; answers of Algorithm 2 carry no proof.",
                ],
            ),
            Table(
                caption="Seconds, pairs retained, and whether the solver says it is done.",
                headings=["solver", "e^ε = 1.7, δ = 10⁻³", "e^ε = 2, δ = 0.5", "pairs", "done"],
                rows=[_row(name, typical, hard) for name in NAMES],
            ),
            _chart(hard),
        ],
    )


def _trivial() -> Verdict:
    b = PrivacyBudget(exp_epsilon=published.FIGURE_5[0], delta=published.FIGURE_5[1]).per_user
    return Verdict(
        kind=Kind.UNREACHABLE,
        why=f"Under the budget of the figure at most m·b = {published.USERS * b:.2f} clicks can be "
        "released, so no pair or a single one, and that only if a thousand users share it: there "
        "is no typical D-UMP to be timed.",
    )


def _fastest(found: Mapping[str, Answer]) -> Verdict:
    times = {name: answer["seconds"] for name, answer in found.items() if "seconds" in answer}
    others = min(seconds for name, seconds in times.items() if name != "spe")
    return observed(
        holds=times["spe"] <= others,
        what="Algorithm 2 is faster than the other solvers",
        seen=f"on this log {times['spe']:.3f} s beside {others:.3f} s of the next, for an answer "
        "that others surpass",
    )


def _row(name: str, typical: Mapping[str, Answer], hard: Mapping[str, Answer]) -> list[str]:
    if "missing" in hard[name]:
        return [NAMES[name], "–", "–", hard[name]["missing"], "–"]
    return [
        NAMES[name],
        f"{typical[name]['seconds']:.3f}",
        f"{hard[name]['seconds']:.3f}",
        f"{hard[name]['pairs']:,}",
        "yes" if hard[name]["proven"] else "no",
    ]


def _chart(found: Mapping[str, Answer]) -> Chart:
    times = {name: a["seconds"] for name, a in found.items() if "seconds" in a}
    return bar_chart(
        Bars(
            names=list(times),
            values=[math.log10(1 + 1000 * seconds) for seconds in times.values()],
            value_name="log₁₀ of milliseconds",
        ),
        name="figure-5",
        title="Run times at e^ε = 2, δ = 0.5",
        summary="Each step up is ten times as long: 3 is a second, 4 ten seconds.",
        x_title="solver",
        y_title="log₁₀ of milliseconds",
    )
