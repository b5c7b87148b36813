"""Accounts to the letter: which curve is read where, and what is left when it is spent."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pytest

from slogan.dp import _enclosures as enclosures
from slogan.dp import curves
from slogan.dp.accounting import (
    GRID,
    NOTHING,
    SET_ASIDE,
    Account,
    deviation,
    gaussian_room,
    rounded_down,
    rounded_up,
    spendable,
    variance,
    zcdp_room,
)
from slogan.dp.curves import (
    TINIEST,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    zcdp_budget,
    zcdp_delta,
    zcdp_epsilon,
)
from slogan.dp.mechanisms import (
    Approximate,
    CappedSampling,
    Cost,
    DiscreteGaussian,
    Gaussian,
    Stage,
)
from slogan.errors import BudgetError
from slogan.privacy import PrivacyBudget


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
    {"mu_squared": "0.04", "rho": "0.03", "epsilon": "0.3", "rho_of_epsilon": "0.004"},
    {"mu_squared": "0.04", "rho": "0.03", "epsilon": "0.3", "rho_of_epsilon": "0.2"},
    {"mu_squared": "0.05", "epsilon": "0.2", "rho_of_epsilon": "0.01", "delta": "1/5000"},
    {"mu_squared": "0.05", "epsilon": "3", "rho_of_epsilon": "0.01"},
    {"rho": "0.02", "delta": "1/7000"},
    {"epsilon": "0.5", "rho_of_epsilon": "0.001"},
]


@pytest.mark.parametrize("parts", MIXED)
def test_an_account_reads_the_best_of_the_curves_that_hold(parts):
    account, cost = costing(**parts), costing(**parts).cost
    rho = cost.rho + cost.mu_squared / 2
    for epsilon in map(Fraction, ("0.1", "1", "4")):
        found = [
            zcdp_delta(epsilon - cost.epsilon, rho),
            zcdp_delta(epsilon, rho + cost.rho_of_epsilon),
        ]
        if not cost.rho:
            found.append(gaussian_delta(epsilon - cost.epsilon, cost.mu_squared))
        assert account.delta(epsilon) == min(1, cost.delta + min(found))
    for delta in map(Fraction, ("0.001", "0.01")):
        left = delta - cost.delta
        found = [
            cost.epsilon + zcdp_epsilon(left, rho),
            zcdp_epsilon(left, rho + cost.rho_of_epsilon),
        ]
        if not cost.rho:
            found.append(cost.epsilon + gaussian_epsilon(left, cost.mu_squared))
        assert account.epsilon(delta) == min(found)


def test_no_delta_exceeds_one():
    assert costing(mu_squared=10**9, delta="0.5").delta(1) == 1
    assert costing(epsilon=10**9, rho_of_epsilon=10**9, delta="0.5").delta(1) == 1


def test_pure_stages_are_read_in_both_ways_from_the_tiniest_delta_on():
    account = costing(epsilon=10_000, rho_of_epsilon=50, delta="0.1")

    assert account.epsilon("0.1") == account.epsilon(Fraction("0.1") + TINIEST / 2) == 10_000
    assert account.epsilon(Fraction("0.1") + TINIEST) == zcdp_epsilon(TINIEST, Fraction(50)) < 500


@pytest.mark.parametrize("parts", [{"epsilon": "1"}, {"rho": "0.1"}, {"mu_squared": "0.1"}])
def test_a_delta_that_stages_set_aside_is_not_there_to_be_read(parts):
    with pytest.raises(BudgetError, match=r"delta = 0\.001"):
        costing(**parts, delta="0.002").epsilon("0.001")


def test_a_budget_may_be_spent_to_the_last():
    account = Account((Approximate(name="all", epsilon=1, delta="1e-6"),))

    account.require(PrivacyBudget(epsilon=1, delta="1e-6"))
    for budget in (("1", "0.99999999999999999999e-6"), ("0.99999999999999999999", "1e-6")):
        with pytest.raises(BudgetError, match="the budget holds"):
            account.require(PrivacyBudget(epsilon=budget[0], delta=budget[1]))


def test_a_user_who_is_drawn_without_end_is_shown_with_certainty():
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
        DiscreteGaussian(name="b", norm_squared=2, variance=30),
        Approximate(name="c", epsilon="1/10"),
    )
    summary = Account(stages).summary(PrivacyBudget(epsilon=2, delta="1e-6"))

    assert [stage["cost"] for stage in summary["stages"]] == [
        {"mu_squared": "1/15", "delta": "1/1000000000"},
        {"rho": "1/30"},
        {"epsilon": "1/10"},
    ]
    assert [stage["mechanism"] for stage in summary["stages"]] == [
        "gaussian",
        "discrete_gaussian",
        "pure",
    ]
    assert Approximate(name="d", epsilon=1, delta="1e-9").mechanism == "approximate"


@pytest.mark.timeout(20)
def test_a_factor_that_sixty_digits_do_not_tell_from_one_leaves_no_epsilon():
    assert spendable(PrivacyBudget(exp_epsilon="1." + "0" * 90 + "1", delta="0.1"))[0] == 0


RESERVED = [
    Cost(),
    Cost(mu_squared=Fraction("0.01"), epsilon=Fraction("0.1"), delta=Fraction("1e-7")),
    Cost(mu_squared=Fraction("0.01"), rho=Fraction("0.003"), delta=Fraction("2e-7")),
    Cost(rho=Fraction("0.004"), epsilon=Fraction("0.2")),
]


@pytest.mark.parametrize("reserved", RESERVED)
def test_what_is_left_is_the_whole_without_what_is_reserved(reserved):
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    epsilon, delta = 1 - reserved.epsilon, Fraction("1e-6") - reserved.delta
    concentrated = zcdp_budget(epsilon, delta) - reserved.rho

    assert zcdp_room(budget, reserved) == concentrated - reserved.mu_squared / 2
    whole = 2 * concentrated if reserved.rho else gaussian_budget(epsilon, delta)
    assert gaussian_room(budget, reserved) == whole - reserved.mu_squared
    # a stage that takes the rest fits
    rest = Costing(name="rest", cost=Cost(mu_squared=gaussian_room(budget, reserved)))
    Account((Costing(name="before", cost=reserved), rest)).require(budget)


@pytest.mark.parametrize("room", [gaussian_room, zcdp_room])
def test_nothing_is_left_of_what_is_spent_to_the_last(room):
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    whole = Cost(mu_squared=room(budget) * (1 if room is gaussian_room else 2))

    with pytest.raises(BudgetError, match="spent already"):
        room(budget, whole)


def test_noise_is_on_the_grid_and_just_enough():
    assert 0 < SET_ASIDE < 1
    assert GRID.denominator == 1 << 20
    for steps in (*range(1, 40), 2**40, 2**40 + 1):
        for extra in (Fraction(0), Fraction(1, 3), Fraction(1)):
            square = (steps**2 + extra) * GRID**2
            assert deviation(Fraction(1), norm_squared=square) == (steps + (extra > 0)) * GRID
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
    assert DiscreteGaussian(name="z", norm_squared=3, variance=4).cost == Cost(rho=Fraction(3, 8))
    assert Approximate(name="p", epsilon=3, delta="0.1").cost == Cost(
        epsilon=Fraction(3), rho_of_epsilon=Fraction(9, 2), delta=Fraction(1, 10)
    )
    rows = CappedSampling(name="r", cap=3).cost
    assert (rows.epsilon, rows.rho_of_epsilon) == (3, Fraction(9, 2))
    assert CappedSampling(name="r", cap=10**6).cost.delta == 1
    one = Cost(mu_squared=Fraction(1), rho=Fraction(2), epsilon=Fraction(3))
    other = Cost(rho_of_epsilon=Fraction(4), delta=Fraction(5), rho=Fraction(6))
    assert one + other == other + one
    assert one + other == Cost(
        mu_squared=Fraction(1),
        rho=Fraction(8),
        epsilon=Fraction(3),
        rho_of_epsilon=Fraction(4),
        delta=Fraction(5),
    )


@pytest.mark.parametrize("part", ["mu_squared", "rho", "epsilon", "rho_of_epsilon", "delta"])
def test_no_stage_gives_privacy_back(part):
    with pytest.raises(BudgetError, match=f"negative {part}"):
        Cost(**{part: Fraction(-1, 10**30)})


@pytest.mark.parametrize("variance_", ["0", "-1"])
def test_noise_without_variance_is_refused(variance_):
    for kind in (Gaussian, DiscreteGaussian):
        with pytest.raises(BudgetError, match="needs noise"):
            kind(name="g", norm_squared=1, variance=variance_)


def test_what_is_not_computed_is_below_the_tiniest_delta():
    deep, far = Decimal(curves._DEEP), Decimal(curves._FAR)

    assert Fraction(enclosures.exp(enclosures.Enclosure(deep, deep)).high) < TINIEST
    assert Fraction(enclosures.tail(far).high) < TINIEST


def test_what_costs_nothing_reveals_nothing():
    for delta in (Fraction(1, 1000), TINIEST):
        assert zcdp_epsilon(delta, Fraction(0)) == gaussian_epsilon(delta, Fraction(0)) == 0
        assert zcdp_epsilon(delta, Fraction(1)) > 1
    assert zcdp_delta(Fraction(1), Fraction(0)) == gaussian_delta(Fraction(1), Fraction(0)) == 0


def test_a_delta_near_one_is_computed_and_not_given_up():
    """At ε = 1/10 and ρ = 1/2 the infimum over α lies between e^−1 and 1."""
    found = zcdp_delta(Fraction(1, 10), Fraction(1, 2))

    assert Fraction(37, 100) < found < 1
    assert 1 > zcdp_delta(Fraction(1, 10), Fraction(3, 5)) > found


@pytest.mark.parametrize("delta", [Fraction(0), TINIEST / 2, Fraction(1), Fraction(2)])
def test_curves_need_a_probability(delta):
    for asked in (
        lambda: zcdp_epsilon(delta, Fraction(1)),
        lambda: gaussian_epsilon(delta, Fraction(1)),
        lambda: zcdp_budget(Fraction(1), delta),
        lambda: gaussian_budget(Fraction(1), delta),
    ):
        with pytest.raises(BudgetError, match="delta must lie between"):
            asked()
    for budget in (zcdp_budget, gaussian_budget):
        with pytest.raises(BudgetError, match="epsilon must be positive"):
            budget(Fraction(0), Fraction(1, 2))


@pytest.mark.parametrize("part", [0.9999999, 0.9])
def test_a_quantile_that_was_guessed_too_small_is_raised_until_it_is_not(monkeypatch, part):
    guess = curves.ndtri
    monkeypatch.setattr(curves, "ndtri", lambda probability: guess(probability) * part)
    for probability in (Fraction(1, 3), Fraction("1e-6"), Fraction("1e-30")):
        z = curves.normal_quantile(probability)

        assert Fraction(enclosures.tail(enclosures.enclose(z).low).high) <= probability
        assert z < 2 * -guess(float(probability))
    assert curves.normal_quantile(Fraction(1, 2)) == curves.normal_quantile(Fraction(9, 10)) == 0
    for wrong in (Fraction(0), Fraction(1)):
        with pytest.raises(BudgetError, match="delta must lie between"):
            curves.normal_quantile(wrong)
