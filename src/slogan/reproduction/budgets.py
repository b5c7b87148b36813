"""Sections 6.1, 6.2 and 6.4.1: the logs (Table 3), and O-UMP and D-UMP by budget.

Table 4 is the largest output size λ, and Figure 4 the largest number of different pairs.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict

from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.output_size import OutputSize
from slogan.report.charts import Chart, Line, line_chart
from slogan.reproduction import pages, published
from slogan.reproduction.laboratory import Experiment, Laboratory
from slogan.reproduction.published import BUDGETS, LARGEST_SIZES, most_clicks

CORNER = "e^ε \\ δ"
"""Of a grid over all budgets."""


def table_3(lab: Laboratory) -> pages.Page:
    """The paper's three columns, and two for this log."""
    whole, shared = (asdict(size) for size in lab.sizes)
    sizes = {name: (*row, whole[name], shared[name]) for name, row in published.TABLE_3.items()}
    ratios = [shared[name] / row[2] for name, row in published.TABLE_3.items()]
    near = max(max(r, 1 / r) if r else float("inf") for r in ratios)
    shape = pages.observed(
        holds=near <= 1.25,
        what="This log has the shape of the published one",
        seen="without unique pairs its five sizes differ from the published ones by a factor of at "
        f"most {near:.3g}",
    )
    without = "without unique pairs"
    rows = pages.table(
        ["", "AOL", "the paper's sample", without, "this log", without],
        [[name, *(f"{n:,}" for n in row)] for name, row in sizes.items()],
        caption="The paper's logs, and the log of this reproduction.",
    )
    return pages.Page([shape], [rows])


def table_4(lab: Laboratory) -> pages.Page:
    """Published values with the bound of their log, and this log's values with proven bounds."""
    bound = pages.against_bound(
        [(size, most_clicks(key)) for key, size in LARGEST_SIZES.items()],
        what="cells of Table 4",
        why="every released click charges the users together at least 1 and none of the 1,980 may "
        "be charged more than b, so λ ≤ m·b",
    )
    cells = {key: f"{size:,} ({most_clicks(key):,.1f})" for key, size in LARGEST_SIZES.items()}
    ours = {key: lab.largest[budget.allowance] for key, budget in BUDGETS.items()}
    our_cells = {
        key: f"{step.value:,.0f} ({step.bound:,.0f}){'*' if step.status == 'optimal' else ''}"
        for key, step in ours.items()
    }
    explained = pages.prose(
        "On this log",
        "The value is the best integer solution found, in brackets the proven bound; a star marks "
        "a proven optimum.",
        "Only b = min(ε, log 1/(1−δ)) matters, so several cells are the same problem.",
    )
    per_user = {key: budget.per_user for key, budget in BUDGETS.items()}
    chart = _by_b(
        {
            "published": sorted({(per_user[key], n) for key, n in LARGEST_SIZES.items()}),
            "this log": [(math.log(a), step.value) for a, step in lab.largest.items()],
        },
        published.USERS,
        name="table-4",
        title="Largest output size by b",
        summary="Published values lie above the bound m·b of their 1,980 users everywhere; those "
        "of this log lie below.",
        y_title="clicks",
    )
    return pages.Page(
        [bound, _growth(), _growth_here(lab)],
        [
            pages.grid(
                "Published λ and, in brackets, the bound m·b for m = 1,980 users.", CORNER, cells
            ),
            explained,
            pages.grid(f"λ for this log of {lab.hist.users:,} users.", CORNER, our_cells),
            _table_by_b(lab),
            chart,
        ],
    )


def _growth() -> pages.Verdict:
    low, high = (end(BUDGETS, key=lambda key: BUDGETS[key].per_user) for end in (min, max))
    should = BUDGETS[high].per_user / BUDGETS[low].per_user
    return pages.Verdict(
        pages.Kind.CONTRADICTORY,
        f"The linear program is proportional to b, which grows {should:,.0f}-fold over the table, "
        "and rounding down removes fewer than 1,980 clicks; the published λ grows "
        f"{LARGEST_SIZES[high] / LARGEST_SIZES[low]:.1f}-fold.",
    )


def _growth_here(lab: Laboratory) -> pages.Verdict:
    steps = list(lab.largest.values())
    proven = sum(step.status == "optimal" for step in steps)
    return pages.observed(
        holds=all(a.value <= b.value for a, b in itertools.pairwise(steps)),
        what="λ grows with b and is equal where b is equal",
        seen=f"on this log from {steps[0].value:,.0f} to {steps[-1].value:,.0f} clicks over "
        f"{len(steps)} different b, {proven} of them solved to proven optimality",
    )


def _table_by_b(lab: Laboratory) -> str:
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
    return pages.table(
        ["b", "m·b", "rounded down", "best found", "proven bound", "gap"],
        rows,
        caption="By b: the bound m·b of this log, the paper's method (the linear relaxation, "
        "rounded down), the best integer solution, and the proven bound on it.",
    )


def _by_b(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    users: int,
    *,
    name: str,
    title: str,
    summary: str,
    y_title: str,
) -> Chart:
    """Positive values over b, and m·b over the b of the first line."""

    def drawn(name: str, points: Iterable[tuple[float, float]]) -> Line:
        return Line(name=name, points=[(b, n) for b, n in points if n > 0])

    every_b = dict.fromkeys(b for b, _ in next(iter(lines.values())))
    return line_chart(
        [drawn(name, points) for name, points in lines.items()],
        drawn("m·b", [(b, users * b) for b in every_b]),
        x_title="b",
        logarithmic=True,
        name=name,
        title=title,
        summary=summary,
        y_title=y_title,
    )


def figure_4(lab: Laboratory) -> pages.Page:
    """Algorithm 2 and the best solution, in percent of the pairs of this log."""
    heuristic, pairs = lab.heuristic("spe", Diversity()), max(1, lab.hist.pairs)
    highest, most = published.FIGURE_4_HIGHEST / 100, max(map(most_clicks, BUDGETS))
    points = pages.against_bound(
        [
            (percent / 100 * published.PAIRS, most_clicks(key))
            for solver, key, percent in published.table_7()
            if solver.startswith("SPE")
        ],
        what="points of the figure that Table 7 repeats",
        why="each retained pair is at least one released click, and there are at most m·b of them",
    )
    top = pages.against_bound(
        [(highest * published.PAIRS, most)],
        what="highest point of the figure, 30 % of 6,043 pairs,",
        why=f"even the largest budget of the grid allows at most m·b = {most:,.0f} clicks",
    )
    last, best = next(reversed(lab.diverse.items()))
    top_here = pages.observed(
        holds=best.value >= highest * pairs,
        what="Diversity can be as high as 30 %",
        seen=f"on this log the largest budget retains {best.value / pairs:.1%} (at most "
        f"{best.bound / pairs:.1%}), and Algorithm 2 {heuristic[last] / pairs:.1%}",
    )
    explained = pages.prose(
        "On this log",
        "The figure is printed without numbers; Table 7 repeats twelve of its points.",
        "Each cell shows Algorithm 2 (SPE), the best solution found, and the proven bound, in "
        f"percent of {pairs:,} shared pairs.",
    )
    shares = {
        a: " / ".join(f"{n / pairs:.2%}" for n in (heuristic[a], step.value, step.bound))
        for a, step in lab.diverse.items()
    }
    cells = {key: shares[budget.allowance] for key, budget in BUDGETS.items()}
    chart = _by_b(
        {
            "best found": [(math.log(a), step.value) for a, step in lab.diverse.items()],
            "Algorithm 2": [(math.log(a), heuristic[a]) for a in lab.diverse],
        },
        lab.hist.users,
        name="figure-4",
        title="Different pairs by b",
        summary="The best solution and that of Algorithm 2 on this log, below the bound m·b.",
        y_title="pairs",
    )
    return pages.Page(
        [points, top, top_here], [explained, pages.grid("Retained pairs.", CORNER, cells), chart]
    )


EXPERIMENTS = (
    Experiment("6.1", "Table 3: characteristics of the data sets", table_3),
    Experiment("6.2", "Table 4: maximum output size λ", table_4),
    Experiment("6.4.1", "Figure 4: maximum diversity", figure_4),
)
