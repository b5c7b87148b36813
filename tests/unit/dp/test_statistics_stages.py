"""Each look at the log: what one user can move it by, and what a neighbour cannot change."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram, histograms

from slogan.dp import sums
from slogan.dp.grouping import Grouping
from slogan.dp.sums import (
    Sizes,
    clipped_counts,
    coverage_sums,
    noisy_counts,
    noisy_coverage,
    noisy_sizes,
    noisy_sums,
    size_sums,
    together_sums,
)
from slogan.histogram import PairHistogram
from slogan.randomness import SeededRandomness

ONE = 1 << 20
NEIGHBOURS = 2_000


def grouped(pairs, categories):
    """Pairs of several categories, the last one without."""
    kind = np.arange(len(pairs)) % categories
    kind[-1] = -1
    return Grouping(name="taxonomy", category=kind.astype(np.int64), categories=categories)


SUMS = {
    "counts": (clipped_counts, sums.NORM),
    "sizes": (size_sums, 1),
    "coverage": (coverage_sums, sums.MOST_COVERED),
    "association": (lambda h, s: together_sums(h, s, grouped(s, 3)), 1),
}


def norm(moved):
    return sum(int(m) ** 2 for m in moved) ** 0.5 / ONE


def random_log(seed):
    """A few users, from those with one click to those with thousands, on few pairs or many."""
    draw = np.random.default_rng(seed)
    users, pairs = draw.integers(1, 5), draw.integers(2, 60)
    scale = 10.0 ** draw.uniform(0, 4)
    table = np.floor(draw.exponential(scale, (users, pairs)) * (draw.random((users, pairs)) < 0.6))
    table[0, 0] = 1 + draw.integers(3)
    return histogram(table.astype(np.int64).tolist())


def largest_move(sums, neighbours):
    """The largest move of the sums over many neighbours: each user of each log is removed."""
    largest, seed = 0.0, 0
    while neighbours > 0:
        hist = random_log(seed)
        pairs = np.arange(0, hist.pairs, 1 + seed % 3)
        whole = sums(hist, pairs)
        for user in range(hist.users):
            largest = max(largest, norm(whole - sums(hist.without_user(user), pairs)))
        neighbours, seed = neighbours - hist.users, seed + 1
    return largest


@pytest.mark.parametrize("name", SUMS)
def test_no_user_moves_a_stage_by_more_than_its_norm(name):
    sums, claimed = SUMS[name]

    assert largest_move(sums, NEIGHBOURS) <= claimed
    # a weight that is a hundredth too large is noticed
    assert largest_move(lambda h, s: sums(h, s) * 101 // 100, NEIGHBOURS // 10) > claimed


@pytest.mark.parametrize("name", SUMS)
@given(histograms(users=(1, 4), pairs=(2, 8), clicks=400), st.data())
def test_no_user_of_any_log_moves_a_stage_by_more_than_its_norm(name, hist, data):
    sums, claimed = SUMS[name]
    user = data.draw(st.integers(0, hist.users - 1))
    pairs = np.arange(hist.pairs)

    assert norm(sums(hist, pairs) - sums(hist.without_user(user), pairs)) <= claimed


@pytest.mark.parametrize("name", SUMS)
def test_a_stage_is_a_sum_over_users(name):
    sums, _ = SUMS[name]
    for seed in range(50):
        hist = random_log(seed)
        pairs = np.arange(hist.pairs)
        alone = []
        for user in range(hist.users):
            rest = hist
            for other in set(range(hist.users)) - {user}:
                rest = rest.without_user(other)
            alone.append(sums(rest, pairs))

        assert sums(hist, pairs).tolist() == np.sum(alone, axis=0).tolist()


@given(histograms(users=(2, 5), pairs=(2, 6)), st.data())
def test_pairs_outside_the_release_affect_only_coverage(hist, data):
    pairs = np.array(sorted(data.draw(st.sets(st.integers(0, hist.pairs - 1)))), dtype=np.int64)
    other = ~np.isin(hist.pair, pairs)
    count = np.where(other, hist.count + 5, hist.count)
    louder = PairHistogram(
        user=hist.user,
        pair=hist.pair,
        count=count,
        users=hist.users,
        pairs=hist.pairs,
        query=hist.query,
    )

    assert clipped_counts(hist, pairs).tolist() == clipped_counts(louder, pairs).tolist()
    assert size_sums(hist, pairs).tolist() == size_sums(louder, pairs).tolist()


def test_a_user_without_clicks_is_not_counted():
    hist = histogram([[1, 1], [1, 0], [0, 1]])
    without = hist.without_user(0)

    assert size_sums(hist, np.array([0])).tolist() == [ONE, 2 * ONE]
    assert size_sums(without, np.array([0])).tolist() == [ONE, ONE]


@pytest.mark.parametrize("name", SUMS)
def test_with_the_noise_recorded_a_neighbour_moves_the_release_by_the_norm_at_most(name):
    sums, claimed = SUMS[name]
    for seed in range(60):
        hist = random_log(seed)
        pairs = np.arange(hist.pairs)
        both = [
            noisy_sums(
                sums(log, pairs),
                name=name,
                norm_squared=claimed**2,
                mu_squared=Fraction(1, 20),
                rng=SeededRandomness(seed),
            )
            for log in (hist, hist.without_user(0))
        ]

        # everything but the sums is the same: how many there are, the noise, the account
        assert both[0].stage == both[1].stage
        assert norm(both[0].steps - both[1].steps) <= claimed


def test_sizes_say_how_many_users_hold_a_released_pair():
    bins = np.array([50.0, 10.4, -3.0, 2.0, *[0.0] * 27])
    stage = noisy_sums(
        np.zeros(1, dtype=np.int64),
        name="sizes",
        norm_squared=1,
        mu_squared=Fraction(1),
        rng=SeededRandomness(0),
    ).stage
    found = Sizes(bins=bins, stage=stage)

    assert found.users == 10  # of the clear bin; all of them add up to 9.4, clipped ones to 12.4
    assert found.held.tolist() == [9, 0, 1, *[0] * 27]  # 10.4 - 1.2 and 2 - 1.2
    assert Sizes(bins=-bins, stage=stage).users == 0
    assert Sizes(bins=np.full(31, -1.0), stage=stage).held.sum() == 0


def test_coverage_is_a_share_whatever_the_noise():
    for seed in range(40):
        hist, pairs, rng = histogram([[1, 2]]), np.array([0]), SeededRandomness(seed)
        counts = noisy_counts(hist, pairs, mu_squared=Fraction(1), rng=rng)
        found = noisy_coverage(hist, pairs, counts, mu_squared=Fraction(1), rng=rng)
        assert 0 <= found.share <= 1


def test_sizes_are_noisy_in_every_bin():
    found = noisy_sizes(
        histogram([[1] * 40]), np.arange(40), mu_squared=Fraction(1, 100), rng=SeededRandomness(3)
    )

    assert len(found.bins) == sums.LARGEST + 1
    assert (found.bins != np.rint(found.bins)).all()


def test_too_many_categories_are_refused():
    kind = Grouping(name="taxonomy", category=np.zeros(1, dtype=np.int64), categories=801)
    with pytest.raises(ValueError, match="64 bits"):
        sums.together_sums(histogram([[1]]), np.array([0]), kind)
