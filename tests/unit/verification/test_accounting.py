"""The verifier's own arithmetic, next to its bounds: no log, no release, only numbers."""

from fractions import Fraction
from math import inf
from types import SimpleNamespace

import pytest
from mpmath import MPContext
from tests.helpers import stage

from slogan.errors import BudgetError
from slogan.verification import accounting, conditions
from slogan.verification.accounting import account, cost, part, shown_at_most, spent_on
from slogan.verification.conditions import (
    Bounds,
    Check,
    Factor,
    Verdict,
    bounds_of,
    exp_below,
    judge,
)
from slogan.verification.evidence import NotPossibleError

HAIRS = [Fraction(1, 10**digits) for digits in (20, 60, 200)]
high = MPContext()
high.dps = 640


def mp(number):
    return high.mpf(number.numerator) / number.denominator


def written(epsilon=None, exp_epsilon=None, delta="0.5"):
    return {"epsilon": epsilon, "exp_epsilon": exp_epsilon, "delta": delta}


# --- budgets ---


@pytest.mark.parametrize(
    "wrong",
    [
        written(),
        written(epsilon="1", exp_epsilon="2"),
        written(exp_epsilon="1"),
        written(exp_epsilon="0.5"),
        written(exp_epsilon="2", delta="0"),
        written(exp_epsilon="2", delta="1"),
        written(exp_epsilon="2", delta="-0.1"),
        written(exp_epsilon="2", delta="1.5"),
        written(exp_epsilon="2", delta=""),
        written(exp_epsilon="2", delta="1/0"),
        written(epsilon="0"),
        written(epsilon="-1"),
        written(epsilon="700.0000001"),
        written(epsilon="many"),
        written(exp_epsilon="2", delta="1e-10000"),
        written(exp_epsilon="2", delta="0." + "3" * 999),
    ],
)
def test_an_invalid_budget_is_refused(wrong):
    with pytest.raises(BudgetError, match="not a privacy budget"):
        bounds_of(wrong)


def test_a_budget_is_what_was_written():
    assert bounds_of(written(exp_epsilon="3", delta="1e-9999")).likelihood == 3
    longest = bounds_of(written(exp_epsilon="1." + "3" * 998, delta="0.75"))
    assert longest.appearance == 4
    assert bounds_of(written(epsilon="700")).likelihood == exp_below(Fraction(700))
    assert bounds_of(written(epsilon="1")).likelihood == exp_below(Fraction(1))


def test_a_budget_is_within_another_if_it_is_in_both():
    two = Bounds(likelihood=Fraction(2), appearance=Fraction(2))
    for likelihood in (1, 2, 3):
        for appearance in (1, 2, 3):
            other = Bounds(likelihood=Fraction(likelihood), appearance=Fraction(appearance))
            assert other.within(two) == (likelihood <= 2 and appearance <= 2)


def test_a_verdict_without_checks_is_none():
    good, bad = (Check(name="c", ok=ok, detail="") for ok in (True, False))

    assert [Verdict(checks=checks).ok for checks in ((), (good,), (good, bad), (bad,))] == [
        False,
        True,
        False,
        False,
    ]


# --- judgement ---


@pytest.mark.parametrize("hair", HAIRS)
def test_a_charge_at_the_bound_passes_and_one_slightly_above_fails(hair):
    factors = [Factor(total=3, own=1, released=2), Factor(total=5, own=1, released=7)]
    charge = Fraction(9, 4) * Fraction(5, 4) ** 7
    close = hair <= HAIRS[1]
    for bound, broken in ((charge, 0), (charge * (1 + hair), 0), (charge * (1 - hair), 3)):
        found = judge(bound, [([0, 1], 3), ([0], 2), ([], 1)], factors)

        assert (found.users, found.broken) == (6, broken)
        if close or bound == charge:
            assert found.in_integers == 3
        assert found.largest_use == pytest.approx(1)


def test_clear_cases_need_no_integers(monkeypatch):
    monkeypatch.setattr(conditions, "_at_most", lambda *_: pytest.fail("not clear"))
    factors = [Factor(total=3, own=1, released=2), Factor(total=4, own=4, released=1)]

    assert judge(Fraction("2.3"), [([0], 2)], factors).broken == 0
    assert judge(Fraction("2.2"), [([0], 2)], factors).broken == 2
    found = judge(Fraction("1.5"), [([1], 3), ([0], 1), ([0, 1], 1)], factors)
    assert (found.users, found.broken, found.in_integers, found.largest_use) == (5, 5, 0, inf)
    assert judge(Fraction(9), [([0], 1)], factors).largest_use == pytest.approx(
        float(high.log(2.25) / high.log(9))
    )


def test_a_product_of_too_many_bits_counts_as_a_violation(monkeypatch):
    """(3/2)^4 · (2/1)^4 = 3^4 / 1^4: what is left has 4 times 2 bits, and 4 times 1."""
    factors = [Factor(total=3, own=1, released=4), Factor(total=2, own=1, released=4)]
    for most, broken in ((13, 0), (12, 0), (11, 1)):
        monkeypatch.setattr(conditions, "_MOST_BITS", most)
        assert judge(Fraction(81), [([0, 1], 1)], factors).broken == broken
    monkeypatch.setattr(conditions, "_MOST_BITS", 15)
    assert judge(Fraction(81, 16), [([0], 1)], factors).broken == 1
    monkeypatch.setattr(conditions, "_MOST_BITS", 16)
    assert judge(Fraction(81, 16), [([0], 1)], factors).broken == 0


def test_logarithms_are_enclosed_by_units_of_their_last_digit():
    for total, own in ((2, 1), (3, 1), (10**6, 1), (10**6, 10**6 - 1), (7, 3), (10**15 + 1, 10)):
        low, top = conditions._log_between(total, total - own)
        truth = high.log(high.mpf(total) / (total - own))
        assert mp(low) < truth < mp(top)
        assert mp(top - low) < high.mpf("1e-47")
        for released in (1, 3, 10**4):
            least, most = Factor(total=total, own=own, released=released).log
            assert least <= truth * released * 10**60 <= most
            assert least >= low * released * 10**60 - 1
            assert most <= top * released * 10**60 + 1
    assert Factor(total=4, own=4, released=1).log is None
    assert Factor(total=4, own=5, released=1).log is None


# --- what stages cost ---


GAUSSIAN = stage("gaussian", norm_squared="3", variance="4", slack="1/100")
CAPPED = stage("capped_sampling", cap="1/10")


def test_costs_add_up():
    stages = [
        GAUSSIAN,
        stage("gaussian", norm_squared="1", variance="2", slack="0"),
        CAPPED,
    ]
    shown = shown_at_most(Fraction(1, 10))

    assert cost(stages) == (Fraction(5, 4), Fraction(1, 10), Fraction(1, 100) + shown)
    assert cost([CAPPED, CAPPED]) == (0, Fraction(1, 5), 2 * shown_at_most(Fraction(1, 10)))
    assert cost([]) == (0, 0, 0)


@pytest.mark.parametrize("mechanism", ["magic", "approximate", "discrete_gaussian"])
def test_a_mechanism_that_no_release_uses_is_refused(mechanism):
    fields = {"norm_squared": "1", "variance": "1", "slack": "0", "epsilon": "1/10", "delta": "0"}
    with pytest.raises(NotPossibleError, match="unknown mechanism"):
        cost([GAUSSIAN, stage(mechanism, **fields)])


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1/0", "1e-3", "1E3", "x", "2" * 2_500 + "/" + "2" * 2_500]
)
def test_a_parameter_must_be_a_positive_fraction(text):
    with pytest.raises(NotPossibleError, match="no usable variance"):
        part(stage("gaussian", variance=text), "variance")
    with pytest.raises(NotPossibleError, match="no usable slack"):
        part(stage("gaussian", variance=text), "slack", least=0)


def test_a_parameter_is_the_fraction_that_is_written():
    longest = "2" * 2_500 + "/" + "2" * 2_499
    assert 10 < part(stage("gaussian", variance=longest), "variance") < 11
    assert part(stage("gaussian", slack="0"), "slack", least=0) == 0
    assert part(stage("gaussian", slack="2/6"), "slack", least=0) == Fraction(1, 3)
    with pytest.raises(NotPossibleError):
        part(stage("gaussian", slack="-1/6"), "slack", least=0)


@pytest.mark.parametrize("cap", ["1e-30", "0.001", "1", "20", "400", "100000"])
def test_the_chance_to_appear_is_rounded_up(cap):
    found = shown_at_most(Fraction(cap))
    truth = -high.expm1(-mp(Fraction(cap)))

    assert truth <= mp(found) <= truth + high.mpf("1.1e-100")
    assert found <= 1


def spending(stages, *, bounds=None, **promised):
    manifest = SimpleNamespace(account=stages and SimpleNamespace(stages=stages))
    return SimpleNamespace(manifest=manifest, bounds=bounds or bounds_of(written(**promised)))


def test_a_budget_may_be_used_up_and_not_exceeded():
    all_of_it, needed = [stage("capped_sampling", cap="1")], shown_at_most(Fraction(1))

    for delta, fits in ((needed, True), (needed - Fraction(1, 10**50), False)):
        bounds = Bounds(likelihood=Fraction("2.8"), appearance=1 / (1 - delta))
        assert account(spending(all_of_it, bounds=bounds))[0] == fits
    assert account(spending(all_of_it, exp_epsilon="2.7", delta="0.7")) == (
        False,
        "the stages spend more epsilon than the budget has",
    )
    with pytest.raises(NotPossibleError, match="no privacy account"):
        spent_on(spending(None, exp_epsilon="2"))


def test_gaussian_stages_are_composed_by_the_exact_curve():
    stages = [stage("gaussian", norm_squared="1", variance="4", slack="1/1000"), CAPPED]
    epsilon = accounting.log_at_most(Fraction(3)) - Fraction(1, 10)
    needed = Fraction(1, 1000) + shown_at_most(Fraction(1, 10))
    needed += accounting.delta_at_most(epsilon, Fraction(1, 4))

    for delta, fits in ((needed, True), (needed - Fraction(1, 10**50), False)):
        bounds = Bounds(likelihood=Fraction(3), appearance=1 / (1 - delta))
        assert account(spending(stages, bounds=bounds))[0] == fits


# --- the Gaussian curve ---


def curve(epsilon, mu_squared):
    mu = high.sqrt(mp(mu_squared))
    x, y = mp(epsilon) / mu - mu / 2, mp(epsilon) / mu + mu / 2
    upper = [high.erfc(point / high.sqrt(2)) / 2 for point in (x, y)]
    return upper[0] - high.exp(mp(epsilon)) * upper[1]


@pytest.mark.parametrize(
    ("epsilon", "mu_squared"),
    [("1", "0.056"), ("0", "0.01"), ("0.5", "4"), ("30", "50"), ("3", "0.5"), ("0.1", "1e-3")],
)
def test_the_curve_is_rounded_up_by_a_tiny_margin(epsilon, mu_squared):
    epsilon, mu_squared = Fraction(epsilon), Fraction(mu_squared)
    found, truth = accounting.delta_at_most(epsilon, mu_squared), curve(epsilon, mu_squared)

    assert truth < mp(found) < truth + high.mpf("1e-485")


def test_far_from_the_middle_the_curve_is_bounded():
    assert 0 < accounting.delta_at_most(Fraction(100), Fraction(1)) < Fraction(1, 10**300)
    assert accounting.delta_at_most(Fraction(1), Fraction(10**6)) == 1
    for x in ("-41", "41"):
        low, top = accounting._tail(accounting.Decimal(x))
        truth = high.erfc(high.mpf(x) / high.sqrt(2)) / 2
        assert high.mpf(str(low)) <= truth <= high.mpf(str(top))


def test_tails_and_logarithms_lie_within_their_margins():
    for x in ("-39.9", "-3", "-0.1", "0", "0.1", "3", "39.9"):
        low, top = (high.mpf(str(end)) for end in accounting._tail(accounting.Decimal(x)))
        truth = high.erfc(high.mpf(x) / high.sqrt(2)) / 2
        assert truth - high.mpf("2e-500") < low < truth < top < truth + high.mpf("2e-500")
    for number in (Fraction(3, 2), Fraction(10**9), Fraction(10**40 + 1, 10**40)):
        truth = high.log(mp(number))
        assert truth - high.mpf("2e-500") < mp(accounting.log_at_most(number)) < truth
    assert accounting.log_at_most(Fraction(1)) == 0
