"""Section 6.3: F-UMP by minimum support, output size and budget (Tables 5 and 6, Figure 3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction

import numpy as np

from slogan.budget import PrivacyBudget, exact
from slogan.measures import Totals, supports
from slogan.planning.budget_sweep import SweepPoint, climb
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.report.charts import Line, line_chart
from slogan.report.svg import Chart
from slogan.reproduction import published
from slogan.reproduction.laboratory import Experiment, Laboratory, Record, read_step, step_record
from slogan.reproduction.pages import (
    Block,
    Kind,
    Page,
    Prose,
    Table,
    Verdict,
    against_bound,
    grid,
    observed,
    optima_over_fewer_pairs,
    share,
)
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """A solution of F-UMP and the measures of section 6.3."""

    step: SweepPoint
    pairs: supports.FrequentSupports
    recall_bound: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """F-UMP at one output size; without an optimum where that size is out of reach."""

    output_size: int
    optimum: Optimum | None = None

    def record(self) -> Record:
        """The cell as JSON."""
        if self.optimum is None:
            return {"output_size": self.output_size}
        return {
            "output_size": self.output_size,
            **step_record(self.optimum.step),
            **asdict(self.optimum.pairs),
            "recall_bound": self.optimum.recall_bound,
        }

    @classmethod
    def read(cls, record: Record, pairs: int) -> Cell:
        """A cell as `record` wrote it, of a log with so many pairs."""
        if "value" not in record:
            return cls(output_size=record["output_size"])
        names = [field.name for field in fields(supports.FrequentSupports)]
        optimum = Optimum(
            step=read_step(record, pairs),
            pairs=supports.FrequentSupports(**{name: record[name] for name in names}),
            recall_bound=record["recall_bound"],
        )
        return cls(output_size=record["output_size"], optimum=optimum)


BySize = Mapping[tuple[str, int], Cell]
"""By minimum support and published |O|."""
ByBudget = Mapping[tuple[str, str], Cell]
"""By e^ε and δ."""
Measure = Callable[[Optimum], float | None]


def by_size(lab: Laboratory) -> BySize:
    """F-UMP at e^ε = 2 and δ = 0.5."""
    keys = [(support, size) for support in published.SUPPORTS for size in published.SIZES]

    def compute() -> Record:
        note, cells = lab.noted("F-UMP"), Record()
        budget = published.BUDGETS[published.FIXED]
        for n, (support, size) in enumerate(keys):
            note(n, len(keys))
            here = lab.scaled(size)
            step = _climbed(lab, support, here, [budget]).get(budget.allowance)
            cells[f"{support} {size}"] = _cell(lab, support, here, step).record()
        return cells

    cells = lab.store.remember("frequent_pairs", {"seconds": lab.seconds.supports}, compute)
    return {(s, n): Cell.read(cells[f"{s} {n}"], lab.hist.pairs) for s, n in keys}


def by_budget(lab: Laboratory) -> ByBudget:
    """F-UMP at the support and the scaled output size of Figure 3."""

    def compute() -> Record:
        size, support = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SUPPORT
        steps = _climbed(lab, support, size, published.BUDGETS.values())
        return {
            f"{e} {d}": _cell(lab, support, size, steps.get(budget.allowance)).record()
            for (e, d), budget in published.BUDGETS.items()
        }

    parameters = {"seconds": lab.seconds.supports}
    cells = lab.store.remember("frequent_pairs_by_budget", parameters, compute)
    return {(e, d): Cell.read(cells[f"{e} {d}"], lab.hist.pairs) for e, d in published.BUDGETS}


def _climbed(
    lab: Laboratory, support: str, size: int, budgets: Iterable[PrivacyBudget]
) -> dict[Fraction, SweepPoint]:
    if size < 1:
        return {}
    return climb(
        lab.hist,
        budgets,
        FrequentPairs(min_support=support, output_size=size),
        effort=lab.effort(lab.seconds.supports),
        largest=lab.largest,
    )


def _cell(lab: Laboratory, support: str, size: int, step: SweepPoint | None) -> Cell:
    if step is None:
        return Cell(output_size=size)
    totals = Totals(before=lab.hist.pair_total, after=step.plan.counts, query=lab.hist.query)
    optimum = Optimum(
        step=step,
        pairs=supports.frequent_pairs(totals, exact(support)),
        recall_bound=_recall_bound(lab, support, size),
    )
    return Cell(output_size=size, optimum=optimum)


def _recall_bound(lab: Laboratory, support: str, size: int) -> float | None:
    """No output of this size keeps more: a pair that stays frequent needs ⌈s·|O|⌉ ≤ u_ij clicks."""
    totals = Totals(before=lab.hist.pair_total, after=lab.hist.pair_total, query=lab.hist.query)
    frequent = totals.frequent_before(exact(support))
    if not frequent.any():
        return None
    needed = max(1, math.ceil(exact(support) * size))
    fitting = int(np.count_nonzero(lab.fixed.upper[frequent] >= needed))
    return min(fitting, size // needed) / int(np.count_nonzero(frequent))


def _value(optimum: Optimum) -> float:
    return optimum.step.value


def _recall(optimum: Optimum) -> float | None:
    return optimum.pairs.recall


def _average_distance(optimum: Optimum) -> float | None:
    return optimum.pairs.average_support_distance


def _measured(cell: Cell, measure: Measure) -> float | None:
    return None if cell.optimum is None else measure(cell.optimum)


def _known(cells: Iterable[Cell], measure: Measure) -> list[float]:
    """The measure where it is defined."""
    values = (_measured(cell, measure) for cell in cells)
    return [value for value in values if value is not None]


# --- Tables 5 and 6 ---


def table_5(lab: Laboratory) -> Page:
    """Published recall, and ours at sizes in the same proportion to λ."""
    cells = by_size(lab)
    return Page(
        verdicts=[_size_verdict(), _recall_verdict(cells), _precision_verdict(cells)],
        blocks=[
            _published_grid("Published recall at e^ε = 2, δ = 0.5.", published.TABLE_5),
            Prose(heading="On this log", sentences=_scaling(lab)),
            _our_grid(
                "Recall and, in brackets, what no output of that size can exceed.",
                cells,
                _recall,
                lambda optimum: optimum.recall_bound,
            ),
        ],
    )


def table_6(lab: Laboratory) -> Page:
    """Published sums, what they say about each other, and the proven optima of this log."""
    cells = by_size(lab)
    return Page(
        verdicts=[
            _size_verdict(),
            optima_over_fewer_pairs(published.TABLE_6, what="The published sums"),
            _rising(cells),
        ],
        blocks=[
            _published_grid("Published sums at e^ε = 2, δ = 0.5.", published.TABLE_6),
            Prose(heading="On this log", sentences=_scaling(lab)),
            _our_grid(
                "Sum of support distances and, in brackets, what no output of that size can go "
                "below.",
                cells,
                _value,
                lambda optimum: optimum.step.bound,
            ),
        ],
    )


def _size_verdict() -> Verdict:
    """|O| of Tables 5 and 6 against m·b of the published log."""
    bound = published.most_clicks(*published.FIXED)
    return against_bound(
        [(size, bound) for size in published.SIZES],
        what="output sizes of the table",
        why=f"at e^ε = 2 and δ = 0.5 no output of 1,980 users has more than m·b = {bound:,.1f} "
        "clicks",
    )


def _scaling(lab: Laboratory) -> list[str]:
    """How published sizes become sizes of this log."""
    largest = lab.largest[lab.fixed.allowance]
    sizes = ", ".join(f"{size:,} → {lab.scaled(size):,}" for size in published.SIZES)
    return [
        f"λ of this log is {largest.value:,.0f}, proven to be at most {largest.bound:,.0f}.",
        f"Each |O| is in the same proportion to it as the published one to 13,088: {sizes}.",
        "A pair can stay frequent only if its share of |O|, in whole clicks, fits the budget.",
        "Where |O| < 1/s every released pair is frequent in the output, for one click is enough.",
    ]


def _published_grid(caption: str, values: tuple[tuple[float, ...], ...]) -> Table:
    return grid(
        caption,
        "s \\ |O|",
        published.SUPPORTS,
        [f"{size:,}" for size in published.SIZES],
        lambda row, column: f"{values[row][column]:.4f}",
    )


def _our_grid(caption: str, cells: BySize, measure: Measure, bound: Measure) -> Table:
    """The same table for this log, with the bound in brackets."""

    def words(row: int, column: int) -> str:
        optimum = cells[published.SUPPORTS[row], published.SIZES[column]].optimum
        if optimum is None:
            return "–"
        return f"{share(measure(optimum))} ({share(bound(optimum))})"

    columns = [f"{cells[published.SUPPORTS[0], size].output_size:,}" for size in published.SIZES]
    return grid(caption, "s \\ |O| here", published.SUPPORTS, columns, words)


def _recall_verdict(cells: BySize) -> Verdict:
    recalls = _known(cells.values(), _recall)
    ends = f"from {min(recalls):.2f} to {max(recalls):.2f}" if recalls else "undefined"
    return observed(
        holds=bool(recalls) and min(recalls) > 0.8,
        what="Over 80 % of frequent pairs are retained",
        seen=f"on this log recall runs {ends}",
    )


def _precision_verdict(cells: BySize) -> Verdict:
    known = _known(cells.values(), lambda optimum: optimum.pairs.precision)
    ones = sum(precision == 1.0 for precision in known)
    least = f", the least is {min(known):.2f}" if known else ""
    return observed(
        holds=bool(known) and ones == len(known),
        what="Precision is always 1",
        seen=f"on this log in {ones} of {len(known)} cells{least}; the clicks of |O| for which "
        "frequent pairs have no room go to other pairs, which may become frequent",
    )


def _rising(cells: BySize) -> Verdict:
    rows = [_known([cells[s, n] for n in published.SIZES], _value) for s in published.SUPPORTS]
    steps = [(a, b) for row in rows for a, b in itertools.pairwise(row)]
    rising = sum(b >= a for a, b in steps)
    return observed(
        holds=bool(steps) and rising == len(steps),
        what="At a fixed s the sum increases with |O|",
        seen=f"on this log in {rising} of {len(steps)} steps",
    )


# --- Figure 3 ---


def figure_3(lab: Laboratory) -> Page:
    """(a) and (b) over the grid of budgets, (c) over supports and sizes."""
    budgets, sizes = by_budget(lab), by_size(lab)
    size, part = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SIZE / published.LARGEST
    return Page(
        verdicts=[_drawn_size(), _published_averages(), _trend(budgets), _averages(sizes)],
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
            *_over_budgets(budgets, _recall, "recall", "Recall at s = 1/500.", "figure-3a"),
            *_over_budgets(
                budgets,
                lambda optimum: optimum.pairs.sum_support_distance,
                "sum support distance",
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
                    sizes[published.SUPPORTS[row], published.SIZES[column]]
                ),
            ),
            _chart_c(sizes),
        ],
    )


def _drawn_size() -> Verdict:
    return against_bound(
        [(published.FIGURE_3_SIZE, published.most_clicks(e, d)) for e, d in published.BUDGETS],
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


def _trend(cells: ByBudget) -> Verdict:
    known = sorted(
        (published.BUDGETS[key].allowance, cell.optimum.step.value)
        for key, cell in cells.items()
        if cell.optimum is not None
    )
    falling = all(a[1] >= b[1] for a, b in itertools.pairwise(known))
    ends = f"from {known[0][1]:.4f} to {known[-1][1]:.4f}" if known else "nowhere to be seen"
    return observed(
        holds=falling and bool(known),
        what="The sum of support distances falls as b grows and stays where b does",
        seen=f"on this log it runs {ends} over the {len(known)} of {len(cells)} budgets that "
        "allow the size",
    )


def _averages(cells: BySize) -> Verdict:
    smallest = [cells[s, published.SIZES[0]] for s in published.SUPPORTS]
    known = _known(smallest, _average_distance)
    falling = all(a >= b for a, b in itertools.pairwise(known))
    ends = f"from {known[0]:.5f} to {known[-1]:.5f}" if known else "nowhere to be seen"
    return observed(
        holds=falling and len(known) > 1 and known[0] > known[-1],
        what="The average support distance decreases as s increases",
        seen=f"on this log it runs {ends} as s goes from 1/1000 to 1/100, at the smallest |O|",
    )


def _over_budgets(
    cells: ByBudget, measure: Measure, label: str, caption: str, name: str
) -> list[Block]:
    lines = [
        Line(
            name=f"δ = {delta}",
            points=[
                (published.BUDGETS[e, delta].epsilon_value, value)
                for e in EXP_EPSILONS
                if (value := _measured(cells[e, delta], measure)) is not None
            ],
        )
        for delta in DELTAS
    ]
    table = grid(
        caption,
        "e^ε \\ δ",
        EXP_EPSILONS,
        DELTAS,
        lambda row, column: share(_measured(cells[EXP_EPSILONS[row], DELTAS[column]], measure)),
    )
    chart = line_chart(
        [line for line in lines if line.points],
        None,
        name=name,
        title=caption.rstrip("."),
        summary="One line for each δ at which the output size can be reached.",
        x_title="ε",
        y_title=label,
    )
    return [table, chart]


def _average(cell: Cell) -> str:
    value = _measured(cell, _average_distance)
    return "–" if value is None else f"{value:.6f}"


def _chart_c(cells: BySize) -> Chart:
    lines = [
        Line(
            name=f"|O| = {size}",
            points=[
                (float(Fraction(s)), value)
                for s in published.SUPPORTS
                if (value := _measured(cells[s, size], _average_distance)) is not None
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


EXPERIMENTS = (
    Experiment(name="figure3", section="6.3", title="Figure 3: F-UMP performance", page=figure_3),
    Experiment(
        name="table5", section="6.3", title="Table 5: recall of frequent pairs", page=table_5
    ),
    Experiment(
        name="table6",
        section="6.3",
        title="Table 6: sum of support distances of frequent pairs",
        page=table_6,
    ),
)
