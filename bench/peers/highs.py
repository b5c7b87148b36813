"""HiGHS, branch and bound, on the plain integer model and on its unary expansion."""

from __future__ import annotations

import os
import time
from pathlib import Path

import highspy
import numpy as np
import scipy.sparse as sp

from bench.peers.unary import unary
from slogan.reproduction.peers import Array, Problem, Proposal

VARIANTS = ("plain", "unary")


def solve(folder: Path, variant: str, seconds: float) -> Proposal:
    """As many threads as cores, presolve on, and a tolerance at which a tie is not a violation."""
    begin = time.monotonic()
    given = Problem.load(folder)
    asked, back = (given, None) if variant == "plain" else unary(given)
    highs = _loaded(asked, seconds)
    trace: list[tuple[float, float]] = []

    def better(event: highspy.HighsCallbackEvent) -> None:
        value = asked.value(event.data_out.objective_function_value)
        trace.append((time.monotonic() - begin, value))

    highs.cbMipImprovingSolution += better
    highs.run()
    info = highs.getInfo()
    z = np.array(highs.getSolution().col_value)
    usable = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return Proposal(
        x=given.counts(_back(z, back) if usable else np.zeros(len(given.cost))),
        bound=asked.value(info.mip_dual_bound),
        proven=highs.getModelStatus() == highspy.HighsModelStatus.kOptimal,
        seconds=time.monotonic() - begin,
        trace=trace,
    )


def _back(z: Array, back: sp.csr_array | None) -> Array:
    return z if back is None else back @ z


def _loaded(asked: Problem, seconds: float) -> highspy.Highs:
    highs = highspy.Highs()
    highs.silent()
    for option, value in {
        "time_limit": seconds,
        "threads": len(os.sched_getaffinity(0)),
        "parallel": "on",
        "presolve": "on",
        "mip_rel_gap": 0.0,
        "primal_feasibility_tolerance": 1e-9,
        "mip_feasibility_tolerance": 1e-9,
    }.items():
        highs.setOptionValue(option, value)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(asked.cost), len(asked.row_upper)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = asked.cost, np.zeros_like(asked.cost), asked.upper
    lp.row_lower_, lp.row_upper_ = asked.row_lower, asked.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = asked.rows.indptr
    lp.a_matrix_.index_ = asked.rows.indices
    lp.a_matrix_.value_ = asked.rows.data
    kinds = [highspy.HighsVarType.kInteger] * asked.integers
    kinds += [highspy.HighsVarType.kContinuous] * (len(asked.cost) - asked.integers)
    lp.integrality_ = kinds
    highs.passModel(lp)
    if asked.start.size:
        warm = highspy.HighsSolution()
        warm.col_value = asked.start.tolist()
        highs.setSolution(warm)
    return highs
