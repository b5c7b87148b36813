"""Ask a peer for a solution of a program, in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.errors import SolverError
from slogan.planning.program import Program
from slogan.planning.solvers._highs import Model, model
from slogan.reproduction import peers
from slogan.reproduction.peers import ANSWERS, Proposal
from slogan.reproduction.peers.problem import Problem
from slogan.storage.folders import scratch_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A file of this folder, the variant to run, and the library it needs."""

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
    """Hand the program to the peer's process and wait for its solution."""
    with scratch_folder() as folder:
        problem_of(program).save(folder)
        words = [peers.__name__, peer.name, peer.variant, str(seconds), str(folder)]
        # A peer needs time to begin and to stop.
        failure = run(words, patience=2 * seconds + 60)
        if failure:
            raise SolverError(f"{peer.name} failed: {failure}", hint="choose another solver")
        answers = json.loads((folder / ANSWERS).read_text(encoding="utf-8"))
    answer: dict[str, Any] = answers[peer.variant]
    if "unsupported" in answer:
        raise SolverError(f"{peer.name}: {answer['unsupported']}", hint="choose another solver")
    x = np.zeros(program.pairs)
    x[answer["pairs"]] = answer["x"]
    rest = {name: answer[name] for name in ("bound", "proven", "seconds", "trace")}
    return Proposal(x=x, **rest)


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
        return f"no end after {patience:g} s"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {error.returncode}"
    return ""


def problem_of(program: Program) -> Problem:
    """The program without pairs of which not one click fits and without rows that always hold."""
    kept = np.flatnonzero(program.upper > 0).astype(np.int64)
    pruned = _binding(model(program, kept=kept, upper=program.upper[kept].astype(np.float64)))
    return Problem(
        rows=pruned.rows,
        row_lower=pruned.row_lower,
        row_upper=pruned.row_upper,
        cost=pruned.cost,
        upper=pruned.upper,
        integers=pruned.pairs,
        constant=pruned.constant,
        sign=1.0 if program.minimises else -1.0,
        kept=kept,
        pairs=program.pairs,
        start=_start(program, pruned, kept),
    )


def _binding(whole: Model) -> Model:
    """The model without the rows that hold even with every count at its bound."""
    most = whole.rows.maximum(0) @ np.minimum(whole.upper, 1e100)
    # A row that misses its limit by rounding only is kept: no peer is given more than is allowed.
    idle = np.isneginf(whole.row_lower) & (most <= whole.row_upper * (1 - 1e-12))
    rows = np.flatnonzero(~idle)
    return replace(
        whole,
        rows=whole.rows[rows],
        row_lower=whole.row_lower[rows],
        row_upper=whole.row_upper[rows],
    )


def _start(program: Program, pruned: Model, kept: Ints) -> Floats:
    if program.targets is None:
        return np.zeros(0)
    x = program.targets.start[kept].astype(np.float64)
    extra = len(pruned.cost) - pruned.pairs
    # The last 2·extra rows are x − y ≤ ideal and x + y ≥ ideal, one pair of them for each distance.
    above = pruned.rows[-2 * extra : -extra, : pruned.pairs] @ x
    return np.concatenate([x, np.abs(above - pruned.row_upper[-2 * extra : -extra])])
