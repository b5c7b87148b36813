"""One peer, one case, one process: ask, judge, and make the record."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import slogan
from bench.cases import Case
from bench.machine import versions
from bench.peers.own import save_program
from bench.referee import judged, provable
from bench.store import Record
from slogan.planning.program import Program, gap
from slogan.planning.solvers.packing.presolve import packing
from slogan.reproduction.peers import ANSWERS, Problem
from slogan.reproduction.solvers import PEERS, problem_of, run

_SOURCE = Path(slogan.__file__).parents[1]
_SOLVERS = "slogan.planning.solvers"
_FOREIGN = {peer.name: peer.library for peer in PEERS}
_LIBRARY = _FOREIGN | {"highs": "highspy", "localmip": "localmip"}
PRESOLVED = "+"
"""Ends the name of a peer that is given the problem after slogan's own presolve."""
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "2")
_PATH = os.pathsep.join([str(Path(__file__).parents[1]), str(_SOURCE)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A case with its program: the same for every peer."""

    case: Case
    program: Program


def code(peer: str) -> str:
    """What an old record must have been made with to be still true."""
    if peer.endswith(PRESOLVED):
        return code(peer.removesuffix(PRESOLVED))
    if peer in _LIBRARY:
        library = _LIBRARY[peer]
        own = _digest({f"slogan.reproduction.peers.{peer}"}) if peer == "pump" else ""
        return f"{library} {versions((library,))[library]} {own}".strip()
    return f"slogan {_digest(_imported(f'{_SOLVERS}.{peer}', set()))}"


def _file(module: str) -> Path | None:
    base = _SOURCE.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)


def _tree(module: str) -> ast.Module:
    return ast.parse(_file(module).read_text(encoding="utf-8"))


def _imported(module: str, seen: set[str]) -> set[str]:
    """A solver's module and the modules beside it that it imports, directly or not."""
    seen.add(module)
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_SOLVERS):
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                if name != _SOLVERS and name not in seen and _file(name):
                    _imported(name, seen)
    return seen


def _digest(modules: set[str]) -> str:
    """Of their definitions, in whatever file and order: comments and moves change nothing."""
    definitions = [
        ast.dump(node)
        for module in modules
        for node in _without_docstrings(_tree(module)).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return hashlib.sha256("\n".join(sorted(definitions)).encode()).hexdigest()[:12]


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [each for each in node.body if not _is_text(each)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def ask(question: Question, peer: str, variant: str, seconds: float) -> dict[str, Record]:
    """The records of each variant of a peer; a failure is a record too."""
    said, failure = _answers(question, peer, variant, seconds)
    records = {tried: _record(question.program, peer, answer) for tried, answer in said.items()}
    if failure:
        print(f"!! {peer} FAILED on {question.case.key}: {failure}", file=sys.stderr, flush=True)
        records.setdefault(variant, {"failure": failure, "code": code(peer)})
    return records


def largest(question: Question, seconds: float) -> Record:
    """The largest output slogan finds, with its counts."""
    peer = next(name for name in ("packing", "exact") if code(name) != "absent")
    said, failure = _answers(question, peer, "all", seconds)
    if failure:
        raise RuntimeError(f"{peer} failed to find the largest output: {failure}")
    (answer,) = said.values()
    x = np.zeros(question.program.pairs)
    x[answer["pairs"]] = answer["x"]
    counts = judged(x, question.program).counts
    shown = np.flatnonzero(counts)
    return {
        "pairs": shown.tolist(),
        "clicks": counts[shown].tolist(),
        "bound": provable(answer["bound"], question.program),
        "solver": peer,
    }


def _answers(
    question: Question, peer: str, variant: str, seconds: float
) -> tuple[dict[str, Record], str]:
    """What the peer's process wrote, by variant, and why it failed if it did."""
    program, solver = question.program, peer.removesuffix(PRESOLVED)
    if solver != peer and program.targets is not None:
        return {variant: {"unsupported": "slogan's presolve is for packing objectives"}}, ""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (problem_of if solver == peer else _presolved)(program).save(folder)
        save_program(program, folder)
        module = "slogan.reproduction.peers" if solver in _FOREIGN else "bench.peers"
        # A peer may need time to read and to stop: twice that of its two variants, and a minute.
        failure = run(
            [module, solver, variant, str(seconds), name],
            patience=4 * seconds + 60,
            environment=_THREADS | {"PYTHONPATH": _PATH},
        )
        answers = folder / ANSWERS
        said = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else {}
    return said, failure


def _thinned(trace: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The first and the last answer, and those between that are better by a thousandth."""
    kept = trace[:1]
    for at, value in trace[1:]:
        if abs(value - kept[-1][1]) > 1e-3 * abs(value):
            kept.append((at, value))
    return kept if kept[-1:] == trace[-1:] else [*kept, trace[-1]]


def _presolved(program: Program) -> Problem:
    """The problem without the rows and pairs that slogan's own presolve removes."""
    small = packing(program)
    return Problem(
        rows=small.rows,
        row_lower=np.full(len(small.limit), -np.inf),
        row_upper=small.limit,
        cost=np.full(small.pairs, -1.0),
        upper=small.upper.astype(np.float64),
        integers=small.pairs,
        constant=0.0,
        sign=-1.0,
        kept=small.kept,
        pairs=program.pairs,
        start=np.zeros(0),
    )


def _record(program: Program, peer: str, answer: Record) -> Record:
    if "unsupported" in answer:
        return {"unsupported": answer["unsupported"], "code": code(peer)}
    x = np.zeros(program.pairs)
    x[answer["pairs"]] = answer["x"]
    released = judged(x, program)
    bound = provable(answer["bound"], program)
    size = int(released.counts.sum())
    missing = program.targets.output_size - size if program.targets else 0
    wrong = released.value < bound - 1e-7 if program.minimises else released.value > bound
    trace = _thinned([(round(at, 2), value) for at, value in answer["trace"]])
    return {
        "value": released.value,
        "size": size,
        "missing": missing,
        "bound": bound,
        "gap": gap(value=released.value, bound=bound),
        "seconds": round(answer["seconds"], 2),
        "proven_at": None if answer["proven_at"] is None else round(answer["proven_at"], 2),
        "best_at": trace[-1][0] if trace else None,
        "proven": answer["proven"],
        "repaired": released.repaired,
        "wrong_bound": bool(wrong and not missing),
        "trace": trace,
        # Processor seconds far below those of the clock: the machine was busy with something else.
        "cpu": round(answer["cpu"], 1),
        "load": round(os.getloadavg()[0], 1),
        "code": code(peer),
    }
