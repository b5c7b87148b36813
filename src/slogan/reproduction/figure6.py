"""Figure 6: how far the triplets of frequent pairs move, as DiffRatio [eq. 10]."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from slogan.privacy import exact
from slogan.randomness import SeededRandomness
from slogan.report.charts.bars import Bars, bar_chart
from slogan.report.charts.svg import Chart
from slogan.report.measures.totals import Totals
from slogan.report.measures.triplets import Triplets, redrawn
from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory, read_step
from slogan.reproduction._pages import Block, Page, Prose, Table
from slogan.reproduction._store import Found
from slogan.reproduction._supports import cells
from slogan.reproduction._verdicts import Verdict, against_bound, observed

SECTION = "6.5"
TITLE = "Figure 6: difference ratio of triplets"
_NEAR = 0.4
_BINS = 4
"""The first four tenths are the ratios below 40 %."""


def page(lab: Laboratory) -> Page:
    """Bars for both output sizes, averaged over ten outputs."""
    found = {size: _ratios(lab, size) for size in published.FIGURE_6}
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
            rows=[_row(size, told) for size, told in found.items()],
        ),
        *(_chart(size, told) for size, told in found.items() if told["triplets"]),
    ]
    return Page(verdicts=[_published(lab), *(_here(s, t) for s, t in found.items())], blocks=blocks)


def _ratios(lab: Laboratory, size: int) -> dict[str, Any]:
    support, outputs = published.FIGURE_6_SUPPORT, published.FIGURE_6_OUTPUTS
    cell = cells(lab)[support, size]
    if "value" not in cell:
        return {"output_size": cell["output_size"], "triplets": 0}

    def compute() -> Found:
        counts = read_step(cell, lab.hist.pairs).plan.counts
        totals = Totals(before=lab.hist.pair_total, after=counts, query=lab.hist.query)
        triplets = Triplets.frequent(lab.hist, totals, exact(support))
        drawn = redrawn(lab.hist, counts, outputs, SeededRandomness(0))
        clicks = lab.hist.count[triplets.rows]
        needed = lab.hist.clicks / ((1 + _NEAR) * max(1, int(counts.sum())))
        return {
            "output_size": int(counts.sum()),
            **asdict(triplets.diff_ratios(drawn)),
            "possible": int(np.count_nonzero(clicks >= needed)),
        }

    parameters = {"plan": cell["plan"], "outputs": outputs}
    return lab.part(f"triplets_{size}", parameters, compute)


def _published(lab: Laboratory) -> Verdict:
    bound = float(published.FIXED[1])
    del lab
    return against_bound(
        [(near, bound) for near in published.FIGURE_6.values()],
        what="published shares of triplets with a ratio below 40 %",
        why="a triplet that is not shown has a ratio of 100 %, and each is shown with a "
        "probability of at most δ = 0.5",
    )


def _here(size: int, told: dict[str, Any]) -> Verdict:
    near, of = sum(told.get("below", [])[:_BINS]), told["triplets"]
    claimed = published.FIGURE_6[size]
    return observed(
        holds=bool(of) and near >= claimed * of,
        what=f"At |O| = {size:,} the ratio of about {claimed:.0%} of triplets is below 40 %",
        seen=f"on this log of {near:,.1f} of {of:,}, at {told['output_size']:,} clicks",
    )


def _row(size: int, told: dict[str, Any]) -> list[str]:
    if not told["triplets"]:
        return [f"{size:,}", f"{told['output_size']:,}", *["–"] * 5]
    shown = told["triplets"] - told["not_shown"]
    return [
        f"{size:,}",
        f"{told['output_size']:,}",
        f"{told['triplets']:,}",
        f"{shown:,.1f}",
        f"{sum(told['below'][:_BINS]):,.1f}",
        f"{told['possible']:,}",
        f"{float(published.FIXED[1]) * told['triplets']:,.1f}",
    ]


def _chart(size: int, told: dict[str, Any]) -> Chart:
    return bar_chart(
        Bars(
            names=[*(f"<{10 * n}" for n in range(1, 11)), "more"],
            values=[*told["below"], told["above"]],
            value_name="triplets",
        ),
        name=f"figure-6-{size}",
        title=f"DiffRatio of shown triplets, |O| = {told['output_size']:,} (published {size:,})",
        summary=f"{told['not_shown']:,.1f} of {told['triplets']:,} triplets are not shown and have "
        "a ratio of 100 %.",
        x_title="difference in percent",
        y_title="triplets",
    )
