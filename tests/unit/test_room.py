"""A cap to the last digit: what limits it takes, what it leaves, and what it tells a steward."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.dp.accounting import gaussian_room, zcdp_room
from slogan.dp.cap import Cap, _rounded_down, account
from slogan.dp.mechanisms import Cost
from slogan.errors import BudgetError
from slogan.privacy import PrivacyBudget

HAIR = 1 - Fraction(1, 10**9)
CAPS = {curve: Cap.of("1", "1e-6", curve=curve) for curve in ("gaussian", "concentrated")}


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)])
def test_limits_are_judged_as_if_one_stage_had_all_of_their_epsilon(epsilon):
    """In ρ, what is ε-DP counts for ε²/2, and no way to share ε out counts for more."""
    limits = Cost(rho=Fraction(1, 2), epsilon=epsilon)
    whole = Cost(rho=limits.rho, epsilon=epsilon, rho_of_epsilon=epsilon**2 / 2)
    delta = account(whole).delta(Fraction(3))

    assert delta == account(Cost(rho=whole.rho + whole.rho_of_epsilon)).delta(Fraction(3))
    assert Cap(epsilon=Fraction(3), delta=delta, limits=limits).admits(whole)
    with pytest.raises(BudgetError, match="limits"):
        Cap(epsilon=Fraction(3), delta=delta * HAIR, limits=limits)


def one_release(cap, epsilon, delta):
    """The cost of a release with this budget that shares δ out as the cap does."""
    budget, others = PrivacyBudget(epsilon=epsilon, delta=delta), Cost(delta=delta / 2)
    if cap.limits.rho:
        return others + Cost(rho=zcdp_room(budget, others))
    return others + Cost(mu_squared=gaussian_room(budget, others))


@pytest.mark.parametrize("curve", CAPS)
@pytest.mark.parametrize(("sums", "slack"), [("1/3", "1/3"), ("1/2", "1/9"), ("1/5", "4/5")])
def test_the_room_is_there_to_four_digits(curve, sums, slack):
    cap = CAPS[curve]
    spent = Cost(
        rho=cap.limits.rho * Fraction(sums),
        mu_squared=cap.limits.mu_squared * Fraction(sums),
        delta=cap.limits.delta * Fraction(slack),
    )
    epsilon, delta = (Fraction(str(number)) for number in cap.room(spent))
    more = 1 + Fraction(1, 500)

    assert epsilon < 1
    assert cap.admits(spent + one_release(cap, epsilon, delta))
    assert not cap.admits(spent + one_release(cap, epsilon * more, delta))
    assert not cap.admits(spent + one_release(cap, epsilon, delta * more))


@pytest.mark.parametrize("curve", CAPS)
def test_a_whole_cap_has_room_for_its_own_budget(curve):
    assert CAPS[curve].room(Cost()) == (1.0, 1e-6)


@pytest.mark.parametrize("curve", CAPS)
@pytest.mark.parametrize("part", ["sums", "delta", "epsilon"])
def test_there_is_no_room_where_one_limit_is_used_up(curve, part):
    cap = Cap.of("1", "1e-6", epsilon_aside="1/10", curve=curve)
    spent = {
        "sums": Cost(rho=cap.limits.rho, mu_squared=cap.limits.mu_squared),
        "delta": Cost(delta=cap.limits.delta),
        "epsilon": Cost(epsilon=cap.limits.epsilon * 2),
    }

    assert cap.room(Cost())
    assert cap.room(spent[part]) is None


def test_there_is_no_room_where_all_of_delta_is_set_aside():
    """Limits without a sum's own δ are a cap, but no release with noise could keep to it."""
    limits = Cost(mu_squared=Fraction(1, 10**6), delta=Fraction(1, 10**6))
    cap = Cap(epsilon=Fraction(1), delta=limits.delta + Fraction(1, 10**299), limits=limits)

    assert cap.room(Cost())
    assert cap.room(Cost(delta=limits.delta * Fraction(99, 100))) is None


def test_half_of_mu_squared_is_taken_from_rho():
    """A Gaussian sum is μ²/2-zCDP."""
    cap = CAPS["concentrated"]
    spent = Cost(rho=Fraction(1, 1000), mu_squared=Fraction(1, 700))

    assert cap.remaining(spent).rho == cap.limits.rho - Fraction(1, 1000) - Fraction(1, 1400)
    assert cap.admits(Cost(mu_squared=2 * cap.limits.rho))
    assert not cap.admits(Cost(mu_squared=2 * cap.limits.rho / HAIR))
    assert not cap.admits(Cost(mu_squared=cap.limits.rho, rho=cap.limits.rho / 2 / HAIR))


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("0", 0.0),
        ("1", 1.0),
        ("1/3", 0.3333),
        ("2/3", 0.6666),
        ("12345678", 12340000.0),
        ("99999/10", 9999.0),
        ("123456/100000000000", 1.234e-06),
    ],
)
def test_four_digits_are_shown(number, shown):
    assert _rounded_down(Fraction(number)) == shown


@given(st.fractions("1/1000000000", 10**9))
def test_what_is_shown_is_never_more_and_hardly_less(number):
    shown = Fraction(str(_rounded_down(number)))

    assert number * (1 - Fraction(1, 1000)) < shown <= number
