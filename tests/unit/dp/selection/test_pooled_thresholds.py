"""The public numbers of selection: budgets split to the last, thresholds that are enough."""

from fractions import Fraction
from itertools import accumulate
from math import ceil, isqrt

import numpy as np
import pytest
from bench.selectors import sips
from bench.selectors.laplace_histogram import level, root_down
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import MPContext
from scipy.special import log_ndtr
from scipy.stats import norm

from slogan.dp.accounting import variance
from slogan.dp.selection import SelectionBudget, pooled
from slogan.dp.selection._look import FEW, MANY
from slogan.dp.selection._weights import HALVINGS, root_up
from slogan.dp.selection.pooled import LENGTHS, Round, attention

ONE = 2**20
MOST, BLOCKS = MANY.most, pooled._blocks(MANY.most)
high = MPContext()
high.dps = 120
fractions = st.fractions("1/1000", 1000, max_denominator=10**6)


def mp(number):
    return high.mpf(number.numerator) / number.denominator


# --- roots ---


@given(st.integers(1, 2**45))
def test_a_root_is_rounded_up_next_to_a_square_too(steps):
    square = Fraction(steps**2, 2**80)
    just_above = (square + Fraction(1, 2**81), square + Fraction(1, 2**80))

    assert root_up(square) == Fraction(steps, 2**40)
    assert [root_up(number) for number in just_above] == [Fraction(steps + 1, 2**40)] * 2


@given(fractions)
@example(Fraction(1, 4))
def test_an_epsilon_is_the_root_of_mu_squared_rounded_down(square):
    root = root_down(square)

    assert root**2 <= square < (root + Fraction(1, 2**40)) ** 2


# --- pooled: all rounds ---


def stand_in(delta, pairs):
    """A quantile that is easily computed: it only has to depend on both."""
    return Fraction(pairs, 7) / (1 + 1000 * delta)


@pytest.mark.parametrize("most", [1, 2, 16, 100, 700])
def test_blocks_are_all_numbers_of_pairs_in_order(most):
    numbers = [n for first, last in pooled._blocks(most) for n in range(first, last + 1)]

    assert numbers == [*range(1, most + 1)]
    assert all(last - first <= first // 8 for first, last in pooled._blocks(most))


@pytest.mark.parametrize("heaviest_at", range(len(BLOCKS)))
def test_a_rounds_threshold_is_enough_for_any_number_of_pairs(monkeypatch, heaviest_at):
    """The largest need may be that of one pair, of as many as possible, or between."""
    needs = {
        last: Fraction(n == heaviest_at) + Fraction(1, last + 3)
        for n, (_, last) in enumerate(BLOCKS)
    }
    monkeypatch.setattr(pooled, "quantile", lambda delta, t: needs[t] / delta)
    monkeypatch.setattr(pooled, "backed", lambda *_: 1)
    # one weight for each block, as in a schedule: the largest of the block is the first
    heaviest = np.array([2 * ONE, *(ONE - f for f, last in BLOCKS for _ in range(f, last + 1))])
    found = pooled._threshold(5, Fraction(3), Fraction(1, 10), heaviest, Fraction(1))
    real = [
        5 * (ONE - first) + ONE * high.sqrt(15) * 10 * mp(needs[last]) for first, last in BLOCKS
    ]

    assert max(real) <= found < max(real) + 1 + 1e-3


@given(st.integers(1, ONE), fractions)
def test_the_chance_of_backing_is_rounded_up(weight, rate):
    found = pooled.backed(Fraction(weight, ONE), rate)
    real = 1 - high.exp(-mp(rate) * weight / ONE)

    assert real <= mp(found) < real + high.mpf(2) ** -20 * (1 + high.mpf(10) ** -20)
    assert found <= 1


@pytest.mark.parametrize("mu_squared", ["1/5000", "1/50", "1", "30"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-7", "1/20"])
def test_failing_to_back_outweighs_what_others_add(mu_squared, delta):
    """e^-θX·Q(ζ - X/s) ≤ Q(ζ) for every round, user and sum X of other users' weights."""
    square, chance = Fraction(mu_squared), Fraction(delta)
    for regime in (FEW, MANY):
        public = pooled.schedule(SelectionBudget(mu_squared=square, delta=chance), regime)
        more = np.array([2.0**-n for n in range(20, -8, -1)])
        for so_far, this in zip(accumulate(LENGTHS), public.rounds, strict=True):
            deviation = float(public.variance / so_far) ** 0.5
            for weight in {int(weight) for weight in public.heaviest[1:]}:
                point = (this.threshold / so_far - weight) / ONE / deviation
                gained = log_ndtr(-(point - more / deviation)) - log_ndtr(-point)
                assert (gained <= float(public.rate) * more + 1e-12).all()


@pytest.mark.parametrize("mu_squared", ["1/5000", "1/50", "1", "30"])
@pytest.mark.parametrize("regime", [FEW, MANY], ids=["few", "many"])
def test_a_weight_is_as_heavy_as_the_last_threshold_allows(mu_squared, regime):
    """At least 1/√n, at most 1, and never more for more pairs."""
    square, delta, rate = Fraction(mu_squared), Fraction(9, 10**7), Fraction(3, 2)
    found = pooled._heaviest(square, delta, regime, rate).tolist()

    def level(pairs, weight):
        chance = 9e-7 / (pairs * -np.expm1(-1.5 * weight))
        return weight + norm.isf(chance) / float(square) ** 0.5

    highest = level(regime.most, float(regime.heaviest))
    assert found[:1] == [ONE]
    assert (np.diff(found) <= 0).all()
    for first, last in pooled._blocks(regime.most):
        even = isqrt(ceil(Fraction(ONE**2, first)) - 1) + 1
        (weight,) = {*found[first : last + 1]}
        assert weight >= even
        assert weight == even or level(last, weight / ONE) <= highest + 1e-9
        if weight < ONE:
            assert level(last, weight / ONE + 2**-10) > highest - 1e-9


@pytest.mark.parametrize("mu_squared", ["1/50", "30"])
def test_all_rounds_share_a_budget(monkeypatch, mu_squared):
    asked = []

    def noted(delta, pairs):
        asked.append((delta, pairs))
        return stand_in(delta, pairs)

    monkeypatch.setattr(pooled, "quantile", noted)
    budget = SelectionBudget(mu_squared=Fraction(mu_squared), delta=Fraction(1, 7))
    found = pooled.schedule.__wrapped__(budget, MANY)
    early, last = budget.delta / 10 / (len(LENGTHS) - 1), budget.delta * Fraction(9, 10)
    deltas = [early] * (len(LENGTHS) - 1) + [last]

    assert sum(deltas) == budget.delta
    assert {delta for delta, _ in asked} == {*deltas}
    assert found.variance == variance(budget.mu_squared, norm_squared=sum(LENGTHS))
    assert [this.variance * this.length for this in found.rounds] == [found.variance] * len(deltas)
    assert [this.length for this in found.rounds] == [*LENGTHS]
    assert found.rate == pooled._rate(budget.mu_squared, early, MANY.most)
    heaviest = pooled._heaviest(budget.mu_squared, last, MANY, found.rate)
    assert found.heaviest.tolist() == heaviest.tolist()
    for this, so_far, delta in zip(found.rounds, accumulate(LENGTHS), deltas, strict=True):
        enough = pooled._threshold(so_far, found.variance, delta, found.heaviest, found.rate)
        assert this.threshold == enough


@pytest.mark.parametrize("mu_squared", ["1/50", "1", "30"])
def test_attention_follows_the_pace_and_the_noise(mu_squared):
    budget = SelectionBudget(mu_squared=Fraction(mu_squared), delta=Fraction(1, 10**6))
    found = pooled.schedule(budget, FEW)
    goal, units = found.rounds[-1].threshold, sum(LENGTHS)
    for this, so_far in zip(found.rounds, accumulate(LENGTHS), strict=True):
        pace = goal * high.mpf(so_far) / units
        sigma = ONE * high.sqrt(so_far * mp(found.variance))
        ahead = pace + mp(pooled.AHEAD) * sigma
        real = [
            *(mp(pooled.FULL) * pace - mp(missing) * sigma for missing in pooled.LACKING[::-1]),
            *(ahead * mp(pooled.EASE) ** n for n in range(pooled.EASED)),
        ]
        told = [*this.lacking.tolist(), *this.eased.tolist()]
        assert all(abs(one - other) <= 1.001 for one, other in zip(told, real, strict=True))
        assert (np.diff(told) > 0).all()


def test_the_steps_of_attention_are_those_of_their_formula():
    """1.25·d + d²/2 halvings for d deviations, up to the number that exists."""
    halvings = [float(Fraction(5, 4) * d + d * d / 2) for d in pooled.LACKING]

    assert halvings == pytest.approx(range(HALVINGS + 1), abs=0.02)
    assert pooled.EASED <= HALVINGS


ROUND = Round(
    length=1,
    variance=Fraction(1),
    threshold=1000,
    lacking=np.array([20, 40, 55, 70, 80, 90, 100]),
    eased=np.array([300, 500, 700, 900]),
)


@pytest.mark.parametrize(
    ("noisy", "halvings"),
    [
        (1001, 7),  # selected: no more weight
        (1000, 4),
        (900, 4),
        (899, 3),
        (500, 2),
        (300, 1),
        (299, 0),
        (100, 0),  # full weight from here on
        (99, 1),  # something of one step is missing
        (90, 1),
        (89, 2),
        (54, 5),
        (39, 6),
        (20, 6),  # never more than six
        (19, 7),  # given up
        (-5, 7),
    ],
)
def test_attention_is_halved_for_each_step_that_is_missing(noisy, halvings):
    found = attention(np.array([noisy, 250]), ROUND)

    assert found.tolist() == [halvings, 0]
    assert found.dtype == np.int8


# --- sips ---


def test_the_rounds_of_sips_share_all_of_the_budget():
    assert sum(sips.SHARES) == 1
    assert [*sips.SHARES] == sorted(sips.SHARES)


# --- laplace_histogram ---


def tail(scale, level):
    """The probability that discrete Laplace noise is so large, for a level of 1 or more."""
    ratio = high.exp(-mp(1 / scale))
    return ratio**level / (1 + ratio)


@given(
    st.fractions("1/5", 60, max_denominator=12),
    st.one_of(st.fractions("1/1000", "999/1000"), st.fractions("1e-30", "1e-9")),
)
@example(Fraction(1), Fraction(9, 10))  # noise of 0 or more is not what the formula says
@example(Fraction(1, 3), Fraction(1, 2))
@example(Fraction(1), Fraction("0.27"))  # about that of 1: 0.2689
@example(Fraction(1), Fraction("0.26"))
def test_the_laplace_level_is_the_least_of_one_or_more_that_is_enough(scale, delta):
    found, allowed = level(scale, delta), mp(delta)

    assert found >= 1
    assert tail(scale, found) <= allowed
    assert found == 1 or tail(scale, found - 1) > allowed


@pytest.mark.parametrize(
    ("scale", "at"), [("1", 1), ("7/3", 2), ("7/3", 100), ("13/12", 10), ("400/7", 1000)]
)
@pytest.mark.parametrize("digits", [40, 59, 80])
def test_a_slightly_smaller_delta_needs_one_user_more(scale, at, digits):
    """Some of these differ from enough in fewer digits than the logarithms have."""
    scale = Fraction(scale)
    above, exponent = (tail(scale, at) * (1 - high.mpf(10) ** -digits)).man_exp

    assert level(scale, int(above) * Fraction(2) ** int(exponent)) == at + 1
