"""least_exposure(): bound and plan against all plans there are, on small logs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError, RequirementError
from slogan.generation.crowd import draw_clicks, draw_crowd
from slogan.histogram import PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.exposure import least as module
from slogan.planning.exposure.least import least_exposure, trimmed
from slogan.planning.exposure.proof import Below
from slogan.planning.exposure.weights import weights
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.objectives.query_diversity import QueryDiversity
from slogan.planning.program import Solution, Status
from slogan.planning.solvers import Effort

EFFORT = Effort(time_limit=20.0, gap=0.0)
PACKING = [OutputSize(), Diversity(), QueryDiversity()]
TABLE = [[1, 2, 0], [1, 0, 1], [1, 1, 1], [2, 1, 0], [1, 0, 3], [0, 1, 1], [1, 1, 0], [1, 2, 1]]
DOUBLE = PrivacyBudget(exp_epsilon=2, delta="0.5")
BUDGETS = st.sampled_from([PrivacyBudget(exp_epsilon=e, delta="0.95") for e in (2, "2.25", 4, 12)])
ROUNDED = 1e-9


@st.composite
def logs(draw):
    """Small logs of which several plans fit a budget: most pairs have several users."""
    users, pairs = draw(st.integers(4, 9)), draw(st.integers(1, 4))
    cell = st.sampled_from([0, 1, 1, 1, 2, 5])
    row = st.lists(cell, min_size=pairs, max_size=pairs)
    queries = st.lists(st.integers(0, 2), min_size=pairs, max_size=pairs)
    hist = histogram(draw(st.lists(row, min_size=users, max_size=users)), draw(queries))
    return hist.without_unique_pairs()


LOGS = logs().filter(lambda hist: hist.pairs > 0)


def found(program, value, **changes):
    effort = Effort(time_limit=20.0, gap=0.0, **changes)
    return least_exposure(program, value, utility="clicks", solver="auto", effort=effort)


def program_of(hist, objective, budget):
    return objective.program(privacy_constraints(hist, budget))


def plans(program, value):
    """All counts of a value that the constraints allow."""
    ranges = [range(min(int(most), value) + 1) for most in program.upper]
    every = (np.array(x) for x in itertools.product(*ranges) if sum(x) == value)
    return [x for x in every if program.allows(x)]


def exposed(hist, counts):
    """The expected number of users with a released row, from the draws themselves."""
    total = 0.0
    for user in range(hist.users):
        hidden = 1.0
        for row in np.flatnonzero(hist.user == user):
            pair = hist.pair[row]
            hidden *= (1 - hist.count[row] / hist.pair_total[pair]) ** int(counts[pair])
        total += 1 - hidden
    return total


@pytest.mark.parametrize("objective", PACKING, ids=lambda one: one.name)
@settings(max_examples=40, deadline=None)
@given(hist=LOGS, budget=BUDGETS, value=st.integers(1, 4))
@example(hist=histogram(TABLE), budget=DOUBLE, value=3)
def test_no_plan_exposes_fewer_than_the_bound_and_the_plan_is_the_best(
    objective, hist, budget, value
):
    program = program_of(hist, objective, budget)
    every = plans(program, value)
    if not every:
        with pytest.raises((RequirementError, EmptyPlanError)):
            found(program, value)
        return
    least = min(exposed(hist, x) for x in every)
    answer = found(program, value)

    assert answer.lower_bound <= least + ROUNDED
    assert answer.lower_bound <= answer.exposed
    assert answer.exposed == pytest.approx(exposed(hist, answer.counts), rel=1e-12)
    assert program.allows(answer.counts)
    assert int(program.value(answer.counts)) == value
    # On logs this small the optimum is found and proven, up to the rounding of the bound.
    assert answer.exposed == pytest.approx(least, abs=1e-9)
    assert answer.lower_bound == pytest.approx(least, abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(
    hist=LOGS,
    budget=BUDGETS,
    objective=st.sampled_from(PACKING),
    data=st.data(),
)
def test_weights_and_pieces_lie_below_the_exposure_of_every_plan(hist, budget, objective, data):
    program = program_of(hist, objective, budget)
    value = data.draw(st.integers(1, 4))
    every = plans(program, value)
    if not every:
        return
    below = Below(program, weights(program, value), value)
    chosen = data.draw(st.lists(st.sampled_from(every), max_size=3))
    for x in chosen:
        below.refine(x, 0.0)
    users = below.users_of_kind
    for x in every:
        assert below.of_kinds(x) @ users <= exposed(hist, x) + ROUNDED
        model, z = below.model(), below.variables(x)
        # The model has these counts among its solutions, and their value is that of the function.
        activity = model.rows @ z
        assert (activity <= model.row_upper + 1e-8).all()
        assert (activity >= model.row_lower - 1e-8).all()
        assert (z <= model.upper + 1e-8).all()
        assert model.cost @ z == pytest.approx(below.of_kinds(x) @ users, abs=1e-8)
    assert below.known_bound() <= min(exposed(hist, x) for x in every) + ROUNDED


@settings(max_examples=20, deadline=None)
@given(hist=LOGS, objective=st.sampled_from(PACKING))
def test_more_utility_never_exposes_fewer_users(hist, objective):
    program, needed = program_of(hist, objective, DOUBLE), []
    for value in (1, 2, 3):
        try:
            needed.append(found(program, value))
        except (RequirementError, EmptyPlanError):
            break
    for one, other in itertools.pairwise(needed):
        assert one.lower_bound <= other.exposed
        assert one.exposed <= other.exposed + ROUNDED


@settings(max_examples=20, deadline=None)
@given(hist=LOGS, objective=st.sampled_from(PACKING), value=st.integers(1, 3))
def test_a_larger_budget_never_exposes_more_users(hist, objective, value):
    least = math.inf
    for ratio in ("1.4", "2", "3"):
        budget = PrivacyBudget(exp_epsilon=ratio, delta="0.75")
        try:
            answer = found(program_of(hist, objective, budget), value)
        except (RequirementError, EmptyPlanError):
            assert least == math.inf
            continue
        assert answer.exposed <= least + ROUNDED
        least = answer.exposed


def search_log(users):
    crowd = draw_crowd(users, seed=5, clicks_per_user=20)
    clicks = draw_clicks(crowd, *next(iter(crowd.chunks(1 << 20))))
    _, pair = np.unique(clicks.query * (1 + clicks.url.max()) + clicks.url, return_inverse=True)
    query = np.arange(pair.max() + 1)
    rows = {"user": clicks.user, "pair": pair, "count": clicks.count}
    return PairHistogram.of_rows(**rows, users=users, query=query).without_unique_pairs()


@pytest.mark.parametrize("share", [0.4, 0.9])
def test_the_ordinary_plan_without_its_costliest_clicks_exposes_more(share):
    program = program_of(search_log(600), OutputSize(), DOUBLE)
    ordinary = solvers.load("auto")(program, Effort(time_limit=3.0)).x.astype(np.int64)
    value = int(share * ordinary.sum())
    start = trimmed(ordinary, value, program)
    answer = least_exposure(
        program, value, utility="clicks", solver="auto", effort=Effort(time_limit=4.0)
    )

    assert start.sum() == value
    assert program.allows(start)
    assert answer.exposed < program.constraints.expected_exposed(start)
    assert 0.8 * answer.exposed < answer.lower_bound <= answer.exposed
    assert int(program.value(answer.counts)) == value


def test_an_impossible_value_and_an_unreached_one_differ(monkeypatch):
    program = program_of(histogram(TABLE), OutputSize(), DOUBLE)
    with pytest.raises(RequirementError, match="cannot be reached") as impossible:
        found(program, 1_000)
    assert impossible.value.bound < 1_000
    assert "budget" in str(impossible.value)

    def weak(program, effort):
        x = np.zeros(program.pairs)
        return Solution(x=x, bound=99.0, status=Status.FEASIBLE, solver="weak")

    monkeypatch.setattr(module.solvers, "load", lambda _: weak)
    with pytest.raises(RequirementError, match="were not reached in the time limit") as unreached:
        found(program, 2)
    assert unreached.value.bound == 99


def test_a_budget_too_small_for_one_click_is_an_empty_plan():
    tiny = PrivacyBudget(exp_epsilon="1.001", delta="0.001")
    with pytest.raises(EmptyPlanError):
        found(program_of(histogram(TABLE), OutputSize(), tiny), 1)


def test_a_solver_that_lies_about_its_counts_is_not_believed(monkeypatch):
    program = program_of(histogram(TABLE), OutputSize(), DOUBLE)

    def liar(program, effort):
        x = np.full(program.pairs, 9.0)
        return Solution(x=x, bound=99.0, status=Status.FEASIBLE, solver="liar")

    monkeypatch.setattr(module.solvers, "load", lambda _: liar)
    answer = found(program, 1)
    assert program.allows(answer.counts)
    assert answer.exposed == pytest.approx(1.0)


def test_the_second_click_of_a_pair_is_preferred_to_another_pair():
    """Two pairs of ten users each: two clicks of one expose 1.9 users, one of each 2."""
    table = [[1, 0]] * 10 + [[0, 1]] * 10
    answer = found(program_of(histogram(table), OutputSize(), DOUBLE), 2)
    assert sorted(answer.counts.tolist()) == [0, 2]
    assert answer.exposed == pytest.approx(1.9)
    assert answer.lower_bound == pytest.approx(1.9, abs=1e-5)


def test_progress_has_the_exposure_and_a_bound_below_it():
    reported = []
    found(
        program_of(histogram(TABLE), OutputSize(), DOUBLE),
        3,
        report=lambda *both: reported.append(both),
    )
    assert reported
    assert all(bound <= exposed + ROUNDED for exposed, bound in reported)
