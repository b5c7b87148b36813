"""What integers give over rounding down, on a log of the paper's shape."""

import pytest

import slogan

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")


def size(log, solver):
    release = slogan.sanitize(log, BUDGET, solver=solver, time_limit=30)
    release.close()
    return release


@pytest.mark.long
def test_exact_releases_at_least_1_7_times_what_rounding_down_does(tmp_path):
    log = tmp_path / "clicks.parquet"
    slogan.generate(log, users=2_500, seed=0)
    relaxed, exact = size(log, "relaxed"), size(log, "exact")

    assert exact.plan.size >= 1.7 * relaxed.plan.size
    assert exact.plan.size <= exact.bound <= relaxed.bound <= exact.constraints.size_bound
