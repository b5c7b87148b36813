"""pareto(): what is found and what is proven, against all outputs there are, on small logs."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError, OptionError, PartError
from slogan.planning.objectives.joint import Joint
from slogan.planning.planner import Planner
from slogan.planning.solvers import Solver
from slogan.progress import Steps, silent

SMALL = shared_histograms(users=(2, 4), pairs=(1, 4), clicks=5)
BUDGETS = budgets.filter(lambda b: b.allowance <= 4)
NAMES = ("output_size", "diversity", "query_diversity", "frequent_pairs")
SUPPORT = Fraction(1, 4)


def compromises(hist, budget, names):
    support = SUPPORT if "frequent_pairs" in names else None
    joint = Joint(weights=dict.fromkeys(names, 1), min_support=support)
    solver = Solver("exact", time_limit=20, gap=0.0)
    return Planner(joint, budget, solver, Steps(silent)).compromises(hist)


@pytest.mark.parametrize("names", [*itertools.permutations(NAMES, 2)], ids="-".join)
@settings(max_examples=12, deadline=None)
@given(hist=SMALL, budget=BUDGETS)
def test_no_output_is_above_a_bound_and_none_found_is_below_another(names, hist, budget):
    try:
        mixture, found = compromises(hist, budget, names)
    except (EmptyPlanError, PartError):
        return
    first, second = mixture.parts
    assert (first.name, second.name) == names
    constraints = Planner(Joint(), budget, Solver(), Steps(silent)).constrained(hist)
    every = [
        (mixture.amount(first, counts), mixture.amount(second, counts))
        for x in itertools.product(*(range(int(u) + 1) for u in constraints.upper))
        if constraints.allows(counts := np.array(x, dtype=np.int64))
    ]
    for one in found:
        assert constraints.allows(one.counts)
        assert one.values == (
            mixture.amount(first, one.counts),
            mixture.amount(second, one.counts),
        )
        most = max(a for a, b in every if b >= one.values[1])
        assert one.values[0] <= most <= one.bound + 1e-9
    for one, other in itertools.pairwise(found):
        assert one.values[0] < other.values[0]
        assert one.values[1] > other.values[1]
    # Both ends are the optima of the two objectives alone.
    assert found[-1].values[0] == max(a for a, _ in every)
    assert found[0].values[1] == max(b for _, b in every)


def test_a_fifth_click_costs_two_of_four_pairs():
    """Found by brute force: four pairs with a click each, or two pairs with five clicks."""
    table = [[2, 2, 1, 1], [2, 2, 2, 1], [3, 1, 1, 3], [1, 0, 2, 2], [0, 0, 1, 3]]
    budget = PrivacyBudget(exp_epsilon="4", delta="0.75")
    _, found = compromises(histogram(table), budget, ("output_size", "diversity"))

    assert [one.values for one in found] == [(4, 4), (5, 2)]
    assert [one.shares for one in found] == [(Fraction(4, 5), 1), (1, Fraction(1, 2))]
    assert [one.bound for one in found] == [4, 5]


@given(names=st.lists(st.sampled_from(NAMES), min_size=3, max_size=4, unique=True))
def test_more_than_two_objectives_are_refused(names):
    from slogan.workflows.frontier.trade_off import pair_of

    with pytest.raises(OptionError, match="two objectives"):
        pair_of(names)
