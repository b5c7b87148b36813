"""A slow, plain reader of logs, written from the documentation: the second opinion on every line.

It shares no code with slogan. A line is None if a reader cannot take it apart at all, a reason if
it is a row that is not counted, or the row itself.
"""

from __future__ import annotations

import json
import math
import re

LINE_END = re.compile(rb"\r\n|\n|\r")
SEPARATOR = "\x1c\x1d\x1e\x1f"
UNREADABLE = "unreadable"
_LENIENT = re.compile(r",\s*[}\]]|nan|inf", re.IGNORECASE)
_SPACE = " \t\n\v\f\r"
_NUMBER = re.compile(
    r"\+?-?((\d+(_\d+)*)?\.?(\d+(_\d+)*)?(e[+-]?\d+(_\d+)*)?|inf|infinity|nan)", re.ASCII
)


def lines(data: bytes) -> list[tuple[int, bytes]]:
    """Every line that is not empty, with its number."""
    return [(n, line) for n, line in enumerate(LINE_END.split(data), start=1) if line]


def judged(user, query, url, count):  # noqa: PLR0911 – one for each reason
    """A row, or why it does not count; `count` is a text, or None if there is none."""
    if not url:
        return "no click"
    if not user:
        return "user missing"
    if not query:
        return "query missing"
    clicks = number(count)
    if clicks is None or math.isnan(clicks):
        return "count missing"
    if clicks < 0:
        return "count negative"
    if clicks == 0:
        return "count zero"
    if clicks >= 2**53:
        return "count huge"
    if clicks != math.floor(clicks):
        return "count fractional"
    return user, query, url, int(clicks)


def number(text):
    """The number that a text is, by the rules of DuckDB: like C's, with _ between digits.

    One + is passed over, also before a −.
    """
    if text is None:
        return None
    plain = text.strip(_SPACE).lower()
    if not _NUMBER.fullmatch(plain) or plain in ("", "+", "-", "."):
        return None
    try:
        return float(plain.removeprefix("+").replace("_", ""))
    except ValueError:
        return None


def tsv(line: bytes, encoding: str):
    text = _decoded(line, encoding)
    if text is None:
        return None
    fields = text.split("\t")
    if SEPARATOR in text or len(fields) != 4:
        return UNREADABLE
    return judged(*fields)


def csv(line: bytes, encoding: str):
    """A line of CSV that has no quotes, or where they are where they belong."""
    text = _decoded(line, encoding)
    if text is None:
        return None
    fields = re.findall(r'(?:^|,)("(?:[^"]|"")*"|[^,]*)', text)
    while len(fields) > 4 and fields[-1] in ("", '""', "\0", '"\0"'):
        fields.pop()  # columns too many that are empty do no harm; DuckDB takes a NUL for nothing
    if len(fields) != 4:
        return None
    return judged(*(f[1:-1].replace('""', '"') if f[:1] == '"' else f for f in fields))


def jsonl(line: bytes, encoding: str):
    text = _decoded(line, encoding)
    if text is None:
        return None
    try:
        found = json.loads(
            text, object_pairs_hook=_first, parse_constant=_refuse, parse_float=_as_written
        )
        (_text(found) or "").encode()  # half a character, such as \\ud800, is no text
    except (ValueError, RecursionError):
        if _LENIENT.search(text):
            raise LenientError from None
        return UNREADABLE
    if SEPARATOR in text or not isinstance(found, dict):
        return UNREADABLE
    return judged(*(_text(found.get(name)) for name in ("user", "query", "url", "count")))


class LenientError(Exception):
    """JSON that the standard forbids and some readers take."""


def _refuse(constant):
    raise LenientError(constant)


def _as_written(number):
    """The number; its text if it is beyond all floats, and so no clicks."""
    return float(number) if math.isfinite(float(number)) else number


def _first(pairs):
    """The first of several values of a key."""
    return dict(reversed(pairs))


def _text(value):
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _decoded(line: bytes, encoding: str):
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return None
