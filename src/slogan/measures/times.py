"""When people search: how far hours, weekdays and days of the output are from those of the log."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import Events
from slogan.measures import Headline, Measure, Task
from slogan.measures.events import Bases, Both, ComparedEvents, counted, present, variation
from slogan.measures.headlines import Group

_DAY, _HOUR = 86_400, 3_600
_GROUP: Group = "Time, ranks and sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Total variation of rows by time; None if a side has none. 0 is the same."""

    hour_of_day: float | None
    weekday: float | None
    day: float | None
    hours: list[int]
    """Rows of the output by hour of day."""
    hours_of_original: list[int]


def times(both: Both[Events]) -> Times:
    """Compare rows that have a time, clicked or not."""
    hours = Both(by_hour(both.log), by_hour(both.output))
    days = max(both.log.days, both.output.days, 1)
    by_day = Both(_by_day(both.log, days), _by_day(both.output, days))
    return Times(
        hour_of_day=variation(hours.log, hours.output),
        weekday=variation(
            _by_weekday(by_day.log, both.log.weekday),
            _by_weekday(by_day.output, both.output.weekday),
        ),
        day=variation(by_day.log, by_day.output),
        hours=hours.output.tolist(),
        hours_of_original=hours.log.tolist(),
    )


def by_hour(events: Events) -> Ints:
    """Clicks and searches by hour of the day."""
    return counted(present(events.second) % _DAY // _HOUR, events.count, 24)


def _by_day(events: Events, days: int) -> Ints:
    return counted(present(events.second) // _DAY, events.count, days)


def _by_weekday(days: Ints, first: int) -> Ints:
    weekday = (first + np.arange(len(days))) % 7
    return np.bincount(weekday, weights=days, minlength=7).astype(np.int64)


def _times(c: ComparedEvents) -> Times | None:
    both = c.timed
    return None if both is None else times(both)


def _released(result: Bases[Times] | None) -> Times | None:
    return result and result.released_pairs


def _hour_of_day(result: Bases[Times] | None) -> float | None:
    found = _released(result)
    return found and found.hour_of_day


TIMES = Measure[Bases[Times] | None](
    name="times",
    order=120,
    take=lambda c: c.events and c.events.by_basis(_times),
    headlines=(
        Headline(
            "Hours of the day (0 = same)",
            _hour_of_day,
            ".3f",
            "lower",
            _GROUP,
            Task(
                name="studying when people search",
                good=0.05,
                poor=0.15,
                evidence="{:.1%} of the searches are at other hours than in the log",
                value=_hour_of_day,
            ),
        ),
        Headline(
            "Weekdays (0 = same)",
            lambda r: (t := _released(r)) and t.weekday,
            ".3f",
            "lower",
            _GROUP,
        ),
        Headline(
            "Days (0 = same)", lambda r: (t := _released(r)) and t.day, ".3f", "lower", _GROUP
        ),
    ),
)
