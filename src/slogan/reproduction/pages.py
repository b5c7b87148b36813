"""Pages of the reproduction as Markdown, and verdicts on what the paper prints.

A verdict says whether a published value can be reached on any log, or holds on this one, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from slogan.report.svg import Chart

REAL = (
    "> **For the curator alone.** Computed from a log of real people without any noise. "
    "It spends no budget because nothing of it is released; to publish it would."
)
MADE_UP = "> Computed on a log that `slogan generate` made up: no person is behind it."


class Kind(StrEnum):
    """What can be said of a published value or sentence."""

    UNREACHABLE = "not reachable"
    """A proof excludes it for every log of the published size."""
    POSSIBLE = "not excluded"
    """No proof here excludes it."""
    HOLDS = "holds here"
    """It is so on the log of this reproduction."""
    FAILS = "does not hold here"
    """It is not so on the log of this reproduction."""
    CONTRADICTORY = "contradicts itself"
    """Published numbers exclude each other, whatever the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A kind, and one plain sentence that says why."""

    kind: Kind
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of words under headings."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Sentences, one a line."""

    heading: str = ""
    sentences: Sequence[str] = ()


Block = Table | Prose | Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Results on one table or figure of the paper."""

    verdicts: Sequence[Verdict]
    blocks: Sequence[Block]

    @property
    def charts(self) -> list[Chart]:
        """The pictures that go beside the page."""
        return [block for block in self.blocks if isinstance(block, Chart)]


def markdown(page: Page, *, title: str, banner: str) -> str:
    """The page as a file."""
    parts = [f"# {title}", banner, "## Verdict", _verdicts(page.verdicts)]
    parts += [_block(block) for block in page.blocks]
    return "\n\n".join(parts) + "\n"


def _verdicts(verdicts: Sequence[Verdict]) -> str:
    return "\n".join(f"- **{verdict.kind}**: {_escaped(verdict.why)}" for verdict in verdicts)


def _block(block: Block) -> str:
    if isinstance(block, Table):
        return f"{_escaped(block.caption)}\n\n{table(block.headings, block.rows)}"
    if isinstance(block, Prose):
        heading = [f"## {block.heading}"] if block.heading else []
        lines = ["\n".join(_escaped(s) for s in block.sentences)] if block.sentences else []
        return "\n\n".join(heading + lines)
    return f"![{_escaped(f'{block.title}: {block.summary}')}]({block.name}.svg)"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is words, the others are numbers."""
    lines = [_line(headings), "|---|" + "---:|" * (len(headings) - 1)]
    return "\n".join([*lines, *(_line(row) for row in rows)])


def grid(
    caption: str,
    corner: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Callable[[int, int], str],
) -> Table:
    """A table with a cell for every row and column."""
    return Table(
        caption=caption,
        headings=[corner, *columns],
        rows=[[row, *(cell(n, k) for k in range(len(columns)))] for n, row in enumerate(rows)],
    )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(words: str) -> str:
    return words.replace("|", "\\|")


def share(value: float | None) -> str:
    """A share or a distance with four digits; a dash where there is none."""
    return "–" if value is None else f"{value:.4f}"


def against_bound(cells: Iterable[tuple[float, float]], *, what: str, why: str) -> Verdict:
    """Published values beside bounds that none can pass.

    Args:
        cells: Each published value with its bound.
        what: What a cell is, such as "cells of Table 4"; in the singular if there is one.
        why: The reason for the bound, to follow "because".
    """
    pairs = list(cells)
    over = [published / bound for published, bound in pairs if published > bound]
    if not over:
        return Verdict(
            kind=Kind.POSSIBLE,
            why=f"No proof here excludes the {what}: all {len(pairs)} are within the bound.",
        )
    factors = " to ".join(dict.fromkeys([_factor(min(over)), _factor(max(over))]))
    many = f"{len(over)} of {len(pairs)} {what} exceed" if len(pairs) > 1 else f"The {what} exceeds"
    return Verdict(
        kind=Kind.UNREACHABLE, why=f"{many} the bound, by a factor of {factors}, because {why}."
    )


def _factor(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.1f}"


def observed(*, holds: bool, what: str, seen: str) -> Verdict:
    """A sentence of the paper held against this log."""
    return Verdict(kind=Kind.HOLDS if holds else Kind.FAILS, why=f"{what}: {seen}.")


def optima_over_fewer_pairs(rows: Sequence[Sequence[float]], *, what: str) -> Verdict:
    """Whether optimal values fall where fewer pairs are summed over, as they must.

    For every x the sum of distances over more pairs is at least that over fewer of them, so the
    smallest sum is so too. Rows come with rising minimum support: fewer and fewer pairs.
    """
    steps = [
        (column, row)
        for row in range(len(rows) - 1)
        for column in range(len(rows[row]))
        if rows[row][column] < rows[row + 1][column]
    ]
    columns = len({column for column, _ in steps})
    every = sum(len(row) for row in rows[:-1])
    if not steps:
        return Verdict(
            kind=Kind.POSSIBLE,
            why=f"{what} never rise with the minimum support, as optima must not.",
        )
    return Verdict(
        kind=Kind.CONTRADICTORY,
        why=f"{what} rise with the minimum support in {len(steps)} of {every} steps, in {columns} "
        f"of {len(rows[0])} columns, but the smallest sum over fewer pairs cannot be larger: "
        "these are not all optima of one problem.",
    )
