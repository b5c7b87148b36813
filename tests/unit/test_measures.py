"""Properties of the measures: the log itself is perfect, and nobody's number matters."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from slogan.randomness import SeededRandomness
from slogan.report.measured import Reference, measured, queries_of
from slogan.report.measures.association import CoOccurrence, hit_rate
from slogan.report.measures.bundles import bundle_distance, bundles
from slogan.report.measures.click_distribution import url_distance
from slogan.report.measures.ranking import top_overlap
from slogan.report.measures.yardstick import random_sample
from strategies import histogram, histograms

SUPPORTS = (Fraction(1, 10), Fraction(1, 3))


def measure(before, after, **options):
    asked = {"coverage": None, "same_users": True, "samples": [after], **options}
    return measured(Reference.of(before), after, supports=SUPPORTS, **asked)


def table(hist):
    """The clicks of a histogram as a table, users down, pairs across."""
    counts = np.zeros((hist.users, hist.pairs), dtype=np.int64)
    counts[hist.user, hist.pair] = hist.count
    return counts


@given(histograms(), st.sampled_from([None, Fraction(1)]))
def test_the_log_itself_scores_perfectly(hist, coverage):
    assume(hist.clicks > 0)
    found = measure(hist, hist, coverage=coverage)

    for one in found.frequent:
        assert {one.precision, one.recall} <= {1.0, None}
        assert (one.precision is None) == (one.frequent_before == 0)
        assert one.sum_support_distance == 0
    assert found.all_pairs.sum_support_distance == 0
    assert {found.pairs.share, found.queries.share} <= {1.0, None}
    assert found.diff_ratios.below[0] == found.diff_ratios.triplets
    assert {part.clicks_covered for part in found.click_coverage.values()} <= {1.0, None}
    assert found.url_distance.all_queries == found.url_distance.released_queries == 0
    assert set(found.top_pairs.values()) == set(found.top_queries.values()) == {1.0}
    assert found.bundle_distance == 0
    assert found.lift.average_difference in (0, None)
    assert found.lift.correlation is None or found.lift.correlation == pytest.approx(1)
    for learnt in (found.also_clicked, found.suggestions):
        assert learnt.hit_at_10 == learnt.hit_at_10_of_original
        assert learnt.agreement_at_10 in (1.0, None)
    assert found.unknown_pairs == 0
    assert found.size_ratio in (1, 0)  # 0 if every pair is unique


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

    assert approximately(plain.fields()) == approximately(shuffled.fields())


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

    shares = [found.pairs.share, found.queries.share, found.bundle_distance]
    shares += [one.precision for one in found.frequent] + [one.recall for one in found.frequent]
    shares += [part.clicks_covered for part in found.click_coverage.values()]
    shares += [found.url_distance.all_queries, found.url_distance.released_queries]
    shares += [*found.top_pairs.values(), found.also_clicked.hit_at_10]
    assert all(0 <= share <= 1 + 1e-12 for share in shares if share is not None)
    assert 0 <= found.all_pairs.sum_support_distance <= 2 + 1e-12
    ratios = found.diff_ratios
    assert sum(ratios.below) + ratios.not_shown + ratios.above == ratios.triplets


def test_nothing_released_is_no_error():
    before, nothing = histogram([[1, 2], [3, 4]]), histogram([[0, 0], [0, 0]])

    found = measure(before, nothing)

    assert (found.size, found.pairs.share, found.frequent[0].precision) == (0, 0.0, None)
    assert found.diff_ratios.not_shown == 4
    assert found.bundles.pairs is None


def test_the_distance_of_urls_by_hand():
    """Query 0: (3/4, 1/4) becomes (1/2, 1/2), a quarter apart; query 1 with 4 clicks is lost."""
    query = np.array([0, 0, 1])

    found = url_distance(np.array([3, 1, 4]), np.array([1, 1, 0]), query)

    assert found.released_queries == 0.25
    assert found.all_queries == (4 * 0.25 + 4 * 1) / 8


def test_the_overlap_of_the_top_by_hand():
    """The ten most clicked of 20 pairs; the release has nine of them and one other."""
    before = np.arange(20, 0, -1)
    after = np.where(np.arange(20) < 9, 1, 0)
    after[15] = 1

    assert top_overlap(before, after) == {10: 0.9, 100: 0.5, 1000: 0.5}


def test_bundles_by_hand():
    """Pairs per user: 1, 1, 2 before; 2 after. Up to one pair: 2/3 of the users against none."""
    before, after = histogram([[5, 0], [0, 1], [1, 1]]), histogram([[1, 1]])

    assert bundles(before).pairs.mean == pytest.approx(4 / 3)
    assert bundles(before).clicks.max == 5
    assert bundle_distance(before, after) == pytest.approx(2 / 3)


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
