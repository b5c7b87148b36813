"""Click models: trained on an output and tested on the log, beside those trained on the log itself.

A log has no record of results that were not clicked. So the page of a query is taken to be the
ten pairs clicked in most of its searches, each at the rank at which it is usually clicked: in
training of the searches that train, and in tests of the log's own searches that train, so that
no result is on a page because it was clicked in a test.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import Events
from slogan.measures import Headline, Measure, Task
from slogan.measures.events import ComparedEvents, Searches, changes, group, nth, present
from slogan.measures.headlines import Group

RANKS = 10
"""Of the first page."""
_STEPS = 50  # of expectation and maximization
_STRENGTH = 2.0  # imagined searches with the average share of clicks
_SURE = 1e-6
_GROUP: Group = "Time, ranks and sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Searches with the pairs clicked on the first page of each, by one row for each such pair."""

    searches: Ints
    """Of each query."""
    query: Ints
    """Of each pair."""
    search: Ints
    pair: Ints
    rank: Ints
    """The best of the search at which the pair was clicked."""

    @property
    def clicked(self) -> Ints:
        """In how many searches each pair was clicked."""
        return np.bincount(self.pair, minlength=len(self.query)).astype(np.int64)

    def usual_ranks(self) -> Ints:
        """The median rank at which each pair is clicked, the better of two; 0 if it never is."""
        order = np.lexsort((self.rank, self.pair))
        clicks = self.clicked
        last = np.cumsum(clicks)
        usual = np.zeros(len(clicks), dtype=np.int64)
        found = clicks > 0
        usual[found] = self.rank[order][(last - clicks + (clicks - 1) // 2)[found]]
        return usual

    def places(self) -> Ints:
        """The place of each pair on the page of its query, from 0 by mean rank; -1 if not on it."""
        clicks = self.clicked
        mean = np.bincount(self.pair, weights=self.rank, minlength=len(clicks))
        mean = mean / np.maximum(1, clicks)
        listed = np.flatnonzero(clicks)
        listed = listed[np.lexsort((listed, -clicks[listed], self.query[listed]))]
        listed = listed[nth(self.query[listed]) < RANKS]
        listed = listed[np.lexsort((listed, mean[listed], self.query[listed]))]
        places = np.full(len(clicks), -1, dtype=np.int64)
        places[listed] = nth(self.query[listed])
        return places


def pages_of(
    events: Events, searches: Searches, *, query: Ints, wanted: Flags, users: Flags
) -> Pages:
    """The searches for the wanted queries, of those searches whose user is to be counted."""
    kept = users & (searches.query >= 0)
    kept[kept] = wanted[searches.query[kept]]
    of, row = searches.of_row, searches.row
    pair, rank = events.pair[row], present(events.rank)[row].astype(np.int64)
    rows = np.flatnonzero(kept[of] & (pair >= 0) & (rank >= 1) & (rank <= RANKS))
    rows = rows[np.lexsort((rank[rows], pair[rows], of[rows]))]
    rows = rows[changes(of[rows], pair[rows])]
    return Pages(
        searches=np.bincount(searches.query[kept], minlength=len(wanted)).astype(np.int64),
        query=query,
        search=of[rows],
        pair=pair[rows],
        rank=rank[rows],
    )


@dataclass(frozen=True, slots=True)
class Cells:
    """Pairs at ranks or places, from 0: in how many searches they were clicked, or not."""

    pair: Ints
    at: Ints
    clicks: Floats
    others: Floats


def rank_cells(pages: Pages, shown: Pages) -> Cells:
    """Pairs of the pages at their usual ranks: searches that click a pair, and all others.

    Pages and ranks are those of the searches `shown`.
    """
    pair = np.flatnonzero(shown.places() >= 0)
    clicks = pages.clicked[pair].astype(np.float64)
    return Cells(
        pair, shown.usual_ranks()[pair] - 1, clicks, pages.searches[pages.query[pair]] - clicks
    )


def place_cells(pages: Pages, shown: Pages) -> Cells:
    """Pairs of the pages by query and place: first clicks from the top, and all other searches."""
    places = shown.places()
    on_page = np.flatnonzero(places[pages.pair] >= 0)
    rows = on_page[np.lexsort((places[pages.pair[on_page]], pages.search[on_page]))]
    rows = rows[changes(pages.search[rows])]
    first = np.bincount(pages.pair[rows], minlength=len(places)).astype(np.float64)
    pair = np.flatnonzero(places >= 0)
    pair = pair[np.lexsort((places[pair], pages.query[pair]))]
    return Cells(pair, places[pair], first[pair], pages.searches[pages.query[pair]] - first[pair])


def _predicted(cells: Cells, pages: Pages) -> Cells:
    """Each search as seen by the others: a pair that no other clicks is not on the page."""
    return replace(cells, clicks=np.where(pages.clicked[cells.pair] == 1, 0.0, cells.clicks))


@dataclass(frozen=True, slots=True)
class Trained:
    """How attractive each pair is, and how likely each rank is to be examined."""

    attraction: Floats
    examination: Floats


def train_position_based(pages: Pages) -> Trained:
    """A click needs an examined rank and an attractive result, independent of each other."""
    cells, pairs = _predicted(rank_cells(pages, pages), pages), len(pages.query)
    searches = cells.clicks + cells.others
    mean = _share(cells.clicks.sum(), searches.sum())
    likely = 1 / np.arange(1.0, RANKS + 1)
    attraction, examination = np.full(pairs, mean), likely
    seen = np.bincount(cells.pair, searches, pairs), np.bincount(cells.at, searches, RANKS)
    for _ in range(_STEPS):
        a, e = attraction[cells.pair], examination[cells.at]
        idle = cells.others / np.maximum(1 - a * e, _SURE)
        attracted = np.bincount(cells.pair, cells.clicks + idle * a * (1 - e), pairs)
        examined = np.bincount(cells.at, cells.clicks + idle * e * (1 - a), RANKS)
        attraction = (attracted + _STRENGTH * mean) / (seen[0] + _STRENGTH)
        examination = (examined + _STRENGTH * likely) / (seen[1] + _STRENGTH)
    trained = np.isin(np.arange(pairs), cells.pair)
    return Trained(np.where(trained, attraction, _unseen(pages, mean)), examination)


def train_cascade(pages: Pages) -> Trained:
    """Results are examined one after the other from the top, up to the first click."""
    cells = place_cells(pages, pages)
    above, cells = _above(pages, cells), _predicted(cells, pages)
    examined = cells.clicks + cells.others - above
    mean = _share(cells.clicks.sum(), examined.sum())
    attraction = _unseen(pages, mean)
    attraction[cells.pair] = (cells.clicks + _STRENGTH * mean) / (examined + _STRENGTH)
    return Trained(attraction, np.ones(RANKS))


def _above(pages: Pages, cells: Cells) -> Floats:
    """Searches whose first click is above each place."""
    query = pages.query[cells.pair]
    before = np.cumsum(cells.clicks) - cells.clicks
    return np.asarray(before - before[changes(query)][group(query)])


def _unseen(pages: Pages, mean: float) -> Floats:
    """For each pair as if it was on every page of its query, and never clicked."""
    searches = pages.searches[pages.query].astype(np.float64)
    return _STRENGTH * mean / (searches + _STRENGTH)


def _share(part: float, whole: float) -> float:
    """The share of clicks, with one more result that is clicked and one that is not.

    Else a release in which every result is clicked would make models sure of that.
    """
    return float((part + 1) / (whole + 2))


def position_based_chances(cells: Cells, trained: Trained, _pages: Pages) -> Floats:
    """How likely each pair is clicked at each rank."""
    return trained.attraction[cells.pair] * trained.examination[cells.at]


def cascade_chances(cells: Cells, trained: Trained, pages: Pages) -> Floats:
    """How likely the first click is at each place."""
    attraction, query = trained.attraction[cells.pair], pages.query[cells.pair]
    passed = np.cumsum(np.log1p(-np.minimum(attraction, 1 - _SURE)))
    ahead = passed - np.log1p(-np.minimum(attraction, 1 - _SURE))
    return attraction * np.exp(ahead - ahead[changes(query)][group(query)])


def perplexity(cells: Cells, chances: Floats) -> float | None:
    """2 to the mean surprise of a result on a page, clicked or not, in bits; 1 means none."""
    p = np.clip(chances, _SURE, 1 - _SURE)
    bits = -(cells.clicks * np.log2(p) + cells.others * np.log2(1 - p)).sum()
    results = (cells.clicks + cells.others).sum()
    return float(np.exp2(bits / results)) if results else None


def ndcg(pages: Pages, shown: Pages, attraction: Floats) -> float | None:
    """How well pages are ranked by attraction: gains are clicks, pages weigh as their searches.

    A page with one pair, or without a click, cannot be ranked wrongly, and is left out.
    """
    clicks, queries = pages.clicked, len(pages.searches)
    pair = np.flatnonzero(shown.places() >= 0)
    several = np.bincount(pages.query[pair], minlength=queries) >= 2
    several &= np.bincount(pages.query[pair], clicks[pair], queries) > 0
    pair = pair[several[pages.query[pair]]]
    if not len(pair):
        return None
    gained, possible = (
        _discounted(pages, pair[np.lexsort((pair, -order[pair], pages.query[pair]))], clicks)
        for order in (attraction, clicks)
    )
    weight = pages.searches[several].astype(np.float64)
    return float((gained[several] / possible[several] * weight).sum() / weight.sum())


def _discounted(pages: Pages, ranked: Ints, clicks: Ints) -> Floats:
    query = pages.query[ranked]
    gains = clicks[ranked] / np.log2(nth(query) + 2.0)
    return np.bincount(query, gains, len(pages.searches)).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickModel:
    """How well a model of the output does on the log, and one of the log itself."""

    perplexity: float | None
    perplexity_of_original: float | None
    ndcg: float | None
    ndcg_of_original: float | None

    @property
    def loss(self) -> float | None:
        """How much higher the perplexity is than that of the log's own model, as a share."""
        own = self.perplexity_of_original
        return self.perplexity / own - 1 if self.perplexity and own else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedModels:
    """The models and what they are tested on."""

    searches: int
    """Searches of the log by every second user; the others train its models."""
    position_based: ClickModel
    cascade: ClickModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickModels(TestedModels):
    """Tested on all shared queries; and on those of them that the release has."""

    known: float
    """The share of these for queries that the output has."""
    released_queries: TestedModels | None
    """None if the release has no query that is tested."""


@dataclass(frozen=True, slots=True)
class _Law:
    train: Callable[[Pages], Trained]
    cells: Callable[[Pages, Pages], Cells]
    chances: Callable[[Cells, Trained, Pages], Floats]

    def compared(self, output: Pages, log: Pages, tested: Pages) -> ClickModel:
        cells = self.cells(tested, log)
        model, original = (self.train(pages) for pages in (output, log))
        return ClickModel(
            perplexity=perplexity(cells, self.chances(cells, model, tested)),
            perplexity_of_original=perplexity(cells, self.chances(cells, original, tested)),
            ndcg=ndcg(tested, log, model.attraction),
            ndcg_of_original=ndcg(tested, log, original.attraction),
        )


_POSITION_BASED = _Law(train_position_based, rank_cells, position_based_chances)
_CASCADE = _Law(train_cascade, place_cells, cascade_chances)


def click_models(c: ComparedEvents) -> ClickModels | None:
    """Train on the output and on half of the log's users, and test on the other half."""
    searches, events = c.searches, c.in_sessions
    if searches is None or events is None or c.ranked is None:
        return None
    tests, queries = c.tests(searches.log.user), (c.release or c.output).query
    released = np.zeros_like(c.shared)
    released[queries[(queries >= 0) & (queries < len(released))]] = True
    output, log, tested, on_released = (
        pages_of(rows, found, query=c.query, wanted=wanted, users=users)
        for rows, found, wanted, users in (
            (events.output, searches.output, c.shared, c.trains(searches.output.user)),
            (events.log, searches.log, c.shared, ~tests),
            (events.log, searches.log, c.shared, tests),
            (events.log, searches.log, c.shared & released, tests),
        )
    )
    total, of_released = int(tested.searches.sum()), int(on_released.searches.sum())
    if not total:
        return None

    def both(pages: Pages) -> dict[str, ClickModel]:
        return {
            "position_based": _POSITION_BASED.compared(output, log, pages),
            "cascade": _CASCADE.compared(output, log, pages),
        }

    narrow = TestedModels(searches=of_released, **both(on_released)) if of_released else None
    return ClickModels(
        searches=total,
        known=float(tested.searches[output.searches > 0].sum() / total),
        released_queries=narrow,
        **both(tested),
    )


def _of_released(result: ClickModels | None) -> TestedModels | None:
    return result and result.released_queries


def _loss(result: ClickModels | None) -> float | None:
    found = _of_released(result)
    return found and found.position_based.loss


CLICK_MODELS = Measure[ClickModels | None](
    name="click_models",
    order=150,
    take=lambda c: c.events and click_models(c.events),
    headlines=(
        Headline(
            "Click model by position: worse than the log's own",
            _loss,
            ".1%",
            "lower",
            _GROUP,
            Task(
                name="training click models",
                good=0.05,
                poor=0.2,
                evidence="for released queries: perplexity {:.1%} above that of a model of the log",
                value=_loss,
            ),
        ),
        Headline(
            "Click model by position: ranking (nDCG)",
            lambda r: (m := _of_released(r)) and m.position_based.ndcg,
            ".3f",
            "higher",
            _GROUP,
        ),
        Headline(
            "Cascade model: worse than the log's own",
            lambda r: (m := _of_released(r)) and m.cascade.loss,
            ".1%",
            "lower",
            _GROUP,
        ),
        Headline(
            "Cascade model: ranking (nDCG)",
            lambda r: (m := _of_released(r)) and m.cascade.ndcg,
            ".3f",
            "higher",
            _GROUP,
        ),
    ),
)
