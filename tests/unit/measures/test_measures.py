"""Properties of the measures: the log itself is perfect, and the numbers of users do not matter."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from tests.strategies import histogram, histograms

from slogan import measures
from slogan.measures import (
    Comparison,
    Reference,
    Results,
    association,
    queries_of,
    random_sample,
    retention,
    supports,
    triplets,
)
from slogan.measures.cooccurrence import CoOccurrence, hit_rate
from slogan.measures.retention import bundle_distance, bundles, pairs_per_user
from slogan.randomness import SeededRandomness

SUPPORTS = (Fraction(1, 10), Fraction(1, 3))


def measure(before, after, **options):
    given = {"coverage": None, "same_users": True, "samples": [after], **options}
    return Results.of(
        Comparison(reference=Reference.of(before), output=after, supports=SUPPORTS, **given)
    )


def parts_of(found):
    parts = found[retention.CLICK_COVERAGE]
    return [parts.head, parts.torso, parts.tail, parts.all]


def table(hist):
    """The clicks of a histogram as a table, users down, pairs across."""
    counts = np.zeros((hist.users, hist.pairs), dtype=np.int64)
    counts[hist.user, hist.pair] = hist.count
    return counts


def test_measures_keep_their_order():
    assert tuple(measure.name for measure in measures.all_measures()) == (
        *("size", "supports", "diversity", "triplets", "click_coverage", "url_distance"),
        *("top_pairs", "bundles", "lift", "also_clicked", "suggestions"),
        *("times", "ranks", "sessions", "click_models", "next_query", "trends"),
    )


def test_no_two_measures_give_the_same_field():
    hist = histogram([[1, 2], [3, 4]])
    found = measure(hist, hist)
    every = [name for m in measures.all_measures() for name in m.to_dict(found[m])]

    assert len(every) == len(set(every))
    assert every == list(found.to_dict())


@given(histograms(), st.sampled_from([None, Fraction(1)]))
def test_the_log_itself_scores_perfectly(hist, coverage):
    assume(hist.clicks > 0)
    found = measure(hist, hist, coverage=coverage)

    for one in found[supports.SUPPORTS].frequent:
        assert {one.precision, one.recall} <= {1.0, None}
        assert (one.precision is None) == (one.frequent_before == 0)
        assert one.sum_support_distance == 0
    assert found[supports.SUPPORTS].all_pairs.sum_support_distance == 0
    retained = found[retention.DIVERSITY]
    assert {retained.pairs.share, retained.queries.share} <= {1.0, None}
    assert retained.unknown_pairs == 0
    ratios = found[triplets.TRIPLETS]
    assert ratios.below[0] == ratios.triplets
    assert {part.clicks_covered for part in parts_of(found)} <= {1.0, None}
    urls = found[retention.URL_DISTANCE]
    assert urls.all_queries == urls.released_queries == 0
    top = found[retention.TOP_PAIRS]
    assert set(top.pairs.values()) == set(top.queries.values()) == {1.0}
    assert found[retention.BUNDLES].distance == 0
    lifts = found[association.LIFT]
    assert lifts.average_difference in (0, None)
    assert lifts.correlation is None or lifts.correlation == pytest.approx(1)
    for learnt in (found[association.ALSO_CLICKED], found[association.SUGGESTIONS]):
        assert learnt.hit_at_10 == learnt.hit_at_10_of_original
        assert learnt.agreement_at_10 in (1.0, None)
    assert found[supports.SIZE].size_ratio in (1, 0)  # 0 if every pair is unique


@st.composite
def two_logs(draw):
    """A log with clicks, and any other log of the same users and pairs."""
    before = draw(histograms().filter(lambda hist: hist.clicks > 0))
    cells = st.lists(st.integers(0, 5), min_size=before.pairs, max_size=before.pairs)
    after = draw(st.lists(cells, min_size=before.users, max_size=before.users))
    return before, histogram(after, before.query.tolist())


@given(two_logs(), st.randoms(use_true_random=False))
def test_permuting_the_users_changes_nothing(logs, random):
    people, queries = logs[0].users, logs[0].query.tolist()
    order = random.sample(range(people), people)

    plain = measure(*logs)
    shuffled = measure(*(histogram(table(hist)[order].tolist(), queries) for hist in logs))

    assert approximately(plain.to_dict()) == approximately(shuffled.to_dict())


def approximately(value):
    """Nested figures without the last digits, which depend on the order of sums."""
    if isinstance(value, dict):
        return {name: approximately(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [approximately(inner) for inner in value]
    return round(value, 9) if isinstance(value, float) else value


@given(two_logs())
def test_shares_are_shares_and_distances_are_bounded(logs):
    found = measure(*logs)

    retained, frequent = found[retention.DIVERSITY], found[supports.SUPPORTS].frequent
    urls = found[retention.URL_DISTANCE]
    shares = [retained.pairs.share, retained.queries.share, found[retention.BUNDLES].distance]
    shares += [one.precision for one in frequent] + [one.recall for one in frequent]
    shares += [part.clicks_covered for part in parts_of(found)]
    shares += [urls.all_queries, urls.released_queries]
    shares += [
        *found[retention.TOP_PAIRS].pairs.values(),
        found[association.ALSO_CLICKED].hit_at_10,
    ]
    assert all(0 <= share <= 1 + 1e-12 for share in shares if share is not None)
    assert 0 <= found[supports.SUPPORTS].all_pairs.sum_support_distance <= 2 + 1e-12
    ratios = found[triplets.TRIPLETS]
    assert sum(ratios.below) + ratios.not_shown + ratios.above == ratios.triplets


def test_nothing_released_is_not_an_error():
    before, nothing = histogram([[1, 2], [3, 4]]), histogram([[0, 0], [0, 0]])

    found = measure(before, nothing)

    assert found[supports.SIZE].size == 0
    assert found[retention.DIVERSITY].pairs.share == 0.0
    assert found[supports.SUPPORTS].first.precision is None
    assert found[triplets.TRIPLETS].not_shown == 4
    assert found[retention.BUNDLES].bundles.pairs is None


def test_the_distance_of_urls_by_hand():
    """Query 0: (3/4, 1/4) becomes (1/2, 1/2), a quarter apart; query 1 with 4 clicks is lost."""
    query = np.array([0, 0, 1])

    found = retention.url_distance(np.array([3, 1, 4]), np.array([1, 1, 0]), query)

    assert found.released_queries == 0.25
    assert found.all_queries == (4 * 0.25 + 4 * 1) / 8


def test_the_overlap_of_the_top_by_hand():
    """The ten most clicked of 20 pairs; the release has nine of them and one other."""
    before = np.arange(20, 0, -1)
    after = np.where(np.arange(20) < 9, 1, 0)
    after[15] = 1

    assert retention.top_overlap(before, after) == {10: 0.9, 100: 0.5, 1000: 0.5}


def test_bundles_by_hand():
    """Pairs per user: 1, 1, 2 before; 2 after. Up to one pair: 2/3 of the users against none."""
    before, after = histogram([[5, 0], [0, 1], [1, 1]]), histogram([[1, 1]])

    assert bundles(before).pairs.mean == pytest.approx(4 / 3)
    assert bundles(before).clicks.max == 5
    assert bundle_distance(before, after) == pytest.approx(2 / 3)


@given(before=histograms(users=(1, 12), pairs=(1, 9)), after=histograms(users=(1, 9), pairs=(1, 6)))
@example(before=histogram([[1]]), after=histogram([[1]]))
def test_the_distance_of_bundles_is_that_of_scipy(before, after):
    sizes = [pairs_per_user(hist) for hist in (before, after)]
    assume(all(map(len, sizes)))

    # For one user beside one, scipy's p-value, which is not compared, divides by a rounded 1/2.
    with np.errstate(divide="ignore"):
        theirs = ks_2samp(*sizes, method="asymp").statistic
    assert bundle_distance(before, after) == pytest.approx(theirs, abs=1e-12)


def test_a_hidden_pair_is_found_by_those_who_share_it():
    """Two tastes of 12 pairs each: co-occurrence finds the hidden one, popularity cannot."""
    taste = np.kron(np.eye(2, dtype=int), np.ones((8, 12), dtype=int))
    hist = histogram(taste.tolist())

    found = hit_rate(hist, CoOccurrence.learn(hist), same_users=True)

    # Everybody else's 12 pairs of the other taste are more popular once one's own are taken out.
    assert found.share == 1.0
    assert found.share_of_popularity < 0.5


def test_a_user_is_not_recommended_from_her_own_clicks():
    """The hidden pair is held by its user and one other who has nothing else of hers."""
    hist = histogram([[1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]])
    model = CoOccurrence.learn(hist)
    alone = hist.without_user(0)

    with_her = hit_rate(hist, model, same_users=True)
    without_her = CoOccurrence.learn(alone)
    # What is learnt with her and then taken out is what is learnt without her.
    taken_out = model.together - np.outer([1, 1, 0], [1, 1, 0])
    assert (taken_out == without_her.together).all()
    assert with_her.hidden == 4


def test_lift_says_what_is_held_together():
    """Two tastes again: two pairs of one taste are held together, two of different ones never."""
    taste = np.kron(np.eye(2, dtype=int), np.ones((30, 2), dtype=int))
    hist = histogram(taste.tolist())
    lift = CoOccurrence.learn(hist).log_lift(np.arange(4))

    # pairs (0,1) (0,2) (0,3) (1,2) (1,3) (2,3); expected 30·30/60 = 15 users
    same, other = np.log((30 + 10) / (15 + 10)), np.log(10 / (15 + 10))
    assert lift == pytest.approx([same, other, other, other, other, same])


def test_queries_add_up_their_pairs():
    hist = histogram([[1, 2, 3], [0, 0, 4]], queries=[0, 0, 1])

    assert table(queries_of(hist)).tolist() == [[3, 3], [0, 4]]


@given(histograms(), st.data())
def test_a_random_sample_is_part_of_the_log(hist, data):
    clicks = data.draw(st.integers(0, hist.clicks + 3))
    sample = random_sample(hist, clicks, SeededRandomness(data.draw(st.integers(0, 99))))

    assert sample.clicks == min(clicks, hist.clicks)
    assert (table(sample) <= table(hist)).all()


@pytest.mark.parametrize("clicks", [3, 8])
def test_every_click_is_as_likely_to_be_sampled(clicks):
    """Of 10 clicks, each is drawn with probability clicks/10: within 5 standard errors."""
    hist, draws = histogram([[3, 3], [0, 4]]), 4_000
    rng = SeededRandomness(5)
    total = sum(table(random_sample(hist, clicks, rng)) for _ in range(draws))
    expected = table(hist) * clicks / 10 * draws
    # Without replacement the variance of a cell of c clicks is hypergeometric.
    c = table(hist)
    error = np.sqrt(draws * clicks * (c / 10) * (1 - c / 10) * (10 - clicks) / 9)

    assert (np.abs(total - expected) <= 5 * error).all()
    assert (np.abs(total - 1.2 * expected) > 5 * error)[c > 0].all()
