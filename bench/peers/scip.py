"""SCIP, branch and bound, with its default settings and with the emphasis on feasible answers."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyscipopt as scip

from bench import problem as files
from bench.peers import PROBLEM, Found
from bench.problem import Problem

VARIANTS = ("default", "feasibility")


class _Watch(scip.Eventhdlr):
    def __init__(self, begin: float, asked: Problem) -> None:
        self.begin, self.asked = begin, asked
        self.trace: list[tuple[float, float]] = []

    def eventinit(self) -> None:
        self.model.catchEvent(scip.SCIP_EVENTTYPE.BESTSOLFOUND, self)

    def eventexec(self, event: scip.Event) -> None:
        del event
        value = self.asked.value(self.model.getSolObjVal(self.model.getBestSol()))
        self.trace.append((time.monotonic() - self.begin, value))


def solve(folder: Path, variant: str, seconds: float) -> Found:
    """One thread, which is all the wheel of SCIP can use."""
    begin = time.monotonic()
    asked = files.load(folder / PROBLEM)
    model, columns = _loaded(asked, seconds)
    if variant == "feasibility":
        model.setEmphasis(scip.SCIP_PARAMEMPHASIS.FEASIBILITY, quiet=True)
        model.setParam("limits/time", seconds)
    watch = _Watch(begin, asked)
    model.includeEventhdlr(watch, "watch", "notes when a better answer is found")
    model.optimize()
    z = np.zeros(len(asked.cost))
    if model.getNSols():
        best = model.getBestSol()
        z = np.array([model.getSolVal(best, column) for column in columns])
    return Found(
        x=asked.counts(z),
        bound=asked.value(model.getDualbound()),
        proven=model.getStatus() == "optimal",
        seconds=time.monotonic() - begin,
        trace=watch.trace,
    )


def _loaded(asked: Problem, seconds: float) -> tuple[scip.Model, list[scip.Variable]]:
    model = scip.Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("numerics/feastol", 1e-9)
    columns = [
        model.addVar(
            vtype="I" if j < asked.integers else "C",
            lb=0.0,
            ub=float(upper) if np.isfinite(upper) else None,
            obj=float(cost),
        )
        for j, (upper, cost) in enumerate(zip(asked.upper, asked.cost, strict=True))
    ]
    for row, (low, high) in enumerate(zip(asked.row_lower, asked.row_upper, strict=True)):
        part = slice(asked.rows.indptr[row], asked.rows.indptr[row + 1])
        entries = zip(asked.rows.data[part], asked.rows.indices[part], strict=True)
        total = scip.quicksum(float(a) * columns[j] for a, j in entries)
        if np.isfinite(low) and np.isfinite(high):
            model.addCons(total == float(high))  # the only rows with two sides are equations
        elif np.isfinite(high):
            model.addCons(total <= float(high))
        else:
            model.addCons(total >= float(low))
    if asked.start.size:
        warm = model.createSol()
        for column, value in zip(columns, asked.start, strict=True):
            model.setSolVal(warm, column, float(value))
        model.addSol(warm)
    return model, columns
