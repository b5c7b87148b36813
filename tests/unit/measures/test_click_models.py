"""Click models against search-by-search loops, and on logs drawn from a known model."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import events_of
from tests.unit.measures.test_events import compared

from slogan.measures import click_models
from slogan.measures.click_models import (
    RANKS,
    Pages,
    cascade_chances,
    ndcg,
    pages_of,
    perplexity,
    place_cells,
    position_based_chances,
    rank_cells,
    train_cascade,
    train_position_based,
)
from slogan.measures.events import gap_searches

QUERY = (0, 0, 0, 1, 1)  # of each pair
# A search: its query and the clicked pairs with their ranks.
searches = st.integers(0, 1).flatmap(
    lambda query: st.tuples(
        st.just(query),
        st.dictionaries(
            st.sampled_from([pair for pair in range(5) if QUERY[pair] == query]),
            st.integers(1, 4),
            max_size=3,
        ),
    )
)
logs = st.lists(searches, max_size=9)


def events(log):
    """Each search is a user's; every other user is left out, so that all are of one kind."""
    rows = []
    for n, (query, clicks) in enumerate(log):
        user = 2 * n
        if not clicks:
            rows.append((user, 0, -1, 0, query))
        rows += [(user, 0, pair, rank, query) for pair, rank in clicks.items()]
    return events_of(rows)


def pages(log):
    rows = events(log)
    grouped = gap_searches(rows)
    return pages_of(
        rows,
        grouped,
        query=np.array(QUERY),
        wanted=np.ones(2, dtype=np.bool_),
        users=np.ones(len(grouped.user), dtype=np.bool_),
    )


def page_of(log, query):
    """The pairs of a page by mean rank."""
    ranks = defaultdict(list)
    for asked, clicks in log:
        for pair, rank in clicks.items():
            if asked == query:
                ranks[pair].append(rank)
    return sorted(ranks, key=lambda pair: (sum(ranks[pair]) / len(ranks[pair]), pair))


def usual_rank(log, pair):
    ranks = sorted(clicks[pair] for _, clicks in log if pair in clicks)
    return ranks[(len(ranks) - 1) // 2]


def by_hand(log, shown, chance_of_rank, chance_of_first):
    """The perplexities of both models, one search at a time."""
    bits: tuple[list[float], list[float]] = [], []
    for query, clicks in log:
        page = page_of(shown, query)
        first = min((page.index(one) for one in clicks if one in page), default=None)
        for place, pair in enumerate(page):
            rank = usual_rank(shown, pair)
            p = chance_of_rank(pair, rank)
            bits[0].append(-math.log2(p if pair in clicks else 1 - p))
            p = chance_of_first(page, place)
            bits[1].append(-math.log2(p if place == first else 1 - p))
    return [2 ** np.mean(some) if some else None for some in bits]


@given(logs, logs, logs)
def test_perplexity_is_that_of_all_searches_one_by_one(train, test, shown):
    model, first = train_position_based(pages(train)), train_cascade(pages(train))
    tested, whole = pages(test), pages(shown)
    cells, places = rank_cells(tested, whole), place_cells(tested, whole)

    def chance(pair, rank):
        return model.attraction[pair] * model.examination[rank - 1]

    def chance_of_first(page, place):
        passed = math.prod(1 - first.attraction[pair] for pair in page[:place])
        return passed * first.attraction[page[place]]

    found = (
        perplexity(cells, position_based_chances(cells, model, tested)),
        perplexity(places, cascade_chances(places, first, tested)),
    )
    clipped = [
        lambda *given, of=of: min(max(of(*given), 1e-6), 1 - 1e-6)
        for of in (chance, chance_of_first)
    ]
    expected = by_hand(test, shown, *clipped)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine == (None if theirs is None else pytest.approx(theirs, rel=1e-9))


@given(logs)
def test_the_cascade_counts_who_looked(log):
    trained = train_cascade(pages(log)).attraction
    asked = Counter(query for query, _ in log)
    looked, first = Counter(), Counter()
    for query, clicks in log:
        for pair in page_of(log, query):
            looked[pair] += 1
            if pair in clicks:
                first[pair] += 1
                break
    # The search by which alone a pair is on the page does not count.
    for pair in list(first):
        if sum(pair in clicks for _, clicks in log) == 1:
            first[pair], looked[pair] = 0, looked[pair] - 1
    mean = (sum(first.values()) + 1) / (sum(looked.values()) + 2)
    for pair in range(5):
        seen = looked[pair] if any(pair in c for _, c in log) else asked[QUERY[pair]]
        assert trained[pair] == pytest.approx((first[pair] + 2 * mean) / (seen + 2))


@given(logs)
def test_every_search_is_in_the_cells_of_its_page(log):
    found = pages(log)
    for cells in (rank_cells(found, found), place_cells(found, found)):
        total = np.bincount(cells.pair, cells.clicks + cells.others, 5)
        for pair in np.unique(cells.pair):
            assert total[pair] == pytest.approx(found.searches[QUERY[pair]])
    assert found.searches.tolist() == [sum(q == query for q, _ in log) for query in (0, 1)]


def drawn(users, attraction, examination, seed):
    """One search of each user; the page has one pair at each rank, in another order for each."""
    draw = np.random.default_rng(seed)
    log = []
    for _ in range(users):
        query = int(draw.integers(2))
        page = draw.permutation([pair for pair in range(5) if QUERY[pair] == query])
        clicks = {
            int(pair): rank
            for rank, pair in enumerate(page, start=1)
            if draw.random() < attraction[pair] * examination[rank - 1]
        }
        log.append((query, clicks))
    return log


def test_training_finds_the_ranking_of_a_known_model():
    attraction, examination = [0.9, 0.5, 0.2, 0.3, 0.7], [1.0, 0.5, 0.25]
    trained = train_position_based(pages(drawn(6_000, attraction, examination, 1)))

    assert np.argsort(-trained.attraction[:3]).tolist() == [0, 1, 2]
    assert trained.attraction[4] > trained.attraction[3]


def test_a_release_like_the_log_is_as_good_and_a_shuffled_one_is_not():
    attraction, examination = [0.9, 0.5, 0.1, 0.1, 0.8], [1.0, 0.6, 0.3]
    log = events(drawn(2_000, attraction, examination, 1))
    log = events_of(
        [
            (user // 2, 0, pair, rank, query)
            for user, pair, rank, query in zip(
                log.user.tolist(),
                log.pair.tolist(),
                log.rank.tolist(),
                log.query.tolist(),
                strict=True,
            )
        ]
    )
    like, unlike = (
        events(drawn(1_000, other, examination, 2))
        for other in (attraction, [0.05, 0.1, 0.9, 0.8, 0.02])
    )
    good, bad, own = (
        click_models.click_models(compared(log, one, queries=2, query=QUERY, same_users=one is log))
        for one in (like, unlike, log)
    )

    for model in (own.position_based, own.cascade):
        assert model.loss == 0
        assert model.ndcg == model.ndcg_of_original
    for right, wrong in ((good.position_based, bad.position_based), (good.cascade, bad.cascade)):
        assert abs(right.loss) < 0.05
        assert wrong.loss > 0.1
        assert right.ndcg == pytest.approx(1, abs=0.01)
        assert wrong.ndcg < 0.9
    assert own.searches == pytest.approx(1_000, abs=5)
    assert own.known == 1


def test_ndcg_by_hand():
    """Three pairs with three, two and one clicks; a page of one pair has nothing to rank."""
    found = Pages(
        searches=np.array([4, 9]),
        query=np.array([0, 0, 0, 1]),
        search=np.array([0, 0, 0, 1, 1, 2, 3]),
        pair=np.array([0, 1, 2, 0, 1, 0, 3]),
        rank=np.array([1, 2, 3, 1, 2, 1, 1]),
    )
    gain = [3, 2, 1]

    def dcg(order):
        return sum(gain[pair] / math.log2(place + 2) for place, pair in enumerate(order))

    assert ndcg(found, found, np.array([0.9, 0.5, 0.1, 0.2])) == 1
    worst = ndcg(found, found, np.array([0.1, 0.5, 0.9, 0.2]))
    assert worst == pytest.approx(dcg([2, 1, 0]) / dcg([0, 1, 2]))
    tied = ndcg(found, found, np.array([0.5, 0.5, 0.5, 0.2]))
    assert tied == 1  # by number


def test_ranks_beyond_the_first_page_do_not_count():
    found = pages([(0, {0: 1, 1: RANKS + 1}), (0, {1: RANKS + 3})])

    assert found.pair.tolist() == [0]
    assert found.searches.tolist() == [2, 0]


def test_without_a_search_to_test_there_is_nothing():
    one_user = events([(0, {0: 1})])
    no_ranks = events_of([(0, 1, 0, 0), (1, 1, 0, 0)], "user second pair query")

    assert click_models.click_models(compared(one_user, queries=2, query=QUERY)) is None
    assert click_models.click_models(compared(no_ranks, queries=2, query=QUERY)) is None
