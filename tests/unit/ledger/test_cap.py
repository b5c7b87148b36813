"""The cap: limits that hold for releases chosen in the light of earlier ones."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from slogan.budget import PrivacyBudget
from slogan.dp.accounting import (
    Account,
    Approximate,
    CappedSampling,
    Cost,
    Gaussian,
    delta_at,
    gaussian_budget,
    gaussian_room,
)
from slogan.errors import BudgetError
from slogan.ledger.cap import Cap

MILLIONTH = Fraction(1, 10**6)
CAP = Cap.of("1", "1e-6")

powers = st.fractions("1/10", 4, max_denominator=100)
deltas = st.sampled_from([Fraction(1, 10**n) for n in (2, 4, 6, 8)])
parts = st.fractions(0, 2, max_denominator=10**6)
costs = st.builds(Cost, epsilon=parts, mu_squared=parts, delta=parts.map(lambda part: part / 10**6))


@settings(max_examples=10)
@given(powers, deltas, st.fractions(0, "1/2"))
def test_what_is_within_the_limits_is_within_the_cap(epsilon, delta, share):
    cap = Cap.of(epsilon, delta, epsilon_aside=epsilon * share)

    assert delta_at(epsilon, cap.limits) <= delta
    assert cap.admits(cap.limits)
    assert cap.remaining(cap.limits) == Cost()


@settings(max_examples=60)
@given(costs, costs)
def test_what_is_admitted_is_never_worse_than_the_limits(spent, limits):
    epsilon = Fraction(3)
    cap = Cap(epsilon=epsilon, delta=Fraction(1), limits=limits)
    if cap.admits(spent):
        promised = delta_at(epsilon, limits)
        assert delta_at(epsilon, spent) <= promised * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("part", ["mu_squared", "epsilon", "delta"])
def test_each_limit_is_kept_to_the_last_digit(part):
    cap = Cap.of("1", "1e-6", epsilon_aside="1/5")
    little = Cost(**{part: Fraction(1, 10**40)})

    assert cap.admits(cap.limits)
    assert not cap.admits(cap.limits + little)


def test_one_release_with_the_budget_of_the_cap_fits_and_a_second_does_not():
    aside = Fraction(1, 2) * MILLIONTH
    room = gaussian_room(PrivacyBudget(epsilon="1", delta="1e-6"), Cost(delta=aside))
    release = Cost(mu_squared=room, delta=aside)

    assert CAP.admits(release)
    assert not CAP.admits(release + Cost(mu_squared=Fraction(1, 10**9)))
    assert CAP.room(Cost()) == (1.0, 1e-6)
    assert CAP.room(release) is None


@settings(max_examples=6)
@given(st.fractions("1/100", "99/100"), st.fractions("1/100", "99/100"))
def test_the_room_that_is_shown_is_really_there(sums, slack):
    spent = Cost(mu_squared=CAP.limits.mu_squared * sums, delta=CAP.limits.delta * slack)
    epsilon, delta = CAP.room(spent)
    aside = Fraction(str(delta)) / 2
    budget = PrivacyBudget(epsilon=epsilon, delta=delta)
    release = Cost(mu_squared=gaussian_room(budget, Cost(delta=aside)), delta=aside)

    assert CAP.admits(spent + release)
    assert not CAP.admits(spent + release + release)


def test_private_counts_need_epsilon_set_aside_for_the_sampling_of_rows():
    """Theorem R: noisy counts, then real rows with at most B expected per user."""
    counts = Gaussian(name="counts", norm_squared=1, variance=30, slack="1e-6")
    release = Account((counts, CappedSampling(name="rows", cap="1/10"))).cost

    assert not Cap.of("1", "0.2", delta_aside="0.1").admits(release)
    assert Cap.of("1", "0.2", epsilon_aside="1/10", delta_aside="0.1").admits(release)


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon_aside": "1"},
        {"epsilon_aside": "-1"},
        {"delta_aside": "1e-6"},
        {"delta_aside": "-1e-9"},
    ],
)
def test_what_leaves_nothing_is_not_a_cap(options):
    with pytest.raises(BudgetError):
        Cap.of("1", "1e-6", **options)


def test_limits_beyond_the_cap_are_refused():
    more = CAP.limits + Cost(mu_squared=Fraction(1, 100))
    with pytest.raises(BudgetError, match="limits"):
        Cap(epsilon=CAP.epsilon, delta=CAP.delta, limits=more)


@pytest.mark.parametrize(
    ("other", "exceeds"),
    [
        (Cap.of("1", "1e-6"), False),
        (Cap.of("1/2", "1e-6"), False),
        (Cap.of("2", "1e-6"), True),
        (Cap.of("1", "1e-5"), True),
        (Cap.of("1", "1e-6", epsilon_aside="1/10"), True),
        (Cap.of("1", "1e-6", delta_aside="9e-7"), True),
    ],
)
def test_a_cap_that_allows_anything_more_exceeds(other, exceeds):
    assert other.exceeds(CAP) is exceeds


# --- An analyst who looks at the first release and then chooses the others ---


def curve(epsilon, mu_squared):
    """δ(ε; μ), in floats."""
    mu = math.sqrt(mu_squared)
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def leaking(epsilon, delta, pure=0.0):
    """δ at ε of: the log's name with probability delta, else an answer of an ε-DP coin."""
    truth = 1 / (1 + math.exp(-pure))
    hockey = truth * max(0, 1 - math.exp(epsilon - pure))
    hockey += (1 - truth) * max(0, 1 - math.exp(epsilon + pure))
    return delta + (1 - delta) * hockey


def reached(epsilon, first, threshold, above, below):
    """δ at ε of: a Gaussian release, and then one of two, by whether its loss exceeds a threshold.

    With D, the loss of a Gaussian release with μ² = m is N(m/2, m).
    """
    mean, deviation = first / 2, math.sqrt(first)

    def part(follow, low, high):
        return quad(
            lambda z: norm.pdf(z, mean, deviation) * follow(epsilon - z),
            low,
            high,
            epsabs=0,
            limit=200,
        )[0]

    far = 12 * deviation
    return part(above, threshold, mean + far) + part(below, mean - far, threshold)


def test_a_rule_on_the_composed_epsilon_and_delta_would_not_be_sound():
    """Each branch ends with a composed δ of exactly 1e-6 at ε = 1; together they reach 1.97e-6.

    After a loss that is large already, more Gaussian noise is spent; after a harmless one, all of
    the δ that is left. This is why a cap is a box, fixed before the first release.
    """
    epsilon, delta = 1.0, 1e-6
    whole = float(gaussian_budget(Fraction(1), MILLIONTH))
    first = 0.7 * whole
    leak = delta - curve(epsilon, first)
    threshold = first / 2 + 2.2 * math.sqrt(first)
    gaussian = Account((Gaussian(name="", norm_squared=str(whole), variance=1),))
    leaky = Account(
        (
            Gaussian(name="", norm_squared=str(first), variance=1),
            Approximate(name="", epsilon=0, delta=str(leak)),
        )
    )

    assert gaussian.delta(1) <= MILLIONTH * (1 + MILLIONTH)
    assert leaky.delta(1) <= MILLIONTH * (1 + MILLIONTH)
    worst = reached(
        epsilon,
        first,
        threshold,
        above=lambda left: curve(left, whole - first),
        below=lambda left: leaking(left, leak),
    )
    assert worst > 1.9 * delta
    assert not CAP.admits(gaussian.cost)
    assert not CAP.admits(leaky.cost)


@pytest.mark.parametrize("share", [0.3, 0.7])
@pytest.mark.parametrize("deviations", [-1, 1, 2, 3])
def test_the_same_analyst_within_the_limits_stays_below_the_cap(share, deviations):
    cap = Cap.of("1", "1e-6", epsilon_aside="1/5")
    whole, pure, leak = (
        float(cap.limits.mu_squared),
        float(cap.limits.epsilon),
        float(cap.limits.delta),
    )
    first = share * whole
    threshold = first / 2 + deviations * math.sqrt(first)
    follows = {
        "gaussian": lambda left: curve(left, whole - first),
        "pure": lambda left: leaking(left, leak, pure),
    }

    for above in follows.values():
        for below in follows.values():
            assert reached(1.0, first, threshold, above, below) <= 1e-6
