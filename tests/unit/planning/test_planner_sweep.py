"""climb(): whatever a solver says, a larger budget is never worse, and bounds stay bounds."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.planning import planner, solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.objectives.query_diversity import QueryDiversity
from slogan.planning.planner import climb
from slogan.planning.program import Solution, Status
from slogan.planning.solvers import Effort

GRIDS = st.lists(budgets, min_size=1, max_size=4)
EFFORT = Effort(time_limit=5.0, gap=0.0)
TABLE = [[1, 2, 0], [1, 0, 1], [1, 1, 1], [2, 1, 0], [1, 0, 3], [0, 1, 1], [1, 1, 0], [1, 2, 1]]


def grid(*pairs):
    return [PrivacyBudget(exp_epsilon=e, delta=d) for e, d in pairs]


@given(hist=shared_histograms(), asked=GRIDS, data=st.data())
def test_a_larger_budget_is_never_worse_even_if_the_solver_lies(hist, asked, data):
    def liar(program, effort):
        x = data.draw(arrays(float, program.pairs, elements=st.floats(0, 9)))
        return Solution(x=x, bound=9.0 * program.pairs, status=Status.FEASIBLE, solver="liar")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner.solvers, "load", lambda name: liar)
        steps = climb(hist, asked, OutputSize(), effort=EFFORT)

    assert list(steps) == sorted({budget.allowance for budget in asked})
    assert all(a.value <= b.value for a, b in pairwise(steps.values()))
    for budget in asked:
        counts = steps[budget.allowance].plan.counts
        assert privacy_constraints(hist, budget).allows(counts)


@pytest.mark.parametrize("solver", ["exact", "packing"])
@settings(max_examples=15)
@given(hist=shared_histograms(), asked=GRIDS)
def test_no_value_passes_its_bound_and_bounds_rise_with_the_budget(solver, hist, asked):
    for objective in (OutputSize(), Diversity()):
        steps = climb(hist, asked, objective, solver=solver, effort=EFFORT)

        assert all(step.value <= step.bound for step in steps.values())
        assert all(a.bound <= b.bound for a, b in pairwise(steps.values()))
        for budget in asked:
            most = privacy_constraints(hist, budget).size_bound
            assert steps[budget.allowance].bound <= most + 1e-6


def test_budgets_of_equal_allowance_are_solved_once(monkeypatch):
    solve, asked = solvers.load("exact"), []

    def counting(program, effort):
        asked.append(program.constraints.allowance)
        return solve(program, effort)

    monkeypatch.setattr(planner.solvers, "load", lambda name: counting)
    alike = grid(("2", "0.5"), ("2", "0.8"), ("3", "0.5"), ("1.4", "0.9"))
    climb(histogram(TABLE), alike, OutputSize(), effort=EFFORT)

    assert asked == [Fraction(7, 5), Fraction(2)]


@pytest.mark.parametrize("objective", [OutputSize(), Diversity(), QueryDiversity()])
def test_each_search_begins_with_the_plan_of_the_smaller_budget(objective, monkeypatch):
    solve, begun = solvers.load("packing"), []

    def watched(program, effort):
        begun.append(effort.start)
        return solve(program, effort)

    monkeypatch.setattr(planner.solvers, "load", lambda name: watched)
    asked = grid(("4", "0.75"), ("1.4", "0.5"), ("2", "0.5"))
    steps = list(climb(histogram(TABLE), asked, objective, effort=EFFORT).values())

    assert begun[0] is None
    for start, step in zip(begun[1:], steps[:-1], strict=True):
        assert np.array_equal(start, step.plan.counts)


def test_f_ump_has_no_entry_where_its_size_cannot_be_reached():
    asked = grid(("1.001", "0.5"), ("1.7", "0.5"), ("2", "0.5"), ("4", "0.75"))
    sizes = climb(histogram(TABLE), asked, OutputSize(), solver="exact", effort=EFFORT)
    size = sizes[Fraction(2)].plan.size
    objective = FrequentPairs(min_support="1/10", output_size=size)
    steps = climb(histogram(TABLE), asked, objective, solver="exact", effort=EFFORT, largest=sizes)

    assert Fraction("1.001") not in steps
    assert {Fraction(2), Fraction(4)} <= steps.keys()
    assert all(step.plan.size == size for step in steps.values())
    assert all(a.value >= b.value for a, b in pairwise(steps.values()))
    assert all(step.value >= step.bound - 1e-9 for step in steps.values())


def test_f_ump_finds_the_largest_size_itself():
    asked = grid(("2", "0.5"), ("4", "0.75"))
    known = climb(histogram(TABLE), asked, OutputSize(), solver="exact", effort=EFFORT)
    objective = FrequentPairs(min_support="1/10", output_size=known[Fraction(2)].plan.size)
    steps = climb(histogram(TABLE), asked, objective, solver="exact", effort=EFFORT)

    assert list(steps) == [Fraction(2), Fraction(4)]


def test_a_start_carried_over_is_an_array_of_integers():
    steps = climb(histogram(TABLE), grid(("2", "0.5")), Diversity(), solver="spe", effort=EFFORT)

    assert steps[Fraction(2)].plan.counts.dtype == np.int64
    assert steps[Fraction(2)].gap >= 0
