"""Is a user drawn as often as claimed? And would the test notice if not?"""

import numpy as np
import pytest
from scipy import stats
from tests.strategies import histogram

from slogan.planning.plan import Plan
from slogan.planning.sampling import sample_users
from slogan.randomness import SystemRandomness

DRAWS = 100_000
CLICKS = [[40], [25], [20], [10], [5]]
# One false alarm in a million runs; at 10^5 draws a 1.3× shift of one user is 40 σ away.
ALPHA = 1e-6


def p_value(expected_share):
    output = sample_users(histogram(CLICKS), Plan(np.array([DRAWS])), SystemRandomness())
    shown = np.zeros(len(CLICKS))
    shown[output.user] = output.count
    return stats.chisquare(shown, DRAWS * expected_share).pvalue


def test_users_are_drawn_in_proportion_to_their_clicks():
    share = np.array(CLICKS).ravel() / 100

    assert p_value(share) > ALPHA


@pytest.mark.parametrize("user", range(len(CLICKS)))
def test_the_same_test_rejects_a_share_that_is_1_3_times_off(user):
    share = np.array(CLICKS).ravel() / 100
    share[user] *= 1.3

    assert p_value(share / share.sum()) < ALPHA


def test_ten_million_draws_keep_their_totals():
    """Size, not speed: totals stay exact over several batches."""
    rng = np.random.default_rng(0)
    table = rng.integers(1, 50, size=(300, 40))
    counts = np.full(40, 250_000)

    output = sample_users(histogram(table.tolist()), Plan(counts), SystemRandomness())

    assert output.clicks == 10_000_000
    assert (np.bincount(output.pair, weights=output.count) == counts).all()
