"""fitted: a private look chooses the rule, and the price is the same whatever it saw."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.dp.accounting import Account
from slogan.dp.selection import SelectionBudget, fitted, laplace_histogram, pooled
from slogan.privacy import PrivacyBudget
from slogan.randomness import SeededRandomness, SystemRandomness
from strategies import histogram

WHOLE = SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 10**6), epsilon=Fraction(1))


def users_with(*pairs_each):
    """A user for each number, who holds so many of the same pairs."""
    most = max(pairs_each)
    return histogram([[1] * n + [0] * (most - n) for n in pairs_each])


def rule_taken(hist, budget=WHOLE):
    with (
        patch.object(laplace_histogram, "select", wraps=laplace_histogram.select) as pure,
        patch.object(pooled, "select", wraps=pooled.select) as gaussian,
    ):
        found = fitted.select(hist, budget, SystemRandomness())
    return {"laplace": pure.called, "pooled": gaussian.called}, found


def test_users_with_one_pair_get_laplace_noise_and_others_rounds():
    # 4,000 users outweigh noise of scale 100 but for a chance of e^−40
    assert rule_taken(users_with(*[1] * 4_000))[0] == {"laplace": True, "pooled": False}
    assert rule_taken(users_with(*[2] * 4_000))[0] == {"laplace": False, "pooled": True}


def test_without_an_epsilon_of_its_own_it_is_pooled():
    budget = SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 10**6))
    taken, found = rule_taken(users_with(*[1] * 50), budget)

    assert taken == {"laplace": False, "pooled": True}
    assert found.stages == pooled.select(users_with(1), budget, SystemRandomness()).stages


def test_the_price_does_not_tell_which_rule_was_taken():
    stages = {rule_taken(users_with(*[n] * 4_000))[1].stages for n in (1, 2)}

    assert len(stages) == 1
    Account(stages.pop()).require(PrivacyBudget(epsilon="1", delta="1e-6"))


@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=30), data=st.data())
def test_one_user_moves_the_look_by_one(sizes, data):
    gone = data.draw(st.integers(0, len(sizes) - 1))
    hist = users_with(*sizes)

    assert abs(fitted.lead(hist) - fitted.lead(hist.without_user(gone))) == 1
    assert fitted.lead(hist) == sum(1 if n == 1 else -1 for n in sizes)


@pytest.mark.parametrize(("noise", "single"), [(-3, False), (-2, False), (-1, True)])
def test_the_look_is_the_lead_with_the_noise_it_pays_for(noise, single):
    def drawn(n, rng, *, scale):
        assert (n, scale) == (1, 4)
        return np.array([noise])

    with patch.object(fitted, "discrete_laplace", drawn):
        assert fitted.mostly_single(users_with(1, 1), Fraction(1, 4), SystemRandomness()) is single


@pytest.mark.parametrize("epsilon", ["0.01", "1", "4"])
@pytest.mark.parametrize("delta", ["1e-8", "0.2"])
def test_both_rules_stay_within_what_the_stage_is_charged_with(epsilon, delta):
    whole, aside = Fraction(epsilon), Fraction(delta)
    look = whole * fitted.LOOK
    part = fitted.gaussian_part(whole, aside)
    stages = pooled.select(users_with(2, 2), part, SeededRandomness(1)).stages
    charged = (
        fitted.select(
            users_with(2, 2),
            SelectionBudget(mu_squared=Fraction(1), delta=aside, epsilon=whole),
            SeededRandomness(1),
        )
        .stages[0]
        .cost
    )

    assert Account(stages).delta(whole - look) <= aside
    assert look**2 / 2 + Account(stages).cost.mu_squared / 2 <= charged.rho_of_epsilon
    assert look**2 / 2 + (whole - look) ** 2 / 2 <= charged.rho_of_epsilon
    assert charged.epsilon == whole
