"""What engines share about events: which columns are asked for, their types, and rows to write."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from slogan.arrays import Ints, Narrow
from slogan.engines.pseudonyms import largest_integer
from slogan.errors import OptionError
from slogan.histogram import Events, MadeEvents, Output
from slogan.logs.columns import Columns
from slogan.logs.searchlog import SearchLog
from slogan.logs.times import TimeFormat, format_of_type

_WIDE = {"rank": 127, "session": 2**31 - 1}
"""What a column of numbers must hold, whatever is released."""
HIGHEST_RANK = _WIDE["rank"]
_OF_TEXT = ("VARCHAR", "STRING")


@dataclass(frozen=True, kw_only=True)
class EventTypes:
    """The declared types of the columns of events, and how times are read and written."""

    time: str | None = None
    """The type under its name in SQL; None if there is no such column, as for the next two."""
    rank: str | None = None
    session: str | None = None
    format: TimeFormat | None = None
    """How times are written in a column of another type than time."""

    @property
    def step(self) -> int:
        """Seconds between two times that are written differently."""
        if self.format is not None:
            return self.format.step
        return 86_400 if self.time == "DATE" else 1


def event_types(log: SearchLog, types: Mapping[str, str]) -> EventTypes:
    """The types of the columns that are asked for; those that cannot hold events are refused."""
    kinds = {role: types[name].upper() for role, name in log.columns.event_roles.items()}
    for role, largest in _WIDE.items():
        kind = kinds.get(role, _OF_TEXT[0])
        if kind not in (*_OF_TEXT, "UUID" if role == "session" else "") and (
            largest_integer(kind) < largest
        ):
            raise OptionError(
                f"the column of the {role} is declared {kind}, which may not hold what a release "
                "needs",
                hint=f"declare it INTEGER or text, or give --{role} none",
            )
    time = log.columns.time
    declared = None
    if time is not None:
        kind = "VARCHAR" if kinds["time"] in _OF_TEXT else kinds["time"]
        declared = format_of_type(log.time_format, time, kind)
        holds = kind == "VARCHAR" or declared is None or declared.numeric
        if not holds or (declared and kind != "VARCHAR" and largest_integer(kind) < 2**31 - 1):
            raise OptionError(
                f"the column of the time is declared {kind}, which cannot hold such times",
                hint="declare it BIGINT, TIMESTAMP or text, or give --time none",
            )
    return EventTypes(**kinds, format=declared)


def events_of(columns: Mapping[str, Any], log: SearchLog) -> Events:
    """Events of sorted columns, those of which are left out that were not asked for."""

    def narrow(name: str) -> Narrow | None:
        found = columns.get(name)
        return None if found is None else np.ascontiguousarray(found, dtype=np.int32)

    user, pair, query, count = (
        np.ascontiguousarray(columns[name], dtype=np.int64)
        for name in ("user", "pair", "query", "count")
    )
    return Events(
        user=user,
        pair=pair,
        query=query,
        count=count,
        second=narrow("second"),
        rank=narrow("rank"),
        session=narrow("session"),
        users=int(user.max(initial=-1)) + 1,
        days=0 if log.period is None else log.period.days,
        weekday=0 if log.period is None else log.period.weekday,
    )


def to_write(
    made: MadeEvents,
    output: Output,
    pseudonyms: list[str] | None,
    columns: Columns,
    types: EventTypes,
) -> MadeEvents:
    """The rows as the columns can say them: times as fine as written, sessions with new numbers.

    Sessions are numbered from 1, by the user-ID that is shown, then in their order.
    """
    users, owner = np.unique(made.user, return_inverse=True)
    clicked = made.pair >= 0
    if pseudonyms is None or not np.array_equal(users, np.unique(output.user)):
        raise ValueError("rows of other users than those of the output")
    if int(np.count_nonzero(clicked)) != output.clicks:
        raise ValueError("another number of clicks than in the output")
    filled = {"time": made.second, "rank": made.rank, "session": made.session}
    if any(v is not None and role not in columns.event_roles for role, v in filled.items()):
        raise ValueError("there is no column for a role that is filled")
    second, session = made.second, made.session
    if second is not None:
        second = np.where(second < 0, second, second // types.step * types.step).astype(np.int32)
    if session is not None:
        session = _numbered(_places(pseudonyms)[owner], session, second)
    return replace(made, second=second, session=session)


def _numbered(place: Ints, session: Narrow, second: Narrow | None) -> Narrow:
    """New numbers for sessions: by the place of their user, then by their first time."""
    inside = session >= 0
    keys = np.stack([place[inside], session[inside].astype(np.int64)])
    found, of_row = np.unique(keys, axis=1, return_inverse=True)
    first = np.zeros(found.shape[1], dtype=np.int64)
    if second is not None:
        first[:] = np.iinfo(np.int32).max
        np.minimum.at(first, of_row, second[inside])
    number = np.empty(len(first), dtype=np.int32)
    number[np.lexsort((found[1], first, found[0]))] = np.arange(1, len(first) + 1)
    numbered = np.full(len(session), -1, dtype=np.int32)
    numbered[inside] = number[of_row]
    return numbered


def _places(pseudonyms: list[str]) -> Ints:
    """The place of each name in the order of a release: integers first, then other texts."""
    whole = [(not name.isdigit(), int(name) if name.isdigit() else 0, name) for name in pseudonyms]
    order = sorted(range(len(pseudonyms)), key=whole.__getitem__)
    return np.argsort(np.array(order, dtype=np.int64))
