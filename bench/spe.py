"""How long does the paper's heuristic take on a million charges, beside its own loop?"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import slogan
from bench.machine import line
from bench.store import Record, Store
from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.solvers import Effort, spe

USERS = (2_500, 20_000, 120_000)
_PATIENCE = 60.0


def main(argv: list[str]) -> None:
    """SPE on growing logs; the loop stops where it is after a minute."""
    parser = argparse.ArgumentParser(prog="bench spe", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest log only")
    options = parser.parse_args(argv)
    store = Store("spe-quick" if options.quick else "spe")
    for users in USERS[:1] if options.quick else USERS:
        store.keep(f"{users} users", _measured(_histogram(users)))
    store.print_and_keep(_markdown(store))


def _histogram(users: int) -> PairHistogram:
    engine = engines.resolve("duckdb").start()
    try:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log.parquet")
            slogan.generate(log, users=users, clicks_per_user=28, seed=0)
            return engine.count(slogan.read(log)).hist
    finally:
        engine.close()


def _measured(hist: PairHistogram) -> Record:
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    begin = time.monotonic()
    answer = spe.solve(Diversity().program(constraints), Effort())
    seconds = time.monotonic() - begin
    pairs, dropped, loop = _loop(constraints)
    return {
        "charges": len(hist.user),
        "pairs": hist.pairs,
        "seconds": seconds,
        "kept": int(answer.x.sum()),
        "loop_seconds": loop,
        "loop_kept": pairs,
        "loop_dropped": dropped,
    }


def _loop(constraints: PrivacyConstraints) -> tuple[int | None, int, float]:
    """Drop the most sensitive pair, look at all users, and so on: [Hong12, Algorithm 2]."""
    hist = constraints.hist
    y = np.ones(hist.pairs, dtype=np.int64)
    share = hist.count / hist.pair_total[hist.pair]
    begin = time.monotonic()
    while time.monotonic() - begin < _PATIENCE:
        y[hist.pair[int(np.argmax(np.where(y[hist.pair] > 0, share, -1.0)))]] = 0
        if not len(constraints.violated(y)):
            return int(y.sum()), hist.pairs - int(y.sum()), time.monotonic() - begin
    return None, hist.pairs - int(y.sum()), time.monotonic() - begin


def _markdown(store: Store) -> str:
    names = "log | charges | pairs | SPE, s | pairs kept | loop, s | pairs kept by the loop"
    lines = [f"| {names} |", "|" + " --- |" * 7]
    for key, run in sorted(store.records.items(), key=lambda item: item[1]["charges"]):
        kept = run["loop_kept"]
        loop = f"stopped after {run['loop_dropped']:,} drops" if kept is None else f"{kept:,}"
        sizes = f"{run['charges']:,} | {run['pairs']:,} | {run['seconds']:.2f} | {run['kept']:,}"
        lines.append(f"| {key} | {sizes} | {run['loop_seconds']:.2f} | {loop} |")
    return "\n\n".join([f"# {__doc__.strip()}", _WORDS, "\n".join(lines), line(store.machine)])


_WORDS = """Diversity at e^ε = 2, δ = 0.5, forming the constraints included; the histogram is given.
A charge is what one click of a pair costs one user: a non-zero of the matrix.
Asked: a million in about a second."""
