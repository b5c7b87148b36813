"""Which stages are measured, into which classes, and what a neighbour cannot change."""

from fractions import Fraction

import numpy as np
import pytest
from tests.rows_in_time import people, without

from slogan.dp.fields.statistics import (
    DROWNED,
    SHARES,
    Kinds,
    drowned,
    measure_fields,
    places_in_query,
    stages_of,
)
from slogan.dp.fields.sums import NORM
from slogan.dp.sums import Sizes, noisy_counts, noisy_sums
from slogan.randomness import SeededRandomness

PAIRS = np.arange(0, 40, 3)


def sizes(none, *bins):
    stage = noisy_sums(
        np.zeros(1, dtype=np.int64),
        name="sizes",
        norm_squared=1,
        mu_squared=Fraction(1),
        rng=SeededRandomness(0),
    ).stage
    return Sizes(bins=np.array([none, *bins], dtype=float), stage=stage)


def test_all_stages_together_have_a_small_part_of_the_budget():
    assert sum(SHARES.values()) <= Fraction(15, 100)


def test_stages_follow_from_the_columns_that_are_asked_for():
    nothing = dict.fromkeys(("time", "rank", "session", "searches"), False)

    assert stages_of(**nothing) == ()
    assert stages_of(**nothing | {"rank": True, "searches": True}) == ("ranks",)
    assert stages_of(**nothing | {"session": True}) == ("sessions", "lengths")
    assert set(stages_of(time=True, rank=True, session=False, searches=True)) == set(SHARES)
    assert "searches" not in stages_of(time=True, rank=True, session=True, searches=False)


def test_a_stage_that_the_noise_would_drown_is_left_out():
    parts = dict.fromkeys(SHARES, Fraction(1, 1000))
    many, few = sizes(50_000, 9_000), sizes(50, 20)

    assert drowned(parts, many) == {}
    assert set(drowned(parts, few)) == set(SHARES)
    assert min(drowned(parts, few).values()) > DROWNED
    # users without a released pair have hours, but no sessions that can be shown
    assert set(drowned(parts, sizes(50_000, 20))) == set(SHARES) - {"hours", "days"}
    assert drowned({}, few) == {}
    assert set(drowned(parts, sizes(-5, -5))) == set(SHARES)


def test_heavy_pairs_have_separate_classes():
    weight, group = np.array([5.0, 100.0, 7.0, 60.0]), np.array([1, 0, 0, 1])
    found = Kinds.of(weight, group, 2, least=50.0, most=9)

    assert found.kind.tolist() == [3, 0, 2, 1]
    assert found.parent.tolist() == [2, 3, 2, 3]
    assert found.number == 4
    assert Kinds.of(weight, group, 2, least=50.0, most=1).kind.tolist() == [2, 0, 1, 2]
    assert Kinds.of(weight, group, 2, least=np.inf, most=9).number == 2


def test_places_in_a_query_go_by_private_counts():
    counts, query = np.array([3.0, 9.0, 1.0, 5.0, 2.0]), np.array([4, 4, 4, 7, 7])

    assert places_in_query(counts, query).tolist() == [1, 0, 2, 0, 1]


def measured(log, hist, seed):
    rng = SeededRandomness(seed)
    query = hist.query[PAIRS]
    counts = noisy_counts(hist, PAIRS, mu_squared=Fraction(50), rng=rng)
    parts = dict.fromkeys(SHARES, Fraction(1, 4))
    return measure_fields(log, PAIRS, query, counts, parts, {"days": 1.0}, rng=rng)


def test_what_is_left_out_is_not_measured_and_not_paid_for():
    hist, log = people(400)
    found = measured(log, hist, 3)

    assert set(found.noisy) == set(SHARES) - {"days"}
    assert [stage.name for stage in found.stages] == list(found.noisy)
    assert found.values("days") is None
    assert all(stage.norm_squared == NORM**2 for stage in found.stages)


@pytest.mark.parametrize("user", [0, 7, 100])
def test_with_the_noise_recorded_a_neighbour_moves_each_stage_by_the_norm_at_most(user):
    hist, log = people(400)
    # the same counts, so that the classes are the same, as for a recorded run
    counts = noisy_counts(hist, PAIRS, mu_squared=Fraction(50), rng=SeededRandomness(5))
    parts = dict.fromkeys(SHARES, Fraction(1, 4))
    both = [
        measure_fields(rows, PAIRS, hist.query[PAIRS], counts, parts, {}, rng=SeededRandomness(6))
        for rows in (log, without(log, user))
    ]

    assert both[0].stages == both[1].stages
    for name in SHARES:
        moved = both[0].values(name) - both[1].values(name)
        assert np.linalg.norm(moved) <= NORM
