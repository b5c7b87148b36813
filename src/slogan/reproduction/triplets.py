"""Section 6.5: how far the triplets of frequent pairs move, as DiffRatio [eq. 10] (Figure 6)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

import numpy as np

from slogan.budget import exact
from slogan.measures import Totals
from slogan.measures.triplets import DiffRatios, Triplets, redrawn
from slogan.planning.budget_sweep import SweepPoint
from slogan.randomness import SeededRandomness
from slogan.report.charts import Bars, bar_chart
from slogan.report.svg import Chart
from slogan.reproduction import published
from slogan.reproduction.frequent_pairs import by_size
from slogan.reproduction.laboratory import Experiment, Laboratory, Record, step_record
from slogan.reproduction.pages import Block, Page, Prose, Table, Verdict, against_bound, observed

_NEAR = 0.4
_BINS = 4
"""The first four tenths are the ratios below 40 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The triplets of one output size, on average over the outputs."""

    output_size: int
    ratios: DiffRatios
    possible: int
    """Triplets whose ratio can be below 40 % at this output size."""

    @property
    def near(self) -> float:
        """How many ratios are below 40 %."""
        return sum(self.ratios.below[:_BINS])


def figure_6(lab: Laboratory) -> Page:
    """Bars for both output sizes, averaged over ten outputs."""
    moved = {size: _moved(lab, size) for size in published.FIGURE_6}
    blocks: list[Block] = [
        Prose(
            heading="On this log",
            sentences=[
                "Ten outputs are drawn for the F-UMP solutions of Table 6 at s = 1/500.",
                "A triplet that is not shown has a ratio of exactly 100 %.",
                "One that is shown can have a ratio below 40 % only if the user clicked the pair "
                "at least |D| / (1.4·|O|) times, because one click is the least that can be shown.",
            ],
        ),
        Table(
            caption="Triplets of frequent pairs by their ratio, on average.",
            headings=[
                "published |O|",
                "|O| here",
                "triplets",
                "shown",
                "below 40 %",
                "at most, by size",
                "at most, by δ",
            ],
            rows=[_row(size, here) for size, here in moved.items()],
        ),
        *(_chart(size, here) for size, here in moved.items() if here.ratios.triplets),
    ]
    return Page(verdicts=[_published(), *(_here(s, m) for s, m in moved.items())], blocks=blocks)


def _moved(lab: Laboratory, size: int) -> Moved:
    cell = by_size(lab)[published.FIGURE_6_SUPPORT, size]
    if cell.optimum is None:
        nothing = DiffRatios(
            min_support=published.FIGURE_6_SUPPORT,
            samples=0,
            triplets=0,
            below=[],
            not_shown=0.0,
            above=0.0,
        )
        return Moved(output_size=cell.output_size, ratios=nothing, possible=0)
    step = cell.optimum.step
    record = lab.store.remember(
        f"triplets_{size}",
        {"plan": step_record(step)["plan"], "outputs": published.FIGURE_6_OUTPUTS},
        lambda: _drawn(lab, step),
    )
    return Moved(
        output_size=record["output_size"],
        ratios=DiffRatios(**{field.name: record[field.name] for field in fields(DiffRatios)}),
        possible=record["possible"],
    )


def _drawn(lab: Laboratory, step: SweepPoint) -> Record:
    counts = step.plan.counts
    totals = Totals(before=lab.hist.pair_total, after=counts, query=lab.hist.query)
    triplets = Triplets.frequent(lab.hist, totals, exact(published.FIGURE_6_SUPPORT))
    outputs = redrawn(lab.hist, counts, published.FIGURE_6_OUTPUTS, SeededRandomness(0))
    clicks = lab.hist.count[triplets.rows]
    needed = lab.hist.clicks / ((1 + _NEAR) * max(1, step.plan.size))
    return {
        "output_size": step.plan.size,
        **asdict(triplets.diff_ratios(outputs)),
        "possible": int(np.count_nonzero(clicks >= needed)),
    }


def _published() -> Verdict:
    bound = float(published.FIXED[1])
    return against_bound(
        [(near, bound) for near in published.FIGURE_6.values()],
        what="published shares of triplets with a ratio below 40 %",
        why="a triplet that is not shown has a ratio of 100 %, and each is shown with a "
        "probability of at most δ = 0.5",
    )


def _here(size: int, moved: Moved) -> Verdict:
    of, claimed = moved.ratios.triplets, published.FIGURE_6[size]
    return observed(
        holds=bool(of) and moved.near >= claimed * of,
        what=f"At |O| = {size:,} the ratio of about {claimed:.0%} of triplets is below 40 %",
        seen=f"on this log of {moved.near:,.1f} of {of:,}, at {moved.output_size:,} clicks",
    )


def _row(size: int, moved: Moved) -> list[str]:
    ratios = moved.ratios
    if not ratios.triplets:
        return [f"{size:,}", f"{moved.output_size:,}", *["–"] * 5]
    return [
        f"{size:,}",
        f"{moved.output_size:,}",
        f"{ratios.triplets:,}",
        f"{ratios.triplets - ratios.not_shown:,.1f}",
        f"{moved.near:,.1f}",
        f"{moved.possible:,}",
        f"{float(published.FIXED[1]) * ratios.triplets:,.1f}",
    ]


def _chart(size: int, moved: Moved) -> Chart:
    ratios = moved.ratios
    return bar_chart(
        Bars(
            names=[*(f"<{10 * n}" for n in range(1, 11)), "more"],
            values=[*ratios.below, ratios.above],
            value_name="triplets",
        ),
        name=f"figure-6-{size}",
        title=f"DiffRatio of shown triplets, |O| = {moved.output_size:,} (published {size:,})",
        summary=f"{ratios.not_shown:,.1f} of {ratios.triplets:,} triplets are not shown and have "
        "a ratio of 100 %.",
        x_title="difference in percent",
        y_title="triplets",
    )


EXPERIMENTS = (
    Experiment(
        name="figure6",
        section="6.5",
        title="Figure 6: difference ratio of triplets",
        page=figure_6,
    ),
)
