"""Table 7: the share of pairs that different solvers retain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slogan.privacy import PrivacyBudget
from slogan.reproduction import _published as published
from slogan.reproduction._answers import NAMES, Answer, answers
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page, Prose, Table, grid
from slogan.reproduction._verdicts import Kind, Verdict, against_bound, observed

SECTION = "6.4.2"
TITLE = "Table 7: retained diversity of different solvers"

Answers = Mapping[tuple[str, str], Mapping[str, Answer]]


def page(lab: Laboratory) -> Page:
    """The published solvers, and those of today on this log."""
    found = answers(lab)
    by_delta = [("2", delta) for delta in published.TABLE_7_DELTAS]
    by_power = [(power, "0.1") for power in published.TABLE_7_EXP_EPSILONS]
    return Page(
        verdicts=[_bound(), _same_b(), _heuristic(found)],
        blocks=[
            _published_table("(a) e^ε = 2", "δ", published.TABLE_7A, published.TABLE_7_DELTAS),
            _published_table(
                "(b) δ = 0.1", "e^ε", published.TABLE_7B, published.TABLE_7_EXP_EPSILONS
            ),
            Prose(
                heading="On this log",
                sentences=[
                    "The solvers of 2012 are replaced by Algorithm 2 itself, HiGHS, SCIP, CP-SAT, "
                    "a feasibility pump with an objective cut, and slogan's own.",
                    f"Each may take {lab.seconds.solver:g} seconds, the foreign ones in processes "
                    "of their own, and every answer has passed the gate.",
                    f"Cells are pairs and percent of {lab.hist.pairs:,}; a star marks an answer "
                    "that the solver calls optimal.",
                    *_absent(found),
                ],
            ),
            _our_table(lab, "(a) e^ε = 2", "δ", found, by_delta, published.TABLE_7_DELTAS),
            _our_table(lab, "(b) δ = 0.1", "e^ε", found, by_power, published.TABLE_7_EXP_EPSILONS),
        ],
    )


def _bound() -> Verdict:
    cells = [
        (
            percent / 100 * published.PAIRS,
            published.USERS * PrivacyBudget(exp_epsilon=power, delta=delta).per_user,
        )
        for _, power, delta, percent in published.table_7()
    ]
    return against_bound(
        cells,
        what="cells of Table 7",
        why="each retained pair is at least one released click, and there are at most m·b of them",
    )


def _same_b() -> Verdict:
    wide, wider = published.TABLE_7A["SPE (heuristic)"][-2:]
    return Verdict(
        kind=Kind.CONTRADICTORY,
        why=f"At e^ε = 2 Algorithm 2 retains {wide} % for δ = 0.5 and {wider} % for δ = 0.8, "
        "although b = log 2 in both and the algorithm draws nothing at random.",
    )


def _heuristic(found: Answers) -> Verdict:
    cells = [
        {name: answer["pairs"] for name, answer in row.items() if "pairs" in answer}
        for key, row in found.items()
        if key != published.FIGURE_5
    ]
    behind = [row for row in cells if row["spe"] < max(row.values())]
    worst = min((row["spe"] / max(row.values()) for row in behind), default=1.0)
    return observed(
        holds=2 * len(behind) < len(cells),
        what="Algorithm 2 performs better than other solvers in most cases",
        seen=f"on this log another solver retains more in {len(behind)} of {len(cells)} cells, and "
        f"Algorithm 2 as little as {worst:.0%} of the best",
    )


def _absent(found: Answers) -> list[str]:
    reasons = {
        f"{NAMES[name]} is missing: {answer['missing']}."
        for row in found.values()
        for name, answer in row.items()
        if "missing" in answer
    }
    return sorted(reasons)


def _published_table(
    part: str, axis: str, rows: Mapping[str, Sequence[float]], columns: Sequence[str]
) -> Table:
    values = list(rows.values())
    return grid(
        f"Published, {part}.",
        f"solver \\ {axis}",
        list(rows),
        columns,
        lambda row, column: f"{values[row][column]:.1f} %",
    )


def _our_table(
    lab: Laboratory,
    part: str,
    axis: str,
    found: Answers,
    keys: Sequence[tuple[str, str]],
    columns: Sequence[str],
) -> Table:
    names = list(NAMES)

    def cell(row: int, column: int) -> str:
        answer = found[keys[column]][names[row]]
        if "missing" in answer:
            return "–"
        star = "*" if answer["proven"] else ""
        return f"{answer['pairs']:,}{star} ({answer['pairs'] / max(1, lab.hist.pairs):.2%})"

    return grid(f"This log, {part}.", f"solver \\ {axis}", list(NAMES.values()), columns, cell)
