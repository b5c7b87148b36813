"""A plain reader of UBI: every line by itself, then events beside the queries of their users.

Written from docs/how-to/use-ubi.md, without code of the engines.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple, cast

from slogan.logs.files import reported
from slogan.logs.searchlog import SearchLog
from slogan.verification.events.reader import event_of
from slogan.verification.plain_reader import (
    NESTED,
    NO_CLICK,
    UNREADABLE,
    Row,
    folded_query,
    folded_url,
    inside,
    json_object,
    json_text,
    lines_of,
    refused,
    rules_of,
    text_of,
)

NO_TIME = "1970-01-01T00:00:00Z"
"""What stands where UBI requires a time and the release has none."""
_OBJECT = ("event_attributes", "object", "object_id")


class Line(NamedTuple):
    """A query, or an event that is a click, or the reason why a line is neither."""

    user: str = ""
    query_id: str = ""
    query: str = ""
    object_id: str = ""
    click: bool = False
    fault: str = ""
    events: Mapping[str, str | None] = MappingProxyType({})
    """Time, rank and session, as far as they are read."""

    @property
    def key(self) -> tuple[str, str] | None:
        """What joins lines, if the line has both."""
        return (self.user, self.query_id) if self.user and self.query_id else None


def rows_of(log: SearchLog, *, with_events: bool = False) -> Generator[Row]:
    """Every row of a UBI log: the lines that cannot be read, the clicks, and the searches."""
    texts: dict[tuple[str, str], set[str]] = {}
    searches: dict[tuple[str, str], Mapping[str, str | None]] = {}
    clicked: set[tuple[str, str]] = set()
    for line in _lines(log):
        if line.key is not None and line.click and line.object_id:
            clicked.add(line.key)
        elif line.key is not None and not line.click:
            texts.setdefault(line.key, set()).add(line.query)
            searches[line.key] = _least(searches.get(line.key, {}), line.events)
    judge = _judge(log, with_events=with_events)
    events = log.columns.url is not None
    for line in _lines(log, faults=True):
        if line.fault:
            yield refused(line.fault)
        elif line.click and events:
            yield judge(line, texts.get(line.key, ()) if line.key else ())
        elif not line.click and line.key is None:
            yield judge(line, ())
    for key, found in texts.items():
        if not (events and key in clicked):
            yield judge(Line(user=key[0], query_id=key[1], events=searches[key]), found)


def _least(one: Mapping[str, str | None], other: Mapping[str, str | None]) -> dict[str, str | None]:
    """For each role the lesser of two texts, as far as they are there."""
    return {
        role: min((known for known in (one.get(role), text) if known is not None), default=None)
        for role, text in other.items()
    }


def _judge(log: SearchLog, *, with_events: bool) -> Callable[[Line, Iterable[str]], Row]:
    rules = rules_of(log, with_events=with_events)

    def judge(line: Line, joined: Iterable[str]) -> Row:
        """The row of a line and the texts of the queries it is joined to."""
        idle = not line.object_id and (line.click or not rules.searches)
        if idle and (line.click or not rules.events):
            return refused(NO_CLICK)
        row = judge_text(line, {text for text in joined if text})
        if idle:
            row = refused(NO_CLICK) if row.reason else row._replace(reason=NO_CLICK)
        if not rules.events or row.user is None:
            return row
        found = event_of(line.events, rules.clock)
        return row._replace(**found)  # pyright: ignore[reportArgumentType]

    def judge_text(line: Line, found: AbstractSet[str]) -> Row:
        if not line.user:
            return refused("user missing")
        if len(line.user) > 100:
            return refused("user long")
        if len(line.object_id) > 256:
            return refused("object long")
        if len(found) > 1:
            return refused("query unclear")
        query = next(iter(found), line.query)
        return Row(line.user, query, line.object_id, 1) if query else refused("query missing")

    return judge


def _lines(log: SearchLog, *, faults: bool = False) -> Generator[Line]:
    for file in log.files:
        with reported(file):
            for data in lines_of(file, log.compression):
                line = _line(log, data)
                if line is not None and (faults or not line.fault):
                    yield line


def _line(log: SearchLog, data: bytes) -> Line | None:
    """What a line is; None for an event that is not a click."""
    text, fault = text_of(data, log.encoding)
    whole = None if fault else json_object(text)
    if whole is None:
        return Line(fault=fault or UNREADABLE)
    wrapped = whole.get("_source")
    values: object = whole if not isinstance(wrapped, dict) else cast("object", wrapped)
    action = inside(values, ["action_name"])
    if isinstance(action, dict | list):
        return Line(fault=NESTED)
    click = json_text(action) in log.click_actions
    if action is not None and not click:
        return None
    paths = ((log.columns.user,), ("query_id",), ("user_query",), _OBJECT if click else ())
    found = [inside(values, path) if path else None for path in paths]
    if any(isinstance(value, dict | list) for value in found):
        return Line(fault=NESTED)
    user, query_id, query, object_id = (json_text(value) or "" for value in found)
    events: dict[str, str | None] = {}
    for role, name in log.columns.event_roles.items():
        value = inside(values, name.split("."))
        events[role] = None if isinstance(value, dict | list) else json_text(value)
    if events.get("time") == NO_TIME:
        events["time"] = None
    if log.fold:
        query, object_id = folded_query(query), folded_url(object_id)
    return Line(user, query_id, query, object_id, click, events=events)
