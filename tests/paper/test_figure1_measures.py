"""The measures of section 6 on Figure 1's log and output, worked out by hand."""

from fractions import Fraction

import numpy as np
import pytest
from tests.strategies import histogram

from slogan.histogram import PairHistogram
from slogan.measures import Totals
from slogan.measures.retention import Retained, by_query, click_coverage, retained
from slogan.measures.supports import frequent_pairs, support_distance
from slogan.measures.triplets import diff_ratios, redrawn
from slogan.randomness import SeededRandomness

# Users 081, 082, 083; "google, google.com" is the third pair, "car price, kbb.com" the fifth.
BEFORE = histogram([[2, 3, 15, 0, 0], [0, 0, 7, 0, 2], [0, 1, 17, 1, 5]])
# Google's clicks are shown as {8, 3, 9}, as in Figure 1(b).
AFTER = histogram([[0, 2, 8, 0, 0], [0, 0, 3, 0, 1], [0, 1, 9, 0, 3]])
TOTALS = Totals.of(BEFORE, AFTER, None)
GOOGLE = Fraction(1, 2)


def test_sizes_leave_unique_pairs_out():
    """The first and the fourth pair have one user each: |D| = 53 − 3."""
    assert (TOTALS.size_before, TOTALS.size_after) == (50, 27)


def test_sum_of_support_distances_over_all_pairs():
    """|3/27 − 4/50| + |20/27 − 39/50| + |4/27 − 7/50| = (42 + 53 + 11)/1350."""
    found = support_distance(TOTALS)

    assert found.sum_support_distance == pytest.approx(106 / 1350)
    assert found.average_support_distance == pytest.approx(106 / 1350 / 3)


def test_sum_of_support_distances_over_the_whole_log():
    """With a coverage, unique pairs count: the five supports that section 3.2 writes out."""
    whole = Totals.of(BEFORE, AFTER, Fraction(1))
    inside, outside = (2, 4, 39, 1, 7), (0, 3, 20, 0, 4)
    expected = sum(
        abs(Fraction(x, 27) - Fraction(c, 53)) for c, x in zip(inside, outside, strict=True)
    )

    assert support_distance(whole).sum_support_distance == pytest.approx(float(expected))


def test_coverage_scales_the_output_supports():
    """κ = 1/2: a pair with half of the released clicks has a quarter of the log's."""
    half = Totals.of(BEFORE, AFTER, Fraction(1, 2))

    assert half.supports_after[2] == pytest.approx(20 / 27 / 2)
    assert half.frequent_after(Fraction(20, 54)).tolist() == [False, False, True, False, False]
    assert not half.frequent_after(Fraction(20, 53)).any()


def test_precision_and_recall_at_one_tenth():
    """S₀ = {39/50, 7/50}; 4/50 is below. S = {3/27, 20/27, 4/27}."""
    found = frequent_pairs(TOTALS, Fraction(1, 10))

    assert (found.frequent_before, found.frequent_after) == (2, 3)
    assert (found.precision, found.recall) == (2 / 3, 1.0)
    assert found.sum_support_distance == pytest.approx((53 + 11) / 1350)
    assert found.average_support_distance == pytest.approx((53 + 11) / 1350 / 2)


@pytest.mark.parametrize(
    ("support", "precision", "recall"),
    [
        (Fraction(2, 25), 1.0, 1.0),  # 4/50 is exactly 2/25, and frequent
        (Fraction(4, 27), 0.5, 1.0),  # 4/27 is exactly frequent after; 7/50 is below it before
        (Fraction(3, 4), None, 0.0),  # 20/27 is below 3/4: nothing is frequent any more
        (Fraction(4, 5), None, None),  # nothing ever was
    ],
)
def test_supports_on_the_edge(support, precision, recall):
    found = frequent_pairs(TOTALS, support)

    assert (found.precision, found.recall) == (precision, recall)


def test_diversity_of_pairs_and_queries():
    """All three shared pairs are kept; with pairs 1 and 2 of one query there are two queries."""
    one_query = PairHistogram(**{**vars_of(BEFORE), "query": np.array([0, 1, 1, 2, 3])})
    totals = Totals.of(one_query, AFTER, None)

    pairs = totals.before, totals.after
    assert retained(*pairs) == Retained(kept=3, of=3)
    queries = (by_query(clicks, totals.query) for clicks in pairs)
    assert retained(*queries) == Retained(kept=2, of=2)
    lost = Totals.of(BEFORE, histogram([[0, 0, 5, 0, 0]]), None)
    assert retained(lost.before, lost.after).share == 1 / 3


def vars_of(hist):
    return {name: getattr(hist, name) for name in ("user", "pair", "count", "users", "pairs")}


def test_diff_ratios_of_google():
    """|8/27 − 15/50| / (15/50) = .012, |3/27 − 7/50| / (7/50) = .206, the third .020."""
    found = diff_ratios(BEFORE, TOTALS, GOOGLE, [AFTER])

    assert found.triplets == 3
    assert found.below == [2, 0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert (found.not_shown, found.above, found.samples) == (0, 0, 1)


def test_diff_ratios_of_all_shared_pairs():
    """Pair 2: |2/27·50/3 − 1| = .235, |1/27·50 − 1| = .852; pair 5: .074 and .111."""
    found = diff_ratios(BEFORE, TOTALS, Fraction(0), [AFTER])

    assert found.triplets == 7
    assert found.below == [3, 1, 2, 0, 0, 0, 0, 0, 1, 0]


def test_a_triplet_that_is_not_shown_and_one_shown_twice_as_much():
    nobody = histogram([[0, 0, 27, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]])

    found = diff_ratios(BEFORE, TOTALS, GOOGLE, [nobody])

    assert (found.not_shown, found.above) == (2, 1)  # 27/27 against 15/50: 233 %


def test_outputs_drawn_again_keep_the_counts_of_pairs():
    outputs = list(redrawn(BEFORE, AFTER.pair_total, 5, SeededRandomness(1)))

    assert all(output.pair_total.tolist() == [0, 3, 20, 0, 4] for output in outputs)
    assert len({tuple(output.count) for output in outputs}) > 1


def test_coverage_of_thirds():
    """Of 53 clicks google begins in the first third, none in the second, the rest in the last."""
    found = click_coverage(BEFORE.pair_total, AFTER.pair_total)

    assert [part.pairs for part in (found.head, found.torso, found.tail)] == [1, 0, 4]
    assert found.head.clicks_covered == 1.0
    assert found.torso.clicks_covered is None
    assert found.tail.clicks_covered == (4 + 7) / 14
    assert found.head.share_of_release == 20 / 27
