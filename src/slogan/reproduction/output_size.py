"""Sections 6.1 and 6.2: the size of the logs (Table 3) and of the largest output λ (Table 4)."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict

from slogan.planning.objectives.output_size import OutputSize
from slogan.report.charts import Line, line_chart
from slogan.report.svg import Chart
from slogan.reproduction import published
from slogan.reproduction.laboratory import Experiment, Laboratory
from slogan.reproduction.pages import (
    Kind,
    Page,
    Prose,
    Table,
    Verdict,
    against_bound,
    grid,
    observed,
)
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS


def table_3(lab: Laboratory) -> Page:
    """The paper's three columns, and the two of this log."""
    whole, shared = (asdict(size) for size in lab.sizes)
    rows = [
        [name, *(f"{n:,}" for n in row), f"{whole[name]:,}", f"{shared[name]:,}"]
        for name, row in published.TABLE_3.items()
    ]
    ratios = [shared[name] / row[2] for name, row in published.TABLE_3.items()]
    near = max(max(r, 1 / r) if r else float("inf") for r in ratios)
    return Page(
        verdicts=[
            observed(
                holds=near <= 1.25,
                what="This log has the shape of the published one",
                seen="without unique pairs its five sizes differ from the published ones by a "
                f"factor of at most {near:.3g}",
            )
        ],
        blocks=[
            Table(
                caption="The paper's logs, and the log of this reproduction.",
                headings=[
                    "",
                    "AOL",
                    "the paper's sample",
                    "without unique pairs",
                    "this log",
                    "without unique pairs",
                ],
                rows=rows,
            )
        ],
    )


def table_4(lab: Laboratory) -> Page:
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
    return against_bound(
        [(size, published.most_clicks(e, d)) for e, d, size in published.grid()],
        what="cells of Table 4",
        why="every released click charges the users together at least 1 and none of the 1,980 may "
        "be charged more than b, so λ ≤ m·b",
    )


def _growth() -> Verdict:
    limits = {key: budget.per_user for key, budget in published.BUDGETS.items()}
    low, high = min(limits, key=limits.__getitem__), max(limits, key=limits.__getitem__)
    sizes = {(e, d): n for e, d, n in published.grid()}
    grown, should = sizes[high] / sizes[low], limits[high] / limits[low]
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
    bound = published.most_clicks(EXP_EPSILONS[row], DELTAS[column])
    return f"{published.TABLE_4[row][column]:,} ({bound:,.1f})"


def _our_cell(lab: Laboratory, exp_epsilon: str, delta: str) -> str:
    step = lab.largest[published.BUDGETS[exp_epsilon, delta].allowance]
    star = "*" if step.status == "optimal" else ""
    return f"{step.value:,.0f} ({step.bound:,.0f}){star}"


def _by_b(lab: Laboratory) -> Table:
    floors = lab.heuristic("relaxed", OutputSize())
    rows = [
        [
            f"{math.log(allowance):.6f}",
            f"{lab.hist.users * math.log(allowance):,.1f}",
            f"{floors[allowance]:,}",
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
    paper = sorted({(published.BUDGETS[e, d].per_user, n) for e, d, n in published.grid()})
    ours = [(math.log(a), step.value) for a, step in lab.largest.items() if step.value]
    bound = [(b, published.USERS * b) for b in sorted({b for b, _ in paper})]
    return line_chart(
        [
            Line(name="published", points=[(b, float(n)) for b, n in paper]),
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


EXPERIMENTS = (
    Experiment(
        name="table3",
        section="6.1",
        title="Table 3: characteristics of the data sets",
        page=table_3,
    ),
    Experiment(name="table4", section="6.2", title="Table 4: maximum output size λ", page=table_4),
)
