"""Table 3: how large the logs are, whole and without unique pairs."""

from __future__ import annotations

from dataclasses import asdict

from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Table
from slogan.reproduction._verdicts import observed

SECTION = "6.1"
TITLE = "Table 3: characteristics of the data sets"


def page(lab: Laboratory) -> Page:
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
