"""Accounting: costs add up exactly, and every rounding is against us."""

import itertools
import json
import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from dp_accounting.pld import privacy_loss_distribution as losses
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext
from scipy.stats import norm

from slogan.budget import PrivacyBudget
from slogan.dp import intervals as enclosures
from slogan.dp.accounting import (
    NOTHING,
    TINIEST,
    Account,
    Approximate,
    CappedSampling,
    Cost,
    Gaussian,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_room,
    normal_quantile,
    rounded_down,
    rounded_up,
    spendable,
    split,
    variance,
)
from slogan.errors import BudgetError

MILLIONTH = Fraction(1, 10**6)
GRID = [(e, d) for e in ("0.5", "1", "2", "4") for d in ("1e-6", "1e-8")]

high = MPContext()
high.dps = 90  # more than the code under test uses


def mp(number):
    return high.mpf(number.numerator) / number.denominator


def above(bound, truth, tight=1e-9):
    """The bound is at least the truth, and by no more than the given part of it."""
    return truth <= mp(bound) <= truth + truth * tight


def integrated(epsilon, mu_squared):
    """δ by its definition: the integral of the positive part of φ(t − μ) − e^ε φ(t)."""
    mu, power = high.sqrt(mp(mu_squared)), high.exp(mp(epsilon))
    start = mp(epsilon) / mu + mu / 2
    points = [start] + [start + high.mpf(2) ** n for n in range(-7, 6)]
    unit = high.npdf(start - mu)  # quad stops at an absolute error
    return unit * high.quad(lambda t: (high.npdf(t - mu) - power * high.npdf(t)) / unit, points)


# --- what the curves are built from ---


@given(st.decimals(-39, 39, places=12))
def test_the_normal_tail_is_enclosed_and_tight(point):
    truth = high.erfc(high.mpf(str(point)) / high.sqrt(2)) / 2
    lower, upper = (high.mpf(str(end)) for end in enclosures.tail(point))

    assert lower <= truth <= upper
    assert upper - lower <= upper * high.mpf("1e-40")


@given(st.fractions(-100, 100, max_denominator=10**9))
def test_elementary_functions_are_enclosed(number):
    square = enclosures.enclose(number**2 + 1)
    for ours, theirs in ((enclosures.log, high.log), (enclosures.sqrt, high.sqrt)):
        lower, upper = (high.mpf(str(end)) for end in ours(square))
        assert lower <= theirs(mp(number**2 + 1)) <= upper
    lower, upper = (high.mpf(str(end)) for end in enclosures.exp(enclosures.enclose(number)))
    assert lower <= high.exp(mp(number)) <= upper


@given(st.fractions(MILLIONTH**2, "1/2"))
def test_a_normal_exceeds_its_quantile_rarely_enough(probability):
    z = mp(normal_quantile(probability))
    truth = high.erfc(z / high.sqrt(2)) / 2

    assert mp(probability) * (1 - high.mpf("1e-9")) <= truth <= mp(probability)


# --- known values ---


@pytest.mark.parametrize(
    ("epsilon", "mu_squared"),
    [
        ("1", "0.056"),  # ε = 1, δ = 1e-6
        ("0", "0.01"),  # total variation
        ("-0.5", "1"),  # a negative ε is what a pure stage may leave
        ("1e-8", "1e-16"),  # the two terms agree to eight digits
        ("4", "0.7"),
        ("30", "50"),
        ("1", "0.0008"),  # δ about 1e-280
    ],
)
def test_the_gaussian_curve_is_the_integral_rounded_up(epsilon, mu_squared):
    epsilon, mu_squared = Fraction(epsilon), Fraction(mu_squared)

    assert above(gaussian_delta(epsilon, mu_squared), integrated(epsilon, mu_squared), 1e-15)


def test_floating_point_would_promise_too_little():
    """Why decimals: the textbook formula in floats falls below the truth."""
    powers = [Fraction(n, 4) for n in (2, 4, 8)]
    truths = [integrated(power, Fraction("0.01")) for power in powers]
    floats = [norm.cdf(0.05 - 10 * e) - math.exp(e) * norm.cdf(-0.05 - 10 * e) for e in powers]

    assert any(high.mpf(float(f)) < truth for f, truth in zip(floats, truths, strict=True))
    for power, truth in zip(powers, truths, strict=True):
        assert above(gaussian_delta(power, Fraction("0.01")), truth)


def test_far_tails_end_at_the_tiniest_delta_and_at_one():
    assert gaussian_delta(Fraction(1), Fraction(1, 10**12)) == TINIEST
    assert gaussian_delta(Fraction(1), Fraction(10**8)) == 1
    assert gaussian_delta(Fraction(0), Fraction(0)) == 0


# --- properties ---

powers = st.fractions("1/100", 20, max_denominator=1000)
deltas = st.builds(lambda n, k: Fraction(n, 10**k), st.integers(1, 9), st.integers(2, 40))
costs = st.fractions("1/100000", 10, max_denominator=10**6)
more = st.fractions("1001/1000", 3, max_denominator=1000)
some = settings(max_examples=100, deadline=None)
few = settings(max_examples=12, deadline=None)


@some
@given(powers, costs, more)
def test_delta_falls_with_epsilon_and_grows_with_the_cost(epsilon, cost, factor):
    delta = gaussian_delta(epsilon, cost)

    assert gaussian_delta(epsilon * factor, cost) <= delta <= gaussian_delta(epsilon, cost * factor)


@few
@given(deltas, costs, more)
def test_epsilon_falls_with_delta_and_grows_with_the_cost(delta, cost, factor):
    larger, epsilon = min(delta * factor, Fraction(99, 100)), gaussian_epsilon(delta, cost)

    assert gaussian_epsilon(larger, cost) <= epsilon <= gaussian_epsilon(delta, cost * factor)


@few
@given(powers, deltas, more)
def test_a_larger_budget_allows_more(epsilon, delta, factor):
    least = gaussian_budget(epsilon, delta)

    assert least <= gaussian_budget(epsilon * factor, delta)
    assert least <= gaussian_budget(epsilon, min(delta * factor, Fraction(99, 100)))


@few
@given(powers, deltas)
def test_there_and_back_ends_on_the_safe_side(epsilon, delta):
    most = gaussian_budget(epsilon, delta)
    again = gaussian_epsilon(delta, most)

    assert gaussian_delta(epsilon, most) <= delta < gaussian_delta(epsilon, most * (1 + MILLIONTH))
    assert gaussian_delta(again, most) <= delta
    assert again == pytest.approx(epsilon, rel=1e-9, abs=1e-10)


scales = st.fractions("1/10", 100, max_denominator=100)
slacks = st.sampled_from(["0", "1e-9", "1/3000000"])
stages = st.one_of(
    st.builds(Gaussian, name=st.just("g"), norm_squared=scales, variance=scales, slack=slacks),
    st.builds(Approximate, name=st.just("p"), epsilon=scales, delta=slacks),
    st.builds(CappedSampling, name=st.just("r"), cap=st.fractions("1/10000000", "1/100000")),
)
accounts = st.lists(stages, max_size=4).map(lambda found: Account(tuple(found)))


@given(st.lists(stages, max_size=5).flatmap(lambda s: st.tuples(st.just(s), st.permutations(s))))
def test_the_order_of_stages_does_not_matter(pair):
    one, other = (Account(tuple(order)) for order in pair)

    assert one.cost == other.cost
    assert one.delta(1) == other.delta(1)


@given(accounts, accounts, accounts)
def test_composition_is_associative_and_counts_everything(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert (a + b).cost == (b + a).cost == a.cost + b.cost == b.cost + a.cost
    assert (a + Account()).cost == a.cost == a.cost + NOTHING


@some
@given(accounts, stages, powers)
def test_one_more_stage_never_costs_less(account, stage, epsilon):
    longer = account + Account((stage,))

    assert longer.delta(epsilon) >= account.delta(epsilon) * (1 - MILLIONTH)


@few
@given(accounts)
def test_an_account_reads_the_same_both_ways(account):
    delta = Fraction(1, 1000)
    epsilon = account.epsilon(delta)

    assert account.delta(epsilon) <= delta
    assert epsilon <= account.epsilon(delta / 2)


shares = st.dictionaries(st.text(max_size=3), st.integers(1, 50), min_size=1, max_size=6)


@given(costs, shares)
def test_parts_never_exceed_the_whole(whole, weights):
    total = sum(weights.values())
    parts = split(whole, {name: Fraction(n, total) for name, n in weights.items()})

    assert sum(parts.values()) == whole
    assert parts.keys() == weights.keys()


@given(costs, scales, st.sampled_from([Fraction(1, 1 << 20), Fraction(1, 1000)]))
def test_noise_is_the_least_on_the_grid_that_is_enough(part, square, grid):
    enough = variance(part, norm_squared=square, grid=grid)

    assert (enough / grid).denominator == 1
    assert square / enough <= part
    assert enough == grid or square / (enough - grid) > part


@given(st.fractions("1/1000000", 10**6))
def test_floats_are_rounded_up_or_down(number):
    assert Fraction(math.nextafter(rounded_up(number), 0)) < number <= Fraction(rounded_up(number))
    below = rounded_down(number)
    assert Fraction(below) <= number < Fraction(math.nextafter(below, math.inf))


# --- a whole release ---

SHARES = {
    "selection": ".5",
    "counts": ".2",
    "association": ".23",
    "sizes": ".05",
    "coverage": ".02",
}
NORMS = {"selection": 1, "counts": 16, "association": 1, "sizes": 1, "coverage": 150**2}


def planned(budget, scale=1):
    """The stages of theory, section 6, from a budget, with a tenth of δ for the thresholds."""
    slack = spendable(budget)[1] / 10
    parts = split(gaussian_room(budget, Cost(delta=slack)) * scale, SHARES)
    return Account(
        tuple(
            Gaussian(
                name=name,
                norm_squared=NORMS[name],
                variance=variance(part, norm_squared=NORMS[name]),
                slack=slack if name == "selection" else 0,
            )
            for name, part in parts.items()
        )
    )


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_a_planned_release_fits_its_budget_and_wastes_nothing(epsilon, delta):
    budget = PrivacyBudget(epsilon=epsilon, delta=delta)
    account = planned(budget)

    account.require(budget)
    assert account.delta(epsilon) > Fraction(delta) * Fraction(999, 1000)


def test_a_release_with_a_little_less_noise_is_refused():
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    with pytest.raises(BudgetError, match="the budget holds 1e-06"):
        planned(budget, scale=Fraction(10001, 10000)).require(budget)


def test_a_budget_given_as_a_factor_is_rounded_down():
    epsilon, _ = spendable(PrivacyBudget(exp_epsilon=2, delta="1e-6"))

    assert high.log(2) * (1 - high.mpf("1e-18")) <= mp(epsilon) <= high.log(2)


def test_earlier_releases_leave_less():
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    whole = gaussian_room(budget)
    gaussian = Cost(mu_squared=whole / 3, delta=MILLIONTH / 10)
    pure = Approximate(name="earlier", epsilon="0.2", delta="1e-7").cost

    assert gaussian_room(budget, gaussian) < whole * 2 / 3
    assert gaussian_room(budget, pure) < gaussian_budget(Fraction("0.8"), MILLIONTH)


def test_stages_that_are_not_gaussian_cost_the_sum_of_their_epsilons():
    account = Account(tuple(Approximate(name=f"{n}", epsilon="0.01") for n in range(400)))

    assert account.cost.epsilon == account.epsilon("1e-6") == account.epsilon(0) == 4


def test_sampling_real_rows_costs_what_theorem_r_says():
    cost = CappedSampling(name="rows", cap="0.001").cost

    assert cost.epsilon == Fraction(1, 1000)
    assert above(cost.delta, 1 - high.exp(high.mpf(-1) / 1000), 1e-16)
    assert CappedSampling(name="rows", cap="1e-300").cost.delta <= Fraction(1, 10**300)


def test_the_manifest_lists_every_stage_and_the_whole():
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    account = planned(budget)
    summary = json.loads(json.dumps(account.summary(budget)))

    assert [stage["name"] for stage in summary["stages"]] == list(SHARES)
    again = Account(
        tuple(Gaussian(name=stage["name"], **stage["parameters"]) for stage in summary["stages"])
    )
    assert again.cost == account.cost
    assert Fraction(summary["cost"]["mu_squared"]) == account.cost.mu_squared
    assert {stage["mechanism"] for stage in summary["stages"]} == {"gaussian"}
    assert 0.999 < summary["epsilon_at_delta"] <= 1
    assert 0.999e-6 < summary["delta_at_epsilon"] <= 1e-6


@pytest.mark.parametrize(
    ("impossible", "words"),
    [
        (lambda b: gaussian_room(b, Cost(delta=MILLIONTH)), "delta = 1e-06"),
        (lambda b: gaussian_room(b, Cost(epsilon=Fraction(1))), "epsilon = 1"),
        (lambda b: gaussian_room(b, Cost(mu_squared=Fraction(1))), "mu squared = 0.056"),
        (lambda b: gaussian_budget(Fraction(0), MILLIONTH), "epsilon must be positive"),
        (lambda b: gaussian_budget(Fraction(1), Fraction(0)), "delta must lie between"),
        (lambda b: gaussian_epsilon(Fraction(1), Fraction(1)), "delta must lie between"),
        (lambda b: planned(b).epsilon("1e-7"), "spent already"),
        (lambda b: split(Fraction(1), {"a": "0.5", "b": "0.5000001"}), "at most 1"),
        (lambda b: split(Fraction(1), {"a": "0.5", "b": 0}), "must be positive"),
        (lambda b: split(Fraction(1), {}), "must be positive"),
        (lambda b: variance(Fraction(0), norm_squared=1), "noise needs"),
        (lambda b: variance(Fraction(1), norm_squared=0), "noise needs"),
        (lambda b: Gaussian(name="g", norm_squared=1, variance=0), "needs noise"),
        (lambda b: Gaussian(name="g", norm_squared=-1, variance=1), "negative mu_squared"),
        (lambda b: Gaussian(name="g", norm_squared=1, variance=1, slack=1), "set aside"),
        (lambda b: Gaussian(name="g", norm_squared=1, variance="nan"), "finite number"),
        (lambda b: Approximate(name="p", epsilon="-0.1"), "negative epsilon"),
        (lambda b: CappedSampling(name="r", cap=-1), "negative epsilon"),
    ],
)
def test_what_is_impossible_is_refused_with_its_number_and_a_hint(impossible, words):
    with pytest.raises(BudgetError, match=words) as refused:
        impossible(PrivacyBudget(epsilon=1, delta="1e-6"))
    assert refused.value.hint


# --- noise: how much, and what its floor costs ---


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_noise_is_as_much_as_exact_accounting_asks(epsilon, delta):
    budget = PrivacyBudget(epsilon=epsilon, delta=delta)
    exact = dp_accounting.get_sigma_gaussian(float(epsilon), float(delta))

    gaussian = math.sqrt(variance(gaussian_room(budget), norm_squared=1))

    assert exact * (1 - 1e-11) <= gaussian <= exact * 1.00001


def hockey_stick(upper, lower, epsilon):
    return math.fsum(np.maximum(0, upper - math.exp(epsilon) * lower))


@given(st.floats(0.2, 3), st.floats(0, 5))
def test_the_floor_of_a_gaussian_keeps_the_gaussian_curve(deviation_, epsilon):
    edges = np.arange(-60, 61) / deviation_
    mass, moved = np.diff(norm.cdf(edges)), np.diff(norm.cdf(edges - 1 / deviation_))
    curve = gaussian_delta(Fraction(epsilon), 1 / Fraction(deviation_) ** 2)

    assert hockey_stick(moved, mass, epsilon) <= float(curve) + 1e-13
    assert hockey_stick(mass, moved, epsilon) <= float(curve) + 1e-13


# --- Google's dp-accounting as oracle ---

SIGMAS = [(9, 7, 6), (1.5,), (30, 20, 20, 50, 40), (4, 4)]


def gaussians(sigmas):
    stages = [Gaussian(name="g", norm_squared=1, variance=Fraction(s) ** 2) for s in sigmas]
    events = dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(s) for s in sigmas])
    return Account(tuple(stages)), events


def optimistic(sigmas, **options):
    """A lower bound: dp-accounting with its discretisation rounded in our favour."""
    parts = [
        losses.from_gaussian_mechanism(
            s, pessimistic_estimate=False, use_connect_dots=False, **options
        )
        for s in sigmas
    ]
    return list(itertools.accumulate(parts, lambda a, b: a.compose(b)))[-1]


@pytest.mark.parametrize("sigmas", SIGMAS)
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-8])
def test_never_below_the_closed_form_of_dp_accounting(sigmas, delta):
    account, _ = gaussians(sigmas)
    sigma = 1 / math.sqrt(account.cost.mu_squared)

    theirs = dp_accounting.get_epsilon_gaussian(sigma, delta)

    # Theirs is a root in floats with tolerance 1e-12.
    assert theirs * (1 - 1e-10) <= account.epsilon(delta) <= theirs * (1 + 1e-9)


@pytest.mark.parametrize("sigmas", SIGMAS)
def test_between_the_bounds_of_the_pld_accountant(sigmas):
    account, event = gaussians(sigmas)
    upper = pld.PLDAccountant(value_discretization_interval=1e-3).compose(event)
    lower = optimistic(sigmas, value_discretization_interval=1e-3)

    for delta in (1e-4, 1e-6):
        ours = account.epsilon(delta)
        assert lower.get_epsilon_for_delta(delta) <= ours <= upper.get_epsilon(delta) + 1e-9
        assert upper.get_epsilon(delta) - ours < 1e-3
    for epsilon in (0.5, 1.0, 2.0):
        ours = account.delta(epsilon)
        assert lower.get_delta_for_epsilon(epsilon) <= ours + Fraction(1, 10**12)
        assert ours <= upper.get_delta(epsilon) + 1e-12


def test_never_below_pld_where_stages_of_all_kinds_meet():
    account = Account(
        (
            Gaussian(name="counts", norm_squared=1, variance=36),
            Gaussian(name="sizes", norm_squared=1, variance=100),
            Approximate(name="laplace", epsilon="0.2"),
            Approximate(name="earlier", epsilon="0.1", delta="1e-8"),
        )
    )
    step = {"value_discretization_interval": 1e-3}
    earlier = dp_accounting.pld.common.DifferentialPrivacyParameters(0.1, 1e-8)
    theirs = losses.from_gaussian_mechanism(6, **step)
    for part in (
        losses.from_gaussian_mechanism(10, **step),
        losses.from_laplace_mechanism(5, **step),
        losses.from_privacy_parameters(earlier, **step),
    ):
        theirs = theirs.compose(part)

    for delta in (1e-4, 1e-6, 1e-7):
        assert theirs.get_epsilon_for_delta(delta) <= account.epsilon(delta)
    for epsilon in (0.5, 1.0, 2.0):
        # Composition cuts tails of mass 1e-15 off and counts them as lost.
        assert theirs.get_delta_for_epsilon(epsilon) - 1e-14 <= account.delta(epsilon)
