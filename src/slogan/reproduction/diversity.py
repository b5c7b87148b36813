"""Section 6.4: D-UMP over budgets (Figure 4) and by different solvers (Table 7, Figure 5)."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats
from slogan.budget import PrivacyBudget
from slogan.errors import SolverError
from slogan.planning import solvers
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.plan import plan
from slogan.planning.program import Program, Status
from slogan.planning.solvers.packing import warm_up
from slogan.report.charts import Bars, Line, bar_chart, line_chart
from slogan.report.svg import Chart
from slogan.reproduction import published
from slogan.reproduction.laboratory import Experiment, Laboratory, Record
from slogan.reproduction.pages import (
    Kind,
    Page,
    Prose,
    Table,
    Verdict,
    against_bound,
    grid,
    observed,
)
from slogan.reproduction.peers import process
from slogan.workflows.frontier import DELTAS, EXP_EPSILONS

OWN = {"spe": "SPE (Algorithm 2)", "exact": "HiGHS (exact)", "packing": "slogan (packing)"}
FOREIGN = {"scip": "SCIP", "cpsat": "CP-SAT", "pump": "feasibility pump"}
NAMES = OWN | FOREIGN


# --- Figure 4 ---


def figure_4(lab: Laboratory) -> Page:
    """Algorithm 2 and the best solution, in percent of the pairs of this log."""
    heuristic, pairs = lab.heuristic("spe", Diversity()), max(1, lab.hist.pairs)

    def cell(row: int, column: int) -> str:
        allowance = published.BUDGETS[EXP_EPSILONS[row], DELTAS[column]].allowance
        step = lab.diverse[allowance]
        shares = (heuristic[allowance], step.value, step.bound)
        return " / ".join(f"{n / pairs:.2%}" for n in shares)

    return Page(
        verdicts=[_published_points(), _highest(), _highest_here(lab, heuristic)],
        blocks=[
            Prose(
                heading="On this log",
                sentences=[
                    "The figure is printed without numbers; Table 7 repeats twelve of its points.",
                    "Each cell shows Algorithm 2 (SPE), the best solution found, and the proven "
                    f"bound, in percent of {pairs:,} shared pairs.",
                ],
            ),
            grid("Retained pairs.", "e^ε \\ δ", EXP_EPSILONS, DELTAS, cell),
            _pairs_chart(lab, heuristic),
        ],
    )


def _published_points() -> Verdict:
    cells = [
        (percent / 100 * published.PAIRS, published.most_clicks(power, delta))
        for solver, power, delta, percent in published.table_7()
        if solver.startswith("SPE")
    ]
    return against_bound(
        cells,
        what="points of the figure that Table 7 repeats",
        why="each retained pair is at least one released click, and there are at most m·b of them",
    )


def _highest() -> Verdict:
    most = max(published.most_clicks(e, d) for e, d in published.BUDGETS)
    return against_bound(
        [(published.FIGURE_4_HIGHEST / 100 * published.PAIRS, most)],
        what="highest point of the figure, 30 % of 6,043 pairs,",
        why=f"even the largest budget of the grid allows at most m·b = {most:,.0f} clicks",
    )


def _highest_here(lab: Laboratory, heuristic: Mapping[Fraction, int]) -> Verdict:
    last, step = next(reversed(lab.diverse.items()))
    pairs = max(1, lab.hist.pairs)
    return observed(
        holds=step.value >= published.FIGURE_4_HIGHEST / 100 * pairs,
        what="Diversity can be as high as 30 %",
        seen=f"on this log the largest budget retains {step.value / pairs:.1%} (at most "
        f"{step.bound / pairs:.1%}), and Algorithm 2 {heuristic[last] / pairs:.1%}",
    )


def _pairs_chart(lab: Laboratory, heuristic: Mapping[Fraction, int]) -> Chart:
    def line(name: str, values: dict[float, float]) -> Line:
        return Line(name=name, points=[(b, n) for b, n in values.items() if n > 0])

    best = {math.log(a): step.value for a, step in lab.diverse.items()}
    ours = {math.log(a): float(heuristic[a]) for a in lab.diverse}
    bound = {b: lab.hist.users * b for b in best}
    return line_chart(
        [line("best found", best), line("Algorithm 2", ours)],
        line("m·b", bound),
        name="figure-4",
        title="Different pairs by b",
        summary="The best solution and that of Algorithm 2 on this log, below the bound m·b.",
        x_title="b",
        y_title="pairs",
        logarithmic=True,
    )


# --- D-UMP by every solver ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What may be released of a solver's answer."""

    pairs: int
    seconds: float
    proven: bool
    """Whether the solver calls it optimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A solver without an answer."""

    missing: str
    """What to do to get one."""


Row = Mapping[str, Answer | Absent]
"""By solver."""
Rows = Mapping[tuple[str, str], Row]
"""By e^ε and δ."""


def budgets() -> dict[tuple[str, str], PrivacyBudget]:
    """Every budget of Table 7; that of Figure 5 charges as one of them does."""
    keys = dict.fromkeys((power, delta) for _, power, delta, _ in published.table_7())
    keys[published.FIGURE_5] = None
    return {(e, d): PrivacyBudget(exp_epsilon=e, delta=d) for e, d in keys}


def answers(lab: Laboratory) -> Rows:
    """The answers of all solvers within the same time."""
    keys = {budget.allowance: key for key, budget in budgets().items()}
    missing = {peer.name: peer.missing for peer in process.PEERS}

    def compute() -> Record:
        warm_up()  # compiling is not part of anybody's time
        note, rows = lab.noted("solvers"), Record()
        for n, (allowance, key) in enumerate(sorted(keys.items())):
            note(n, len(keys))
            program = lab.program(Diversity(), *key)
            rows[str(allowance)] = {name: asdict(_solved(name, program, lab)) for name in NAMES}
        return rows

    parameters: Record = {"seconds": lab.seconds.solver, "missing": missing}
    rows = lab.store.remember("solvers", parameters, compute)
    return {
        key: {name: _read(record) for name, record in rows[str(budget.allowance)].items()}
        for key, budget in budgets().items()
    }


def _read(record: Record) -> Answer | Absent:
    return Absent(**record) if "missing" in record else Answer(**record)


def _answered(row: Row) -> dict[str, Answer]:
    return {name: answer for name, answer in row.items() if isinstance(answer, Answer)}


def _solved(name: str, program: Program, lab: Laboratory) -> Answer | Absent:
    if name in OWN:
        begin = time.perf_counter()
        solution = solvers.load(name)(program, lab.effort(lab.seconds.solver))
        seconds = time.perf_counter() - begin
        return _judged(program, solution.x, seconds, solution.status is Status.OPTIMAL)
    peer = next(peer for peer in process.PEERS if peer.name == name)
    if peer.missing is not None:
        return Absent(missing=peer.missing)
    if not program.upper.any():  # a problem without columns, which not every peer can read
        return _judged(program, np.zeros(program.pairs), 0.0, proven=True)
    try:
        answer = process.ask(peer, program, lab.seconds.solver)
    except SolverError as failure:
        return Absent(missing=failure.problem)
    return _judged(program, answer.x, answer.seconds, answer.proven)


def _judged(program: Program, x: Floats, seconds: float, proven: bool) -> Answer:
    # A solver's 0.9999999 is meant as 1; the gate would floor it to 0.
    pairs = plan(np.floor(x + 1e-6), program.constraints).pairs
    return Answer(pairs=pairs, seconds=round(seconds, 3), proven=proven)


# --- Table 7 ---


def table_7(lab: Laboratory) -> Page:
    """The published solvers, and those of today on this log."""
    rows = answers(lab)
    by_delta = [("2", delta) for delta in published.TABLE_7_DELTAS]
    by_power = [(power, "0.1") for power in published.TABLE_7_EXP_EPSILONS]
    return Page(
        verdicts=[_bound(), _same_b(), _heuristic(rows)],
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
                    *_absent(rows),
                ],
            ),
            _our_table(lab, "(a) e^ε = 2", "δ", rows, by_delta, published.TABLE_7_DELTAS),
            _our_table(lab, "(b) δ = 0.1", "e^ε", rows, by_power, published.TABLE_7_EXP_EPSILONS),
        ],
    )


def _bound() -> Verdict:
    return against_bound(
        [
            (percent / 100 * published.PAIRS, published.most_clicks(power, delta))
            for _, power, delta, percent in published.table_7()
        ],
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


def _heuristic(rows: Rows) -> Verdict:
    cells = [
        {name: answer.pairs for name, answer in _answered(row).items()}
        for key, row in rows.items()
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


def _absent(rows: Rows) -> list[str]:
    reasons = {
        f"{NAMES[name]} is missing: {answer.missing}."
        for row in rows.values()
        for name, answer in row.items()
        if isinstance(answer, Absent)
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
    rows: Rows,
    keys: Sequence[tuple[str, str]],
    columns: Sequence[str],
) -> Table:
    names = list(NAMES)

    def cell(row: int, column: int) -> str:
        answer = rows[keys[column]][names[row]]
        if isinstance(answer, Absent):
            return "–"
        star = "*" if answer.proven else ""
        return f"{answer.pairs:,}{star} ({answer.pairs / max(1, lab.hist.pairs):.2%})"

    return grid(f"This log, {part}.", f"solver \\ {axis}", list(NAMES.values()), columns, cell)


# --- Figure 5 ---


def figure_5(lab: Laboratory) -> Page:
    """Seconds at the paper's budget, and at one where there is something to solve."""
    rows = answers(lab)
    typical, hard = rows[published.FIGURE_5], rows[published.FIXED]
    fitting = int((lab.constraints(*published.FIGURE_5).upper > 0).sum())
    return Page(
        verdicts=[_trivial(), _fastest(hard)],
        blocks=[
            Prose(
                heading="On this log",
                sentences=[
                    "The figure is printed without numbers.",
                    f"At e^ε = 1.7 and δ = 10⁻³ {fitting:,} pairs fit the budget at all.",
                    "At e^ε = 2 and δ = 0.5 there is a problem to solve; each solver had "
                    f"{lab.seconds.solver:g} seconds.",
                    "Seconds are those of the solver alone; answers of Algorithm 2 carry no proof.",
                ],
            ),
            Table(
                caption="Seconds, pairs retained, and whether the solver says it is done.",
                headings=["solver", "e^ε = 1.7, δ = 10⁻³", "e^ε = 2, δ = 0.5", "pairs", "done"],
                rows=[_times(name, typical[name], hard[name]) for name in NAMES],
            ),
            _times_chart(hard),
        ],
    )


def _trivial() -> Verdict:
    return Verdict(
        kind=Kind.UNREACHABLE,
        why="Under the budget of the figure at most m·b = "
        f"{published.most_clicks(*published.FIGURE_5):.2f} clicks can be "
        "released, so no pair or a single one, and that only if a thousand users share it: there "
        "is no typical D-UMP to be timed.",
    )


def _fastest(row: Row) -> Verdict:
    times = {name: answer.seconds for name, answer in _answered(row).items()}
    others = min(seconds for name, seconds in times.items() if name != "spe")
    return observed(
        holds=times["spe"] <= others,
        what="Algorithm 2 is faster than the other solvers",
        seen=f"on this log {times['spe']:.3f} s beside {others:.3f} s of the next, for an answer "
        "that others surpass",
    )


def _times(name: str, typical: Answer | Absent, hard: Answer | Absent) -> list[str]:
    if isinstance(hard, Absent):
        return [NAMES[name], "–", "–", hard.missing, "–"]
    return [
        NAMES[name],
        f"{typical.seconds:.3f}" if isinstance(typical, Answer) else "–",
        f"{hard.seconds:.3f}",
        f"{hard.pairs:,}",
        "yes" if hard.proven else "no",
    ]


def _times_chart(row: Row) -> Chart:
    times = {name: answer.seconds for name, answer in _answered(row).items()}
    return bar_chart(
        Bars(
            names=list(times),
            values=[math.log10(1 + 1000 * seconds) for seconds in times.values()],
            value_name="log₁₀ of milliseconds",
        ),
        name="figure-5",
        title="Run times at e^ε = 2, δ = 0.5",
        summary="Each step up is ten times as long: 3 is a second, 4 ten seconds.",
        x_title="solver",
        y_title="log₁₀ of milliseconds",
    )


EXPERIMENTS = (
    Experiment(name="figure4", section="6.4.1", title="Figure 4: maximum diversity", page=figure_4),
    Experiment(
        name="figure5", section="6.4.2", title="Figure 5: run times for D-UMP", page=figure_5
    ),
    Experiment(
        name="table7",
        section="6.4.2",
        title="Table 7: retained diversity of different solvers",
        page=table_7,
    ),
)
