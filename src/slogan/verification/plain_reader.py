"""A plain reader of logs, line by line, to check what an engine reads.

It is written from the documentation and shares no code with the engines, so that a mistake in
theirs shows as a difference. It is slow, and short enough to review in a minute.
"""

import json
import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from slogan.logs.files import open_bytes, reported
from slogan.logs.searchlog import SearchLog

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
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_NOT_JSON = re.compile(r",\s*[}\]]|nan|inf", re.IGNORECASE)


class Row(NamedTuple):
    """A row of a log, with the reason if it is not counted."""

    user: str | None
    query: str | None
    url: str | None
    clicks: int
    reason: str | None = None


class LenientError(Exception):
    """JSON that the standard forbids and some readers accept: readers would disagree on it."""


def rows_of(log: SearchLog) -> Generator[Row]:
    """Every row of the text files of a log, in their order."""
    for file in log.files:
        with reported(file):
            lines = _lines(file, log.compression)
            if log.format != "jsonl" and log.header:
                next(lines, None)
            yield from map(row_reader(log), lines)


def _lines(file: Path, compression: str) -> Generator[bytes]:
    """Every line that is not empty. Lines end with LF or CRLF."""
    with open_bytes(file, compression) as data:
        first = True
        for line in data:
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            if first:
                text, first = text.removeprefix(b"\xef\xbb\xbf"), False
            if text:
                yield text


def row_reader(log: SearchLog) -> Callable[[bytes], Row]:
    """A function that reads one line, independent of all others."""
    roles, names = log.columns.roles, log.columns.names
    places = {role: names.index(name) for role, name in roles.items()}

    def row_of(line: bytes) -> Row:
        try:
            text = line.decode(log.encoding)
        except UnicodeDecodeError:
            return _refused(NOT_TEXT)
        if "\r" in text or _SIGNS in text or _SIGNS[::-1] in text:
            return _refused(UNREADABLE)
        if log.format == "jsonl":
            return _from_json(text, roles)
        fields = text.split("\t") if log.format == "tsv" else csv_fields(text)
        if fields is None:
            return _refused(OPEN_QUOTE)
        if len(fields) != len(names):
            return _refused(UNREADABLE)
        return judged({role: fields[place] for role, place in places.items()})

    return row_of


def csv_fields(text: str) -> list[str] | None:
    """The fields of a line from left to right; None if a quote does not close before a comma."""
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
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            fields.append(text[at:end])
        if end == len(text):
            return fields
        if text[end] != ",":
            return None
        at = end + 1


def _from_json(text: str, roles: Mapping[str, str]) -> Row:
    try:
        found: Any = json.loads(
            text, object_pairs_hook=_first_of_each, parse_constant=_refuse, parse_float=_as_written
        )
        (_json_text(found) or "").encode()  # half a character, such as \ud800, is not text
    except (ValueError, RecursionError):
        if _NOT_JSON.search(text):
            raise LenientError from None
        return _refused(UNREADABLE)
    if not isinstance(found, dict):
        return _refused(UNREADABLE)
    keys = cast("dict[str, object]", found)
    values = {role: keys.get(name) for role, name in roles.items()}
    if any(isinstance(value, dict | list) for value in values.values()):
        return _refused(NESTED)
    return judged({role: _json_text(value) for role, value in values.items()})


def _refuse(constant: str) -> None:
    raise LenientError(constant)


def _as_written(number: str) -> float | str:
    """The number; its text if it overflows a float, and so is not a count."""
    return float(number) if math.isfinite(float(number)) else number


def _first_of_each(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The first of several values of a key."""
    return dict(reversed(list(pairs)))


def _json_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def judged(values: Mapping[str, str | None]) -> Row:
    """The row of these values by role, or why it is not counted. Events have no count."""
    user, query, url = values["user"], values["query"], values["url"]
    if not url:
        return _refused(NO_CLICK)
    if not user:
        return _refused("user missing")
    if not query:
        return _refused("query missing")
    clicks = number(values["count"]) if "count" in values else 1.0
    if clicks is None or math.isnan(clicks):
        return _refused("count missing")
    if (reason := _no_clicks(clicks)) is not None:
        return _refused(reason)
    return Row(user, query, url, int(clicks))


def _no_clicks(number: float) -> str | None:
    """Why a number is not a number of clicks; None if it is."""
    if number <= 0:
        return "count negative" if number < 0 else "count zero"
    if number >= _MOST_CLICKS:
        return "count huge"
    return "count fractional" if number != math.floor(number) else None


def _refused(reason: str) -> Row:
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
