"""What every selector promises, whatever its rule."""

from fractions import Fraction

import numpy as np
import pytest
from bench.selectors import BudgetWithEpsilon
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import histogram, histograms

from bench import selectors
from slogan.dp.accounting import Account
from slogan.dp.selection import SelectionBudget
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.randomness import SeededRandomness, SystemRandomness

BUDGET = BudgetWithEpsilon(mu_squared=Fraction(1), delta=Fraction(1, 10**6), epsilon=Fraction(1))
every_selector = pytest.mark.parametrize("name", selectors.names())


def crowd(users=400):
    """Everybody holds pair 0, and each user a pair that no other user holds."""
    counts = np.zeros((users, users + 1), dtype=np.int64)
    counts[:, 0] = counts[np.arange(users), 1 + np.arange(users)] = 1
    return histogram(counts.tolist())


def test_the_default_is_pooled_and_unknown_names_are_refused():
    assert selectors.load() is selectors.load("pooled")
    with pytest.raises(OptionError):
        selectors.load("best")


@every_selector
def test_what_everybody_holds_is_selected_and_what_one_holds_is_not(name):
    found = selectors.load(name)(crowd(), BUDGET, SystemRandomness())

    assert found.pairs.tolist() == [0]


@every_selector
@pytest.mark.parametrize("mu_squared", ["1/1000", "0.07", "3", "50"])
@pytest.mark.parametrize("delta", ["1e-9", "1e-3"])
def test_no_selector_spends_more_than_its_budget(name, mu_squared, delta):
    budget = SelectionBudget(mu_squared=Fraction(mu_squared), delta=Fraction(delta))
    cost = Account(selectors.load(name)(crowd(20), budget, SeededRandomness(3)).stages).cost

    assert cost.mu_squared <= budget.mu_squared
    assert cost.mu_squared + cost.epsilon**2 <= budget.mu_squared
    assert cost.delta <= budget.delta
    # a Gaussian rule uses what it may: at most a percent is lost by rounding
    assert name == "laplace_histogram" or cost.mu_squared >= budget.mu_squared * Fraction(99, 100)


@every_selector
@settings(max_examples=15)
@given(hist=histograms(users=(1, 12), pairs=(1, 9)), seed=st.integers(0, 10**6))
def test_the_answer_is_a_sorted_set_of_held_pairs_at_a_public_price(name, hist, seed):
    """Prices and parameters follow from the budget: they do not distinguish two logs."""
    loose = SelectionBudget(mu_squared=Fraction(40), delta=Fraction(1, 5))
    found = selectors.load(name)(hist, loose, SeededRandomness(seed))
    other = selectors.load(name)(crowd(5), loose, SeededRandomness(seed + 1))

    assert (np.diff(found.pairs) > 0).all()
    assert set(found.pairs.tolist()) <= set(hist.pair.tolist())
    assert found.stages == other.stages


@every_selector
def test_rows_may_come_in_any_order(name):
    hist = crowd(60)
    order = np.random.default_rng(5).permutation(len(hist.user))
    shuffled = PairHistogram.of_rows(
        user=hist.user[order],
        pair=hist.pair[order],
        count=hist.count[order],
        users=hist.users,
        query=hist.query,
    )
    select = selectors.load(name)
    budget = SelectionBudget(mu_squared=Fraction(9), delta=Fraction(1, 4))

    expected = select(hist, budget, SeededRandomness(8)).pairs.tolist()
    assert select(shuffled, budget, SeededRandomness(8)).pairs.tolist() == expected


@every_selector
def test_clicks_do_not_count_only_users_do(name):
    hist = crowd(60)
    busy = PairHistogram(
        user=hist.user,
        pair=hist.pair,
        count=hist.count * 1_000,
        users=hist.users,
        pairs=hist.pairs,
        query=hist.query,
    )
    select = selectors.load(name)

    expected = select(hist, BUDGET, SeededRandomness(2)).pairs.tolist()
    assert select(busy, BUDGET, SeededRandomness(2)).pairs.tolist() == expected


@every_selector
def test_noise_is_fresh_in_every_run(name):
    """Noise derived from a pair's text or number would repeat."""
    select = selectors.load(name)
    four_each = histogram(np.tile(np.eye(150, dtype=int), (4, 1)).tolist())
    budget = SelectionBudget(mu_squared=Fraction(1, 4), delta=Fraction(1, 3))
    answers = {tuple(select(four_each, budget, SystemRandomness()).pairs) for _ in range(4)}

    assert len(answers) == 4


@every_selector
def test_a_log_without_rows_has_nothing_to_select(name):
    empty = histogram([[0, 0], [0, 0]])

    assert len(selectors.load(name)(empty, BUDGET, SeededRandomness(1)).pairs) == 0
