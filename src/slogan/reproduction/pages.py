"""Pages of the reproduction as Markdown, and verdicts on the published values.

A verdict states whether a published value is possible on any log, or holds on this one, and why.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from slogan.report.charts import Chart

REAL = (
    "> **For the curator only.** Computed from a log of real people without any noise. "
    "Do not publish it: publishing would spend an unlimited budget."
)
MADE_UP = "> Computed on a made-up log by `slogan generate`, without data of real people."


class Kind(StrEnum):
    """The verdict on a published value or sentence."""

    UNREACHABLE = "not reachable"
    """A proof excludes it for every log of the published size."""
    POSSIBLE = "not excluded"
    """No proof here excludes it."""
    HOLDS = "holds here"
    """It holds on the log of this reproduction."""
    FAILS = "does not hold here"
    """It does not hold on the log of this reproduction."""
    CONTRADICTORY = "contradicts itself"
    """Published numbers exclude each other, for any log."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A kind, and one plain sentence with the reason."""

    kind: Kind
    why: str


Block = str | Chart
"""Markdown, or a picture saved next to the page."""


@dataclass(frozen=True, slots=True)
class Page:
    """Results on one table or figure of the paper."""

    verdicts: Sequence[Verdict]
    blocks: Sequence[Block]

    @property
    def charts(self) -> list[Chart]:
        """The pictures saved next to the page."""
        return [block for block in self.blocks if isinstance(block, Chart)]


def markdown(page: Page, *, title: str, banner: str) -> str:
    """The page as a file."""
    verdicts = [f"- **{verdict.kind}**: {_escaped(verdict.why)}" for verdict in page.verdicts]
    blocks = [
        f"![{_escaped(f'{block.title}: {block.summary}')}]({block.name}.svg)"
        if isinstance(block, Chart)
        else block
        for block in page.blocks
    ]
    return "\n\n".join([f"# {title}", banner, "## Verdict", "\n".join(verdicts), *blocks]) + "\n"


def prose(heading: str, *sentences: str) -> str:
    """Sentences under a heading, one a line."""
    return f"## {heading}\n\n" + _escaped("\n".join(sentences))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "") -> str:
    """A table; the first column is text, the others are numbers."""
    first, *others = (f"| {' | '.join(map(_escaped, cells))} |" for cells in (headings, *rows))
    lines = [first, "|---|" + "---:|" * (len(headings) - 1), *others]
    return (f"{_escaped(caption)}\n\n" if caption else "") + "\n".join(lines)


Cells = Mapping[tuple[str, str], str] | Mapping[tuple[str, int], str]
"""By row and column."""


def grid(caption: str, corner: str, cells: Cells, columns: Iterable[str] | None = None) -> str:
    """A table of cells; the headings of columns are their keys if not given."""
    rows = {row: [row] for row, _ in cells}
    for (row, _), words in cells.items():
        rows[row].append(words)
    headings = dict.fromkeys(str(column) for _, column in cells) if columns is None else columns
    return table([corner, *headings], rows.values(), caption=caption)


def _escaped(words: str) -> str:
    return words.replace("|", "\\|")


def share(value: float | None, *, digits: int = 4) -> str:
    """A share or a distance; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def against_bound(cells: Iterable[tuple[float, float]], *, what: str, why: str) -> Verdict:
    """Compare published values with proven bounds.

    Args:
        cells: Each published value with its bound.
        what: What a cell is, such as "cells of Table 4"; in the singular if there is one.
        why: The reason for the bound, to follow "because".
    """
    pairs = list(cells)
    over = [published / bound for published, bound in pairs if published > bound]
    if not over:
        within = f"all {len(pairs)} are within the bound"
        return Verdict(Kind.POSSIBLE, f"No proof here excludes the {what}: {within}.")
    ends = (f"{n:,.0f}" if n >= 100 else f"{n:.1f}" for n in (min(over), max(over)))
    factors = " to ".join(dict.fromkeys(ends))
    many = f"{len(over)} of {len(pairs)} {what} exceed" if len(pairs) > 1 else f"The {what} exceeds"
    reason = f"{many} the bound, by a factor of {factors}, because {why}."
    return Verdict(Kind.UNREACHABLE, reason)


def observed(*, holds: bool, what: str, seen: str) -> Verdict:
    """A sentence of the paper compared with this log."""
    return Verdict(Kind.HOLDS if holds else Kind.FAILS, f"{what}: {seen}.")


def optima_over_fewer_pairs(rows: Sequence[Sequence[float]], *, what: str) -> Verdict:
    """Check that optimal values fall where fewer pairs are summed, as they must.

    For every x the sum of distances over more pairs is at least that over fewer of them, so the
    same holds for the smallest sum. Rows have increasing minimum support: fewer and fewer pairs.
    """
    rises = np.diff(np.array(rows), axis=0) > 0
    if not rises.any():
        never = "never rise with the minimum support, as optima must not"
        return Verdict(Kind.POSSIBLE, f"{what} {never}.")
    return Verdict(
        Kind.CONTRADICTORY,
        f"{what} rise with the minimum support in {rises.sum()} of {rises.size} steps, in "
        f"{rises.any(axis=0).sum()} of {rises.shape[1]} columns, but the smallest sum over fewer "
        "pairs cannot be larger: these are not all optima of one problem.",
    )
