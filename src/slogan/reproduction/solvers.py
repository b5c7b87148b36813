"""Section 6.4.2: D-UMP by different solvers (Table 7, Figure 5), each peer in its own process."""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec

import numpy as np

from slogan.arrays import Floats
from slogan.errors import SolverError
from slogan.planning import solvers
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.plan import plan
from slogan.planning.program import Program, Status
from slogan.planning.solvers._highs import model
from slogan.planning.solvers.packing import warm_up
from slogan.report.charts import Bars, Chart, bar_chart
from slogan.reproduction import pages, peers, published
from slogan.reproduction.laboratory import Experiment, Laboratory, Record
from slogan.reproduction.peers import ANSWERS, Problem, Proposal
from slogan.reproduction.published import BUDGETS, FIGURE_5, FIXED, Key, most_clicks
from slogan.storage.folders import scratch_folder

# --- Peers ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A file of `peers/`, the variant to run, and the library it needs."""

    name: str
    variant: str
    library: str

    @property
    def missing(self) -> str | None:
        """How to install the peer; None if it is installed."""
        if find_spec(self.library) is None:
            return f"{self.library} is not installed: pip install 'slogan[bench]'"
        return None


PEERS = (
    Peer(name="scip", variant="default", library="pyscipopt"),
    Peer(name="cpsat", variant="2 workers", library="ortools"),
    Peer(name="pump", variant="restarts", library="highspy"),
)


def ask(peer: Peer, program: Program, seconds: float) -> Proposal:
    """Give the program to the peer's process and wait for its solution."""
    with scratch_folder() as folder:
        problem_of(program).save(folder)
        words = [peers.__name__, peer.name, peer.variant, str(seconds), str(folder)]
        # A peer needs time to start and to stop.
        failure = run(words, patience=2 * seconds + 60)
        if failure:
            raise SolverError(f"{peer.name} failed: {failure}", hint="choose another solver")
        answer = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))[peer.variant]
    if "unsupported" in answer:
        raise SolverError(f"{peer.name}: {answer['unsupported']}", hint="choose another solver")
    x = np.zeros(program.pairs)
    x[answer["pairs"]] = answer["x"]
    return Proposal(x=x, **{name: answer[name] for name in ("bound", "proven", "seconds", "trace")})


def run(
    words: Sequence[str], *, patience: float, environment: Mapping[str, str] | None = None
) -> str:
    """Wait for `python -m WORDS`; the last line of its error output if it failed, or nothing."""
    try:
        subprocess.run(  # noqa: S603 – names of modules and peers, and a folder made here
            [sys.executable, "-P", "-m", *words],
            env=os.environ | (environment or {}),
            timeout=patience,
            check=True,
            capture_output=True,
        )
    except subprocess.TimeoutExpired:
        return f"still running after {patience:g} s"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {error.returncode}"
    return ""


def problem_of(program: Program) -> Problem:
    """The program without pairs whose first click does not fit and rows that always hold."""
    kept = np.flatnonzero(program.upper > 0).astype(np.int64)
    whole = model(program, kept=kept, upper=program.upper[kept].astype(np.float64))
    most = whole.rows.maximum(0) @ np.minimum(whole.upper, 1e100)
    # A row that is below its limit by rounding only is kept, so that no peer may exceed it.
    idle = np.isneginf(whole.row_lower) & (most <= whole.row_upper * (1 - 1e-12))
    rows = np.flatnonzero(~idle)
    start = np.zeros(0)
    if program.targets is not None:
        start = program.targets.start[kept].astype(np.float64)
        extra = len(whole.cost) - whole.pairs
        # The last 2·extra rows are x − y ≤ ideal and x + y ≥ ideal, two for each distance.
        above = slice(-2 * extra, -extra)
        apart = np.abs(whole.rows[above, : whole.pairs] @ start - whole.row_upper[above])
        start = np.concatenate([start, apart])
    return Problem(
        rows=whole.rows[rows],
        row_lower=whole.row_lower[rows],
        row_upper=whole.row_upper[rows],
        cost=whole.cost,
        upper=whole.upper,
        integers=whole.pairs,
        constant=whole.constant,
        sign=1.0 if program.minimises else -1.0,
        kept=kept,
        pairs=program.pairs,
        start=start,
    )


# --- D-UMP by every solver ---

OWN = {"spe": "SPE (Algorithm 2)", "exact": "HiGHS (exact)", "packing": "slogan (packing)"}
FOREIGN = {"scip": "SCIP", "cpsat": "CP-SAT", "pump": "feasibility pump"}
NAMES = OWN | FOREIGN


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A solver's answer after the gate."""

    pairs: int
    seconds: float
    proven: bool
    """Whether the solver calls it optimal."""


Row = Mapping[str, Answer | str]
"""By solver; a text where there is no answer: how to get one."""
Rows = Mapping[Key, Row]


def answers(lab: Laboratory) -> Rows:
    """The answers of all solvers within the same time, for Table 7 and for Figure 5."""
    keys = [*(key for _, key, _ in published.table_7()), FIGURE_5]
    allowances = {key: BUDGETS[key].allowance for key in keys}

    def compute() -> Record:
        warm_up()  # compilation is not part of any solver's time
        note, rows = lab.noted("solvers"), Record()
        problems = {allowance: key for key, allowance in allowances.items()}
        for n, (allowance, key) in enumerate(sorted(problems.items())):
            note(n, len(problems))
            program = Diversity().program(lab.constraints(key))
            tried = {name: _solved(name, program, lab) for name in NAMES}
            rows[str(allowance)] = {
                name: {"missing": answer} if isinstance(answer, str) else asdict(answer)
                for name, answer in tried.items()
            }
        return rows

    missing = {peer.name: peer.missing for peer in PEERS}
    parameters: Record = {"seconds": lab.seconds.solver, "missing": missing}
    rows = lab.store.remember("solvers", parameters, compute)
    return {
        key: {
            name: record["missing"] if "missing" in record else Answer(**record)
            for name, record in rows[str(allowance)].items()
        }
        for key, allowance in allowances.items()
    }


def _answered(row: Row) -> dict[str, Answer]:
    return {name: answer for name, answer in row.items() if isinstance(answer, Answer)}


def _solved(name: str, program: Program, lab: Laboratory) -> Answer | str:
    if name in OWN:
        begin = time.perf_counter()
        solution = solvers.load(name)(program, lab.effort(lab.seconds.solver))
        seconds = time.perf_counter() - begin
        return _judged(program, solution.x, seconds, solution.status is Status.OPTIMAL)
    peer = next(peer for peer in PEERS if peer.name == name)
    if peer.missing is not None:
        return peer.missing
    if not program.upper.any():  # a problem without columns, which not every peer can read
        return _judged(program, np.zeros(program.pairs), 0.0, proven=True)
    try:
        answer = ask(peer, program, lab.seconds.solver)
    except SolverError as failure:
        return failure.problem
    return _judged(program, answer.x, answer.seconds, answer.proven)


def _judged(program: Program, x: Floats, seconds: float, proven: bool) -> Answer:
    # A solver's 0.9999999 is meant as 1; the gate would floor it to 0.
    pairs = plan(np.floor(x + 1e-6), program.constraints).pairs
    return Answer(pairs=pairs, seconds=round(seconds, 3), proven=proven)


# --- Table 7 ---


def table_7(lab: Laboratory) -> pages.Page:
    """The published solvers, and those of today on this log."""
    rows, pairs = answers(lab), max(1, lab.hist.pairs)
    bound = pages.against_bound(
        [(n / 100 * published.PAIRS, most_clicks(key)) for _, key, n in published.table_7()],
        what="cells of Table 7",
        why="each retained pair is at least one released click, and there are at most m·b of them",
    )
    wide, wider = published.TABLE_7A["SPE (heuristic)"][-2:]
    same_b = pages.Verdict(
        pages.Kind.CONTRADICTORY,
        f"At e^ε = 2 Algorithm 2 retains {wide} % for δ = 0.5 and {wider} % for δ = 0.8, although "
        "b = log 2 in both and the algorithm draws nothing at random.",
    )
    absent = {
        f"{NAMES[name]} is missing: {answer}."
        for row in rows.values()
        for name, answer in row.items()
        if isinstance(answer, str)
    }
    explained = pages.prose(
        "On this log",
        "The solvers of 2012 are replaced by Algorithm 2 itself, HiGHS, SCIP, CP-SAT, a "
        "feasibility pump with an objective cut, and slogan's own.",
        f"Each may take {lab.seconds.solver:g} seconds, the foreign ones in separate processes, "
        "and every answer has passed the gate.",
        f"Cells are pairs and percent of {lab.hist.pairs:,}; a star marks an answer that the "
        "solver calls optimal.",
        *sorted(absent),
    )

    def words(answer: Answer | str) -> str:
        if isinstance(answer, str):
            return "–"
        return f"{answer.pairs:,}{'*' if answer.proven else ''} ({answer.pairs / pairs:.2%})"

    theirs, ours = list[str](), list[str]()
    for part, axis, keys, percents in published.TABLE_7:
        cells = {
            (solver, column): f"{percent:.1f} %"
            for solver, row in percents.items()
            for column, percent in zip(keys, row, strict=True)
        }
        theirs.append(pages.grid(f"Published, {part}.", f"solver \\ {axis}", cells))
        cells = {
            (title, column): words(rows[key][name])
            for name, title in NAMES.items()
            for column, key in keys.items()
        }
        ours.append(pages.grid(f"This log, {part}.", f"solver \\ {axis}", cells))
    return pages.Page([bound, same_b, _heuristic(rows)], [*theirs, explained, *ours])


def _heuristic(rows: Rows) -> pages.Verdict:
    cells = [
        {name: answer.pairs for name, answer in _answered(row).items()}
        for key, row in rows.items()
        if key != FIGURE_5
    ]
    behind = [row for row in cells if row["spe"] < max(row.values())]
    worst = min((row["spe"] / max(row.values()) for row in behind), default=1.0)
    return pages.observed(
        holds=2 * len(behind) < len(cells),
        what="Algorithm 2 performs better than other solvers in most cases",
        seen=f"on this log another solver retains more in {len(behind)} of {len(cells)} cells, and "
        f"Algorithm 2 as little as {worst:.0%} of the best",
    )


# --- Figure 5 ---


def figure_5(lab: Laboratory) -> pages.Page:
    """Seconds at the paper's budget, and at one where there is something to solve."""
    rows = answers(lab)
    typical, hard = rows[FIGURE_5], rows[FIXED]
    fitting = int((lab.constraints(FIGURE_5).upper > 0).sum())
    trivial = pages.Verdict(
        pages.Kind.UNREACHABLE,
        f"Under the budget of the figure at most m·b = {most_clicks(FIGURE_5):.2f} clicks can be "
        "released, so no pair or a single one, and that only if a thousand users share it: this is "
        "not a typical D-UMP.",
    )
    seconds = {name: answer.seconds for name, answer in _answered(hard).items()}
    others = min(spent for name, spent in seconds.items() if name != "spe")
    fastest = pages.observed(
        holds=seconds["spe"] <= others,
        what="Algorithm 2 is faster than the other solvers",
        seen=f"on this log {seconds['spe']:.3f} s, the next takes {others:.3f} s; others find a "
        "better answer",
    )
    explained = pages.prose(
        "On this log",
        "The figure is printed without numbers.",
        f"At e^ε = 1.7 and δ = 10⁻³ {fitting:,} pairs fit the budget at all.",
        "At e^ε = 2 and δ = 0.5 there is a problem to solve; each solver had "
        f"{lab.seconds.solver:g} seconds.",
        "Seconds are those of the solver only; answers of Algorithm 2 carry no proof.",
    )
    times = pages.table(
        ["solver", "e^ε = 1.7, δ = 10⁻³", "e^ε = 2, δ = 0.5", "pairs", "done"],
        [[NAMES[name], *_times(typical[name], hard[name])] for name in NAMES],
        caption="Seconds, pairs retained, and whether the solver reports that it is done.",
    )
    return pages.Page([trivial, fastest], [explained, times, _chart(seconds)])


def _times(typical: Answer | str, hard: Answer | str) -> list[str]:
    if isinstance(hard, str):
        return ["–", "–", hard, "–"]
    first = f"{typical.seconds:.3f}" if isinstance(typical, Answer) else "–"
    return [first, f"{hard.seconds:.3f}", f"{hard.pairs:,}", "yes" if hard.proven else "no"]


def _chart(seconds: Mapping[str, float]) -> Chart:
    return bar_chart(
        Bars(
            names=list(seconds),
            values=[math.log10(1 + 1000 * spent) for spent in seconds.values()],
            value_name="log₁₀ of milliseconds",
        ),
        name="figure-5",
        title="Run times at e^ε = 2, δ = 0.5",
        summary="Each step up is ten times as long: 3 is a second, 4 ten seconds.",
        x_title="solver",
        y_title="log₁₀ of milliseconds",
    )


EXPERIMENTS = (
    Experiment("6.4.2", "Figure 5: run times for D-UMP", figure_5),
    Experiment("6.4.2", "Table 7: retained diversity of different solvers", table_7),
)
