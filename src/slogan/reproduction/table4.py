"""Table 4: the largest output size λ for each budget."""

from __future__ import annotations

import itertools
import math

from slogan.frontier import DELTAS, EXP_EPSILONS
from slogan.privacy import PrivacyBudget
from slogan.report.charts.frontier import Line, line_chart
from slogan.report.charts.svg import Chart
from slogan.reproduction import _published as published
from slogan.reproduction._answers import relaxed
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose, Table, grid
from slogan.reproduction._verdicts import Kind, Verdict, against_bound, observed

SECTION = "6.2"
TITLE = "Table 4: maximum output size λ"
BUDGETS = {(e, d): PrivacyBudget(exp_epsilon=e, delta=d) for e in EXP_EPSILONS for d in DELTAS}


def page(lab: Laboratory) -> Page:
    """Published values with the bound of their log, and what this log gives, with its proof."""
    return Page(
        verdicts=[_bound(), _growth(), _here(lab)],
        blocks=[
            grid(
                "Published λ and, in brackets, the bound m·b for m = 1,980 users.",
                "e^ε \\ δ",
                EXP_EPSILONS,
                DELTAS,
                _published_cell,
            ),
            Prose(
                heading="On this log",
                sentences=[
                    "The value is the best integer solution found, in brackets the proven bound; "
                    "a star marks a proven optimum.",
                    "Only b = min(ε, log 1/(1−δ)) counts, so many cells are one problem.",
                ],
            ),
            grid(
                f"λ for this log of {lab.hist.users:,} users.",
                "e^ε \\ δ",
                EXP_EPSILONS,
                DELTAS,
                lambda row, column: _our_cell(lab, EXP_EPSILONS[row], DELTAS[column]),
            ),
            _by_b(lab),
            _chart(lab),
        ],
    )


def _bound() -> Verdict:
    cells = [(n, published.USERS * BUDGETS[e, d].per_user) for e, d, n in published.grid()]
    return against_bound(
        cells,
        what="cells of Table 4",
        why="every released click charges the users together at least 1 and none of the 1,980 may "
        "be charged more than b, so λ ≤ m·b",
    )


def _growth() -> Verdict:
    limits = {key: budget.per_user for key, budget in BUDGETS.items()}
    low, high = min(limits, key=limits.__getitem__), max(limits, key=limits.__getitem__)
    told = {(e, d): n for e, d, n in published.grid()}
    grown, should = told[high] / told[low], limits[high] / limits[low]
    return Verdict(
        kind=Kind.CONTRADICTORY,
        why=f"The linear program is proportional to b, which grows {should:,.0f}-fold over the "
        f"table, and rounding down takes away less than 1,980; the published λ grows "
        f"{grown:.1f}-fold.",
    )


def _here(lab: Laboratory) -> Verdict:
    steps = list(lab.largest.values())
    rising = all(a.value <= b.value for a, b in itertools.pairwise(steps))
    proven = sum(step.status == "optimal" for step in steps)
    return observed(
        holds=rising,
        what="λ grows with b and stays where b does",
        seen=f"on this log from {steps[0].value:,.0f} to {steps[-1].value:,.0f} clicks over "
        f"{len(steps)} different b, {proven} of them solved to proven optimality",
    )


def _published_cell(row: int, column: int) -> str:
    b = BUDGETS[EXP_EPSILONS[row], DELTAS[column]].per_user
    return f"{published.TABLE_4[row][column]:,} ({published.USERS * b:,.1f})"


def _our_cell(lab: Laboratory, exp_epsilon: str, delta: str) -> str:
    step = lab.largest[BUDGETS[exp_epsilon, delta].allowance]
    star = "*" if step.status == "optimal" else ""
    return f"{step.value:,.0f} ({step.bound:,.0f}){star}"


def _by_b(lab: Laboratory) -> Table:
    floors = relaxed(lab)
    rows = [
        [
            f"{math.log(allowance):.6f}",
            f"{lab.hist.users * math.log(allowance):,.1f}",
            f"{floors[str(allowance)]:,}",
            f"{step.value:,.0f}",
            f"{step.bound:,.0f}",
            f"{step.gap:.1%}",
        ]
        for allowance, step in lab.largest.items()
    ]
    return Table(
        caption="By b: the bound m·b of this log, the paper's way (the linear relaxation, rounded "
        "down), the best integer solution, and the proven bound on it.",
        headings=["b", "m·b", "rounded down", "best found", "proven bound", "gap"],
        rows=rows,
    )


def _chart(lab: Laboratory) -> Chart:
    told = sorted({(BUDGETS[e, d].per_user, n) for e, d, n in published.grid()})
    ours = [(math.log(a), step.value) for a, step in lab.largest.items() if step.value]
    bound = [(b, published.USERS * b) for b in sorted({b for b, _ in told})]
    return line_chart(
        [
            Line(name="published", points=[(b, float(n)) for b, n in told]),
            Line(name="this log", points=ours),
        ],
        Line(name="m·b", points=bound),
        name="table-4",
        title="Largest output size by b",
        summary="Published values lie above the bound m·b of their 1,980 users everywhere; those "
        "of this log lie below.",
        x_title="b",
        y_title="clicks",
        logarithmic=True,
    )
