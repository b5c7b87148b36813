"""How much one user has: pairs and clicks per user, before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram
from slogan.measures import Comparison, Headline, Measure


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
    """The bundles of users who have any click."""

    users: int
    pairs: Spread | None
    clicks: Spread | None


def bundles(hist: PairHistogram) -> Bundles:
    """What the users of a log hold."""
    pairs, clicks = pairs_per_user(hist), _clicks_per_user(hist)
    return Bundles(users=len(pairs), pairs=_spread(pairs), clicks=_spread(clicks))


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
    held = np.bincount(hist.user, minlength=hist.users)
    return held[held > 0].astype(np.int64)


def _clicks_per_user(hist: PairHistogram) -> Ints:
    clicks = np.zeros(hist.users, dtype=np.int64)
    np.add.at(clicks, hist.user, hist.count)
    return clicks[clicks > 0]


def _spread(sizes: Ints) -> Spread | None:
    if not len(sizes):
        return None
    median, p90, p99 = (int(q) for q in np.quantile(sizes, [0.5, 0.9, 0.99], method="lower"))
    return Spread(mean=float(sizes.mean()), median=median, p90=p90, p99=p99, max=int(sizes.max()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedBundles:
    """What users of the output have, and how far that is from what users of the log have."""

    bundles: Bundles
    distance: float | None


def _take(comparison: Comparison) -> ReleasedBundles:
    return ReleasedBundles(
        bundles=bundles(comparison.output),
        distance=bundle_distance(comparison.log, comparison.output),
    )


def _fields(result: ReleasedBundles) -> dict[str, Any]:
    return {"bundles": asdict(result.bundles), "bundle_distance": result.distance}


def _mean_pairs(result: ReleasedBundles) -> float | None:
    return None if result.bundles.pairs is None else result.bundles.pairs.mean


MEASURE = Measure[ReleasedBundles](
    name="bundles",
    order=80,
    take=_take,
    fields=_fields,
    headlines=(
        Headline("Pairs per user: mean", _mean_pairs, ".2f"),
        Headline("Pairs per user: distance", lambda r: r.distance, ".3f", "less"),
    ),
)
