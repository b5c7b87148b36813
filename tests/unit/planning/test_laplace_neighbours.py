"""Are warm-started optima of neighbouring logs optimal, and is the noise on them as claimed?"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError
from slogan.modes import LaplaceCounts
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.laplace import GRID, Optimum, influential_users, with_noise
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort
from slogan.planning.solvers import load as solver
from slogan.planning.solvers._highs import relaxation, vertex
from slogan.randomness import SystemRandomness

BUDGET = PrivacyBudget(exp_epsilon=2, delta="0.5")


def asked_of(name, hist, budget):
    constraints = privacy_constraints(hist, budget)

    def largest(program, **_limits):
        answer = solver("exact")(program, Effort())
        return plan(answer.x, constraints), answer.bound

    return objectives.program_of(objectives.load(name)(), constraints, largest)


@settings(max_examples=40)
@given(
    hist=shared_histograms(users=(2, 7), pairs=(1, 6)),
    budget=budgets.filter(lambda b: b.allowance >= 2),
    name=st.sampled_from(["output_size", "diversity", "query_diversity", "frequent_pairs"]),
)
def test_counts_begun_at_the_whole_logs_optimum_are_as_good_as_any(hist, budget, name):
    try:
        program = asked_of(name, hist, budget)
    except EmptyPlanError:
        assert name == "frequent_pairs"  # it needs an output
        return
    best = Optimum(program, Effort())
    for user in range(hist.users):
        gone = np.array([user])
        neighbour, left = program.without_users(gone)
        x = best.without_users(gone)
        afresh = vertex(relaxation(neighbour), Effort()) if neighbour.pairs else None
        if afresh is None:
            assert x is None or not x.any()
            continue
        assert np.delete(x, left.pairs).sum() == 0
        if neighbour.targets is None:
            assert x.sum() == pytest.approx(-afresh.value, abs=1e-6)
        else:
            distance = np.abs(
                x[left.pairs][neighbour.targets.frequent] / neighbour.targets.output_size
                - neighbour.targets.support
            )
            assert distance.sum() == pytest.approx(afresh.value, abs=1e-6)
        if best.unmoved[user]:
            assert best.x.sum() == pytest.approx(-afresh.value, abs=1e-6)
            assert (
                neighbour.constraints.charge(best.x[left.pairs]) <= budget.per_user + 1e-7
            ).all()


def test_influential_users_are_found_in_any_order():
    table = [[1, 1]] * 12 + [[9, 0]]
    mode = LaplaceCounts(bound=1, epsilon=1)
    reports = []

    def influential(rows):
        hist = histogram(rows)
        program = Program(constraints=privacy_constraints(hist, BUDGET))
        return influential_users(
            program, mode, Effort(), lambda done, users: reports.append((done, users))
        )

    assert influential(table).tolist() == [12]
    assert influential([table[-1], *table[:-1]]).tolist() == [0]
    assert reports[-1] == (13, 13)


def test_noise_has_the_scale_d_over_epsilon_and_no_other():
    mode, n = LaplaceCounts(bound="7", epsilon="0.1"), 200_000
    noisy = with_noise(np.full(n, 3.25), mode, SystemRandomness()) + 0.5 - 3.25
    mean, sigma = np.abs(noisy).mean(), 70 / math.sqrt(n)

    assert mode.scale == 70
    assert abs(mean - 70) < 5 * sigma
    for wrong in (63, 77):
        assert abs(mean - wrong) > 5 * sigma
    assert abs(noisy.mean()) < 5 * sigma * math.sqrt(2)


def test_counts_are_rounded_down_after_the_noise():
    small = LaplaceCounts(bound=1, epsilon=10**6)

    assert with_noise(np.array([0.999, 1.001, 0.0]), small, SystemRandomness())[:2].tolist() == [
        0,
        1,
    ]
    assert Fraction(1, 2**20) == GRID
