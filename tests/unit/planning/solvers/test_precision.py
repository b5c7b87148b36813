"""Of equally good outputs of F-UMP, the one in which the fewest other pairs become frequent."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives.frequent_pairs import FrequentPairs, fewest_frequent
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import plan
from slogan.planning.solvers import Effort, packing

EFFORT = Effort(time_limit=20, gap=0.0)
both = pytest.mark.parametrize("solver", ["exact", "packing"])


def program_for(hist, budget, **options):
    constraints = privacy_constraints(hist, budget)
    answer = solvers.load("exact")(OutputSize().program(constraints), EFFORT)
    largest = plan(answer.x, constraints)
    return FrequentPairs(**options).program(constraints, largest, answer.bound)


def solved(program, solver):
    return plan(solvers.load(solver)(program, EFFORT).x, program.constraints).counts


@both
@settings(max_examples=80)
@given(
    hist=shared_histograms(users=(2, 4), pairs=(1, 4), clicks=5),
    budget=budgets.filter(lambda b: b.allowance <= 4),
    min_support=st.sampled_from(["1/10", "1/4", "1/3", "1/2", "0.7"]),
)
def test_no_optimum_has_fewer_newly_frequent_pairs(solver, hist, budget, min_support):
    try:
        program = program_for(hist, budget, min_support=min_support)
    except EmptyPlanError:
        return
    ranges = [range(int(u) + 1) for u in program.upper]
    every = (np.array(x, dtype=np.int64) for x in itertools.product(*ranges))
    allowed = [x for x in every if program.allows(x)]
    best = min(map(program.value, allowed))
    optima = [x for x in allowed if program.value(x) <= best + 1e-12]
    fewest = min(len(program.targets.newly_frequent(x)) for x in optima)
    counts = solved(program, solver)

    assert program.value(counts) == pytest.approx(best, abs=1e-9)
    assert len(program.targets.newly_frequent(counts)) == fewest


@both
def test_other_pairs_stay_infrequent_where_there_is_room(solver):
    # One frequent pair, and twenty others of 2% each: |O| has room for them below s·|O|.
    table = [[6] + [0] * 20 for _ in range(40)]
    for pair in range(1, 21):
        for user in range(4):
            table[(pair * 2 + user) % 40][pair] = 1
    hist = histogram(table)
    budget = PrivacyBudget(exp_epsilon=4, delta="0.75")
    program = program_for(hist, budget, min_support="1/10", output_size=40)
    counts = solved(program, solver)

    assert program.targets.infrequent == 3
    assert counts.sum() == 40
    assert len(program.targets.newly_frequent(counts)) == 0


@given(clicks=st.integers(1, 10**6), support=st.fractions(0, 1).filter(lambda s: s > 0))
def test_the_threshold_is_the_fewest_clicks_of_a_frequent_pair(clicks, support):
    least = fewest_frequent(clicks, support)

    assert Fraction(least, clicks) >= support
    assert Fraction(least - 1, clicks) < support


@both
def test_a_plan_that_is_large_enough_ends_the_search(solver):
    hist = histogram([[1] * 12 for _ in range(12)])
    program = OutputSize().program(
        privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )
    most = solved(program, solver).sum()
    answer = solvers.load(solver)(program, Effort(time_limit=20, gap=0.0, goal=2))

    assert 2 <= plan(answer.x, program.constraints).size <= most <= answer.bound


def test_a_large_log_exceeds_the_threshold_where_there_is_most_room(monkeypatch):
    # No click of the frequent pair fits. Of the others, five clicks each are infrequent.
    monkeypatch.setattr(packing, "_MOST_PAIRS", 0)
    table = [[500, 1, 0]] + [[5, 1, 0]] * 39 + [[0, 0, 1]] * 10
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")
    program = program_for(histogram(table), budget, min_support="0.3", output_size=20)

    assert solved(program, "packing").tolist() == [0, 15, 5]
