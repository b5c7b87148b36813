"""Numbers at the limits of what the verifier accepts, and slightly beside its bounds."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext
from tests.helpers import stage

from slogan.budget import exact
from slogan.errors import BudgetError
from slogan.verification import accounting
from slogan.verification.accounting import account, cost, part, shown_at_most
from slogan.verification.conditions import (
    Bounds,
    Check,
    Factor,
    Verdict,
    bounds_of,
    exp_below,
    judge,
    rational,
)
from slogan.verification.evidence import NotPossibleError

high = MPContext()
high.dps = 640


def mp(number):
    return high.mpf(number.numerator) / number.denominator


# --- numbers as they are written ---

decimals = st.builds("{}.{}e{}".format, *[st.integers(1, 10**9)] * 2, st.integers(-290, 290))
spaces = st.sampled_from(["", " "])


@given(decimals, decimals | st.just(""), spaces)
def test_a_budget_is_read_in_every_notation(above, below, space):
    text = f"{space}{above}{space}/{space}{below}" if below else f"{space}{above}{space}"

    assert rational(text) == exact(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "/", "/2", "1/2/3", "1//2", "1/0", "nan", "inf", "1/inf", "1/nan", "0x2", "1 2"],
)
def test_an_invalid_number_is_refused(text):
    with pytest.raises(BudgetError, match="not a number"):
        rational(text)


@pytest.mark.parametrize("text", ["1e10000", "1E-10000", "1/1e-99999", "1e1_0000", "0" * 1001])
def test_a_number_that_would_stall_is_refused(text):
    with pytest.raises(BudgetError, match="too long"):
        rational(text)


# --- e^ε ---


@pytest.mark.parametrize("power", ["-1e-9", "-1/2", "-1", "0", "700.0000001", "1e9"])
def test_an_epsilon_out_of_range_is_refused(power):
    with pytest.raises(BudgetError, match="above 0 and at most 700"):
        exp_below(Fraction(power))


@pytest.mark.parametrize("power", ["1e-70", "1/3", "1", "7/3", "100/3", "301/3", "1999/3", "700"])
def test_e_to_epsilon_is_rounded_down(power):
    """At e^(301/3) a first term rounded up would be seen in the 120th digit of the sum."""
    found, truth = exp_below(Fraction(power)), high.exp(mp(Fraction(power)))

    assert truth * (1 - high.mpf("1e-100")) < mp(found) < truth
    assert found >= 1 + Fraction(power)


# --- judgement slightly beside a bound ---


@pytest.mark.parametrize("others", [10**20, 5 * 10**19, 10**14])
def test_small_logarithms_are_rounded_outward(others):
    """Their digits go beyond the units in which they are added."""
    factor, charge = Factor(total=others + 1, own=1, released=1), 1 + Fraction(1, others)
    low, top = factor.log

    assert low < high.log(mp(charge)) * 10**60 < top
    assert top - low == 1
    for hair, broken in ((0, 0), (Fraction(1, 10**63), 0), (-Fraction(1, 10**63), 2)):
        assert judge(charge + hair, [([0], 2)], [factor]).broken == broken


def test_a_charge_above_the_bound_within_the_same_unit_is_refused():
    """(1 + a)(1 + b) exceeds 1 + a + b by a tenth of the unit of logarithms."""
    a, b = Fraction(1, 10**12), Fraction(1, 10**49)
    factors = [Factor(total=1 + part.denominator, own=1, released=1) for part in (a, b)]

    found = judge(1 + a + b, [([0, 1], 1)], factors)

    assert (found.broken, found.in_integers) == (1, 1)


@pytest.mark.parametrize(("total", "own"), [(3, 1), (5, 3), (2, 1), (9, 8)])
def test_a_single_click_counts_in_integers(total, own):
    factor, charge = Factor(total=total, own=own, released=1), Fraction(total, total - own)
    for hair, broken in ((0, 0), (Fraction(1, 10**90), 0), (-Fraction(1, 10**90), 1)):
        found = judge(charge + hair, [([0], 1)], [factor])
        assert (found.broken, found.in_integers) == (broken, 1)


# --- the stated cost of stages ---


@pytest.mark.parametrize("text", ["1" + "0" * 301, "3" + "0" * 300, "15" + "0" * 299])
def test_a_parameter_beyond_every_float_is_refused(text):
    with pytest.raises(NotPossibleError, match="no usable cap"):
        part(stage("capped_sampling", cap=text), "cap")
    with pytest.raises(NotPossibleError, match="no usable slack"):
        cost([stage("gaussian", norm_squared="1", variance="1", slack=text)])


def test_the_largest_and_the_smallest_parameter_are_accepted():
    for number in (Fraction(1e300), Fraction(1e-300)):
        assert part(stage("capped_sampling", cap=str(number)), "cap") == number
    with pytest.raises(NotPossibleError):
        part(stage("capped_sampling", cap=str(Fraction(1e-300) * Fraction(99, 100))), "cap")


@pytest.mark.parametrize("less", ["-1/1000000", "-1/2", "-1", "-2"])
def test_no_stage_has_a_negative_cost(less):
    for mechanism, parameters in (
        ("gaussian", {"norm_squared": "1", "variance": "1", "slack": less}),
        ("capped_sampling", {"cap": less}),
        ("gaussian", {"norm_squared": less, "variance": "1", "slack": "0"}),
        ("gaussian", {"norm_squared": "1", "variance": less, "slack": "0"}),
    ):
        with pytest.raises(NotPossibleError, match="no usable"):
            cost([stage(mechanism, **parameters)])


def test_extreme_stages_are_refused_and_do_not_stall():
    bounds = bounds_of({"epsilon": "1", "exp_epsilon": None, "delta": "0.5"})
    smallest, largest = "1/1" + "0" * 299, "1" + "0" * 299
    for stages in (
        [stage("gaussian", norm_squared=largest, variance=smallest, slack="0")],
        [stage("gaussian", norm_squared=smallest, variance=largest, slack=largest)],
        [stage("gaussian", norm_squared="1", variance="1", slack=largest)] * 64,
        [stage("capped_sampling", cap=largest)],
    ):
        spent = SimpleNamespace(account=SimpleNamespace(stages=stages))
        evidence = SimpleNamespace(manifest=spent, bounds=bounds)
        assert not account(evidence)[0]


def test_too_many_stages_are_refused():
    bounds = bounds_of({"epsilon": "9", "exp_epsilon": None, "delta": "0.5"})
    for number, taken in ((64, True), (65, False)):
        stages = [stage("capped_sampling", cap="1/1000")] * number
        spent = SimpleNamespace(account=SimpleNamespace(stages=stages))
        evidence = SimpleNamespace(manifest=spent, bounds=bounds)
        if taken:
            assert account(evidence)[0]
        else:
            with pytest.raises(NotPossibleError, match="more stages"):
                account(evidence)


@pytest.mark.parametrize("cap", ["1e-300", "1e-110", "1e-90", "1e-50", "1e-20"])
def test_rarely_sampled_users_are_charged_very_little(cap):
    found = shown_at_most(Fraction(cap))
    truth = -high.expm1(-mp(Fraction(cap)))

    assert truth <= mp(found) <= min(mp(Fraction(cap)), truth + high.mpf("1.1e-100"))


# --- tails ---

ROUNDING = high.mpf("1e-590")


@pytest.mark.parametrize(
    "x", ["-1000", "-41", "-40", "-1", "-0.001", "0", "0.5", "40", "41", "1e6"]
)
def test_tails_are_probabilities(x):
    low, top = accounting._tail(accounting.Decimal(x))
    truth = high.erfc(high.mpf(x) / high.sqrt(2)) / 2

    assert 0 <= low <= top <= 1
    assert high.mpf(str(low)) - ROUNDING <= truth <= high.mpf(str(top)) + ROUNDING


@pytest.mark.parametrize("epsilon", [39, 41, 43, 45])
def test_the_curve_is_rounded_up_far_out_too(epsilon):
    """For μ = 1, where δ is some 10^-400 and tails are bounded, not summed up."""
    upper = [high.erfc((epsilon + half) / high.sqrt(2)) / 2 for half in (-0.5, 0.5)]
    truth = upper[0] - high.exp(epsilon) * upper[1]

    assert truth < mp(accounting.delta_at_most(Fraction(epsilon), Fraction(1))) < 10**4 * truth


def test_pi_has_as_many_digits_as_are_used():
    found = accounting._pi.__wrapped__()  # without the cache

    assert abs(high.mpf(str(found)) - high.pi) < high.mpf("1e-597")


def test_the_stricter_budget_has_the_smaller_of_each_bound():
    small, large = Fraction(3, 2), Fraction(7, 2)
    one = Bounds(likelihood=small, appearance=large)
    other = Bounds(likelihood=large, appearance=small)

    both = Bounds(likelihood=small, appearance=small)
    assert one.stricter(other) == other.stricter(one) == both


def test_checks_that_could_not_run_are_grouped_by_their_reason():
    passed, missing, unread, same = (
        Check(name=name, ok=ok, detail=detail)
        for name, ok, detail in (
            ("manifest", True, "version 1"),
            ("schema", False, "not possible: no log"),
            ("pairs", False, "not possible: no log"),
            ("epsilon", False, "1 of 3 users exceed the limit"),
        )
    )
    other = replace(same, name="delta")
    verdict = Verdict(checks=(passed, missing, same, unread, other))

    assert verdict.outcomes() == [(passed,), (missing, unread), (same,), (other,)]
    assert verdict._repr_html_().count("no log") == 1
    assert len(verdict.to_dict()["checks"]) == 5
