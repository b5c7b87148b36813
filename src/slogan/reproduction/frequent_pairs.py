"""Sections 6.3 and 6.5: F-UMP by minimum support, output size and budget.

Tables 5 and 6 and Figure 3 show its frequent pairs, Figure 6 the change of their triplets, as
DiffRatio [eq. 10].
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from slogan.budget import PrivacyBudget, exact
from slogan.measures import Totals, supports
from slogan.measures.triplets import DiffRatios, diff_ratios, frequent_triplets, redrawn
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.plan import Plan
from slogan.planning.planner import Sweep, SweepPoint, climb
from slogan.randomness import SeededRandomness
from slogan.report.charts import Bars, Chart, Line, bar_chart, line_chart
from slogan.reproduction import pages, published
from slogan.reproduction.budgets import CORNER
from slogan.reproduction.laboratory import Experiment, Laboratory, Record, read_plan, step_record
from slogan.reproduction.published import BUDGETS, FIXED, SIZES, SUPPORTS, Key
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS

_NEAR, _BINS = 0.4, 4
"""The first four tenths are the ratios below 40 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """F-UMP at one output size, as stored; only the size if it cannot be reached."""

    output_size: int
    value: float | None = None
    bound: float | None = None
    status: str | None = None
    carried: bool | None = None
    plan: str | None = None
    min_support: str | None = None
    frequent_before: int | None = None
    frequent_after: int | None = None
    precision: float | None = None
    recall: float | None = None
    sum_support_distance: float | None = None
    average_support_distance: float | None = None
    recall_bound: float | None = None


BySize = Mapping[tuple[str, int], Cell]
"""By minimum support and published |O|."""
ByBudget = Mapping[Key, Cell]
Measure = Callable[[Cell], float | None]


def by_size(lab: Laboratory) -> BySize:
    """F-UMP at e^ε = 2 and δ = 0.5."""
    keys = list(itertools.product(SUPPORTS, SIZES))

    def compute() -> Record:
        note, cells = lab.noted("F-UMP"), Record()
        for n, (support, size) in enumerate(keys):
            note(n, len(keys))
            here = lab.scaled(size)
            step = _climb(lab, support, here, [BUDGETS[FIXED]]).get(BUDGETS[FIXED].allowance)
            cells[f"{support} {size}"] = _record(lab, support, here, step)
        return cells

    cells = lab.store.remember("frequent_pairs", {"seconds": lab.seconds.supports}, compute)
    return {(s, n): Cell(**cells[f"{s} {n}"]) for s, n in keys}


def by_budget(lab: Laboratory) -> ByBudget:
    """F-UMP at the support and the scaled output size of Figure 3."""

    def compute() -> Record:
        size, support = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SUPPORT
        steps = _climb(lab, support, size, BUDGETS.values())
        return {
            f"{e} {d}": _record(lab, support, size, steps.get(budget.allowance))
            for (e, d), budget in BUDGETS.items()
        }

    parameters = {"seconds": lab.seconds.supports}
    cells = lab.store.remember("frequent_pairs_by_budget", parameters, compute)
    return {(e, d): Cell(**cells[f"{e} {d}"]) for e, d in BUDGETS}


def _climb(lab: Laboratory, support: str, size: int, budgets: Iterable[PrivacyBudget]) -> Sweep:
    if size < 1:
        return {}
    objective = FrequentPairs(min_support=support, output_size=size)
    effort = lab.effort(lab.seconds.supports)
    return climb(lab.hist, budgets, objective, effort=effort, largest=lab.largest)


def _record(lab: Laboratory, support: str, size: int, step: SweepPoint | None) -> Record:
    """The stored record of a cell."""
    if step is None:
        return {"output_size": size}
    totals = Totals(before=lab.hist.pair_total, after=step.plan.counts, query=lab.hist.query)
    return {
        "output_size": size,
        **step_record(step),
        **asdict(supports.frequent_pairs(totals, exact(support))),
        "recall_bound": _recall_bound(lab, totals, exact(support), size),
    }


def _recall_bound(lab: Laboratory, totals: Totals, support: Fraction, size: int) -> float | None:
    """No output of this size keeps more: a pair that stays frequent needs ⌈s·|O|⌉ ≤ u_ij clicks."""
    frequent = totals.frequent_before(support)
    if not frequent.any():
        return None
    needed = max(1, math.ceil(support * size))
    fitting = int(np.count_nonzero(lab.constraints().upper[frequent] >= needed))
    return min(fitting, size // needed) / int(np.count_nonzero(frequent))


def _known(cells: Iterable[Cell], measure: Measure) -> list[float]:
    """The measure where it is defined."""
    return [value for cell in cells if (value := measure(cell)) is not None]


# --- Tables 5 and 6 ---


def table_5(lab: Laboratory) -> pages.Page:
    """Published recall, and ours at sizes in the same proportion to λ."""
    cells = by_size(lab)
    recalls = _known(cells.values(), lambda cell: cell.recall)
    ends = f"from {min(recalls):.2f} to {max(recalls):.2f}" if recalls else "undefined"
    retained = pages.observed(
        holds=bool(recalls) and min(recalls) > 0.8,
        what="Over 80 % of frequent pairs are retained",
        seen=f"on this log recall runs {ends}",
    )
    known = _known(cells.values(), lambda cell: cell.precision)
    ones = sum(precision == 1.0 for precision in known)
    least = f", the least is {min(known):.2f}" if known else ""
    precise = pages.observed(
        holds=bool(known) and ones == len(known),
        what="Precision is always 1",
        seen=f"on this log in {ones} of {len(known)} cells{least}; the clicks of |O| for which "
        "frequent pairs have no room go to other pairs, which may become frequent",
    )
    caption = "Recall and, in brackets, its upper bound for outputs of that size."
    ours = {key: (cell.recall, cell.recall_bound) for key, cell in cells.items()}
    return _beside(lab, [retained, precise], "recall", published.TABLE_5, caption, ours)


def table_6(lab: Laboratory) -> pages.Page:
    """Published sums, their contradictions, and the proven optima of this log."""
    cells = by_size(lab)
    rows = [_known([cells[s, n] for n in SIZES], lambda cell: cell.value) for s in SUPPORTS]
    steps = [b >= a for row in rows for a, b in itertools.pairwise(row)]
    rising = pages.observed(
        holds=bool(steps) and all(steps),
        what="At a fixed s the sum increases with |O|",
        seen=f"on this log in {sum(steps)} of {len(steps)} steps",
    )
    optimal = pages.optima_over_fewer_pairs(published.TABLE_6, what="The published sums")
    caption = "Sum of support distances and, in brackets, its lower bound for that size."
    ours = {key: (cell.value, cell.bound) for key, cell in cells.items()}
    return _beside(lab, [optimal, rising], "sums", published.TABLE_6, caption, ours)


def _beside(
    lab: Laboratory,
    verdicts: Sequence[pages.Verdict],
    what: str,
    values: Sequence[Sequence[float]],
    caption: str,
    ours: Mapping[tuple[str, int], tuple[float | None, float | None]],
) -> pages.Page:
    """The published table, and the same for this log with bounds in brackets, at scaled sizes."""
    bound, largest, cells = published.most_clicks(FIXED), lab.largest_size, by_size(lab)
    reach = pages.against_bound(
        [(size, bound) for size in SIZES],
        what="output sizes of the table",
        why=f"at e^ε = 2 and δ = 0.5 no output of 1,980 users has more than m·b = {bound:,.1f} "
        "clicks",
    )
    sizes = ", ".join(f"{size:,} → {lab.scaled(size):,}" for size in SIZES)
    explained = pages.prose(
        "On this log",
        f"λ of this log is {largest.value:,.0f}, proven to be at most {largest.bound:,.0f}.",
        f"Each |O| is in the same proportion to it as the published one to 13,088: {sizes}.",
        "A pair can stay frequent only if its share of |O|, in whole clicks, fits the budget.",
        "Where |O| < 1/s every released pair is frequent in the output, for one click is enough.",
    )
    numbers = dict(zip(cells, itertools.chain.from_iterable(values), strict=True))
    theirs = pages.grid(
        f"Published {what} at e^ε = 2, δ = 0.5.",
        "s \\ |O|",
        {key: pages.share(value) for key, value in numbers.items()},
        [f"{size:,}" for size in SIZES],
    )
    words = {
        key: "–" if cells[key].plan is None else "{} ({})".format(*map(pages.share, pair))
        for key, pair in ours.items()
    }
    columns = [f"{cells[SUPPORTS[0], size].output_size:,}" for size in SIZES]
    blocks = [theirs, explained, pages.grid(caption, "s \\ |O| here", words, columns)]
    return pages.Page([reach, *verdicts], blocks)


# --- Figure 3 ---


def figure_3(lab: Laboratory) -> pages.Page:
    """(a) and (b) over the grid of budgets, (c) over supports and sizes."""
    budgets, sizes = by_budget(lab), by_size(lab)
    size, part = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SIZE / published.LARGEST
    drawn = pages.against_bound(
        [(published.FIGURE_3_SIZE, published.most_clicks(key)) for key in BUDGETS],
        what="points of Figures 3(a) and 3(b), drawn at |O| = 3,000,",
        why="no output of 1,980 users is larger than m·b",
    )
    explained = pages.prose(
        "(a) and (b) over budgets",
        "The figure is printed without numbers.",
        f"The published |O| = 3,000 is {part:.0%} of the published λ at e^ε = 2 and δ = 0.5; the "
        f"same share of this log's λ is {size:,} clicks.",
        "A dash marks budgets that do not allow that many clicks.",
    )
    return pages.Page(
        [drawn, _published_averages(), _trend(budgets), _averages(sizes)],
        [
            explained,
            *_over_budgets(
                budgets, lambda cell: cell.recall, "recall", "Recall at s = 1/500.", "figure-3a"
            ),
            *_over_budgets(
                budgets,
                lambda cell: cell.sum_support_distance,
                "sum support distance",
                "Sum of support distances of frequent pairs at s = 1/500.",
                "figure-3b",
            ),
            "## (c) over supports and sizes",
            pages.grid(
                "Average support distance of frequent pairs at e^ε = 2, δ = 0.5.",
                "s \\ published |O|",
                {key: pages.share(_average(cell), digits=6) for key, cell in sizes.items()},
            ),
            line_chart(
                [
                    _line(
                        f"|O| = {n}",
                        ((float(Fraction(s)), _average(sizes[s, n])) for s in SUPPORTS),
                    )
                    for n in SIZES
                ],
                None,
                name="figure-3c",
                title="Average support distance by minimum support",
                summary="One line for each output size, named by its published value.",
                x_title="s",
                y_title="average support distance",
            ),
        ],
    )


def _average(cell: Cell) -> float | None:
    return cell.average_support_distance


def _line(name: str, points: Iterable[tuple[float, float | None]]) -> Line:
    return Line(name=name, points=[(at, value) for at, value in points if value is not None])


def _published_averages() -> pages.Verdict:
    first, last = published.TABLE_6[0], published.TABLE_6[-1]
    risen = [f"{n:,}" for n, a, b in zip(SIZES, first, last, strict=True) if b >= a]
    return pages.Verdict(
        pages.Kind.CONTRADICTORY,
        "The text states that the average distance decreases as s increases, but from s = 1/1000 "
        "to s = 1/100 there are no more frequent pairs while the sums of Table 6 rise at |O| = "
        f"{', '.join(risen)}, so the averages rise there.",
    )


def _trend(cells: ByBudget) -> pages.Verdict:
    rising = sorted(cells, key=lambda key: BUDGETS[key].allowance)
    known = _known([cells[key] for key in rising], lambda cell: cell.value)
    ends = f"from {known[0]:.4f} to {known[-1]:.4f}" if known else "nowhere to be seen"
    return pages.observed(
        holds=bool(known) and all(a >= b for a, b in itertools.pairwise(known)),
        what="The sum of support distances falls as b grows and is equal where b is equal",
        seen=f"on this log it runs {ends} over the {len(known)} of {len(cells)} budgets that "
        "allow the size",
    )


def _averages(cells: BySize) -> pages.Verdict:
    known = _known([cells[s, SIZES[0]] for s in SUPPORTS], _average)
    falling = all(a >= b for a, b in itertools.pairwise(known))
    ends = f"from {known[0]:.5f} to {known[-1]:.5f}" if known else "nowhere to be seen"
    return pages.observed(
        holds=falling and len(known) > 1 and known[0] > known[-1],
        what="The average support distance decreases as s increases",
        seen=f"on this log it runs {ends} as s goes from 1/1000 to 1/100, at the smallest |O|",
    )


def _over_budgets(
    cells: ByBudget, measure: Measure, label: str, caption: str, name: str
) -> list[pages.Block]:
    values = {key: measure(cell) for key, cell in cells.items()}
    lines = [
        _line(f"δ = {d}", [(BUDGETS[e, d].epsilon_value, values[e, d]) for e in EXP_EPSILONS])
        for d in DELTAS
    ]
    chart = line_chart(
        [line for line in lines if line.points],
        None,
        name=name,
        title=caption.rstrip("."),
        summary="One line for each δ at which the output size can be reached.",
        x_title="ε",
        y_title=label,
    )
    words = {key: pages.share(value) for key, value in values.items()}
    return [pages.grid(caption, CORNER, words), chart]


# --- Figure 6 ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(DiffRatios):
    """The triplets of one output size, on average over the outputs."""

    output_size: int
    possible: int
    """Triplets whose ratio can be below 40 % at this output size."""

    @property
    def near(self) -> float:
        """How many ratios are below 40 %."""
        return sum(self.below[:_BINS])


def figure_6(lab: Laboratory) -> pages.Page:
    """Bars for both output sizes, averaged over ten outputs."""
    moved = {size: _moved(lab, size) for size in published.FIGURE_6}
    bound = pages.against_bound(
        [(near, float(FIXED[1])) for near in published.FIGURE_6.values()],
        what="published shares of triplets with a ratio below 40 %",
        why="a triplet that is not shown has a ratio of 100 %, and each is shown with a "
        "probability of at most δ = 0.5",
    )
    here = [
        pages.observed(
            holds=bool(m.triplets) and m.near >= published.FIGURE_6[size] * m.triplets,
            what=f"At |O| = {size:,} the ratio of about {published.FIGURE_6[size]:.0%} of triplets "
            "is below 40 %",
            seen=f"on this log of {m.near:,.1f} of {m.triplets:,}, at {m.output_size:,} clicks",
        )
        for size, m in moved.items()
    ]
    explained = pages.prose(
        "On this log",
        "Ten outputs are drawn for the F-UMP solutions of Table 6 at s = 1/500.",
        "A triplet that is not shown has a ratio of exactly 100 %.",
        "One that is shown can have a ratio below 40 % only if the user clicked the pair at least "
        "|D| / (1.4·|O|) times, because one click is the least that can be shown.",
    )
    sizes = ["published |O|", "|O| here"]
    rows = pages.table(
        [*sizes, "triplets", "shown", "below 40 %", "at most, by size", "at most, by δ"],
        [_row(size, m) for size, m in moved.items()],
        caption="Triplets of frequent pairs by their ratio, on average.",
    )
    charts = [_chart(size, m) for size, m in moved.items() if m.triplets]
    return pages.Page([bound, *here], [explained, rows, *charts])


def _moved(lab: Laboratory, size: int) -> Moved:
    cell = by_size(lab)[published.FIGURE_6_SUPPORT, size]
    if cell.plan is None:
        nothing = Record(triplets=0, below=[], not_shown=0.0, above=0.0, possible=0)
        return Moved(output_size=cell.output_size, min_support="", samples=0, **nothing)
    plan = read_plan(cell.plan, lab.hist.pairs)
    parameters = {"plan": cell.plan, "outputs": published.FIGURE_6_OUTPUTS}
    return Moved(**lab.store.remember(f"triplets_{size}", parameters, lambda: _triplets(lab, plan)))


def _triplets(lab: Laboratory, plan: Plan) -> Record:
    totals = Totals(before=lab.hist.pair_total, after=plan.counts, query=lab.hist.query)
    given = lab.hist, totals, exact(published.FIGURE_6_SUPPORT)
    outputs = redrawn(lab.hist, plan.counts, published.FIGURE_6_OUTPUTS, SeededRandomness(0))
    needed = lab.hist.clicks / ((1 + _NEAR) * max(1, plan.size))
    return {
        "output_size": plan.size,
        **asdict(diff_ratios(*given, outputs)),
        "possible": int(np.count_nonzero(lab.hist.count[frequent_triplets(*given)] >= needed)),
    }


def _row(size: int, moved: Moved) -> list[str]:
    sizes = [f"{size:,}", f"{moved.output_size:,}"]
    if not moved.triplets:
        return [*sizes, *["–"] * 5]
    return [
        *sizes,
        f"{moved.triplets:,}",
        f"{moved.triplets - moved.not_shown:,.1f}",
        f"{moved.near:,.1f}",
        f"{moved.possible:,}",
        f"{float(FIXED[1]) * moved.triplets:,.1f}",
    ]


def _chart(size: int, moved: Moved) -> Chart:
    return bar_chart(
        Bars(
            names=[*(f"<{10 * n}" for n in range(1, 11)), "more"],
            values=[*moved.below, moved.above],
            value_name="triplets",
        ),
        name=f"figure-6-{size}",
        title=f"DiffRatio of shown triplets, |O| = {moved.output_size:,} (published {size:,})",
        summary=f"{moved.not_shown:,.1f} of {moved.triplets:,} triplets are not shown and have "
        "a ratio of 100 %.",
        x_title="difference in percent",
        y_title="triplets",
    )


EXPERIMENTS = (
    Experiment("6.3", "Figure 3: F-UMP performance", figure_3),
    Experiment("6.3", "Table 5: recall of frequent pairs", table_5),
    Experiment("6.3", "Table 6: sum of support distances of frequent pairs", table_6),
    Experiment("6.5", "Figure 6: difference ratio of triplets", figure_6),
)
