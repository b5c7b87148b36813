"""Theory: what no output can exceed, the linear relaxation's homogeneity, and Theorem 2."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.planning import objectives, solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort
from slogan.planning.solvers._highs import Running, model


def relaxed_optimum(constraints):
    """λ_LP: the optimum of O-UMP without integrality, without pruning."""
    program = Program(constraints=constraints)
    free = np.full(program.pairs, np.inf)
    asked = model(program, kept=np.arange(program.pairs), upper=free)
    return -Running(asked, Effort(), integer=False).wait().objective_bound


@given(hist=shared_histograms(), budget=budgets)
def test_no_output_is_larger_than_m_times_b(hist, budget):
    constraints = privacy_constraints(hist, budget)

    assert relaxed_optimum(constraints) <= hist.users * budget.per_user * (1 + 1e-9)


@given(hist=shared_histograms(), budget=budgets)
def test_the_relaxation_is_homogeneous_in_the_budget(hist, budget):
    constraints = privacy_constraints(hist, budget)
    unit = PrivacyConstraints(hist=hist, allowance=budget.allowance, limit=1.0)

    assert relaxed_optimum(constraints) == pytest.approx(
        budget.per_user * relaxed_optimum(unit), rel=1e-6
    )


# Table 4 of the paper: the largest published cell of each column, at m = 1,980 users.
@pytest.mark.parametrize(
    ("exp_epsilon", "delta", "published"),
    [("2.3", "1e-4", 3759), ("2.3", "1e-2", 4891), ("2.3", "0.1", 8874), ("2.3", "0.8", 13901)],
)
def test_table_4_exceeds_what_any_log_of_1980_users_can_give(exp_epsilon, delta, published):
    budget = PrivacyBudget(exp_epsilon=exp_epsilon, delta=delta)

    assert published > 8 * 1_980 * budget.per_user


def diversity_by_mip(constraints):
    """D-UMP before Theorem 2: the best number of positive counts, counts free to exceed 1."""
    ranges = [range(int(u) + 1) for u in constraints.upper]
    feasible = (
        np.array(x, dtype=np.int64)
        for x in itertools.product(*ranges)
        if constraints.allows(np.array(x, dtype=np.int64))
    )
    return max(np.count_nonzero(x) for x in feasible)


@settings(max_examples=60)
@given(
    hist=shared_histograms(users=(2, 4), pairs=(1, 4), clicks=4),
    budget=budgets.filter(lambda b: b.allowance <= 3),
)
def test_theorem_2_the_binary_program_has_the_optimum_of_the_mixed_one(hist, budget):
    constraints = privacy_constraints(hist, budget)
    program = objectives.load("diversity")().program(constraints)
    answer = solvers.load("exact")(program, Effort())

    assert plan(answer.x, constraints).pairs == diversity_by_mip(constraints)


def test_the_counts_of_the_optimum_tell_neighbours_apart():
    """Theory §4: with one pair and m users of one click each, |O| alone reveals m."""
    sizes = []
    for m in (3, 4, 5, 6):
        constraints = privacy_constraints(
            histogram([[1]] * m), PrivacyBudget(exp_epsilon=2, delta="0.5")
        )
        program = OutputSize().program(constraints)
        sizes.append(plan(solvers.load("exact")(program, Effort()).x, constraints).size)

    assert sizes == [1, 2, 3, 3]
