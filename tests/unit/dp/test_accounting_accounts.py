"""Accounts to the letter: which curve is read where, and what is left when it is spent."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest

from slogan.budget import PrivacyBudget
from slogan.dp import accounting
from slogan.dp import intervals as enclosures
from slogan.dp.accounting import (
    GRID,
    NOTHING,
    SET_ASIDE,
    TINIEST,
    Account,
    Approximate,
    CappedSampling,
    Cost,
    Gaussian,
    Stage,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_room,
    rounded_down,
    rounded_up,
    spendable,
    variance,
)
from slogan.errors import BudgetError


@dataclass(frozen=True, slots=True, kw_only=True)
class Costing(Stage):
    """A stage of any cost."""

    cost: Cost = NOTHING
    mechanism: str = "any"
    theorem: str = "none"


def costing(**parts):
    cost = Cost(**{name: Fraction(part) for name, part in parts.items()})
    return Account((Costing(name="all", cost=cost),))


MIXED = [
    {"mu_squared": "0.05", "epsilon": "0.2", "delta": "1/5000"},
    {"mu_squared": "0.05", "epsilon": "3"},
    {"mu_squared": "0.05"},
    {"epsilon": "0.5", "delta": "1/7000"},
]


@pytest.mark.parametrize("parts", MIXED)
def test_an_account_adds_epsilon_and_delta_to_the_gaussian_curve(parts):
    account, cost = costing(**parts), costing(**parts).cost
    for epsilon in map(Fraction, ("0.1", "1", "4")):
        curved = gaussian_delta(epsilon - cost.epsilon, cost.mu_squared)
        assert account.delta(epsilon) == min(1, cost.delta + curved)
    for delta in map(Fraction, ("0.001", "0.01")):
        curved = gaussian_epsilon(delta - cost.delta, cost.mu_squared)
        assert account.epsilon(delta) == cost.epsilon + curved


def test_no_delta_exceeds_one():
    assert costing(mu_squared=10**9, delta="0.5").delta(1) == 1
    assert costing(epsilon=10**9, delta="0.5").delta(1) == 1


def test_without_noise_all_of_delta_may_be_set_aside():
    account = costing(epsilon=10_000, delta="0.1")

    assert account.epsilon("0.1") == account.epsilon(Fraction("0.1") + TINIEST / 2) == 10_000
    with pytest.raises(BudgetError, match="already spent"):
        costing(mu_squared=1, delta="0.1").epsilon("0.1")


@pytest.mark.parametrize("parts", [{"epsilon": "1"}, {"mu_squared": "0.1"}])
def test_a_delta_that_stages_set_aside_is_not_available(parts):
    with pytest.raises(BudgetError, match=r"delta = 0\.001"):
        costing(**parts, delta="0.002").epsilon("0.001")


def test_a_budget_may_be_used_up():
    account = Account((Approximate(name="all", epsilon=1, delta="1e-6"),))

    account.require(PrivacyBudget(epsilon=1, delta="1e-6"))
    for budget in (("1", "0.99999999999999999999e-6"), ("0.99999999999999999999", "1e-6")):
        with pytest.raises(BudgetError, match="the budget has"):
            account.require(PrivacyBudget(epsilon=budget[0], delta=budget[1]))


def test_an_unlimited_cap_releases_a_user_with_certainty():
    assert CappedSampling(name="rows", cap=10**19).cost.delta == 1


def test_the_manifest_rounds_up():
    pure = Approximate(name="p", epsilon="1/30", delta=0)
    account = Account((Gaussian(name="g", norm_squared=1, variance=30), pure))
    for delta in ("1e-6", "3e-6", "7e-6"):
        budget = PrivacyBudget(epsilon=1, delta=delta)
        summary = account.summary(budget)

        assert summary["delta_at_epsilon"] == rounded_up(account.delta(1))
        assert summary["epsilon_at_delta"] == rounded_up(account.epsilon(delta))
        for exact in (account.delta(1), account.epsilon(delta)):
            assert rounded_down(exact) < exact < rounded_up(exact)


def test_the_manifest_names_what_is_spent_and_nothing_else():
    stages = (
        Gaussian(name="a", norm_squared=2, variance=30, slack="1e-9"),
        Approximate(name="c", epsilon="1/10"),
    )
    summary = Account(stages).summary(PrivacyBudget(epsilon=2, delta="1e-6"))

    assert [stage["cost"] for stage in summary["stages"]] == [
        {"mu_squared": "1/15", "delta": "1/1000000000"},
        {"epsilon": "1/10"},
    ]
    assert [stage["mechanism"] for stage in summary["stages"]] == [
        "gaussian",
        "pure",
    ]
    assert Approximate(name="d", epsilon=1, delta="1e-9").mechanism == "approximate"


@pytest.mark.timeout(20)
def test_a_factor_that_rounds_to_one_leaves_no_epsilon():
    assert spendable(PrivacyBudget(exp_epsilon="1." + "0" * 90 + "1", delta="0.1"))[0] == 0


RESERVED = [
    Cost(),
    Cost(mu_squared=Fraction("0.01"), epsilon=Fraction("0.1"), delta=Fraction("1e-7")),
    Cost(mu_squared=Fraction("0.01"), delta=Fraction("2e-7")),
    Cost(epsilon=Fraction("0.2")),
]


@pytest.mark.parametrize("reserved", RESERVED)
def test_the_remaining_budget_is_the_whole_minus_the_reserved_cost(reserved):
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    epsilon, delta = 1 - reserved.epsilon, Fraction("1e-6") - reserved.delta

    whole = gaussian_budget(epsilon, delta)
    assert gaussian_room(budget, reserved) == whole - reserved.mu_squared
    # a stage that takes the rest fits
    rest = Costing(name="rest", cost=Cost(mu_squared=gaussian_room(budget, reserved)))
    Account((Costing(name="before", cost=reserved), rest)).require(budget)


def test_a_used_up_budget_leaves_nothing():
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    whole = Cost(mu_squared=gaussian_room(budget))

    with pytest.raises(BudgetError, match="already spent"):
        gaussian_room(budget, whole)


def test_noise_is_on_the_grid_and_just_enough():
    assert 0 < SET_ASIDE < 1
    assert GRID.denominator == 1 << 20
    for steps in (*range(1, 40), 2**40, 2**40 + 1):
        for extra in (Fraction(0), Fraction(1, 3), Fraction(1)):
            wanted = -(-(steps + extra) // 1) * GRID
            assert variance(Fraction(1), norm_squared=(steps + extra) * GRID) == wanted
            assert variance(Fraction(1, 2), norm_squared=(steps + extra) * GRID / 2) == wanted


def test_a_probability_set_aside_lies_between_nought_and_one():
    for slack in ("-1e-9", "1", "1.1"):
        with pytest.raises(BudgetError, match="set aside"):
            Approximate(name="p", epsilon=1, delta=slack)
    assert Gaussian(name="g", norm_squared=1, variance=1, slack="0.999").cost.delta < 1


def test_costs_are_those_of_the_theorems():
    assert Gaussian(name="g", norm_squared=3, variance=4).cost == Cost(mu_squared=Fraction(3, 4))
    approximate = Approximate(name="p", epsilon=3, delta="0.1")
    assert approximate.cost == Cost(epsilon=Fraction(3), delta=Fraction(1, 10))
    assert CappedSampling(name="r", cap=3).cost.epsilon == 3
    assert CappedSampling(name="r", cap=10**6).cost.delta == 1
    one = Cost(mu_squared=Fraction(1), epsilon=Fraction(3))
    other = Cost(epsilon=Fraction(4), delta=Fraction(5))
    assert one + other == other + one
    assert one + other == Cost(mu_squared=Fraction(1), epsilon=Fraction(7), delta=Fraction(5))


@pytest.mark.parametrize("part", ["mu_squared", "epsilon", "delta"])
def test_no_stage_has_a_negative_cost(part):
    with pytest.raises(BudgetError, match=f"negative {part}"):
        Cost(**{part: Fraction(-1, 10**30)})


@pytest.mark.parametrize("variance_", ["0", "-1"])
def test_noise_without_variance_is_refused(variance_):
    with pytest.raises(BudgetError, match="needs noise"):
        Gaussian(name="g", norm_squared=1, variance=variance_)


def test_skipped_tails_are_below_the_tiniest_delta():
    assert Fraction(enclosures.tail(Decimal(accounting._FAR)).high) < TINIEST


def test_a_cost_of_0_has_a_delta_of_0():
    for delta in (Fraction(1, 1000), TINIEST):
        assert gaussian_epsilon(delta, Fraction(0)) == 0
        assert gaussian_epsilon(delta, Fraction(1)) > 1
    assert gaussian_delta(Fraction(1), Fraction(0)) == 0


@pytest.mark.parametrize("delta", [Fraction(0), TINIEST / 2, Fraction(1), Fraction(2)])
def test_curves_need_a_probability(delta):
    for asked in (
        lambda: gaussian_epsilon(delta, Fraction(1)),
        lambda: gaussian_budget(Fraction(1), delta),
    ):
        with pytest.raises(BudgetError, match="delta must lie between"):
            asked()
    with pytest.raises(BudgetError, match="epsilon must be positive"):
        gaussian_budget(Fraction(0), Fraction(1, 2))


@pytest.mark.parametrize("part", [0.9999999, 0.9])
def test_a_quantile_that_was_guessed_too_small_is_raised_until_it_is_not(monkeypatch, part):
    guess = accounting.ndtri
    monkeypatch.setattr(accounting, "ndtri", lambda probability: guess(probability) * part)
    for probability in (Fraction(1, 3), Fraction("1e-6"), Fraction("1e-30")):
        z = accounting.normal_quantile(probability)

        assert Fraction(enclosures.tail(enclosures.enclose(z).low).high) <= probability
        assert z < 2 * -guess(float(probability))
    assert (
        accounting.normal_quantile(Fraction(1, 2))
        == accounting.normal_quantile(Fraction(9, 10))
        == 0
    )
    for wrong in (Fraction(0), Fraction(1)):
        with pytest.raises(BudgetError, match="delta must lie between"):
            accounting.normal_quantile(wrong)
