"""D-UMP by every solver there is, as Table 7 and Figure 5 need it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from slogan import outside, solvers
from slogan.errors import SolverError
from slogan.objectives import Objective
from slogan.objectives.diversity import Diversity
from slogan.objectives.output_size import OutputSize
from slogan.plan import plan
from slogan.privacy import PrivacyBudget
from slogan.program import Program, Status
from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._store import Found
from slogan.solvers.packing import warm_up

Answer = dict[str, Any]
OWN = {"spe": "SPE (Algorithm 2)", "exact": "HiGHS (exact)", "packing": "slogan (packing)"}
FOREIGN = {"scip": "SCIP", "cpsat": "CP-SAT", "pump": "feasibility pump"}
NAMES = OWN | FOREIGN


def budgets() -> dict[tuple[str, str], PrivacyBudget]:
    """Every budget of Table 7; that of Figure 5 charges as one of them does."""
    asked = dict.fromkeys((power, delta) for _, power, delta, _ in published.table_7())
    asked[published.FIGURE_5] = None
    return {(e, d): PrivacyBudget(exp_epsilon=e, delta=d) for e, d in asked}


def answers(lab: Laboratory) -> dict[tuple[str, str], dict[str, Answer]]:
    """By e^ε and δ, then by solver."""
    by_allowance = {b.allowance: key for key, b in budgets().items()}
    missing = {peer.name: peer.missing for peer in outside.PEERS}

    def compute() -> Found:
        warm_up()  # compiling is not part of anybody's time
        told, found = lab.noted("solvers"), dict[str, Any]()
        for n, (allowance, key) in enumerate(sorted(by_allowance.items())):
            told(n, len(by_allowance))
            program = Diversity().program(lab.constraints(*key), largest=_never)
            found[str(allowance)] = {name: _asked(name, program, lab) for name in NAMES}
        return found

    found = lab.part("solvers", {"seconds": lab.seconds.solver, "missing": missing}, compute)
    return {key: found[str(b.allowance)] for key, b in budgets().items()}


def relaxed(lab: Laboratory) -> dict[str, int]:
    """The paper's way to λ, the relaxation rounded down, by allowance."""
    return _over_grid(lab, "relaxed", OutputSize())


def spe(lab: Laboratory) -> dict[str, int]:
    """The paper's way to diversity, Algorithm 2, by allowance."""
    return _over_grid(lab, "spe", Diversity())


def _over_grid(lab: Laboratory, solver: str, objective: Objective) -> dict[str, int]:
    """Clicks that a fast solver's answer lets be released, for every b of Table 4."""

    def compute() -> Found:
        told, found = lab.noted(solver), dict[str, Any]()
        for n, (allowance, key) in enumerate(_grid().items()):
            told(n, len(_grid()))
            constraints = lab.constraints(*key)
            program = objective.program(constraints, largest=_never)
            x = solvers.load(solver)(program, lab.effort(max(10.0, lab.seconds.size))).x
            found[allowance] = plan(x, constraints).size
        return found

    return lab.part(solver, {}, compute)


def _grid() -> dict[str, tuple[str, str]]:
    return {
        str(PrivacyBudget(exp_epsilon=e, delta=d).allowance): (e, d) for e, d, _ in published.grid()
    }


def _asked(name: str, program: Program, lab: Laboratory) -> Answer:
    """What may be released of a solver's answer, and how long it took."""
    if name in OWN:
        begin = time.perf_counter()
        solution = solvers.load(name)(program, lab.effort(lab.seconds.solver))
        seconds = time.perf_counter() - begin
        return _judged(program, solution.x, seconds, solution.status is Status.OPTIMAL)
    peer = next(peer for peer in outside.PEERS if peer.name == name)
    if peer.missing is not None:
        return {"missing": peer.missing}
    if not program.upper.any():  # a problem without columns, which not every peer can read
        return _judged(program, np.zeros(program.pairs), 0.0, proven=True)
    try:
        answer = outside.ask(peer, program, lab.seconds.solver)
    except SolverError as failure:
        return {"missing": failure.problem}
    return _judged(program, answer.x, answer.seconds, answer.proven)


def _judged(program: Program, x: np.ndarray, seconds: float, proven: bool) -> Answer:
    # A solver's 0.9999999 is meant as 1; the gate would floor it to 0.
    pairs = plan(np.floor(x + 1e-6), program.constraints).pairs
    return {"pairs": pairs, "seconds": round(seconds, 3), "proven": proven}


def _never() -> Any:
    raise AssertionError("only frequent_pairs asks for the largest output")
