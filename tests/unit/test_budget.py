"""The budget: exact numbers, rounded against us."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.budget import PrivacyBudget, exact, exp_rounded_down, readable, short
from slogan.errors import BudgetError


def test_what_was_typed_is_what_counts():
    assert exact("0.1") == exact(0.1) == Fraction(1, 10)
    assert exact("1/500") == Fraction(1, 500)
    assert exact(Fraction(2, 7)) == Fraction(2, 7)
    assert exact("3") == exact(3) == 3
    assert Fraction(0.1) > Fraction(1, 10)  # why a double may not be taken at its word


@pytest.mark.parametrize(
    ("largest", "beyond"),
    [
        ("9e300", "1e301"),
        ("1e-300", "9e-301"),
        ("1/9e300", "1/1e301"),
        (f"0.{'1' * 398}", f"0.{'1' * 399}"),  # 400 characters
    ],
)
def test_numbers_of_a_reasonable_size_are_read(largest, beyond):
    assert exact(largest) > 0
    with pytest.raises(BudgetError, match="not a number slogan can read"):
        exact(beyond)


def test_e_is_known_to_40_digits_less_one_unit():
    """A manifest's budget means the same in every version."""
    assert exp_rounded_down(Fraction(1)) == Fraction("2.718281828459045235360287471352662497756")


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
    power = Fraction(1, 10**60)
    assert PrivacyBudget(epsilon="1e-60", delta="0.5").allowance == 1 + power


@pytest.mark.parametrize("budget", [{"epsilon": 600}, {"exp_epsilon": "9e299"}], ids=str)
def test_the_largest_budgets_are_budgets(budget):
    assert PrivacyBudget(**budget, delta="0.5").allowance == 2


def test_a_budget_tells_its_numbers_and_what_was_typed():
    typed = PrivacyBudget(epsilon="0.50", delta="1e-6")
    assert (typed.epsilon_value, typed.delta_value) == (0.5, 1e-6)
    assert typed.parameters() == {"epsilon": "0.50", "exp_epsilon": None, "delta": "1e-6"}
    assert "allowance" not in repr(typed)

    ratio = PrivacyBudget(exp_epsilon=2, delta="1/500")
    assert (ratio.epsilon_value, ratio.delta_value) == (pytest.approx(math.log(2)), 0.002)
    assert ratio.parameters() == {"epsilon": None, "exp_epsilon": "2", "delta": "1/500"}


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0, "delta": 0.1},
        {"epsilon": -1, "delta": 0.1},
        {"epsilon": "nan", "delta": 0.1},
        {"epsilon": float("inf"), "delta": 0.1},
        {"epsilon": 1e9, "delta": 0.1},
        {"epsilon": "600.001", "delta": 0.1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": "a lot"},
        {"exp_epsilon": 1, "delta": 0.1},
        {"exp_epsilon": "1e300", "delta": 0.1},
        {"exp_epsilon": "1/0", "delta": 0.1},
        {"epsilon": 1, "exp_epsilon": 2, "delta": 0.1},
        {"delta": 0.1},
    ],
    ids=str,
)
def test_what_is_not_a_budget_is_refused_with_a_hint(bad):
    with pytest.raises(BudgetError, match="hint:"):
        PrivacyBudget(**bad)


def test_a_refusal_names_the_number_that_was_given():
    with pytest.raises(
        BudgetError, match=r"^e\^epsilon must be above 1 and below 10\^300, got 1\b"
    ):
        PrivacyBudget(exp_epsilon=1, delta="0.1")
    with pytest.raises(BudgetError, match=r"^epsilon must be above 0 and at most 600, got 601\b"):
        PrivacyBudget(epsilon=601, delta="0.1")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (1234567, "1,234,567"),
        (1234567.0, "1,234,567"),
        (1234567.8, "1,234,568"),
        (641.25, "641.25"),
        (-0.125, "-0.125"),
        (0, "0"),
    ],
)
def test_large_numbers_are_not_written_as_powers_of_ten(number, shown):
    assert readable(number) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1e-6, "1e-6"), (5e-07, "5e-7"), (2, "2"), (0.5, "0.5"), (1e-10, "1e-10"), (1e20, "1e20")],
)
def test_powers_of_ten_are_short(number, shown):
    assert short(number) == shown
    assert float(shown) == number
