"""A plain reader of times and ranks: each text by itself, sign by sign.

Written from docs/how-to/read-any-log.md, without code of the engines.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import NamedTuple

from slogan.logs.searchlog import SearchLog

_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_LENGTHS = {"Y": 4, "b": 3, **dict.fromkeys("mdHIpMS", 2)}
_FORMS = {"0000-00-00", "0000-00-00T00:00", "0000-00-00T00:00:00"}
_OFFSET = re.compile(r"(.*T.*?)(z|[+-](?:0\d|1[0-4])(:?[0-5]\d)?)", re.ASCII | re.IGNORECASE)
_RANK = re.compile(r"(\d{1,9})(\.0*)?", re.ASCII)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  times are as a clock shows them


class Clock(NamedTuple):
    """How the times of a log are read."""

    format: str
    first: date

    def second(self, text: str | None) -> int | None:
        """The seconds from the first midnight of the period, which may be negative or too many."""
        found = None if text is None else moment(text, self.format)
        if found is None:
            return None
        return (found - datetime.combine(self.first, datetime.min.time())) // timedelta(seconds=1)


def clock_of(log: SearchLog) -> Clock | None:
    """The clock of a log with times."""
    return None if log.period is None else Clock(log.time_format, log.period.first)


def moment(text: str, format: str) -> datetime | None:
    """The time that a text tells, as the clock showed it; None if it tells none."""
    if format in ("epoch", "epoch-ms"):
        return _counted(text, 1000 if format == "epoch-ms" else 1)
    parts = _scanned(text, format) if "%" in format else _iso(text)
    if parts is None:
        return None
    try:
        if "I" in parts:
            hour = int(parts["I"])
            if not 1 <= hour <= 12 or parts["p"] not in ("AM", "PM"):
                return None
            parts["H"] = str(hour % 12 + 12 * (parts["p"] == "PM"))
        if "b" in parts:
            at = _MONTHS.find(parts["b"])
            parts["m"] = str(at // 3 + 1) if at % 3 == 0 else "0"
        second = int(parts.get("S", 0))
        return datetime(  # noqa: DTZ001
            int(parts["Y"]),
            int(parts["m"]),
            int(parts["d"]),
            int(parts.get("H", 0)),
            int(parts.get("M", 0)),
            59 if second == 60 else second,
        )
    except ValueError:
        return None


def _counted(text: str, units: int) -> datetime | None:
    whole = text.split(".", maxsplit=1)[0]
    digits = whole.removeprefix("-")
    rest = text[len(whole) + 1 :]
    plain = text.isascii() and digits.isdigit() and len(digits) <= 15
    if not plain or not (rest == "" or rest.isdigit()):
        return None
    second = max(-62_135_596_800, min(int(whole) // units, 253_402_300_799))
    return _EPOCH + timedelta(seconds=second)


def _scanned(text: str, format: str) -> dict[str, str] | None:
    """The parts of a text by the signs of a pattern, each of its fixed length."""
    parts: dict[str, str] = {}
    signs, at = iter(format), 0
    for sign in signs:
        if sign != "%" or (name := next(signs, "")) == "%":
            part = "%" if sign == "%" else sign
            if text[at : at + 1] != part:
                return None
            at += 1
            continue
        parts[name] = text[at : at + _LENGTHS[name]]
        at += _LENGTHS[name]
        plain = parts[name].isascii() and parts[name].isdigit()
        if len(parts[name]) < _LENGTHS[name] or (name not in "bp" and not plain):
            return None
    return parts if at == len(text) else None


def _iso(text: str) -> dict[str, str] | None:
    """The parts of a time of ISO 8601; an offset and parts of seconds are left out."""
    if len(text) > 10 and text[10] in " t":
        text = f"{text[:10]}T{text[11:]}"
    if offset := _OFFSET.fullmatch(text):
        text = offset[1]
    text = re.sub(r"(?<=T\d\d:\d\d:\d\d)[.,]\d+$", "", text, flags=re.ASCII)
    if re.sub("[0-9]", "0", text) not in _FORMS:
        return None
    names = {"Y": (0, 4), "m": (5, 7), "d": (8, 10), "H": (11, 13), "M": (14, 16), "S": (17, 19)}
    return {name: text[a:b] for name, (a, b) in names.items() if text[a:b]}


def rank_of(text: str | None) -> int | None:
    """The rank that a text tells, from 1."""
    found = None if text is None else _RANK.fullmatch(text)
    return (int(found[1]) or None) if found else None


def event_of(values: Mapping[str, str | None], clock: Clock | None) -> dict[str, int | str | None]:
    """The second, rank and session of a row."""
    return {
        "second": None if clock is None else clock.second(values.get("time")),
        "rank": rank_of(values.get("rank")),
        "session": values.get("session") or None,
    }
