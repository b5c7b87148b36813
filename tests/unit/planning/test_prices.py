"""prices(): duality, brute force, and an independent solver agree with what is reported."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bench.shapes import search, visits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from tests.strategies import budgets, histogram, shared_histograms, starts

from slogan.budget import PrivacyBudget
from slogan.errors import SolverError
from slogan.planning import prices as module
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.objectives.query_diversity import QueryDiversity
from slogan.planning.plan import plan
from slogan.planning.planner import Planner
from slogan.planning.prices import (
    Larger,
    Relaxed,
    binding,
    larger_budget,
    prices,
    relaxation_prices,
    users_at_limit,
)
from slogan.planning.program import Solution, Status
from slogan.planning.solvers import Effort, Solver
from slogan.progress import Steps

EFFORT = Effort(time_limit=20.0, gap=0.0)
PACKING = [OutputSize(), Diversity(), QueryDiversity()]
SMALL = {"users": (2, 5), "pairs": (1, 4), "clicks": 3}
LOOSE = st.builds(
    lambda ratio, delta: PrivacyBudget(exp_epsilon=ratio, delta=delta),
    st.sampled_from(["2", "2.25", "3", "4"]),
    st.sampled_from(["0.5", "2/3", "0.75", "0.9"]),
)
"""Budgets under which most small logs release something."""
LARGE = PrivacyBudget(epsilon=10, delta="0.99995")


def possible(program):
    """Every feasible plan of a small program; the gate is not asked."""
    hist, allowance = program.constraints.hist, program.constraints.allowance
    for x in itertools.product(*(range(int(most) + 1) for most in program.upper)):
        product = [Fraction(1)] * hist.users
        for user, pair, own in zip(hist.user, hist.pair, hist.count, strict=True):
            total = int(hist.pair_total[pair])
            product[user] *= Fraction(total, total - int(own)) ** x[pair]
        labels = [] if program.at_most_one is None else program.at_most_one[np.flatnonzero(x)]
        if max(product) <= allowance and len(set(labels)) == len(labels):
            yield np.array(x, dtype=np.int64)


def best_value(program):
    return max(int(x.sum()) for x in possible(program))


def linear(program, scale=1.0):
    """The relaxation by SciPy: its value and an optimal x; limits times `scale`, counts as now."""
    rows = program.constraints.cost.toarray()
    limit = np.full(len(rows), program.constraints.limit * scale)
    if program.at_most_one is not None:
        label = program.at_most_one == np.unique(program.at_most_one)[:, None]
        rows, limit = np.vstack([rows, label]), np.concatenate([limit, np.ones(len(label))])
    ends = np.column_stack([np.zeros(program.pairs), program.upper])
    answer = linprog(-np.ones(program.pairs), A_ub=rows, b_ub=limit, bounds=ends)
    assert answer.status == 0
    return -answer.fun, answer.x


def few(program):
    """Few enough plans to try all."""
    return np.prod(program.upper + 1.0) <= 2_000


def random_program(seed):
    """A program with a click that fits; larger than those that Hypothesis draws."""
    rng = np.random.default_rng(seed)
    hist = histogram(rng.poisson(0.5, (30, 15)).tolist(), rng.integers(0, 9, 15).tolist())
    budget = PrivacyBudget(epsilon=round(rng.uniform(0.6, 2.0), 4), delta="0.95")
    return PACKING[seed % 3].program(privacy_constraints(hist.without_unique_pairs(), budget))


@settings(max_examples=60, deadline=None)
@given(hist=shared_histograms(**SMALL), budget=LOOSE, objective=st.sampled_from(PACKING))
def test_the_dual_value_bounds_every_plan_and_equals_the_relaxation(hist, budget, objective):
    program = objective.program(privacy_constraints(hist, budget))
    assume(program.upper.any() and few(program))
    relaxed = relaxation_prices(program, 10.0)

    assert relaxed is not None
    assert relaxed.value >= best_value(program) * (1 - 1e-9)
    assert relaxed.value == pytest.approx(linear(program)[0], rel=1e-5)
    assert (relaxed.worth >= 0).all()


@settings(max_examples=60, deadline=None)
@given(hist=shared_histograms(clicks=3), budget=LOOSE, objective=st.sampled_from(PACKING))
def test_a_user_with_a_price_uses_the_whole_limit_in_the_relaxation(hist, budget, objective):
    program = objective.program(privacy_constraints(hist, budget))
    assume(program.upper.any())
    relaxed = relaxation_prices(program, 10.0)
    _, x = linear(program)
    left = 1 - program.constraints.cost @ x / program.constraints.limit

    assert relaxed is not None
    assert np.abs(relaxed.worth * left).max() <= 1e-4


@pytest.mark.parametrize("seed", range(12))
def test_prices_are_the_slope_of_the_relaxation(seed):
    """On the right; elsewhere the line of these prices is above the relaxation."""
    program, step = random_program(seed), 2e-5
    relaxed = relaxation_prices(program, 10.0)
    assert relaxed is not None
    value, _ = linear(program)
    slope = (linear(program, 1 + step)[0] - value) / step

    assert relaxed.worth.sum() == pytest.approx(slope, rel=2e-3, abs=1e-3)
    for scale in (0.5, 0.9, 1.1, 2.0):
        line = relaxed.value + (scale - 1) * relaxed.worth.sum()
        assert linear(program, scale)[0] <= line * (1 + 1e-5)


def test_twelve_programs_have_prices_of_many_kinds():
    """The test above compares slopes between 0 and 1 too, not only those at the ends."""
    elasticities = [relaxation_prices(random_program(seed), 10.0).elasticity for seed in range(12)]

    assert min(elasticities) < 0.7
    assert max(elasticities) > 0.8


def test_only_the_largest_whole_counts_keep_the_elasticity_below_one():
    """Two pairs with the same fifty users: 34.3 clicks fit, and one pair alone has 34 at most."""
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")
    two = OutputSize().program(privacy_constraints(histogram([[1, 1]] * 50), budget))
    one = OutputSize().program(privacy_constraints(histogram([[1]] * 50), budget))

    assert relaxation_prices(two, 10.0).elasticity == pytest.approx(1)
    assert relaxation_prices(one, 10.0).elasticity == 0


def test_of_several_prices_those_for_more_budget_are_taken():
    """One click uses the limit exactly: less budget loses it, slightly more adds nothing."""
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")
    program = OutputSize().program(privacy_constraints(histogram([[1], [1]]), budget))
    relaxed = relaxation_prices(program, 10.0)

    assert (relaxed.value, relaxed.elasticity) == (1, 0)
    assert linear(program, 0.9)[0] == pytest.approx(0.9)


def test_the_distribution_counts_users_with_a_price_only():
    relaxed = Relaxed(value=20.0, worth=np.array([0.0, 1, 4, 0, 2, 3, 0]))

    assert relaxed.elasticity == 0.5
    assert [relaxed.carried_by(share) for share in (0.01, 0.5, 1)] == [0.4, 0.7, 1]
    assert [relaxed.quantile(share) for share in (0, 0.5, 1)] == [1, 2.5, 4]
    nothing = Relaxed(value=20.0, worth=np.zeros(3))
    assert (nothing.elasticity, nothing.carried_by(0.5), nothing.quantile(0.5)) == (0, 0, 0)


@settings(max_examples=80, deadline=None)
@given(hist=shared_histograms(), budget=budgets, objective=st.sampled_from(PACKING), data=st.data())
def test_users_at_their_limit_equal_the_definition(hist, budget, objective, data):
    program = objective.program(privacy_constraints(hist, budget))
    counts = data.draw(starts(program))
    expected = []
    for user in range(hist.users):
        fits = []
        for pair in hist.pair[hist.user == user]:
            labels = () if program.at_most_one is None else program.at_most_one[counts > 0]
            taken = len(labels) and program.at_most_one[pair] in labels
            if not taken and (program.most is None or counts[pair] < program.most):
                more = counts + (np.arange(hist.pairs) == pair)
                fits.append(program.constraints.allows_user(user, more))
        if fits and not any(fits):
            expected.append(user)

    assert users_at_limit(program, counts).tolist() == expected


def test_a_tie_with_the_limit_is_decided_exactly():
    """At e^b = 2 one click of a pair with two users uses the limit, and no more."""
    program = OutputSize().program(
        privacy_constraints(
            histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1]]), PrivacyBudget(exp_epsilon=2, delta="0.5")
        )
    )

    assert users_at_limit(program, np.array([0, 0, 0])).tolist() == []
    assert users_at_limit(program, np.array([1, 0, 0])).tolist() == [0, 1]


@given(budget=budgets)
def test_the_larger_budget_is_a_tenth_larger_and_changes_no_more_than_it_must(budget):
    larger = larger_budget(budget)
    b = budget.per_user

    assert larger is not None
    assert 1.1 * b * (1 - 1e-9) <= larger.per_user <= 1.1 * b * 1.003
    for one, other, enough in (
        (budget.epsilon_value, larger.epsilon_value, 1.1 * b),
        (budget.delta_value, larger.delta_value, -math.expm1(-1.1 * b)),
    ):
        assert other == one if one >= enough else other == pytest.approx(enough, rel=2e-3)


@pytest.mark.parametrize(
    ("budget", "limited"),
    [
        (PrivacyBudget(exp_epsilon=2, delta="0.5"), "both"),
        (PrivacyBudget(epsilon="0.693147", delta="0.5"), "both"),  # equal to six digits
        (PrivacyBudget(exp_epsilon="2.3", delta="0.5"), "delta"),
        (PrivacyBudget(epsilon="0.5", delta="0.5"), "epsilon"),
    ],
)
def test_the_smaller_one_limits(budget, limited):
    assert binding(budget) == limited


@pytest.mark.parametrize("objective", PACKING, ids=lambda one: one.name)
@settings(max_examples=25, deadline=None)
@given(hist=shared_histograms(**SMALL), budget=LOOSE)
def test_the_value_of_the_larger_budget_equals_brute_force(objective, hist, budget):
    program = objective.program(privacy_constraints(hist, budget))
    more = larger_budget(budget)
    assert more is not None
    other = objective.program(privacy_constraints(hist, more))
    assume(program.upper.any() and few(other))
    counts = max(possible(program), key=np.sum)
    larger = prices(program, counts, budget, solver="auto", effort=EFFORT).larger

    assert isinstance(larger, Larger)
    assert larger.budget == more
    assert larger.value == larger.bound == best_value(other) >= counts.sum()


@pytest.mark.parametrize(("shape", "users"), [(search, 250), (visits, 80)])
def test_the_value_of_the_larger_budget_equals_that_of_branch_and_bound(shape, users):
    hist = shape(users, seed=2).hist.without_unique_pairs()
    budget = PrivacyBudget(exp_epsilon="2.3", delta="0.5")
    constraints = privacy_constraints(hist, budget)
    for objective in (OutputSize(), Diversity()):
        program = objective.program(constraints)
        counts = plan(solvers.load("auto")(program, EFFORT).x, constraints).counts
        priced = prices(program, counts, budget, solver="auto", effort=EFFORT)
        larger = priced.larger
        assert isinstance(larger, Larger)
        independent = privacy_constraints(hist, larger.budget)
        again = solvers.load("exact")(objective.program(independent), EFFORT)

        assert larger.budget == PrivacyBudget(exp_epsilon="2.3", delta="0.5335")
        assert again.status is Status.OPTIMAL
        assert larger.value == larger.bound == plan(again.x, independent).size > counts.sum()
        assert priced.relaxed is not None
        assert priced.relaxed.value == pytest.approx(linear(program)[0], rel=1e-5)


def priced_by(monkeypatch, solve, budget=LARGE, **options):
    hist = histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    program = OutputSize().program(privacy_constraints(hist, budget))
    monkeypatch.setattr(module.solvers, "load", lambda _: solve)
    return prices(program, np.array([1, 0, 0]), budget, solver="auto", effort=EFFORT, **options)


def test_a_poor_solver_never_makes_a_larger_budget_worse(monkeypatch):
    def nothing(program, _effort):
        return Solution(x=np.zeros(program.pairs), bound=0.0, status=Status.OPTIMAL, solver="no")

    priced = priced_by(monkeypatch, nothing, PrivacyBudget(exp_epsilon=2, delta="0.5"))

    assert (priced.larger.value, priced.larger.bound) == (1, 1)


def test_why_a_larger_budget_was_not_solved_is_reported(monkeypatch):
    def failing(_program, _effort):
        raise SolverError("too slow", hint="wait")

    two = PrivacyBudget(exp_epsilon=2, delta="0.5")
    assert priced_by(monkeypatch, failing, two).larger == "solver"
    assert priced_by(monkeypatch, None, two, again=False).larger == "time"
    assert priced_by(monkeypatch, None, LARGE).larger == "budget"


def test_a_relaxation_without_time_has_no_prices(monkeypatch):
    hist = search(3_000, seed=0).hist.without_unique_pairs()
    program = OutputSize().program(
        privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )
    monkeypatch.setattr(module, "_LEAST_TIME", 1e-9)

    assert relaxation_prices(program, 0.0) is None


def planned_by(objective, **changes):
    planner = Planner(objective, PrivacyBudget(exp_epsilon=2, delta="0.5"), Solver(), Steps())
    planned = planner.exact(search(250, seed=2).hist.without_unique_pairs())
    return planner, replace(planned, solution=replace(planned.solution, **changes))


def test_a_search_that_used_its_whole_time_is_not_repeated():
    planner, planned = planned_by(Diversity(), status=Status.FEASIBLE)
    planner.steps.seconds["solve"] = 55.0
    assert planner.prices(planned).larger == "time"
    planner.steps.seconds["solve"] = 20.0
    assert isinstance(planner.prices(planned).larger, Larger)


def test_a_proven_plan_is_compared_however_long_it_took():
    planner, planned = planned_by(Diversity())
    planner.steps.seconds["solve"] = 55.0
    assert isinstance(planner.prices(planned).larger, Larger)


def test_objectives_that_do_not_pack_have_no_prices():
    planner, planned = planned_by(FrequentPairs(min_support="1/100"))

    assert planner.prices(planned) is None
    assert "prices" not in planner.steps.seconds
