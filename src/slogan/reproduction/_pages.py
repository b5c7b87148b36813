"""Pages of the reproduction as Markdown: one sentence a line, tables, and pictures beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from slogan.report.charts.svg import Chart
from slogan.reproduction._verdicts import Verdict

REAL = (
    "> **For the curator alone.** Computed from a log of real people without any noise. "
    "It spends no budget because nothing of it is released; to publish it would."
)
MADE_UP = "> Computed on a log that `slogan generate` made up: no person is behind it."


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
    """What is told about one table or figure of the paper."""

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
        said = ["\n".join(_escaped(s) for s in block.sentences)] if block.sentences else []
        return "\n\n".join(heading + said)
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
