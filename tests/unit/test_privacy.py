"""The budget: exact numbers, rounded against us."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.errors import BudgetError
from slogan.privacy import PrivacyBudget, exact, exp_rounded_down


def test_what_was_typed_is_what_counts():
    assert exact("0.1") == exact(0.1) == Fraction(1, 10)
    assert exact("1/500") == Fraction(1, 500)
    assert Fraction(0.1) > Fraction(1, 10)  # why a double may not be taken at its word


@given(st.fractions(min_value="1/1000", max_value=5))
def test_exp_is_rounded_down_and_tight(power):
    below = exp_rounded_down(power)
    # Taylor with 80 terms of a power up to 5 is below e^power by less than 10^-60.
    term = series = Fraction(1)
    for n in range(1, 81):
        term *= power / n
        series += term
    assert below < series + Fraction(1, 10**55)
    assert series - below < series / 10**37


def test_the_smaller_of_the_two_conditions_decides():
    assert PrivacyBudget(exp_epsilon=2, delta="0.9").allowance == 2
    assert PrivacyBudget(exp_epsilon=20, delta="0.5").allowance == 2
    assert PrivacyBudget(epsilon="0.5", delta="0.9").per_user == pytest.approx(0.5)
    assert PrivacyBudget(epsilon=5, delta="0.1").per_user == pytest.approx(-math.log(0.9))


def test_a_tiny_epsilon_still_allows_something():
    assert PrivacyBudget(epsilon="1e-60", delta="0.5").allowance > 1


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0, "delta": 0.1},
        {"epsilon": -1, "delta": 0.1},
        {"epsilon": "nan", "delta": 0.1},
        {"epsilon": float("inf"), "delta": 0.1},
        {"epsilon": 1e9, "delta": 0.1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": "a lot"},
        {"exp_epsilon": 1, "delta": 0.1},
        {"exp_epsilon": "1/0", "delta": 0.1},
        {"epsilon": 1, "exp_epsilon": 2, "delta": 0.1},
        {"delta": 0.1},
    ],
    ids=str,
)
def test_what_is_no_budget_is_refused_with_a_hint(bad):
    with pytest.raises(BudgetError, match="hint:"):
        PrivacyBudget(**bad)
