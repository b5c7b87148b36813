"""Solvers outside this process: programs as files, and the peers of the benchmark asked for counts.

Foreign solvers embed libraries that must not meet in one process, so each runs in its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from slogan.arrays import Floats
from slogan.constraints import PrivacyConstraints
from slogan.errors import SolverError
from slogan.folders import scratch_folder
from slogan.histogram import PairHistogram
from slogan.program import Program, SupportTargets

PROGRAM = "program.npz"
"""What a program is called in the folder that is handed to another process."""
_CHECKOUT = Path(__file__).parents[2]
_TARGETS = ("frequent", "support", "output_size", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A foreign solver: a file of `bench/peers/`, how it is asked, and the library it needs."""

    name: str
    variant: str
    library: str

    @property
    def missing(self) -> str | None:
        """What to do before it can be asked; None if it can be."""
        if find_spec(self.library) is None:
            return f"{self.library} is not installed: pip install 'slogan[bench]'"
        if not (_CHECKOUT / "bench" / "peers" / f"{self.name}.py").is_file():
            return "run it in a checkout of slogan's repository, where bench/peers is"
        return None


PEERS = (
    Peer(name="scip", variant="default", library="pyscipopt"),
    Peer(name="cpsat", variant="2 workers", library="ortools"),
    Peer(name="pump", variant="restarts", library="highspy"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a peer says; nothing of it is believed before `plan()` has seen it."""

    x: Floats
    proven: bool
    """Whether the peer says that nothing is better."""
    seconds: float


def ask(peer: Peer, program: Program, seconds: float) -> Answer:
    """Hand the program to the peer's own process and wait."""
    with scratch_folder() as folder:
        save_program(program, folder / PROGRAM)
        answers = folder / "answers.json"
        words = [peer.name, peer.variant, str(seconds), str(folder), str(answers)]
        _run(["bench.peers._prepare", str(folder)], patience=120)
        # A peer needs time to begin and to stop.
        _run(["bench.peers", *words], patience=2 * seconds + 60)
        told: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))[peer.variant]
    if "unsupported" in told:
        raise SolverError(f"{peer.name}: {told['unsupported']}", hint="ask another solver")
    x = np.zeros(program.pairs)
    x[told["pairs"]] = told["x"]
    return Answer(x=x, proven=bool(told["proven"]), seconds=float(told["seconds"]))


def _run(module_and_words: list[str], *, patience: float) -> None:
    packages = os.pathsep.join([str(_CHECKOUT), str(_CHECKOUT / "src")])
    try:
        subprocess.run(  # noqa: S603 – words of this file and a folder it made
            [sys.executable, "-m", *module_and_words],
            cwd=_CHECKOUT,
            env=os.environ | {"PYTHONPATH": packages},
            timeout=patience,
            check=True,
            capture_output=True,
        )
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as failure:
        said = (failure.stderr or b"").decode(errors="replace").strip().splitlines()
        raise SolverError(
            f"{' '.join(module_and_words[:2])} failed: {said[-1] if said else failure}",
            hint="run it by hand to see more",
        ) from failure


def save_program(program: Program, path: Path) -> None:
    """Write a program to one npz file: the histogram, the allowance, and what is asked."""
    hist, constraints, targets = program.constraints.hist, program.constraints, program.targets
    optional = {"most": program.most, "at_most_one": program.at_most_one}
    wanted = {} if targets is None else {name: getattr(targets, name) for name in _TARGETS}
    np.savez(
        path,
        **{name: getattr(hist, name) for name in ("user", "pair", "count", "query", "users")},
        allowance=str(constraints.allowance),
        limit=constraints.limit,
        **{name: value for name, value in optional.items() if value is not None},
        **wanted,
    )


def load_program(path: Path) -> Program:
    """Read a program that `save_program` wrote."""
    with np.load(path) as file:
        fields: dict[str, Any] = {name: file[name] for name in file.files}
    hist = PairHistogram(
        **{name: fields[name] for name in ("user", "pair", "count", "query")},
        users=int(fields["users"]),
        pairs=len(fields["query"]),
    )
    targets = None
    if "frequent" in fields:
        wanted: dict[str, Any] = {name: fields[name] for name in _TARGETS}
        wanted["output_size"] = int(fields["output_size"])
        targets = SupportTargets(**wanted)
    return Program(
        constraints=PrivacyConstraints(
            hist=hist, allowance=Fraction(str(fields["allowance"])), limit=float(fields["limit"])
        ),
        most=int(fields["most"]) if "most" in fields else None,
        at_most_one=fields.get("at_most_one"),
        targets=targets,
    )
