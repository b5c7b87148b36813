"""How much of a log is kept: its pairs and queries, its clicks, their ranking, pairs per user."""

from dataclasses import asdict, dataclass

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.histogram import PairHistogram
from slogan.measures import Comparison, Headline, Measure, Task

DEPTHS = (10, 100, 1_000)
_THIRDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """How many of how many."""

    kept: int
    of: int

    @property
    def share(self) -> float | None:
        """The retained share; None of nothing."""
        return _share(self.kept, self.of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Retained pairs and queries of D, and released pairs that the log does not have."""

    pairs: Retained
    queries: Retained
    unknown_pairs: int


def retained(before: Ints, after: Ints) -> Retained:
    """Pairs of D, or queries, with a released click."""
    kept = int(np.count_nonzero((before > 0) & (after > 0)))
    return Retained(kept=kept, of=int(np.count_nonzero(before > 0)))


def by_query(clicks: Ints, query: Ints) -> Ints:
    """Clicks of each query."""
    return np.bincount(query, weights=clicks).astype(np.int64)


def _share(some: int, whole: int) -> float | None:
    return some / whole if whole else None


def _retention(comparison: Comparison) -> Retention:
    totals, unknown = comparison.totals, comparison.log.pair_total == 0
    pairs = totals.before, totals.after
    return Retention(
        pairs=retained(*pairs),
        queries=retained(*(by_query(clicks, totals.query) for clicks in pairs)),
        unknown_pairs=int(np.count_nonzero(unknown & (comparison.output.pair_total > 0))),
    )


# How many different pairs and queries of D are in O [Hong12, section 6.4].
DIVERSITY = Measure[Retention](
    name="diversity",
    order=30,
    take=_retention,
    fields=lambda r: {"diversity": r.pairs.share, "query_diversity": r.queries.share, **asdict(r)},
    headlines=(
        Headline("Pairs kept", lambda r: r.pairs.share, ".2%", "higher"),
        Headline("Queries kept", lambda r: r.queries.share, ".2%", "higher"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The pairs that hold one third of the log's clicks, most clicked first."""

    pairs: int
    clicks_covered: float | None
    """Share of the part's clicks that lie on released pairs."""
    share_of_release: float | None
    """Share of the released clicks that fall into the part; a third would be faithful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickCoverage:
    """Pairs of D that begin in the first, second and last third of its clicks, and all of them."""

    head: Part
    torso: Part
    tail: Part
    all: Part


def click_coverage(before: Ints, after: Ints) -> ClickCoverage:
    """The covered share of each third."""
    order = np.argsort(-before, kind="stable")
    earlier = np.cumsum(before[order]) - before[order]
    third = np.empty(len(before), dtype=np.int64)
    third[order] = earlier * _THIRDS // max(1, int(before.sum()))
    clicked = before > 0

    def part(inside: Flags) -> Part:
        released = int(before[inside & (after > 0)].sum())
        return Part(
            pairs=int(np.count_nonzero(inside)),
            clicks_covered=_share(released, int(before[inside].sum())),
            share_of_release=_share(int(after[inside].sum()), int(after.sum())),
        )

    head, torso, tail = (part(clicked & (third == n)) for n in range(_THIRDS))
    return ClickCoverage(head=head, torso=torso, tail=tail, all=part(clicked))


CLICK_COVERAGE = Measure[ClickCoverage](
    name="click_coverage",
    order=50,
    take=lambda c: click_coverage(c.log.pair_total, c.output.pair_total),
    headlines=(
        Headline(
            "Clicks covered, most clicked third",
            lambda r: r.head.clicks_covered,
            ".1%",
            "higher",
            "Popular searches",
            Task(
                name="studying popular searches",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of their clicks are on released pairs",
                value=lambda r: r.head.clicks_covered,
            ),
        ),
        Headline(
            "Clicks covered, middle third",
            lambda r: r.torso.clicks_covered,
            ".1%",
            "higher",
            "Rare searches",
        ),
        Headline(
            "Clicks covered, least clicked third",
            lambda r: r.tail.clicks_covered,
            ".1%",
            "higher",
            "Rare searches",
            Task(
                name="studying rare searches",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of their clicks are on released pairs",
                value=lambda r: r.tail.clicks_covered,
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlDistance:
    """½ Σ_j |x_ij/x_i − c_ij/c_i|, averaged over queries weighted by their clicks in the log."""

    all_queries: float | None
    """A query that is not released counts as 1."""
    released_queries: float | None
    """Over queries that are released."""


def url_distance(before: Ints, after: Ints, query: Ints) -> UrlDistance:
    """The distance between the clicked urls of each query in the log and in the release."""
    clicks, shown = np.bincount(query, weights=before), np.bincount(query, weights=after)
    share_before = before / np.maximum(clicks, 1)[query]
    share_after = after / np.maximum(shown, 1)[query]
    apart = np.bincount(query, weights=np.abs(share_after - share_before)) / 2
    apart[shown == 0] = 1.0

    def average(over: Flags) -> float | None:
        whole = clicks[over].sum()
        return float(apart[over] @ clicks[over] / whole) if whole else None

    return UrlDistance(
        all_queries=average(np.ones(len(clicks), dtype=np.bool_)),
        released_queries=average((shown > 0) & (clicks > 0)),
    )


URL_DISTANCE = Measure[UrlDistance](
    name="url_distance",
    order=60,
    take=lambda c: url_distance(c.log.pair_total, c.output.pair_total, c.log.query),
    headlines=(
        Headline(
            "How urls split within a query (0 = same)",
            lambda r: r.released_queries,
            ".3f",
            "lower",
            "Shares of clicks",
            Task(
                name="comparing the urls clicked for a released query",
                good=0.1,
                poor=0.3,
                evidence="{:.0%} of the clicks go to other urls than in the log",
                value=lambda r: r.released_queries,
            ),
            of_urls=True,
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """For each depth k the share of the k most clicked in D that are among the k of O."""

    pairs: dict[int, float | None]
    queries: dict[int, float | None]


def top_overlap(before: Ints, after: Ints) -> dict[int, float | None]:
    """The overlap of the most clicked pairs, by depth."""
    tops = {k: (_top(before, k), _top(after, k)) for k in DEPTHS}
    return {k: _share(len(np.intersect1d(*both)), len(both[0])) for k, both in tops.items()}


def _top(clicks: Ints, k: int) -> Ints:
    """The k most clicked; ties are broken by text."""
    order = np.argsort(-clicks, kind="stable")[:k]
    return order[clicks[order] > 0]


def _most_clicked(comparison: Comparison) -> Top:
    pairs = comparison.log.pair_total, comparison.output.pair_total
    queries = (by_query(clicks, comparison.log.query) for clicks in pairs)
    return Top(pairs=top_overlap(*pairs), queries=top_overlap(*queries))


TOP_PAIRS = Measure[Top](
    name="top_pairs",
    order=70,
    take=_most_clicked,
    fields=lambda r: {
        "top_pairs": {str(depth): share for depth, share in r.pairs.items()},
        "top_queries": {str(depth): share for depth, share in r.queries.items()},
    },
    headlines=(
        Headline(
            "Top 100 pairs kept",
            lambda r: r.pairs[100],
            ".1%",
            "higher",
            "Popular searches",
            Task(
                name="ranking the most clicked pairs",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of the log's top 100 are in the release's top 100",
                value=lambda r: r.pairs[100],
            ),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a number is spread over users."""

    mean: float
    median: int
    p90: int
    p99: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundles:
    """How many pairs and clicks users have; users without a click are not counted."""

    users: int
    pairs: Spread | None
    clicks: Spread | None


@dataclass(frozen=True, slots=True)
class ReleasedBundles:
    """How many pairs and clicks users of the output have, and the distance from the log's."""

    bundles: Bundles
    distance: float | None


def bundles(hist: PairHistogram) -> Bundles:
    """How many pairs and clicks each user of a log has."""
    pairs, clicks = pairs_per_user(hist), np.bincount(hist.user, weights=hist.count)
    clicked = _spread(clicks[clicks > 0].astype(np.int64))
    return Bundles(users=len(pairs), pairs=_spread(pairs), clicks=clicked)


def bundle_distance(original: PairHistogram, released: PairHistogram) -> float | None:
    """The largest difference of the two distributions of pairs per user (Kolmogorov-Smirnov)."""
    before, after = np.sort(pairs_per_user(original)), np.sort(pairs_per_user(released))
    if not (len(before) and len(after)):
        return None
    # The statistic of scipy.stats.ks_2samp, bit for bit, without its p-value: 2.6 times as fast for
    # two million users, and without importing scipy.stats.
    sizes = np.unique(np.concatenate([before, after]))
    below_before = np.searchsorted(before, sizes, side="right") / len(before)
    below_after = np.searchsorted(after, sizes, side="right") / len(after)
    return float(np.abs(below_before - below_after).max())


def pairs_per_user(hist: PairHistogram) -> Ints:
    """How many different pairs each user with a click has."""
    held = np.bincount(hist.user)
    return held[held > 0].astype(np.int64)


def _spread(sizes: Ints) -> Spread | None:
    if not len(sizes):
        return None
    median, p90, p99 = (int(q) for q in np.quantile(sizes, [0.5, 0.9, 0.99], method="lower"))
    return Spread(mean=float(sizes.mean()), median=median, p90=p90, p99=p99, max=int(sizes.max()))


BUNDLES = Measure[ReleasedBundles](
    name="bundles",
    order=80,
    take=lambda c: ReleasedBundles(bundles(c.output), bundle_distance(c.log, c.output)),
    fields=lambda r: {"bundles": asdict(r.bundles), "bundle_distance": r.distance},
    headlines=(
        Headline(
            "Pairs per user, mean",
            lambda r: r.bundles.pairs and r.bundles.pairs.mean,
            ".2f",
            group="Users",
        ),
        Headline(
            "Pairs per user, spread (0 = same)",
            lambda r: r.distance,
            ".3f",
            "lower",
            "Users",
            Task(
                name="studying how many pairs a user clicks",
                good=0.1,
                poor=0.3,
                evidence="the distributions differ by up to {:.0%} of the users",
                value=lambda r: r.distance,
            ),
        ),
    ),
)
