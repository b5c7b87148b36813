"""A cap to the last digit: what limits it takes, what it leaves, and what it tells a steward."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Cost, delta_at, gaussian_room
from slogan.errors import BudgetError
from slogan.ledger.cap import Cap, _rounded_down

HAIR = 1 - Fraction(1, 10**9)
CAP = Cap.of("1", "1e-6")


@pytest.mark.parametrize("epsilon", [Fraction(1, 8), Fraction(1, 4), Fraction(1, 2)])
def test_limits_may_reach_delta_and_no_more(epsilon):
    limits = Cost(mu_squared=Fraction(1, 2), epsilon=epsilon)
    delta = delta_at(Fraction(3), limits)

    assert Cap(epsilon=Fraction(3), delta=delta, limits=limits).admits(limits)
    with pytest.raises(BudgetError, match="limits"):
        Cap(epsilon=Fraction(3), delta=delta * HAIR, limits=limits)


def one_release(epsilon, delta):
    """The cost of a release with this budget that shares δ out as the cap does."""
    budget, others = PrivacyBudget(epsilon=epsilon, delta=delta), Cost(delta=delta / 2)
    return others + Cost(mu_squared=gaussian_room(budget, others))


@pytest.mark.parametrize(("sums", "slack"), [("1/3", "1/3"), ("1/2", "1/9"), ("1/5", "4/5")])
def test_the_room_is_there_to_four_digits(sums, slack):
    spent = Cost(
        mu_squared=CAP.limits.mu_squared * Fraction(sums),
        delta=CAP.limits.delta * Fraction(slack),
    )
    epsilon, delta = (Fraction(str(number)) for number in CAP.room(spent))
    more = 1 + Fraction(1, 500)

    assert epsilon < 1
    assert CAP.admits(spent + one_release(epsilon, delta))
    assert not CAP.admits(spent + one_release(epsilon * more, delta))
    assert not CAP.admits(spent + one_release(epsilon, delta * more))


def test_a_whole_cap_has_room_for_its_own_budget():
    assert CAP.room(Cost()) == (1.0, 1e-6)


@pytest.mark.parametrize("part", ["sums", "delta", "epsilon"])
def test_there_is_no_room_where_one_limit_is_used_up(part):
    cap = Cap.of("1", "1e-6", epsilon_aside="1/10")
    spent = {
        "sums": Cost(mu_squared=cap.limits.mu_squared),
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
