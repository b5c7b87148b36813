"""Table 6: the sum of support distances of frequent pairs by minimum support and output size."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose
from slogan.reproduction._supports import Cell, cells
from slogan.reproduction._verdicts import Verdict, observed, optima_over_fewer_pairs
from slogan.reproduction.table5 import our_grid, published_grid, scaling, size_verdict

SECTION = "6.3"
TITLE = "Table 6: sum of support distances of frequent pairs"


def page(lab: Laboratory) -> Page:
    """Published sums, what they say about each other, and the proven optima of this log."""
    found = cells(lab)
    return Page(
        verdicts=[
            size_verdict(lab),
            optima_over_fewer_pairs(published.TABLE_6, what="The published sums"),
            _rising(found),
        ],
        blocks=[
            published_grid("Published sums at e^ε = 2, δ = 0.5.", published.TABLE_6),
            Prose(heading="On this log", sentences=scaling(lab)),
            our_grid(
                "Sum of support distances and, in brackets, what no output of that size can go "
                "below.",
                found,
                "value",
                "bound",
            ),
        ],
    )


def _rising(found: Mapping[tuple[str, int], Cell]) -> Verdict:
    rows = [
        [found[s, n]["value"] for n in published.SIZES if "value" in found[s, n]]
        for s in published.SUPPORTS
    ]
    steps = [(a, b) for row in rows for a, b in itertools.pairwise(row)]
    rising = sum(b >= a for a, b in steps)
    return observed(
        holds=bool(steps) and rising == len(steps),
        what="At a fixed s the sum increases with |O|",
        seen=f"on this log in {rising} of {len(steps)} steps",
    )
