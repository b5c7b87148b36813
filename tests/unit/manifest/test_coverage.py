"""coverage_interval(): the shares that fit the noisy sums, from the manifest alone."""

from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.manifest.coverage import coverage_interval
from slogan.manifest.manifest import Manifest, Outputs, Spent, SpentStage


def manifest_with(inside, outside, variance, *, stages=1, counted=None, of_count=10**60):
    """A manifest that is read for its coverage only; by default the counts say nothing."""
    stage = SpentStage.model_construct(name="coverage", parameters={"variance": str(variance)})
    counts = SpentStage.model_construct(name="counts", parameters={"variance": str(of_count)})
    outputs = Outputs.model_construct(
        pairs_selected=1,
        clicks_released=inside,
        clicks_other=outside,
        clicks_counted=inside if counted is None else counted,
    )
    account = Spent.model_construct(stages=(counts, *(stage,) * stages))
    return Manifest.model_construct(outputs=outputs, account=account)


def fits(share, inside, outside, variance):
    """Fieller's condition, as the module's text states it."""
    error = ((1 - share) * inside - share * outside) ** 2
    return error <= Fraction("1.96") ** 2 * variance * ((1 - share) ** 2 + share**2)


@given(
    inside=st.integers(-(10**6), 10**9),
    outside=st.integers(-(10**6), 10**9),
    variance=st.fractions(0, 10**12),
)
def test_exactly_the_shares_that_fit_are_inside_to_a_hundredth_of_a_percent(
    inside, outside, variance
):
    found = coverage_interval(manifest_with(inside, outside, variance))
    assert found is not None
    low, high = found
    assert 0 <= low <= high <= 1
    sums = max(0, inside), max(0, outside)
    for n in range(101):
        share = Fraction(n, 100)
        if fits(share, *sums, variance):
            assert low <= share <= high
    step = Fraction(1, 10_000)
    if (low, high) != (0, 1):
        for share in (low - step, high + step):
            assert not 0 <= share <= 1 or not fits(share, *sums, variance)


def test_no_noise_gives_the_share_itself_rounded_outward():
    assert coverage_interval(manifest_with(1, 3, 0)) == (Fraction("0.2499"), Fraction("0.2501"))


def test_sums_drowned_in_noise_say_nothing():
    assert coverage_interval(manifest_with(10, 30, 10**6)) == (0, 1)
    assert coverage_interval(manifest_with(-5, -2, 1)) == (0, 1)


def test_the_true_share_is_inside_as_often_as_stated():
    """20,000 draws: the share of misses is within six deviations of 5%, rounding outward apart."""
    rng = np.random.default_rng(0)
    inside, outside, deviation, draws = 40_000, 60_000, 2_000, 20_000
    noise = rng.normal(scale=deviation, size=(draws, 2))
    caught = 0
    for add, more in noise:
        low, high = coverage_interval(manifest_with(inside + add, outside + more, deviation**2))
        caught += low <= Fraction(inside, inside + outside) <= high
    six = 6 * (0.05 * 0.95 / draws) ** 0.5
    rounding = 2 * NormalDist().pdf(1.96) * 1e-4 * (inside + outside) / deviation
    assert abs(caught / draws - 0.95) < six + 2 * rounding


def test_with_both_measurements_the_true_share_is_inside_as_often_as_stated():
    """As above, where the sum of the counts has less noise than the direct measurement."""
    rng = np.random.default_rng(1)
    inside, outside, deviation, of_count, draws = 20_000, 80_000, 2_000, 700, 20_000
    noise = rng.normal(scale=(deviation, deviation, of_count), size=(draws, 3))
    caught, widths = 0, 0.0
    for direct, other, counted in noise:
        low, high = coverage_interval(
            manifest_with(
                inside + direct,
                outside + other,
                deviation**2,
                counted=inside + counted,
                of_count=of_count**2,
            )
        )
        caught += low <= Fraction(inside, inside + outside) <= high
        widths += float(high - low)
    six = 6 * (0.05 * 0.95 / draws) ** 0.5
    alone = coverage_interval(manifest_with(inside, outside, deviation**2))
    assert abs(caught / draws - 0.95) < six + 0.01
    assert widths / draws < 0.7 * float(alone[1] - alone[0])


@pytest.mark.parametrize("variance", ["", "1e999999999", "-1", "1/0", "nan", "many"])
def test_a_strange_variance_gives_no_interval(variance):
    assert coverage_interval(manifest_with(1, 3, variance)) is None


def test_other_stages_give_no_interval():
    assert coverage_interval(manifest_with(1, 3, 1, stages=0)) is None
    assert coverage_interval(manifest_with(1, 3, 1, stages=2)) is None
