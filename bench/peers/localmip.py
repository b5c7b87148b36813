"""Local-MIP, a local search for integer programs: two searches with different seeds at once."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import localmip_py as localmip
import numpy as np

from slogan.reproduction.peers import Problem, Proposal

VARIANTS = ("two seeds",)
_SEEDS = (1, 2)


def solve(folder: Path, variant: str, seconds: float) -> Proposal:
    """One thread for each seed; it proves nothing and reports no progress."""
    del variant
    begin = time.monotonic()
    problem = Problem.load(folder)
    model = _loaded(problem)
    searches = [_search(model, seed, seconds - (time.monotonic() - begin)) for seed in _SEEDS]
    threads = [threading.Thread(target=search.run) for search in searches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [np.array(search.get_solution()) for search in searches if search.is_feasible()]
    z = min(found, key=lambda z: float(problem.cost @ z), default=np.zeros(len(problem.cost)))
    return Proposal(
        x=problem.counts(z),
        bound=-math.inf if problem.minimises else math.inf,
        proven=False,
        seconds=time.monotonic() - begin,
    )


def _search(model: localmip.PreparedModel, seed: int, seconds: float) -> localmip.LocalMIP:
    search = localmip.LocalMIP(model)
    search.set_random_seed(seed)
    search.set_time_limit(max(0.1, seconds))
    search.set_log_obj(False)
    return search


def _loaded(problem: Problem) -> localmip.PreparedModel:
    builder = localmip.ModelBuilder()
    builder.set_sense(localmip.Sense.minimize)
    kinds, least = localmip.VarType, np.minimum(problem.upper, 1e9)
    for j, (cost, upper) in enumerate(zip(problem.cost, least, strict=True)):
        whole = kinds.binary if upper == 1 else kinds.general_integer
        kind = whole if j < problem.integers else kinds.real
        builder.add_var(f"x{j}", 0.0, float(upper), float(cost), kind)
    for row, (low, high) in enumerate(zip(problem.row_lower, problem.row_upper, strict=True)):
        part = slice(problem.rows.indptr[row], problem.rows.indptr[row + 1])
        index, cost = problem.rows.indices[part], problem.rows.data[part]
        builder.add_con(float(low), float(high), index.tolist(), cost.tolist())
    options = localmip.ModelPrepareOptions()
    options.feas_tolerance = 1e-9
    return builder.prepare(options)
