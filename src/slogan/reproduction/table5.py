"""Table 5: recall of frequent pairs by minimum support and output size."""

from __future__ import annotations

from collections.abc import Mapping

from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose, Table, grid, share
from slogan.reproduction._supports import Cell, cells
from slogan.reproduction._verdicts import Verdict, against_bound, observed

SECTION = "6.3"
TITLE = "Table 5: recall of frequent pairs"


def page(lab: Laboratory) -> Page:
    """Published recall, and ours at sizes in the same proportion to λ."""
    found = cells(lab)
    return Page(
        verdicts=[size_verdict(lab), _recall(found), _precision(found)],
        blocks=[
            published_grid("Published recall at e^ε = 2, δ = 0.5.", published.TABLE_5),
            Prose(heading="On this log", sentences=scaling(lab)),
            our_grid(
                "Recall and, in brackets, what no output of that size can exceed.",
                found,
                "recall",
                "recall_bound",
            ),
        ],
    )


def size_verdict(lab: Laboratory) -> Verdict:
    """|O| of Tables 5 and 6 against m·b of the published log."""
    bound = published.USERS * lab.fixed.limit
    return against_bound(
        [(size, bound) for size in published.SIZES],
        what="output sizes of the table",
        why=f"at e^ε = 2 and δ = 0.5 no output of 1,980 users has more than m·b = {bound:,.1f} "
        "clicks",
    )


def scaling(lab: Laboratory) -> list[str]:
    """How sizes were carried over."""
    largest = lab.largest[lab.fixed.allowance]
    sizes = ", ".join(f"{size:,} → {lab.scaled(size):,}" for size in published.SIZES)
    return [
        f"λ of this log is {largest.value:,.0f}, proven to be at most {largest.bound:,.0f}.",
        f"Each |O| is in the same proportion to it as the published one to 13,088: {sizes}.",
        "A pair can stay frequent only if its share of |O|, in whole clicks, fits the budget.",
        "Where |O| < 1/s every released pair is frequent in the output, for one click is enough.",
    ]


def published_grid(caption: str, values: tuple[tuple[float, ...], ...]) -> Table:
    """A published table by support and size."""
    return grid(
        caption,
        "s \\ |O|",
        published.SUPPORTS,
        [f"{size:,}" for size in published.SIZES],
        lambda row, column: f"{values[row][column]:.4f}",
    )


def our_grid(
    caption: str, found: Mapping[tuple[str, int], Cell], measure: str, bound: str
) -> Table:
    """The same table for this log, with the bound in brackets."""

    def told(row: int, column: int) -> str:
        cell = found[published.SUPPORTS[row], published.SIZES[column]]
        if "value" not in cell:
            return "–"
        return f"{share(cell.get(measure))} ({share(cell.get(bound))})"

    columns = [f"{found[published.SUPPORTS[0], size]['output_size']:,}" for size in published.SIZES]
    return grid(caption, "s \\ |O| here", published.SUPPORTS, columns, told)


def _recall(found: Mapping[tuple[str, int], Cell]) -> Verdict:
    recalls = [cell["recall"] for cell in found.values() if cell.get("recall") is not None]
    ends = f"from {min(recalls):.2f} to {max(recalls):.2f}" if recalls else "undefined"
    return observed(
        holds=bool(recalls) and min(recalls) > 0.8,
        what="Over 80 % of frequent pairs are retained",
        seen=f"on this log recall runs {ends}",
    )


def _precision(found: Mapping[tuple[str, int], Cell]) -> Verdict:
    known = [cell["precision"] for cell in found.values() if cell.get("precision") is not None]
    ones = sum(precision == 1.0 for precision in known)
    least = f", the least is {min(known):.2f}" if known else ""
    return observed(
        holds=bool(known) and ones == len(known),
        what="Precision is always 1",
        seen=f"on this log in {ones} of {len(known)} cells{least}; the clicks of |O| for which "
        "frequent pairs have no room go to other pairs, which may become frequent",
    )
