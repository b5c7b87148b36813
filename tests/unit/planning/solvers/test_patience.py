"""Patience: a search that finds nothing better stops, with a plan and a bound that still hold."""

import time

import numpy as np
import pytest

from slogan.budget import PrivacyBudget
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort, Solver

USERS, PAIRS, EACH = 400, 400, 12


@pytest.fixture(scope="module")
def hard():
    """A program whose bound HiGHS does not reach in seconds."""
    rng = np.random.default_rng(4)
    pair = np.concatenate([np.sort(rng.choice(PAIRS, EACH, replace=False)) for _ in range(USERS)])
    hist = PairHistogram(
        user=np.repeat(np.arange(USERS), EACH),
        pair=pair,
        count=rng.integers(1, 4, len(pair)),
        users=USERS,
        pairs=PAIRS,
        query=np.arange(PAIRS),
    )
    return Program(constraints=privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5")))


@pytest.mark.parametrize("solver", ["packing", "exact"])
def test_a_search_without_gain_stops_before_its_time_limit(hard, solver):
    solvers.warm_up(solver)
    begin = time.monotonic()
    solution = solvers.load(solver)(hard, Effort(time_limit=8, patience=0.2))
    passed = time.monotonic() - begin
    value = hard.value(plan(solution.x, hard.constraints).counts)

    assert passed < 6
    assert 0 < value < solution.bound
    assert solution.status == "feasible"


def test_the_effort_of_a_solver_has_its_patience():
    assert Solver().effort.patience == Solver().parameters()["patience"] == 15
    assert Solver(patience=None).effort.patience == np.inf
    assert "patience" not in Solver(patience=None).parameters()
    with pytest.raises(OptionError, match="patience"):
        Solver(patience=0)
