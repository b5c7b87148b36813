"""A plain reader of logs, line by line, to check what an engine reads.

It is written from the documentation and shares no code with the engines, so that a mistake in
theirs shows as a difference. It is slow, and short enough to review in a minute.
"""

import json
import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from slogan.logs.files import open_bytes, reported
from slogan.logs.searchlog import SearchLog
from slogan.verification.events.reader import Clock, clock_of, event_of

NO_CLICK = "no click"
UNREADABLE = "unreadable"
NESTED = "nested"
OPEN_QUOTE = "a quote that does not close on its line, or text after it"
NOT_TEXT = "not text in this encoding"
_SIGNS = "\x1c\x1d\x1e\x1f"
"""Engines use these characters as the delimiter of whole lines, so no line may contain them."""
_MOST_CLICKS = 2**53
_SPACE = " \t\n\v\f\r"
_NUMBER = re.compile(
    r"\+?-?((\d+(_\d+)*)?\.?(\d+(_\d+)*)?(e[+-]?\d+(_\d+)*)?|inf|infinity|nan)", re.ASCII
)
_CP1252 = {n: bytes([n]).decode("cp1252", "ignore") or chr(n) for n in range(128, 160)}
"""The characters of the bytes that Latin-1 reads as controls; five have none and stay controls."""
_SPACES = re.compile("[ \t\n\f\r\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
_SCHEMES = re.compile(r"([a-z][a-z0-9+.-]*://[ ]*)+")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_OF_EVENTS = {"time", "rank", "session"}
_PLACE = re.compile("0|[1-9][0-9]*")
_NOT_JSON = re.compile(r",\s*[}\]]|nan|inf", re.IGNORECASE)


class Row(NamedTuple):
    """A row of a log, with the reason if it is not counted."""

    user: str | None
    query: str | None
    url: str | None
    clicks: int
    reason: str | None = None
    second: int | None = None
    """From the first midnight of the period; of events only, as the next two."""
    rank: int | None = None
    session: str | None = None

    @property
    def is_search(self) -> bool:
        """Whether it is not counted for want of a click alone."""
        return self.reason == NO_CLICK and self.user is not None


class Rules(NamedTuple):
    """What counts as a row, and as the same text."""

    searches: bool = False
    """Whether a row without a url counts: as one with an empty url."""
    fold: bool = False
    events: bool = False
    """Whether rows have times, ranks and sessions, and those without a click are read too."""
    clock: Clock | None = None


def rules_of(log: SearchLog, *, with_events: bool = False) -> Rules:
    """The rules by which a log is read."""
    return Rules(
        searches=log.columns.url is None or log.searches == "all",
        fold=log.fold,
        events=with_events,
        clock=clock_of(log) if with_events else None,
    )


def roles_of(log: SearchLog, rules: Rules) -> dict[str, str]:
    """The columns that are read, by role."""
    return log.columns.roles | (log.columns.event_roles if rules.events else {})


class LenientError(Exception):
    """JSON that the standard forbids and some readers accept: readers would disagree on it."""


def rows_of(log: SearchLog, *, with_events: bool = False) -> Generator[Row]:
    """Every row of the text files of a log, in their order."""
    for file in log.files:
        with reported(file):
            lines = lines_of(file, log.compression)
            if log.format != "jsonl" and log.header:
                next(lines, None)
            yield from map(row_reader(log, with_events=with_events), lines)


def lines_of(file: Path, compression: str) -> Generator[bytes]:
    """Every line that is not empty. Lines end with LF or CRLF."""
    with open_bytes(file, compression) as data:
        first = True
        for line in data:
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if first:
                text, first = text.removeprefix(b"\xef\xbb\xbf"), False
            if text:
                yield text


def row_reader(log: SearchLog, *, with_events: bool = False) -> Callable[[bytes], Row]:
    """A function that reads one line, independent of all others."""
    names, rules = log.columns.names, rules_of(log, with_events=with_events)
    paths = {role: log.columns.path(name) for role, name in roles_of(log, rules).items()}
    places = {role: names.index(path[0]) for role, path in paths.items()}

    def row_of(line: bytes) -> Row:
        text, fault = text_of(line, log.encoding)
        if fault:
            return refused(fault)
        if log.format == "jsonl":
            return _from_json(text, paths, rules)
        fields = text.split("\t") if log.format == "tsv" else csv_fields(text, log.delimiter)
        if fields is None:
            return refused(OPEN_QUOTE)
        if len(fields) != len(names):
            return refused(UNREADABLE)
        return judged({role: fields[place] for role, place in places.items()}, rules)

    return row_of


def text_of(line: bytes, encoding: str) -> tuple[str, str]:
    """The text of a line, and the reason if it cannot be read."""
    try:
        text = decoded(line, encoding)
    except UnicodeDecodeError:
        return "", NOT_TEXT
    hidden = "\r" in text or _SIGNS in text or _SIGNS[::-1] in text
    return text, UNREADABLE if hidden else ""


def decoded(line: bytes, encoding: str) -> str:
    """The text of a line."""
    if encoding == "cp1252":
        return line.decode("latin-1").translate(_CP1252)
    return line.decode(encoding)


def csv_fields(text: str, sign: str) -> list[str] | None:
    """The fields of a line, left to right; None if a quote does not close before a delimiter."""
    fields: list[str] = []
    at = 0
    while True:
        if text.startswith('"', at):
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                return None
            fields.append(quoted[1].replace('""', '"'))
            end = quoted.end()
        else:
            end = text.find(sign, at)
            end = len(text) if end < 0 else end
            fields.append(text[at:end])
        if end == len(text):
            return fields
        if text[end] != sign:
            return None
        at = end + 1


def _from_json(text: str, paths: Mapping[str, Sequence[str]], rules: Rules) -> Row:
    found = json_object(text)
    if found is None:
        return refused(UNREADABLE)
    values = {role: inside(found, path) for role, path in paths.items()}
    nested = {role for role, value in values.items() if isinstance(value, dict | list)}
    if nested - _OF_EVENTS:
        return refused(NESTED)
    values |= dict.fromkeys(nested)
    return judged({role: json_text(value) for role, value in values.items()}, rules)


def json_object(text: str) -> dict[str, object] | None:
    """The object that a line is; None if it is none. Of several values of a key the first."""
    try:
        found: Any = json.loads(
            text, object_pairs_hook=_first_of_each, parse_constant=_refuse, parse_float=_as_written
        )
        (json_text(found) or "").encode()  # half a character, such as \ud800, is not text
    except (ValueError, RecursionError):
        if _NOT_JSON.search(text):
            raise LenientError from None
        return None
    return cast("dict[str, object]", found) if isinstance(found, dict) else None


def inside(value: object, path: Sequence[str]) -> object:
    """The value at a path of keys; in a list, a number is a place."""
    for key in path:
        if isinstance(value, dict):
            value = cast("dict[str, object]", value).get(key)
        elif isinstance(value, list) and _PLACE.fullmatch(key):
            items = cast("list[object]", value)
            value = items[int(key)] if int(key) < len(items) else None
        else:
            return None
    return value


def _refuse(constant: str) -> None:
    raise LenientError(constant)


def _as_written(number: str) -> float | str:
    """The number; its text if it overflows a float, and so is not a count."""
    return float(number) if math.isfinite(float(number)) else number


def _first_of_each(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The first of several values of a key."""
    return dict(reversed(list(pairs)))


def json_text(value: object) -> str | None:
    """The text of a value, if there is one."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def judged(values: Mapping[str, str | None], rules: Rules) -> Row:
    """The row of these values by role, or why it is not counted."""
    row = _clicked(values, rules)
    if row.reason == NO_CLICK and rules.events:
        search = _clicked(values, rules._replace(searches=True))
        row = row if search.reason else search._replace(reason=NO_CLICK)
    if not rules.events or row.user is None:
        return row
    found = event_of(values, rules.clock)
    return row._replace(**found)  # pyright: ignore[reportArgumentType]


def _clicked(values: Mapping[str, str | None], rules: Rules) -> Row:
    """The row without its events. Logs of events have no count."""
    user, query, url = values["user"], values["query"], values.get("url")
    if rules.fold:
        query, url = folded_query(query or ""), folded_url(url or "")
    if not url and not rules.searches:
        return refused(NO_CLICK)
    if not user:
        return refused("user missing")
    if not query:
        return refused("query missing")
    clicks = number(values["count"]) if "count" in values else 1.0
    if clicks is None or math.isnan(clicks):
        return refused("count missing")
    if (reason := _no_clicks(clicks)) is not None:
        return refused(reason)
    return Row(user, query, url or "", int(clicks))


def _no_clicks(number: float) -> str | None:
    """Why a number is not a number of clicks; None if it is."""
    if number <= 0:
        return "count negative" if number < 0 else "count zero"
    if number >= _MOST_CLICKS:
        return "count huge"
    return "count fractional" if number != math.floor(number) else None


def refused(reason: str) -> Row:
    """A row that is not counted."""
    return Row(None, None, None, 0, reason)


def number(text: str | None) -> float | None:
    """Parse a number: as in C, with _ allowed between digits, and one leading +."""
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return float(text)
    plain = text.strip(_SPACE).lower()
    if not _NUMBER.fullmatch(plain) or plain in ("", "+", "-", "."):
        return None
    try:
        return float(plain.removeprefix("+").replace("_", ""))
    except ValueError:
        return None


def folded_query(text: str) -> str:
    """A query in small letters, with single spaces and none around it."""
    small = text.lower() if text.isascii() else "".join(letter.lower()[:1] for letter in text)
    return _SPACES.sub(" ", small).strip(" ")


def folded_url(text: str) -> str:
    """A url folded as a query is, without its schemes and last slashes, if anything is left."""
    plain = folded_query(text)
    scheme = _SCHEMES.match(plain)
    return plain[scheme.end() if scheme else 0 :].rstrip("/ ") or plain
