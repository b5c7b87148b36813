"""Compiling is outside the time limit: a new installation releases what an old one does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
SOLVE_ALL = """
import numpy as np
from numba.core.dispatcher import Dispatcher
from slogan.budget import PrivacyBudget
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort, packing
from slogan.planning.solvers.packing import presolve, race, relaxation, search
from tests.strategies import histogram

loops = {
    f"{module.__name__}.{name}": loop
    for module in (presolve, relaxation, search)
    for name, loop in vars(module).items()
    if isinstance(loop, Dispatcher)
}
packing.warm_up()
before = {name: [*loop.signatures] for name, loop in loops.items()}
compiled = {name: loop.stats.cache_misses.copy() for name, loop in loops.items()}

rng = np.random.default_rng(5)
table = np.zeros((60, 50), dtype=np.int64)
for pair in range(50):
    holders = rng.choice(60, size=2 + rng.geometric(0.4), replace=False)
    table[holders, pair] = rng.integers(1, 3, len(holders))
hist = histogram(table.tolist(), (np.arange(50) // 2).tolist()).without_unique_pairs()
constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=3, delta="0.7"))

def largest():
    answer = packing.solve(Program(constraints=constraints), Effort(time_limit=1))
    return plan(answer.x, constraints), answer.bound

best = largest()[0]
for large in (False, True):
    race._LARGE, relaxation._WORTH_SHARING = (2, 2) if large else (20_000, 500_000)
    for start in (None, best.counts):
        effort = Effort(time_limit=0.5, start=start)
        packing.solve(Program(constraints=constraints), effort)
        packing.solve(Program(constraints=constraints, most=1, at_most_one=hist.query), effort)
    frequent = FrequentPairs(min_support="0.02", output_size=best.size // 2)
    packing.solve(frequent.program(constraints, *largest()), Effort(time_limit=0.5))

assert len(loops) > 20
compiled_since = {name: loop.stats.cache_misses for name, loop in loops.items()}
assert compiled_since == compiled, (compiled, compiled_since)
"""
# A loop that a cached one calls has its own signature only after a direct call.
SAME_SIGNATURES = """
after = {name: [*loop.signatures] for name, loop in loops.items()}
assert all(before.values()), before
assert after == before, {name: after[name] for name in loops if after[name] != before[name]}
"""


def run(command, folder, **environment):
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("cached", [True, pytest.param(False, marks=pytest.mark.long)])
def test_warming_up_leaves_no_loop_of_any_problem_to_compile(tmp_path, cached):
    """A cache of earlier runs may hide a loop; an empty one, which takes long, hides none."""
    if cached:
        run(["-c", SOLVE_ALL], tmp_path)
    else:
        run(["-c", SOLVE_ALL + SAME_SIGNATURES], tmp_path, NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.long
def test_a_short_time_limit_gives_the_same_release_before_and_after_compiling(tmp_path):
    """Compiling takes more than ten times the time limit here."""
    run(["-m", "slogan", "generate", "log.tsv", "--users", "150", "--seed", "1"], tmp_path)
    budget = ["--exp-epsilon", "2", "--delta", "0.5", "--seed", "1"]
    command = ["-m", "slogan", "sanitize", "log.tsv", *budget, "--time-limit", "1", "--json"]

    def sanitized(name):
        cache = tmp_path / "cache"
        done = json.loads(run([*command, "-o", name], tmp_path, NUMBA_CACHE_DIR=str(cache)))
        log = (tmp_path / name / "public/log.tsv").read_bytes()
        return done, log, {file: file.stat().st_mtime_ns for file in cache.rglob("*.nb?")}

    first, first_log, compiled = sanitized("first")
    second, second_log, compiled_since = sanitized("second")

    assert compiled
    assert compiled_since == compiled  # the second run compiles nothing
    assert first["seconds"]["compile"] > 3
    assert first["seconds"]["solve"] < first["seconds"]["compile"]
    assert first["status"] == second["status"] == "optimal"
    assert (first["clicks_out"], first["bound"]) == (second["clicks_out"], second["bound"])
    assert first_log == second_log
