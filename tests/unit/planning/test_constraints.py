"""Constraints next to their limit: whatever floating point makes of it, integers decide."""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.planning.constraints import (
    _CLEAR,
    _CLEAR_FOR_EACH_PAIR,
    PrivacyConstraints,
    privacy_constraints,
)
from slogan.planning.plan import plan

NUDGES = [Fraction(sign, 10**digits) for sign in (-1, 1) for digits in (8, 11, 14, 40)]
PRECISE = Context(prec=60)


def logarithm(ratio):
    return PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


def limited(hist, allowance):
    return PrivacyConstraints(hist=hist, allowance=allowance, limit=float(logarithm(allowance)))


@pytest.mark.parametrize("nudge", [Fraction(0), *NUDGES])
@pytest.mark.parametrize("rows", [(1, 1), (1, 2), (5, 3), (1, 9, 1), (1, 999)])
def test_a_charge_at_the_limit_passes_and_one_slightly_above_fails(rows, nudge):
    """The costliest user's clicks meet the allowance exactly, or miss it in a late digit."""
    hist = histogram([[own] for own in rows])
    t = Fraction(sum(rows), sum(rows) - max(rows))
    for clicks in (1, 2, 3, 7, 20, 150):
        constraints = limited(hist, t**clicks * (1 + nudge))
        most = clicks if nudge >= 0 else clicks - 1
        counts = np.array([clicks])

        assert constraints.upper.tolist() == [most]
        assert (len(constraints.violated(counts)) == 0) == (nudge >= 0)
        assert constraints.allows_user(int(np.argmax(rows)), counts) == (nudge >= 0)
        assert constraints.allows(counts) == (nudge >= 0)
        assert plan(counts, constraints).counts.tolist() == [most]


@pytest.mark.parametrize("nudge", [Fraction(0), *NUDGES])
def test_ties_of_several_pairs_are_decided_for_each_user(nudge):
    """Users 0, 1 and 3 meet (3/2)·(4/3)² exactly; user 2 is clearly below it."""
    hist = histogram([[1, 1], [1, 1], [0, 1], [1, 1]])
    constraints = limited(hist, Fraction(3, 2) * Fraction(4, 3) ** 2 * (1 + nudge))
    counts = np.array([1, 2])

    broken = [] if nudge >= 0 else [0, 1, 3]
    assert constraints.violated(counts).tolist() == broken
    assert [k for k in range(4) if not constraints.allows_user(k, counts)] == broken


@pytest.mark.parametrize("clicks", range(20_000, 20_010))
def test_ties_of_many_clicks_are_decided_exactly(clicks):
    t = Fraction(1_000, 999)
    limit = float(clicks * logarithm(t))
    for nudge, most in ((0, clicks), (-1, clicks - 1), (1, clicks)):
        allowance = t**clicks * (1 + Fraction(nudge, 10**15))
        hist = histogram([[1]] * 1_000)
        constraints = PrivacyConstraints(hist=hist, allowance=allowance, limit=limit)

        assert constraints.upper.tolist() == [most]


@dataclass(frozen=True, kw_only=True)
class Imprecise(PrivacyConstraints):
    """Constraints whose logarithms are off by a part of themselves."""

    error: float

    def cost_of_rows(self, rows):
        return super().cost_of_rows(rows) * (1 + self.error)


@pytest.mark.parametrize("error", [-4e-10, 4e-10])
@pytest.mark.parametrize("nudge", [Fraction(0), *NUDGES[1:4], *NUDGES[5:]])
def test_errors_of_logarithms_do_not_change_a_decision(error, nudge):
    """Even those of the largest sums: integers decide all that is close by a part in 10^9."""
    hist = histogram([[1, 1], [1, 1], [1, 0], [0, 1]])  # t = 3/2
    for clicks in (1, 10, 500):
        allowance = Fraction(3, 2) ** (2 * clicks) * (1 + nudge)
        limit = float(logarithm(allowance))
        exact = Imprecise(hist=hist, allowance=allowance, limit=limit, error=error)
        counts, keeps = np.array([clicks, clicks]), nudge >= 0

        assert exact.upper.tolist() == [2 * clicks - (not keeps)] * 2
        assert exact.violated(counts).tolist() == ([] if keeps else [0, 1])
        assert exact.allows_user(0, counts) == keeps


@pytest.mark.parametrize("error", [-4e-5, 4e-5])
@pytest.mark.parametrize("nudge", [Fraction(0), *NUDGES])
def test_the_more_pairs_a_user_holds_the_more_is_decided_in_integers(monkeypatch, error, nudge):
    """As if each addition were off by a part in 10^6: 50 pairs then leave 5 parts in 10^5 open."""
    monkeypatch.setattr("slogan.planning.constraints._CLEAR_FOR_EACH_PAIR", 1e-6)
    hist = histogram([[1] * 50, [1] * 50, [1] * 50, [0] * 49 + [3]])
    counts = np.array([1] * 49 + [0])  # t = 3/2
    allowance = Fraction(3, 2) ** 49 * (1 + nudge)
    limit = float(logarithm(allowance))
    constraints = Imprecise(hist=hist, allowance=allowance, limit=limit, error=error)
    broken = [] if nudge >= 0 else [0, 1, 2]

    assert constraints.doubt == pytest.approx(limit * np.array([5e-5, 5e-5, 5e-5, 1e-6]), rel=0.01)
    assert constraints.violated(counts).tolist() == broken
    assert [k for k in range(4) if not constraints.allows_user(k, counts)] == broken


def test_the_margin_exceeds_the_error_of_a_sum_of_any_length_and_stays_narrow():
    """(n + 14) roundings of 2^-53, as the proof counts them; exact arithmetic remains seldom."""
    for pairs in (1, 10**3, 10**7, 10**10, 2**40):
        margin = Fraction(_CLEAR) + pairs * Fraction(_CLEAR_FOR_EACH_PAIR)
        assert margin > Fraction(18, 10) * (pairs + 14) * Fraction(2) ** -53
        assert margin < Fraction(1, 10**8) + 3 * pairs * Fraction(2) ** -53


def test_a_product_of_too_many_bits_counts_as_a_violation(monkeypatch):
    """A tie of 20 clicks of a pair of 1,000: 200 bits are formed, and none if 199 are allowed."""
    hist, counts = histogram([[1]] * 1_000), np.array([20])
    for most, keeps in ((200, True), (199, False)):
        monkeypatch.setattr("slogan.planning.constraints._MOST_BITS", most)
        constraints = limited(hist, Fraction(1_000, 999) ** 20)

        assert constraints.allows_user(0, counts) == keeps
        assert constraints.upper.tolist() == [20 if keeps else 19]


@pytest.mark.parametrize("width", range(2, 32))
def test_products_that_just_fail_to_fit_in_64_bits_are_not_wrapped_around(width):
    """c = 2^e − 1 fills its e bits, and p/q = (2^w − 1)/(2^w − 2) the rest, up to 62 … 66 bits."""
    for clicks in range(1, 62 // width + 1):
        for rest in range(62 - width * clicks, 67 - width * clicks):
            if rest < 2:
                continue
            total, allowance = 2**width - 1, Fraction(2**rest - 1, 2**rest - 2)
            for own in {1, total // 2, total - 1}:
                constraints = limited(histogram([[own], [total - own]]), allowance)
                counts = np.array([clicks])
                for user, held in enumerate((own, total - own)):
                    fits = Fraction(total, total - held) ** clicks <= allowance
                    assert (user not in constraints.violated(counts)) == fits


@given(total=st.integers(2, 2**52), share=st.fractions(0, 1))
def test_a_click_costs_its_logarithm_whether_the_share_is_near_nought_or_one(total, share):
    """Soundness rests on errors far below the part in 10^9 that floating point may decide."""
    for own in {1, min(max(1, int(share * total)), total - 1), total // 2, total - 1}:
        hist = histogram([[own], [total - own]])
        constraints = privacy_constraints(hist, PrivacyBudget(epsilon=1, delta="0.5"))
        for cost, held in zip(
            constraints.cost_of_rows(np.arange(2)), (own, total - own), strict=True
        ):
            truth = logarithm(Fraction(total, total - held))
            assert abs(Decimal(float(cost)) - truth) <= truth * Decimal("1e-14")


def test_charges_and_the_expected_number_of_released_users():
    hist = histogram([[1, 0], [1, 3], [0, 1]])
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=16, delta="15/16"))
    counts = np.array([1, 2])

    assert constraints.charge(counts) == pytest.approx(
        [math.log(2), math.log(2) + 2 * math.log(4), 2 * math.log(4 / 3)]
    )
    # 1 − Π (1 − c_ijk/c_ij)^x_ij for each user
    assert constraints.expected_exposed(counts) == pytest.approx(1 / 2 + 31 / 32 + 7 / 16)
    assert constraints.size_bound == pytest.approx(3 * math.log(16))
    assert constraints.cost.shape == (3, 2)


def test_64_bits_are_not_trusted_with_a_wide_allowance():
    """c = 2^20 takes 21 bits and p = 2^50 another 51, whatever q is."""
    hist = histogram([[1], [2**20 - 1]])
    one, nought = np.array([1]), np.array([0])

    for allowance in (Fraction(2**50, 3), Fraction(2**50 + 1, 2**50)):
        small, fits = limited(hist, allowance)._fit_small(nought, one, nought)
        assert (small.tolist(), fits.tolist()) == ([False], [False])
    small, fits = limited(hist, Fraction(2**41, 3))._fit_small(nought, one, nought)
    assert (small.tolist(), fits.tolist()) == ([True], [True])


def test_short_and_long_products_are_decided_together():
    """Users 0 and 1 are at the limit with one click; (1000/999)^800 exceeds it for the others."""
    hist = histogram([[1, 0], [1, 0], *([[0, 1]] * 1_000)])
    constraints = limited(hist, Fraction(2))

    assert constraints.violated(np.array([1, 800])).tolist() == list(range(2, 1_002))
    assert constraints.violated(np.array([2, 600])).tolist() == [0, 1]


def test_a_user_without_rows_is_never_violated():
    for table in ([[1], [1], [0]], [[1], [0], [1]]):
        assert len(limited(histogram(table), Fraction(4)).violated(np.array([1]))) == 0
