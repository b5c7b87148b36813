"""SCIP, branch and bound, with its default settings and with the emphasis on feasible answers."""

import time
from pathlib import Path

import numpy as np
import pyscipopt as scip
from pyscipopt.scip import Event

from slogan.reproduction.peers import Problem, Proposal

VARIANTS = ("default", "feasibility")


class _Watch(scip.Eventhdlr):
    def __init__(self, begin: float, problem: Problem) -> None:
        self.begin, self.problem = begin, problem
        self.trace: list[tuple[float, float]] = []

    def eventinit(self) -> None:
        self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event: Event) -> None:
        del event
        value = self.problem.value(self.model.getSolObjVal(self.model.getBestSol()))
        self.trace.append((time.monotonic() - self.begin, value))


def solve(folder: Path, variant: str, seconds: float) -> Proposal:
    """One thread, which is all the wheel of SCIP can use."""
    begin = time.monotonic()
    problem = Problem.load(folder)
    model, columns = _loaded(problem, seconds)
    if variant == "feasibility":
        model.setEmphasis(scip.SCIP_PARAMEMPHASIS.FEASIBILITY, quiet=True)
        model.setParam("limits/time", seconds)
    watch = _Watch(begin, problem)
    model.includeEventhdlr(watch, "watch", "notes when a better answer is found")
    model.optimize()
    z = np.zeros(len(problem.cost))
    if model.getNSols():
        best = model.getBestSol()
        z = np.array([model.getSolVal(best, column) for column in columns])
    return Proposal(
        x=problem.counts(z),
        bound=problem.value(model.getDualbound()),
        proven=model.getStatus() == "optimal",
        seconds=time.monotonic() - begin,
        trace=watch.trace,
    )


def _loaded(problem: Problem, seconds: float) -> tuple[scip.Model, list[scip.Variable]]:
    model = scip.Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("numerics/feastol", 1e-9)
    columns = [
        model.addVar(
            vtype="I" if j < problem.integers else "C",
            lb=0.0,
            ub=float(upper) if np.isfinite(upper) else None,
            obj=float(cost),
        )
        for j, (upper, cost) in enumerate(zip(problem.upper, problem.cost, strict=True))
    ]
    for row, (low, high) in enumerate(zip(problem.row_lower, problem.row_upper, strict=True)):
        part = slice(problem.rows.indptr[row], problem.rows.indptr[row + 1])
        entries = zip(problem.rows.data[part], problem.rows.indices[part], strict=True)
        total = scip.quicksum(float(a) * columns[j] for a, j in entries)
        if np.isfinite(low) and np.isfinite(high):
            model.addCons(total == float(high))  # the only rows with two sides are equations
        elif np.isfinite(high):
            model.addCons(total <= float(high))
        else:
            model.addCons(total >= float(low))
    if problem.start.size:
        warm = model.createSol()
        for column, value in zip(columns, problem.start, strict=True):
            model.setSolVal(warm, column, float(value))
        model.addSol(warm)
    return model, columns
