"""A slow, plain reader of logs, written from the documentation: the second opinion on every line.

It shares no code with slogan. A line is None if a reader cannot take it apart at all, a reason if
it is a row that is not counted, or the row itself.
"""

from __future__ import annotations

import json
import math
import re

NAMES = ("user", "query", "url", "count")
SEPARATOR = "\x1c\x1d\x1e\x1f"
UNREADABLE = "unreadable"
NESTED = "nested"
OPEN_QUOTE = "a quote that does not close on its line, or text after it"
_LENIENT = re.compile(r",\s*[}\]]|nan|inf", re.IGNORECASE)
_SPACE = " \t\n\v\f\r"
_NUMBER = re.compile(
    r"\+?-?((\d+(_\d+)*)?\.?(\d+(_\d+)*)?(e[+-]?\d+(_\d+)*)?|inf|infinity|nan)", re.ASCII
)


def lines(data: bytes) -> list[tuple[int, bytes]]:
    """Every line that is not empty, with its number; a return before its end is part of it."""
    ended = (line.removesuffix(b"\r") for line in data.split(b"\n"))
    return [(n, line) for n, line in enumerate(ended, start=1) if line]


def judged(user, query, url, count, *, searches=False):  # noqa: PLR0911 – one for each reason
    """A row, or why it does not count; `count` is a text, or None if there is none.

    If searches count, a row without a url is one with an empty url.
    """
    if not url and not searches:
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
    return user, query, url or "", int(clicks)


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


def spoiled(text):
    """Whether a text holds what no line may: a return, or a delimiter of the readers."""
    return any(sign in text for sign in ("\r", SEPARATOR, SEPARATOR[::-1]))


def tsv(line: bytes, encoding: str, **how):
    text = _decoded(line, encoding)
    if text is None:
        return None
    fields = text.split("\t")
    if spoiled(text) or len(fields) != 4:
        return UNREADABLE
    return judged(*fields, **how)


def csv(line: bytes, encoding: str, sign: str = ",", **how):
    """A line of CSV, from left to right: a field ends at a delimiter that is outside quotes."""
    text = _decoded(line, encoding)
    if text is None:
        return None
    if spoiled(text):
        return UNREADABLE
    fields, rest = [], text
    while rest is not None:
        if rest.startswith('"'):
            end = re.match(r'"(?:[^"]|"")*"', rest)
            if end is None or rest[end.end() : end.end() + 1] not in ("", sign):
                return OPEN_QUOTE
            field, after = end[0][1:-1].replace('""', '"'), rest[end.end() :]
        else:
            field = rest.partition(sign)[0]
            after = rest[len(field) :]
        fields.append(field)
        rest = after[1:] if after else None
    return judged(*fields, **how) if len(fields) == 4 else UNREADABLE


def jsonl(line: bytes, encoding: str, **how):
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
    if spoiled(text) or not isinstance(found, dict):
        return UNREADABLE
    if any(isinstance(found.get(name), dict | list) for name in NAMES):
        return NESTED
    return judged(*(_text(found.get(name)) for name in NAMES), **how)


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
    if encoding == "cp1252":  # five bytes have no character and stay what they are in Latin-1
        return "".join(bytes([b]).decode(encoding, "ignore") or chr(b) for b in line)
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return None
