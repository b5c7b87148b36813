"""FrontierPage: what the page about a frontier says. All of it depends on the raw log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slogan.report.html import render
from slogan.report.svg import Chart

CURATOR_ONLY = (
    "Computed from the raw log without any noise: for the curator, not for publication. It spends "
    "no budget because nothing of it is released; to publish it, or a part of it, would."
)
CHOICE = (
    "A budget that is chosen because of these numbers depends on the log too, and no guarantee "
    "covers the choice: fix the budget beforehand, or look at an older or a made-up log."
)
MONOTONE = (
    "The average is the mean of the dry runs of one budget. The value, which is drawn, is the "
    "largest average among this budget and all smaller ones, so it never falls as a budget grows."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPage:
    """A chart, and one table with a row for each point."""

    utility: str
    facts: Sequence[str]
    """Sentences about what was computed."""
    chart: Chart
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def warnings(self) -> tuple[str, str]:
        """What a reader must know."""
        return CURATOR_ONLY, CHOICE


def frontier_page(page: FrontierPage) -> str:
    """What each budget buys, for the curator alone."""
    return render("frontier.html", page)
