"""Sums over users in Spark: number for number those of the functions that they stand for."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from slogan.dp import statistics
from slogan.dp.grouping import Grouping
from slogan.dp.selection import SelectionBudget, _look, pooled
from slogan.dp.selection._weights import CLOSED, capped, caps, spread, tossed
from slogan.dp.sums import clipped_counts, coverage_sums, size_sums, together_sums
from slogan.errors import SloganError
from slogan.histogram import PairHistogram
from slogan.randomness import SeededRandomness

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]


def log_of(seed, *, users=60, pairs=80):
    """A log of light and heavy users, with clicks of any size, in which everybody clicked."""
    rng = np.random.default_rng(seed)
    density = rng.choice([0.02, 0.2, 0.9], size=(users, 1))
    held = rng.random((users, pairs)) < density
    held[np.arange(users), rng.integers(0, pairs, users)] = True
    user, pair = np.nonzero(held)
    count = rng.choice([1, 2, 3, 40, 2**15 - 1, 2**15 + 1, 10**9], size=len(user))
    return PairHistogram(
        user=user, pair=pair, count=count, users=users, pairs=pairs, query=np.arange(pairs) // 3
    )


@pytest.fixture(scope="module")
def both(spark):
    """The same log here and in Spark, its rows in no order."""
    from slogan.engines.spark.counting import Numbered
    from slogan.engines.spark.sql import Arrivals, Kept, frame_of
    from slogan.engines.spark.sums import SparkHistogram

    hist = log_of(1)
    order = np.random.default_rng(2).permutation(len(hist.user))
    numbered = Numbered(
        pairs=frame_of(spark.session, pair=np.arange(hist.pairs), query_number=hist.query),
        users=frame_of(spark.session, user=np.arange(hist.users)),
        clicks=frame_of(
            spark.session, user=hist.user[order], pair=hist.pair[order], clicks=hist.count[order]
        ),
        pairs_of_log=hist.pairs,
        users_of_log=hist.users,
        size=(len(hist.user), hist.users, hist.pairs),
        clicks_of_pairs=hist.clicks,
    )
    kept = Kept(spark.session)
    yield hist, SparkHistogram(spark.session, numbered, Arrivals(10**9, lambda *_: None), kept)
    kept.forget()


RELEASED = np.array([0, 3, 4, 5, 17, 30, 31, 32, 60, 79])


def test_the_rows_and_what_is_known_of_pairs(both):
    hist, remote = both

    assert remote.brought().digest() == hist.digest()
    assert remote.pair_total.tolist() == hist.pair_total.tolist()
    by_holders = np.bincount(hist.holders, minlength=hist.users + 1)
    assert remote.pairs_by_holders().tolist() == by_holders.tolist()
    assert remote.query_of(RELEASED).tolist() == hist.query_of(RELEASED).tolist()
    assert statistics.heaviest(remote) == pytest.approx(statistics.heaviest(hist))


@pytest.mark.parametrize("norm", [1, 6, 63])
def test_counts(both, norm):
    hist, remote = both

    assert (
        clipped_counts(remote, RELEASED, norm=norm).tolist()
        == clipped_counts(hist, RELEASED, norm=norm).tolist()
    )


def test_sizes_and_coverage(both):
    hist, remote = both

    assert _look.length_sums(remote, 7).tolist() == _look.length_sums(hist, 7).tolist()
    assert size_sums(remote, RELEASED).tolist() == size_sums(hist, RELEASED).tolist()
    assert coverage_sums(remote, RELEASED).tolist() == coverage_sums(hist, RELEASED).tolist()


def test_association(both):
    hist, remote = both
    category = np.arange(len(RELEASED)) % 5 - 1
    kinds = Grouping(name="domains", category=category, categories=4)

    assert (
        together_sums(remote, RELEASED, kinds).tolist()
        == together_sums(hist, RELEASED, kinds).tolist()
    )


# --- which users contribute to which pairs, and the rounds ---


def test_spark_tosses_the_same_coins(spark):
    from slogan.engines.spark.sql import frame_of, ints, run

    rng = np.random.default_rng(3)
    own = rng.integers(0, 2**64, 50, dtype=np.uint64)
    nth = rng.integers(0, 2**20, 50)
    frame = frame_of(spark.session, at=np.arange(50), own=own.view(np.int64), nth=nth)
    at, coins = ints(run("SELECT at, xxhash64(own, nth) FROM {f}", f=frame))

    assert coins[np.argsort(at)].tolist() == tossed(own, nth).tolist()


@pytest.mark.parametrize("most", [1, 7])
def test_users_contribute_to_the_same_pairs(both, most):
    here, there = (capped(hist, SeededRandomness(5), most) for hist in both)
    user, pair = (
        np.array([row[name] for row in there.chosen.collect()]) for name in ("user", "pair")
    )
    order = np.lexsort((pair, user))

    assert there.speakers.tolist() == here.speakers.tolist()
    assert pair[order].tolist() == here.pair.tolist()
    assert user[order].tolist() == np.repeat(np.arange(60), np.diff(here.start)).tolist()


def test_users_spread_the_same_weights(both):
    here, there = (capped(hist, SeededRandomness(5), 20) for hist in both)
    halvings = (np.arange(here.pairs) % (CLOSED + 1)).astype(np.int8)
    heaviest = np.linspace(1 << 20, 1 << 15, 21).astype(np.int64)

    assert spread(there, halvings).tolist() == spread(here, halvings).tolist()
    assert spread(there, halvings, heaviest).tolist() == spread(here, halvings, heaviest).tolist()
    assert caps(there, heaviest).tolist() == caps(here, heaviest).tolist()


def test_all_rounds_of_selection_select_the_same(both):
    from fractions import Fraction

    budget = SelectionBudget(mu_squared=Fraction(4), delta=Fraction(1, 10))
    # so few that some users must choose
    few = replace(_look.FEW, most=10)
    with patch.object(_look, "FEW", few), patch.object(_look, "RARELY", 1):
        here, there = (pooled.select(hist, budget, SeededRandomness(6)) for hist in both)

    assert there.pairs.tolist() == here.pairs.tolist()
    assert 0 < len(here.pairs) < 80


def test_sums_that_do_not_fit_are_refused(both, spark):
    from slogan.engines.spark.sql import Arrivals, Kept
    from slogan.engines.spark.sums import SparkHistogram

    said = []
    little = Arrivals(1_000, lambda *words: said.append(words))
    small = SparkHistogram(spark.session, both[1]._numbered, little, Kept(spark.session))

    with pytest.raises(SloganError, match="does not fit"):
        capped(small, SeededRandomness(0))
    with pytest.raises(SloganError, match="does not fit"):
        small.brought()
    assert [stage for stage, _ in said] == ["selection", "count"]
