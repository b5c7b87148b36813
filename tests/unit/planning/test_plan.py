"""The gate: fed with lies, it stays shut."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan


def exact_charge(hist, counts, user):
    """Π t_ijk^x_ij as a rational, written down again without the product's code."""
    rows = [r for r in range(len(hist.user)) if hist.user[r] == user]
    total = hist.pair_total.tolist()
    return prod(
        (
            Fraction(total[hist.pair[r]], total[hist.pair[r]] - int(hist.count[r]))
            ** int(counts[hist.pair[r]])
            for r in rows
        ),
        start=Fraction(1),
    )


@given(hist=shared_histograms(), budget=budgets, data=st.data())
def test_a_plan_is_private_even_if_the_solver_lies(hist, budget, data):
    elements = st.floats(allow_nan=True, allow_infinity=True)
    proposal = data.draw(arrays(float, hist.pairs, elements=elements))

    counts = plan(proposal, privacy_constraints(hist, budget)).counts

    assert counts.dtype == np.int64
    assert (counts >= 0).all()
    for user in range(hist.users):
        assert exact_charge(hist, counts, user) <= budget.allowance


@given(hist=shared_histograms(), budget=budgets, data=st.data())
def test_a_plan_never_exceeds_the_proposal(hist, budget, data):
    proposal = data.draw(arrays(float, hist.pairs, elements=st.floats(0, 50)))

    counts = plan(proposal, privacy_constraints(hist, budget)).counts

    assert (counts <= proposal).all()


@given(hist=shared_histograms(), budget=budgets, data=st.data())
def test_an_allowed_proposal_passes_unchanged(hist, budget, data):
    constraints = privacy_constraints(hist, budget)
    proposal = data.draw(arrays(np.int64, hist.pairs, elements=st.integers(0, 6)))
    allowed = all(
        exact_charge(hist, proposal, user) <= budget.allowance for user in range(hist.users)
    )

    counts = plan(proposal, constraints).counts

    assert allowed == (counts == proposal).all()
    assert allowed == constraints.allows(proposal)


@given(hist=shared_histograms(), budget=budgets)
def test_upper_is_the_largest_count_of_a_pair_alone(hist, budget):
    constraints = privacy_constraints(hist, budget)
    for pair in range(hist.pairs):
        alone = np.zeros(hist.pairs, dtype=np.int64)
        alone[pair] = constraints.upper[pair]
        assert all(exact_charge(hist, alone, u) <= budget.allowance for u in range(hist.users))
        alone[pair] += 1
        assert any(exact_charge(hist, alone, u) > budget.allowance for u in range(hist.users))


@pytest.mark.parametrize(
    ("delta", "released"),
    [
        ("0.5", 1),  # exactly at the limit: two users with one click each, t = 2 = 1/(1-δ)
        ("0.49999999999999999999999999", 0),  # 26 digits below it; a double cannot tell
        ("0.50000000000000000000000001", 1),
    ],
)
def test_ties_are_decided_by_the_digits_that_were_typed(delta, released):
    hist = histogram([[1], [1]])
    budget = PrivacyBudget(exp_epsilon="2.1", delta=delta)

    assert plan(np.array([1.0]), privacy_constraints(hist, budget)).size == released


def test_two_logarithms_that_sum_to_the_limit_pass():
    """2·log 1.5 = log 2.25 exactly, whatever floating point makes of it."""
    hist = histogram([[1, 1], [1, 1], [1, 1]])
    budget = PrivacyBudget(exp_epsilon="2.25", delta="0.9")

    assert plan(np.array([1.0, 1.0]), privacy_constraints(hist, budget)).size == 2


def test_an_integer_just_above_the_limit_is_lowered():
    hist = histogram([[1, 1], [1, 1], [1, 1]])
    budget = PrivacyBudget(exp_epsilon="2.2499999999999999999999", delta="0.9")

    assert plan(np.array([1.0, 1.0]), privacy_constraints(hist, budget)).size == 1


def test_huge_logs_with_huge_proposals_are_repaired_quickly():
    """Counts near 2^53 would need powers no computer can hold; the gate errs on the safe side."""
    big = 2**50
    hist = histogram([[big, 1], [big, big], [1, big]])
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))

    counts = plan(np.array([np.inf, 1e300]), constraints).counts

    assert constraints.allows(counts)


def test_a_proposal_for_another_log_is_refused():
    constraints = privacy_constraints(histogram([[1], [1]]), PrivacyBudget(epsilon=1, delta="0.5"))
    with pytest.raises(ValueError, match="expected 1 counts"):
        plan(np.zeros(2), constraints)


def test_a_plan_that_repair_cannot_fix_is_refused(monkeypatch):
    """The last look does not trust the repair."""
    monkeypatch.setattr("slogan.planning.plan._repair", lambda user, counts, constraints: None)
    hist = histogram([[1, 1], [1, 1], [1, 1]])
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon="2.2", delta="0.9"))

    with pytest.raises(AssertionError, match="violates a constraint"):
        plan(np.array([1.0, 1.0]), constraints)


def test_a_plan_cannot_be_changed_after_it_was_checked():
    constraints = privacy_constraints(histogram([[1], [1]]), PrivacyBudget(epsilon=1, delta="0.5"))
    counts = plan(np.array([1.0]), constraints).counts

    with pytest.raises(ValueError, match="read-only"):
        counts[0] = 2


@pytest.mark.parametrize(
    ("counts", "allowed"),
    [
        (np.array([0, 0]), True),
        (np.array([1, 0]), True),
        (np.array([-1, 0]), False),  # a negative count would pay for another one
        (np.array([-5, 3]), False),
        (np.array([2, 0]), False),  # above the largest count of the pair alone
        (np.array([0.5, 0.0]), False),  # clicks are whole
        (np.array([1, 0], dtype=np.uint64), False),
    ],
)
def test_only_whole_counts_from_nought_to_the_upper_bound_are_allowed(counts, allowed):
    hist = histogram([[1, 1], [1, 1]])
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))

    assert constraints.upper.tolist() == [1, 1]
    assert constraints.allows(counts) is allowed


def test_constraints_of_a_log_with_a_unique_pair_are_refused():
    with pytest.raises(ValueError, match="unique pairs"):
        privacy_constraints(histogram([[1, 1], [1, 0]]), PrivacyBudget(epsilon=1, delta="0.5"))


def test_a_repair_skips_the_costliest_pair_if_it_is_not_proposed():
    hist = histogram([[3, 1, 1], [1, 1, 1]])  # the first pair costs the first user log 4
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon="3.9", delta="0.9"))

    assert sorted(plan(np.array([0, 1, 1]), constraints).counts.tolist()) == [0, 0, 1]


def test_an_infinite_proposal_is_cut_to_the_upper_bound():
    hist = histogram([[1]] * 1_000)
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))

    # (1000/999)^692 ≤ 2 < (1000/999)^693
    assert plan(np.array([np.inf]), constraints).counts.tolist() == [692]
    assert plan(np.array([692.5]), constraints).counts.tolist() == [692]


def test_a_repair_removes_no_more_than_needed():
    hist = histogram([[1, 1]] * 1_000)
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))

    assert plan(np.array([692, 10]), constraints).size == 692
