"""Trends: whether the pairs that the log clicks most on a day are those of the output's day."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import Events
from slogan.measures import Comparison, Headline, Measure
from slogan.measures.events import Both, nth, present
from slogan.measures.headlines import Group

TOP = 10
_DAY = 86_400
_GROUP: Group = "Time, ranks and sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    """The share of the log's ten most clicked pairs of a day that are found, on average."""

    recall_at_10: float
    recall_at_10_of_all_days: float
    """If every day has the ten most clicked pairs of the whole output."""


def trends(both: Both[Events], pairs: int) -> Trends | None:
    """Compare the most clicked pairs of each day of the log; of equals the first number counts."""
    log, output = (tops(events, pairs) for events in (both.log, both.output))
    clicks = np.bincount(
        both.output.pair[both.output.pair >= 0], both.output.count[both.output.pair >= 0], pairs
    )
    always = np.argsort(-clicks, kind="stable")[:TOP]
    always = always[clicks[always] > 0]
    if not log:
        return None
    nothing = np.zeros(0, dtype=np.int64)
    found = [
        (len(np.intersect1d(top, output.get(day, nothing))) / len(top), np.isin(top, always).mean())
        for day, top in log.items()
    ]
    recall, of_all_days = np.mean(found, axis=0).tolist()
    return Trends(recall_at_10=recall, recall_at_10_of_all_days=of_all_days)


def tops(events: Events, pairs: int) -> dict[int, Ints]:
    """The ten most clicked pairs of each day with a click."""
    clicked = events.pair >= 0
    day = present(events.second)[clicked].astype(np.int64) // _DAY
    key, row = np.unique(day * pairs + events.pair[clicked], return_inverse=True)
    clicks = np.bincount(row, weights=events.count[clicked])
    day, pair = np.divmod(key, max(1, pairs))
    order = np.lexsort((pair, -clicks, day))
    order = order[nth(day[order]) < TOP]
    return {int(one): pair[order[day[order] == one]] for one in np.unique(day)}


def _take(c: Comparison) -> Trends | None:
    both = c.events and c.events.timed
    return trends(both, len(c.events.query)) if both and c.events else None


TRENDS = Measure[Trends | None](
    name="trends",
    order=170,
    take=_take,
    headlines=(
        Headline(
            "Ten most clicked pairs of each day",
            lambda r: r and r.recall_at_10,
            ".1%",
            "higher",
            _GROUP,
        ),
    ),
)
