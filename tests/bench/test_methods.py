"""The methods that slogan is compared with: each has the guarantee of its paper."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from bench.comparison import groups, true_coverage
from bench.methods import counts_alone
from bench.methods.k_anonymity import KAnonymity
from bench.methods.korolova import CLICKS, QUERY_COUNTS, SELECTION, Korolova, result_pages
from bench.methods.row_sampling import RowSampling
from bench.methods.user_sampling import UserSampling
from bench.methods.zealous import Thresholds, Zealous
from bench.shapes import SHAPES
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import histogram, histograms

from slogan.histogram import PairHistogram
from slogan.measures import Comparison, Reference, Results, retention, supports
from slogan.randomness import SeededRandomness

NO_NOISE = Fraction(2_000)
"""An ε at which the noise is 0 with probability 1 − e^−50 at least, for the caps used here."""
WRONG_SCALES = (0.9, 1.1)
SIGMAS = 5


class Scripted:
    """Randomness that is known beforehand."""

    seed = 0

    def __init__(self, words):
        self._words = iter(words)

    def words(self, n):
        return np.array([next(self._words) for _ in range(n)], dtype=np.uint64)


def rows(hist):
    return set(zip(hist.user.tolist(), hist.pair.tolist(), hist.count.tolist(), strict=True))


def crowd(pairs, holders, clicks=1):
    """Several pairs, each with separate users."""
    user = np.arange(pairs * holders)
    return PairHistogram(
        user=user,
        pair=user // holders,
        count=np.full(len(user), clicks),
        users=len(user),
        pairs=pairs,
        query=np.arange(pairs),
    )


def at_least(k, scale):
    """P[noise ≥ k] of discrete Laplace noise, by a separate formula."""
    q = math.exp(-1 / scale)
    return q**k / (1 + q) if k > 0 else 1 - q ** (1 - k) / (1 + q)


# --- k-anonymity ---


@given(histograms(), st.integers(1, 4), st.sampled_from(["query", "pair"]))
def test_k_anonymity_shows_what_k_users_have_and_all_of_it(hist, k, of):
    item = hist.query if of == "query" else np.arange(hist.pairs)
    who = {(u, i) for u, i in zip(hist.user.tolist(), item[hist.pair].tolist(), strict=True)}
    users = {i: sum(one == i for _, one in who) for i in item.tolist()}

    shown = KAnonymity(k=k, of=of).release(hist, Scripted([]))

    assert rows(shown) == {row for row in rows(hist) if users[item[row[1]]] >= k}


def test_a_popular_query_shows_a_url_of_one_user_unless_pairs_are_counted():
    hist = histogram([[1, 0], [1, 0], [0, 1]], [0, 0])

    assert rows(KAnonymity(k=3).release(hist, Scripted([]))) == rows(hist)
    assert rows(KAnonymity(k=2, of="pair").release(hist, Scripted([]))) == {(0, 0, 1), (1, 0, 1)}


# --- whole users (Theorem 0) ---


def law(hist, delta):
    """The exact law of what is published, by all outcomes of the draws."""
    found = {}
    for words in itertools.product(range(delta.denominator), repeat=hist.users):
        shown = frozenset(rows(UserSampling(delta=delta).release(hist, Scripted(words))))
        chance = Fraction(1, delta.denominator**hist.users)
        found[shown] = found.get(shown, 0) + chance
    return found


@settings(max_examples=30)
@given(
    histograms(users=(1, 3), pairs=(1, 3)),
    st.sampled_from([Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)]),
    st.data(),
)
def test_users_are_published_with_zero_epsilon_and_delta(hist, delta, data):
    gone = data.draw(st.integers(0, hist.users - 1))
    whole, without = law(hist, delta), law(hist.without_user(gone), delta)
    outcomes = whole.keys() | without.keys()
    apart = [whole.get(o, 0) - without.get(o, 0) for o in outcomes]
    owns = bool((hist.user == gone).any())

    # The most that any event's probability differs: δ exactly, neither more nor less.
    assert sum(a for a in apart if a > 0) == (delta if owns else 0)
    assert sum(-a for a in apart if a < 0) == (delta if owns else 0)
    # And it attains the limit on what may be exposed: every row is expected δ times.
    for row in rows(hist):
        assert sum(chance for shown, chance in whole.items() if row in shown) == delta


# --- clicks at random ---


@given(histograms(), st.fractions(0, 1))
def test_clicks_at_random_are_clicks_of_the_log(hist, share):
    shown = RowSampling(share=share).release(hist, SeededRandomness(0))
    owned = {(u, p): n for u, p, n in rows(hist)}

    assert shown.clicks == int(share * hist.clicks)
    assert all(n <= owned[u, p] for u, p, n in rows(shown))


# --- ZEALOUS ---

MEANINGS = ("probabilistic", "indistinguishable", "added or removed")


def zealous(meaning, m=1, epsilon="1", delta="1/20"):
    return Zealous(epsilon=Fraction(epsilon), delta=Fraction(delta), m=m, meaning=meaning)


@given(histograms(users=(1, 8)), st.integers(1, 3), st.sampled_from(MEANINGS))
def test_zealous_counts_m_pairs_of_each_user_once(hist, m, meaning):
    method = Zealous(epsilon=NO_NOISE, delta=Fraction(1, 20), m=m, meaning=meaning)
    shown = method.release(hist, SeededRandomness(1))
    found = method.thresholds(hist.users)

    assert shown.clicks <= m * hist.users
    assert (shown.pair_total <= hist.holders).all()
    assert (shown.pair_total[shown.pair_total > 0] > found.after).all()


def test_pairs_below_the_first_threshold_get_no_noise(monkeypatch):
    given = Thresholds(scale=Fraction(5), before=4, after=4)
    monkeypatch.setattr(Zealous, "thresholds", lambda self, users: given)
    method = zealous("probabilistic")

    assert method.release(crowd(500, 3), SeededRandomness(2)).clicks == 0
    assert method.release(crowd(500, 4), SeededRandomness(2)).clicks > 0


@pytest.mark.parametrize(
    ("meaning", "epsilon"), [("indistinguishable", "2"), ("added or removed", "1")]
)
def test_the_noise_of_zealous_has_its_scale(meaning, epsilon):
    """How often a pair passes, and a scale that is 10 % off would show."""
    method, pairs = zealous(meaning, epsilon=epsilon), 40_000
    found = method.thresholds(users=1)
    holders = found.after
    shown = method.release(crowd(pairs, holders), SeededRandomness(3))
    passed = np.count_nonzero(shown.pair_total) / pairs

    def off(scale):
        chance = at_least(1, scale)
        return abs(passed - chance) / math.sqrt(chance * (1 - chance) / pairs)

    assert off(float(found.scale)) < SIGMAS
    assert all(off(wrong * float(found.scale)) > SIGMAS for wrong in WRONG_SCALES)


def outcomes(count, found: Thresholds, most=400):
    """The law of one pair: 0 if it is not published, or its noisy count."""
    if count < found.before:
        return {0: 1.0}
    scale = float(found.scale)
    shown = {
        k: at_least(k - count, scale) - at_least(k + 1 - count, scale)
        for k in range(found.after + 1, found.after + most)
    }
    return {0: 1 - sum(shown.values()), **shown}


def excess(first, second, epsilon):
    """The most by which P[Y] exceeds e^ε P'[Y], over events Y; pairs are independent."""
    laws = [{(): 1.0}, {(): 1.0}]
    for each in zip(first, second, strict=True):
        laws = [
            {(*o, k): p * q for o, p in whole.items() for k, q in one.items()}
            for whole, one in zip(laws, each, strict=True)
        ]
    return sum(max(0.0, p - math.exp(epsilon) * laws[1].get(o, 0.0)) for o, p in laws[0].items())


# counts of two pairs without and with one user who selects m = 2 of them
ADDED = [((0, 0), (1, 1)), ((0, 3), (1, 4)), ((2, 5), (3, 6)), ((0, 9), (1, 9))]
# and with one user in place of another, each selecting m = 1
REPLACED = [((1, 0), (0, 1)), ((4, 5), (5, 4)), ((1, 6), (0, 7))]


@pytest.mark.parametrize(("without", "having"), ADDED)
def test_zealous_for_a_user_added_or_removed_is_private(without, having):
    method = zealous("added or removed", m=2)
    found = method.thresholds(users=1)
    laws = [[outcomes(n, found, most=60) for n in counts] for counts in (without, having)]

    for one, other in (laws, laws[::-1]):
        assert excess(one, other, 1.0) <= float(method.delta) + 1e-9


@pytest.mark.parametrize(("before", "after"), REPLACED)
def test_zealous_for_a_user_replaced_is_private(before, after):
    method = zealous("indistinguishable", m=1)
    found = method.thresholds(users=1)
    laws = [[outcomes(n, found, most=60) for n in counts] for counts in (before, after)]

    for one, other in (laws, laws[::-1]):
        assert excess(one, other, 1.0) <= float(method.delta) + 1e-9


@pytest.mark.parametrize("m", [1, 2])
def test_a_second_threshold_that_is_lower_would_break_it(m):
    method = zealous("added or removed", m=m)
    found = method.thresholds(users=1)
    lower = replace(found, after=found.after - 1)

    def novel(thresholds):
        alone = [outcomes(1, thresholds, most=60)] * m
        return excess(alone, [{0: 1.0}] * m, 1.0)

    assert novel(found) <= float(method.delta) < novel(lower)


@pytest.mark.parametrize("m", [1, 4])
@pytest.mark.parametrize("users", [10, 2_500])
def test_zealous_is_probabilistically_private(users, m):
    """As many pairs as possible lie on the first threshold: all stay unpublished but for δ."""
    method = zealous("probabilistic", m=m, delta="1e-6")
    found = method.thresholds(users)
    scale = float(found.scale)
    passes = at_least(found.after + 1 - found.before, scale)
    border = users * m // found.before

    assert scale == pytest.approx(2 * m)
    assert 1 - (1 - passes) ** border <= 1e-6
    assert 1 / (1 - passes) <= math.exp(1 / scale)
    # and one less would not do, if the pairs on the border are as many as they can be
    if users % found.before == 0:
        assert border * at_least(found.after - found.before, scale) > 1e-6


# --- Korolova et al. ---


def korolova(d=1, d_c=1, epsilon="2", delta="1/20"):
    return Korolova(epsilon=Fraction(epsilon), delta=Fraction(delta), d=d, d_c=d_c)


@given(histograms(users=(1, 8)), st.integers(1, 3), st.integers(1, 5))
def test_no_more_than_d_searches_and_clicks_of_a_user_count(hist, d, d_c):
    method = Korolova(epsilon=10 * NO_NOISE, delta=Fraction(1, 20), d=d, d_c=d_c)
    shown = method.release(hist, SeededRandomness(4))
    published = set(hist.query[shown.pair].tolist())

    assert shown.clicks <= d_c * hist.users
    assert (shown.pair_total <= hist.pair_total).all()
    # a query is published on the word of more than one user
    for query in published:
        users = np.unique(hist.user[hist.query[hist.pair] == query])
        assert len(users) * d > method.threshold


def test_all_of_epsilon_is_spent_and_no_more():
    method = korolova(d=3, d_c=7)
    counts = method.d / (QUERY_COUNTS * method.epsilon)

    cost = method.d / method.threshold_scale + method.d / counts + method.d_c / method.click_scale

    assert cost == method.epsilon
    assert SELECTION + QUERY_COUNTS + CLICKS == 1


@pytest.mark.parametrize("d", [1, 2, 5])
def test_what_one_user_alone_searched_stays_unpublished_but_for_delta(d):
    """However the d searches are spread over queries."""
    method = korolova(d=d)
    scale = float(method.threshold_scale)

    def published(threshold, shares):
        stay = math.prod(1 - at_least(threshold + 1 - n, scale) for n in shares)
        return 1 - stay

    spread = [p for n in range(1, d + 1) for p in itertools.product(range(1, d + 1), repeat=n)]
    worst = max(published(method.threshold, p) for p in spread if sum(p) <= d)

    assert worst <= float(method.delta)
    if d == 1:
        assert published(method.threshold - 1, [1]) > float(method.delta)


def test_the_noise_of_both_steps_has_its_scale():
    method, queries = korolova(), 40_000
    holders = method.threshold
    total = method.release(crowd(queries, holders), SeededRandomness(5)).pair_total

    def off(threshold_scale, click_scale):
        """How far the share of shown pairs is from its chance, and that of exact counts."""
        q = math.exp(-1 / click_scale)
        shown = at_least(1, threshold_scale) * at_least(1 - holders, click_scale)
        exact = (1 - q) / (1 + q) / at_least(1 - holders, click_scale)
        found = np.count_nonzero(total)
        return (
            abs(found / queries - shown) / math.sqrt(shown * (1 - shown) / queries),
            abs(np.count_nonzero(total == holders) / found - exact)
            / math.sqrt(exact * (1 - exact) / found),
        )

    b, b_c = float(method.threshold_scale), float(method.click_scale)
    assert max(off(b, b_c)) < SIGMAS
    assert all(off(wrong * b, b_c)[0] > SIGMAS for wrong in WRONG_SCALES)
    assert all(off(b, wrong * b_c)[1] > SIGMAS for wrong in WRONG_SCALES)


def test_a_result_page_has_ten_urls_and_the_most_clicked_ones():
    clicks = [*range(1, 13), 5]
    hist = histogram([clicks, clicks], [0] * 12 + [1])

    assert np.flatnonzero(~result_pages(hist)).tolist() == [0, 1]


# --- the harness ---


@pytest.mark.parametrize("shape", SHAPES)
def test_a_seed_gives_one_log_of_each_shape(shape):
    logs = [SHAPES[shape](60, seed) for seed in (0, 0, 1)]

    assert logs[0].hist.users == 60
    assert logs[0].hist.digest() == logs[1].hist.digest() != logs[2].hist.digest()


@given(histograms(), st.data())
def test_counts_alone_are_the_counts_and_no_user_holds_two(hist, data):
    counts = data.draw(st.lists(st.integers(0, 5), min_size=hist.pairs, max_size=hist.pairs))
    shown = counts_alone(np.array(counts, dtype=np.int64), hist.query)

    assert shown.pair_total.tolist() == counts
    assert len(np.unique(shown.user)) == shown.clicks


def test_publishing_everything_scores_perfectly():
    hist = histogram([[3, 1, 0, 0], [1, 0, 2, 0], [0, 4, 1, 5]], [0, 0, 1, 2])
    shown = KAnonymity(k=1, of="pair").release(hist, Scripted([]))
    coverage = true_coverage(hist, shown)
    found = Results.of(
        Comparison(
            reference=Reference.of(hist),
            output=shown,
            supports=(Fraction(1, 500),),
            coverage=coverage,
            same_users=True,
            samples=None,
        )
    )
    frequent, retained = found[supports.SUPPORTS].first, found[retention.DIVERSITY]

    assert coverage == found[supports.SIZE].size_ratio == 1
    assert (frequent.precision, frequent.recall) == (1, 1)
    assert frequent.sum_support_distance == 0
    assert retained.pairs.share == retained.queries.share == 1


def test_every_method_says_what_it_promises_and_what_not():
    methods = [method for group in groups(time_limit=1).values() for method in group]
    names = [(name, m.name) for name, group in groups(time_limit=1).items() for m in group]

    assert len(set(names)) == len(methods)
    for method in methods:
        promise = method.promise
        assert promise.meaning
        assert promise.open
        assert (promise.unit is None) == (promise.epsilon is None) == (promise.delta is None)


def test_the_page_shows_rows_of_the_results_as_they_are():
    root = Path(__file__).parents[2]
    page, results = (
        (root / name).read_text(encoding="utf-8").splitlines()
        for name in ("docs/explanation/comparison.md", "bench/results/comparison.md")
    )
    shown = [line for line in page if line.count("|") == 12 and not line.startswith("|---")]

    assert len(shown) > 12
    assert [line for line in shown if line not in results] == []
