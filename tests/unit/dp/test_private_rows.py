"""Theorem R: every user is drawn within the cap, and the output's law obeys the theorem."""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram, histograms

from slogan.budget import PrivacyBudget
from slogan.dp import private_rows
from slogan.dp.accounting import CappedSampling
from slogan.dp.private_rows import (
    FULL,
    capped_sample,
    expected_exposed,
    sampling_cap,
    weighted_clicks,
    weights,
)
from slogan.errors import OptionError
from slogan.randomness import SeededRandomness, SystemRandomness

CAP = Fraction(1, 4)
MOST_POINTS = 2
# Two users, two pairs; with FULL = 3 and these weights user 0 is at the cap and user 1 below it.
LOG = [[2, 1], [1, 0]]
WEIGHT = np.array([2, 1])
SMALL = 3


class Script:
    """Draws that were fixed beforehand, in place of the random ones."""

    def __init__(self, monkeypatch, *, full=SMALL):
        self.numbers, self.points = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.bounds = []
        monkeypatch.setattr(private_rows, "FULL", full)
        monkeypatch.setattr(private_rows, "poisson", self._poisson)
        monkeypatch.setattr(private_rows, "uniform_below", self._uniform)

    def _poisson(self, n, rng, *, rate):
        assert n == len(self.numbers)
        assert rate == CAP
        return self.numbers

    def _uniform(self, bound, rng):
        self.bounds = bound.tolist()
        return self.points

    def run(self, table, numbers, points, weight=WEIGHT):
        self.numbers, self.points = np.array(numbers), np.array(points, dtype=np.int64)
        hist = histogram(table)
        out = capped_sample(hist, np.arange(hist.pairs), weight, cap=CAP, rng=None)
        rows = zip(out.user.tolist(), out.pair.tolist(), out.count.tolist(), strict=True)
        return frozenset(rows)


def law(script, table, rates=(CAP, CAP)):
    """Coefficients of e^(−mB) in the probability of each output, for few points each.

    Everything the code can draw is drawn: every number of points and every place of each.
    """
    found = defaultdict(Fraction)
    for numbers in itertools.product(range(MOST_POINTS + 1), repeat=len(table)):
        chance = math.prod(r**n / math.factorial(n) for r, n in zip(rates, numbers, strict=True))
        script.run(table, numbers, np.zeros(sum(numbers)))
        places = [range(bound) for bound in script.bounds]
        each = chance / math.prod(len(place) for place in places)
        for points in itertools.product(*places):
            found[script.run(table, numbers, points)] += each
    return found


@pytest.fixture(scope="module")
def laws():
    """The law of the log's output, and of its output without each of the users."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        script = Script(monkeypatch)
        without = [[row if k != j else [0, 0] for j, row in enumerate(LOG)] for k in range(2)]
        return law(script, LOG), [law(script, table) for table in without]


def test_an_output_is_at_most_e_to_the_b_times_as_likely_without_a_user(laws):
    """P_D'(o) ≤ e^B · P_D(o) for every output o: in exact rationals, truncated alike.

    A log without user k is written with an empty row for k, whose points meet nothing and change
    nothing. Leaving them out divides by Σ B^n/n!, which is e^B up to the truncation.
    """
    whole, neighbours = laws
    idle = sum(CAP**n / math.factorial(n) for n in range(MOST_POINTS + 1))
    for neighbour in neighbours:
        for output, coefficient in neighbour.items():
            # e^(−B)·c/idle ≤ e^B · e^(−2B)·c'
            assert coefficient / idle <= whole[output]


def excess(whole, neighbour, rates=(CAP, CAP)):
    """max over events Y of P_D(Y) − P_D'(Y), and what the truncation may hide."""
    unit, other = math.exp(-sum(rates)), math.exp(-2 * CAP)
    outputs = whole.keys() | neighbour.keys()
    hidden = 1 - unit * float(sum(whole.values()))
    more = (unit * float(whole[o]) - other * float(neighbour[o]) for o in outputs)
    return sum(max(0.0, m) for m in more), hidden


def test_an_event_is_at_most_1_minus_e_to_the_minus_b_likelier_with_a_user(laws):
    whole, neighbours = laws
    allowed = -math.expm1(-CAP)
    for neighbour in neighbours:
        found, hidden = excess(whole, neighbour)
        assert found <= allowed + hidden
    # Removing the user at the cap uses all of it: the bound is tight, and the test can fail.
    found, hidden = excess(whole, neighbours[0])
    assert found > allowed - 3 * hidden


def test_without_the_cap_the_same_test_fails(laws, monkeypatch):
    """User 0's weighted clicks make 5 where FULL is 3: uncapped, it has points at rate 5/3·B."""
    rates = (CAP * 5 / SMALL, CAP)
    uncapped = law(Script(monkeypatch), LOG, rates)
    found, hidden = excess(uncapped, laws[1][0], rates)

    assert found > -math.expm1(-CAP) + hidden


def test_points_meet_clicks_in_proportion_to_weights_and_clicks(monkeypatch):
    """One point of user 0 (2 clicks of weight 2, 1 of weight 1) falls on a line of 5, not of 3."""
    script = Script(monkeypatch)
    met = [script.run(LOG, [1, 0], [place]) for place in range(5)]

    assert script.bounds == [5]
    assert met == [frozenset({(0, 0, 1)})] * 4 + [frozenset({(0, 1, 1)})]


def test_points_of_a_later_user_meet_its_own_clicks(monkeypatch):
    """The parts of user 1 are 2, 2, 1, 3 and 1 long, behind those of user 0."""
    script, weight = Script(monkeypatch), np.array([2, 1, 1, 3, 1])
    table = [[2, 1, 0, 0, 1], [1, 2, 1, 1, 1], [3, 3, 3, 3, 3]]
    met = [script.run(table, [0, 1, 0], [place], weight) for place in range(9)]

    assert script.bounds == [9]
    assert met == [frozenset({(1, pair, 1)}) for pair in (0, 0, 1, 1, 2, 3, 3, 3, 4)]


def test_without_selected_pairs_nothing_is_released():
    none = np.zeros(0, dtype=np.int64)
    out = capped_sample(histogram([[1], [1]]), none, none, cap=Fraction(9), rng=SeededRandomness(0))

    assert len(out.user) == len(out.pair) == len(out.count) == 0


def test_points_beyond_a_users_clicks_draw_nothing(monkeypatch):
    script = Script(monkeypatch)
    met = [script.run(LOG, [0, 1], [place]) for place in range(3)]

    assert script.bounds == [3]
    assert met == [frozenset({(1, 0, 1)})] * 2 + [frozenset()]


@given(
    hist=histograms(clicks=2**40),
    weight=st.lists(st.integers(0, FULL), min_size=6, max_size=6),
    data=st.data(),
)
def test_no_user_shows_more_clicks_than_it_has_points(hist, weight, data):
    numbers = data.draw(st.lists(st.integers(0, 3), min_size=hist.users, max_size=hist.users))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(private_rows, "poisson", lambda n, rng, *, rate: np.array(numbers))
        pairs = np.arange(hist.pairs)
        w = np.array(weight[: hist.pairs])
        out = capped_sample(hist, pairs, w, cap=CAP, rng=SeededRandomness(1))
    shown = np.bincount(out.user, weights=out.count, minlength=hist.users)

    assert (shown <= numbers).all()
    held = set(zip(hist.user.tolist(), hist.pair.tolist(), strict=True))
    assert set(zip(out.user.tolist(), out.pair.tolist(), strict=True)) <= held
    assert (w[out.pair] > 0).all()


@given(
    hist=histograms(),
    weight=st.lists(st.integers(0, 9), min_size=6, max_size=6),
    k=st.integers(0, 5),
)
def test_removing_a_user_does_not_change_the_rows_of_others(hist, weight, k):
    """Deterministic replay: with the same draws for the others, their rows are the same."""
    k %= hist.users
    gone = hist.without_user(k)
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 4, hist.users)
    places = [rng.random(n) for n in numbers]

    def shown(log, mine):
        drawn = np.array([0 if u == k and not mine else n for u, n in enumerate(numbers)])
        where = np.concatenate([p[:n] for p, n in zip(places, drawn, strict=True)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(private_rows, "FULL", 20)
            patch.setattr(private_rows, "poisson", lambda n, rng, *, rate: drawn)
            patch.setattr(
                private_rows, "uniform_below", lambda n, rng: np.floor(where * n).astype(int)
            )
            w = np.array(weight[: log.pairs])
            out = capped_sample(log, np.arange(log.pairs), w, cap=CAP, rng=None)
        rows = zip(out.user.tolist(), out.pair.tolist(), out.count.tolist(), strict=True)
        return {row for row in rows if row[0] != k}

    assert shown(hist, mine=True) == shown(gone, mine=False)


def test_huge_clicks_and_weights_do_not_overflow():
    held = histogram([[2**52] * 40, [1] * 40])
    part = weighted_clicks(held, np.full(40, FULL))

    assert (part >= FULL).all()
    assert sum(part[held.user == 0].tolist()) < 2**62


def test_weights_are_the_share_of_the_cap_that_a_click_takes():
    cap = Fraction(1, 2)
    found = weights(np.array([1.0, 1e9, 0.0, 0.3]), np.array([8.0, 0.5, 3.0, 1.5]), cap=cap)

    assert found.tolist() == [FULL // 4, FULL, 0, FULL * 2 // 5]


@given(
    epsilon=st.sampled_from(["0.1", "1", "7"]),
    delta=st.sampled_from(["1e-9", "0.01", "0.5", "0.99"]),
    share=st.sampled_from(["0.01", "1/2", "0.9"]),
)
def test_the_cap_spends_its_share_and_no_more(epsilon, delta, share):
    cap = sampling_cap(PrivacyBudget(epsilon=epsilon, delta=delta), share)
    part = Fraction(share)
    cost = CappedSampling(name="sampling", cap=cap).cost
    larger = CappedSampling(name="sampling", cap=cap * Fraction(1001, 1000)).cost

    assert cost.epsilon <= part * Fraction(epsilon)
    assert cost.delta <= part * Fraction(delta) * (1 + Fraction(1, 10**17))
    assert larger.epsilon > part * Fraction(epsilon) or larger.delta > part * Fraction(delta)


@pytest.mark.timeout(20)
def test_a_delta_that_rounds_to_zero_still_gives_a_cap():
    cap = sampling_cap(PrivacyBudget(epsilon=1, delta="1e-90"), "1/2")

    assert Fraction("0.49e-90") < cap <= Fraction("0.5e-90")


@pytest.mark.parametrize("share", ["0", "1", "-1/2"])
def test_a_share_outside_0_and_1_is_refused(share):
    with pytest.raises(OptionError):
        sampling_cap(PrivacyBudget(epsilon=1, delta="0.1"), share)


# --- statistics: rates, and whether the test would notice other ones ---

USERS = 120_000
RATE = Fraction(1, 2)
# One false alarm in a million; 0.9 and 1.1 times the rate are 12 σ away or more.
SIGMAS = 4.9


def drawn_clicks(table, weight):
    """How many clicks of each pair are drawn from many users with the same clicks."""
    hist = histogram([table] * USERS)
    out = capped_sample(hist, np.arange(len(table)), weight, cap=RATE, rng=SystemRandomness())
    return np.bincount(out.pair, weights=out.count, minlength=len(table))


@pytest.mark.parametrize(
    ("table", "shares", "expected"),
    [
        ([1, 2], [Fraction(1, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(1, 2)]),  # below
        ([3, 2], [Fraction(1, 2), Fraction(1, 4)], [Fraction(3, 4), Fraction(1, 4)]),  # above it
    ],
)
def test_rates_are_as_claimed_and_other_rates_are_rejected(table, shares, expected):
    found = drawn_clicks(table, np.array([int(s * FULL) for s in shares]))
    for clicks, share in zip(found, expected, strict=True):
        mean = float(USERS * RATE * share)
        assert abs(clicks - mean) < SIGMAS * math.sqrt(mean)
        for wrong in (0.9 * mean, 1.1 * mean):
            assert abs(clicks - wrong) > SIGMAS * math.sqrt(wrong)


def test_expected_exposure_agrees_with_sampling():
    hist = histogram([[1, 0], [0, 5]] * (USERS // 2))
    pairs, weight = np.arange(2), np.array([FULL // 2, FULL])
    out = capped_sample(hist, pairs, weight, cap=RATE, rng=SystemRandomness())
    expected = expected_exposed(hist, pairs, weight, cap=RATE)

    assert expected == pytest.approx(USERS / 2 * (2 - math.exp(-0.25) - math.exp(-0.5)))
    assert abs(out.users - expected) < SIGMAS * math.sqrt(expected)
    assert expected <= USERS * -math.expm1(-0.5)
