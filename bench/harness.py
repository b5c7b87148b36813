"""One peer, one case, one process: ask, judge, and make the record."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import slogan
from bench.cases import Case, problem
from bench.machine import versions
from bench.peers import PROBLEM
from bench.referee import judged, provable
from bench.store import Record
from slogan.outside import PROGRAM, save_program
from slogan.program import Program, gap

_ROOT = Path(__file__).parents[1]
_SOLVERS = Path(slogan.__file__).parent / "solvers"
_LIBRARY = {"highs": "highspy", "scip": "pyscipopt", "cpsat": "ortools", "pump": "highspy"}
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A case with its program: the same for every peer."""

    case: Case
    program: Program


def code(peer: str) -> str:
    """What an old record must have been made with to be still true."""
    if peer in _LIBRARY:
        library = _LIBRARY[peer]
        own = _digest([Path(__file__).parent / "peers" / "pump.py"]) if peer == "pump" else ""
        return f"{library} {versions((library,))[library]} {own}".strip()
    own = _SOLVERS / f"{peer}.py"
    return f"slogan {_digest(sorted(_imported(own, set())))}" if own.exists() else "absent"


def _imported(path: Path, seen: set[Path]) -> set[Path]:
    """A solver's file and the files of its folder that it is made of."""
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slogan.solvers"):
            near = _SOLVERS.joinpath(*(node.module or "").split(".")[2:])
            names = [near.with_suffix(".py"), *(near / f"{name.name}.py" for name in node.names)]
            for found in names:
                if found.exists() and found not in seen:
                    _imported(found, seen)
    return seen


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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        problem(question.program).save(folder / PROBLEM)
        save_program(question.program, folder / PROGRAM)
        answers = folder / "answers.json"
        command = [sys.executable, "-m", "bench.peers", peer, variant, str(seconds), name]
        # A peer may need time to read and to stop: twice that of its two variants, and a minute.
        failure = _run([*command, str(answers)], patience=4 * seconds + 60)
        said = json.loads(answers.read_text(encoding="utf-8")) if answers.exists() else {}
    return said, failure


def _run(command: list[str], patience: float) -> str:
    """Wait for a process; the last line of its complaint if it failed."""
    environment = os.environ | _THREADS | {"PYTHONPATH": str(_ROOT)}
    try:
        subprocess.run(
            command, cwd=_ROOT, env=environment, timeout=patience, check=True, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return f"no end after {patience:g} s"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {error.returncode}"
    return ""


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
    trace = [(round(at, 2), value) for at, value in answer["trace"]]
    return {
        "value": released.value,
        "size": size,
        "missing": missing,
        "bound": bound,
        "gap": gap(value=released.value, bound=bound),
        "seconds": round(answer["seconds"], 2),
        "best_at": trace[-1][0] if trace else None,
        "proven": answer["proven"],
        "repaired": released.repaired,
        "wrong_bound": bool(wrong and not missing),
        "trace": trace[-40:],
        # Processor seconds far below those of the clock: the machine was busy with something else.
        "cpu": round(answer["cpu"], 1),
        "load": round(os.getloadavg()[0], 1),
        "code": code(peer),
    }


def _digest(paths: list[Path]) -> str:
    content = hashlib.sha256()
    for path in paths:
        content.update(path.read_bytes())
    return content.hexdigest()[:12]
