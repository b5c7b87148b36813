"""least_budget(): the least b equals brute force, and the exact gate accepts what is published."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.strategies import histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.errors import OptionError, RequirementError
from slogan.planning import least_budget as module
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.least_budget import LARGEST, budget_of, least_budget
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.objectives.query_diversity import QueryDiversity
from slogan.planning.program import Solution, Status
from slogan.planning.solvers import Effort

EFFORT = Effort(time_limit=20.0, gap=0.0)
PACKING = [OutputSize(), Diversity(), QueryDiversity()]
TABLE = [[1, 2, 0], [1, 0, 1], [1, 1, 1], [2, 1, 0], [1, 0, 3], [0, 1, 1], [1, 1, 0], [1, 2, 1]]
SMALL = {"users": (2, 5), "pairs": (1, 4)}


def found(hist, objective, value, solver="auto"):
    return least_budget(hist, objective, value, solver=solver, effort=EFFORT)


def ratio(hist, counts):
    """e^b of the user who is charged most, exactly."""
    product = [Fraction(1)] * hist.users
    for user, pair, own in zip(hist.user, hist.pair, hist.count, strict=True):
        total = int(hist.pair_total[pair])
        product[user] *= Fraction(total, total - int(own)) ** int(counts[pair])
    return max(product)


def least_ratio(hist, objective, value):
    """The least e^b for which some counts reach the value, by trying all of them."""
    most = value if objective.most is None else 1
    reach = []
    for x in itertools.product(range(most + 1), repeat=hist.pairs):
        labels = hist.query[np.flatnonzero(x)].tolist()
        if sum(x) == value and not (objective.one_of_query and len(set(labels)) < len(labels)):
            reach.append(ratio(hist, x))
    return min(reach, default=None)


@pytest.mark.parametrize("objective", PACKING, ids=lambda one: one.name)
@settings(max_examples=25, deadline=None)
@given(hist=shared_histograms(**SMALL), value=st.integers(1, 3))
@example(hist=histogram(TABLE), value=3)
def test_the_least_budget_equals_brute_force(objective, hist, value):
    least = least_ratio(hist, objective, value)
    if least is None or least > LARGEST.allowance:
        with pytest.raises(RequirementError):
            found(hist, objective, value)
        return
    answer, b = found(hist, objective, value), np.log(float(least))

    assert answer.budget.allowance >= least
    assert answer.budget.per_user == pytest.approx(b, rel=1e-5)
    assert answer.lower_bound <= b * (1 + 1e-12)
    assert answer.lower_bound == pytest.approx(b, rel=1e-5)


@settings(max_examples=40, deadline=None)
@given(hist=shared_histograms(), value=st.integers(1, 4), objective=st.sampled_from(PACKING))
def test_the_gate_accepts_the_published_budget_exactly(hist, value, objective):
    try:
        answer = found(hist, objective, value)
    except RequirementError:
        return
    allowed = privacy_constraints(hist, answer.budget)

    assert allowed.allows(answer.counts)
    assert objective.program(allowed).allows(answer.counts)
    assert answer.counts.sum() >= value
    # what is published is sufficient, read as text
    again = PrivacyBudget(**answer.budget.parameters())
    assert ratio(hist, answer.counts) <= again.allowance
    assert max(map(len, (answer.budget.epsilon, answer.budget.delta))) <= 40


@settings(max_examples=15, deadline=None)
@given(hist=shared_histograms(), objective=st.sampled_from(PACKING))
def test_more_utility_never_needs_less_budget(hist, objective):
    needed = []
    for value in (1, 2, 3):
        try:
            needed.append(found(hist, objective, value))
        except RequirementError:
            break
    for one, other in itertools.pairwise(needed):
        assert one.lower_bound <= other.budget.per_user
        assert one.budget.per_user <= other.budget.per_user * (1 + 1e-5)


def test_the_relaxation_bounds_the_least_budget():
    """λ_LP(b) = b·λ_LP(1), so a value V needs b ≥ V / λ_LP(1)."""
    hist = histogram(TABLE)
    one = privacy_constraints(hist, PrivacyBudget(exp_epsilon="2.718281828", delta="0.99"))
    bound = solvers.load("relaxed")(OutputSize().program(one), EFFORT).bound / one.limit
    for value in (1, 2, 5, 9):
        assert found(hist, OutputSize(), value).budget.per_user >= value / bound * (1 - 1e-9)


@given(
    hist=shared_histograms(),
    data=st.data(),
)
def test_a_budget_of_counts_is_the_least_of_its_digits(hist, data):
    counts = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=hist.pairs, max_size=hist.pairs))
    )
    constraints = privacy_constraints(hist, LARGEST)
    needed = ratio(hist, counts)
    if not 1 < needed < LARGEST.allowance:
        return
    budget = budget_of(counts, constraints)
    spare = 1 + 1e-6 * (1 + 1 / float(budget.delta))

    assert needed <= budget.allowance
    assert np.log(float(needed)) * spare >= budget.per_user * (1 - 1e-12)


def test_a_solver_that_lies_about_its_counts_is_not_believed(monkeypatch):
    def liar(program, effort):
        x = np.full(program.pairs, 9.0)
        return Solution(x=x, bound=99.0, status=Status.FEASIBLE, solver="liar")

    monkeypatch.setattr(module.solvers, "load", lambda _: liar)
    answer = least_budget(
        histogram(TABLE), OutputSize(), 2, solver="auto", effort=Effort(time_limit=0.5)
    )
    assert privacy_constraints(histogram(TABLE), answer.budget).allows(answer.counts)
    assert answer.counts.sum() >= 2


@pytest.mark.parametrize(("objective", "most"), [(Diversity(), 3), (QueryDiversity(), 2)])
def test_what_no_budget_reaches_names_the_most_that_is_possible(objective, most):
    hist = histogram(TABLE, [0, 0, 1])
    with pytest.raises(RequirementError) as refused:
        found(hist, objective, most + 1)
    assert f"the most for this log is {most}" in str(refused.value)
    assert f"require={most}" in str(refused.value)
    assert found(hist, objective, most).counts.sum() == most


def test_the_largest_budget_names_what_was_found_and_what_is_possible():
    with pytest.raises(RequirementError) as refused:
        found(histogram(TABLE), OutputSize(), 10**6)
    assert 0 < refused.value.found <= refused.value.bound < 10**6


def test_distances_and_values_below_one_cannot_be_required():
    with pytest.raises(OptionError, match="no value of frequent_pairs can be required"):
        found(histogram(TABLE), FrequentPairs(), 1)
    with pytest.raises(OptionError, match="at least 1"):
        found(histogram(TABLE), Diversity(), 0)
