"""Times: the declared period of a log, and the declared formats in which its times are written.

A time is read by itself, as the clock showed it to its user: a text of another form is not a time,
and a time outside of the period counts as the nearest second inside. Nothing follows from values.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from slogan.errors import OptionError

AUTO = "auto"
"""By the declared type of the column, or as AOL's header is known to write times."""
DAY = 86_400
_AOL = "%Y-%m-%d %H:%M:%S"
_LONGEST = 366 * 60
"""Days of a period: seconds in it are integers of 32 bits."""
_EPOCH = date(1970, 1, 1)
_EXAMPLE = "--period 2026-01-01/2026-03-31"
_OFFSET = r"[+-](?:0[0-9]|1[0-4]):[0-5][0-9]"
_ISO = (
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"(?:[Zz]|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?)?"
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SIGNS = {
    "Y": "(?P<year>[0-9]{4})",
    "m": "(?P<month>[0-9]{2})",
    "b": f"(?P<word>{'|'.join(MONTHS)})",
    "d": "(?P<day>[0-9]{2})",
    "H": "(?P<hour>[0-9]{2})",
    "I": "(?P<hour12>[0-9]{2})",
    "p": "(?P<half>AM|PM)",
    "M": "(?P<minute>[0-9]{2})",
    "S": "(?P<second>[0-9]{2})",
}
"""Of strftime, with what they stand for."""
_TYPED = re.compile(r"TIMESTAMP.*|DATE")


@dataclass(frozen=True, slots=True)
class Period:
    """The days that a log covers, as its curator declares and publishes them."""

    first: date
    last: date

    @classmethod
    def of(cls, text: str) -> "Period":
        """The period FROM/TO, both days included."""
        try:
            first, last = (date.fromisoformat(day) for day in text.split("/"))
        except ValueError:
            raise OptionError(
                "a period is its first and its last day, FROM/TO", hint=f"write it as {_EXAMPLE}"
            ) from None
        if not 0 <= (last - first).days < _LONGEST:
            raise OptionError(
                "a period begins before it ends, and is at most 60 years long",
                hint=f"write it as {_EXAMPLE}",
            )
        return cls(first, last)

    @classmethod
    def of_label(cls, text: str | None) -> "Period | None":
        """The period if the text is one; a label of a release may say it in other words."""
        try:
            return None if text is None else cls.of(text)
        except OptionError:
            return None

    @property
    def days(self) -> int:
        """How many days it has."""
        return (self.last - self.first).days + 1

    @property
    def weekday(self) -> int:
        """Of the first day; 0 is Monday."""
        return self.first.weekday()

    @property
    def begin(self) -> int:
        """The first midnight, as seconds of the epoch."""
        return (self.first - _EPOCH).days * DAY

    def __str__(self) -> str:
        return f"{self.first.isoformat()}/{self.last.isoformat()}"


def period_from(given: "Period | str | None", time: str | None) -> Period | None:
    """The declared period; an error if a column of times is named without one."""
    if given is None and time:
        raise OptionError(
            f"times are read inside a declared period only, and --time {time} has none",
            hint=f"add the first and last day of the log, which are published: {_EXAMPLE}",
        )
    return Period.of(given) if isinstance(given, str) else given


@dataclass(frozen=True)
class TimeFormat:
    """How times are written: iso, iso with an offset, epoch, epoch-ms, or a pattern of strftime."""

    name: str

    @property
    def numeric(self) -> bool:
        """Whether a time is a number: of seconds, or of thousandths."""
        return self.name in ("epoch", "epoch-ms")

    @property
    def units(self) -> int:
        """How many units of a numeric format a second has."""
        return 1000 if self.name == "epoch-ms" else 1

    @property
    def written(self) -> str:
        """The pattern of strftime in which times are written."""
        if self.name.startswith("iso"):
            return f"%Y-%m-%dT%H:%M:%S{self.name.removeprefix('iso')}"
        return self.name

    @cached_property
    def pattern(self) -> str:
        """What a whole time looks like, with named groups."""
        if self.numeric:
            return r"(?P<number>-?[0-9]{1,15})(?:\.[0-9]*)?"
        return _ISO if self.name.startswith("iso") else _pattern(self.name)

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups, in their order."""
        return tuple(re.compile(self.pattern).groupindex)

    @property
    def bare(self) -> str:
        """The pattern with groups without names, from the beginning of a text to its end."""
        return f"\\A(?:{re.sub(r'[?]P<[a-z0-9]+>', '', self.pattern)})\\z"

    @property
    def step(self) -> int:
        """Seconds between two times that are written differently."""
        finest = {"%S": 1, "%M": 60, "%H": 3600, "%I": 3600}
        if self.numeric:
            return 1
        return next((step for sign, step in finest.items() if sign in self.written), DAY)


def _pattern(name: str) -> str:
    """A pattern of strftime as a regular expression."""
    signs = re.findall(r"%(.)", name)
    parts: list[str] = []
    for sign, text in re.findall(r"%(.?)|([^%]+)", name):
        if text or sign == "%":
            parts.append(re.escape(text or sign))
        elif sign in _SIGNS:
            parts.append(_SIGNS[sign])
        else:
            _refuse(f"%{sign} is not read")
    plain = [sign for sign in signs if sign != "%"]
    hours = {"H", "I"} & {*plain}
    if len({*plain}) < len(plain) or not {"Y", "d"} < {*plain} or len({"m", "b"} & {*plain}) != 1:
        _refuse("it needs %Y, %m (or %b) and %d, each once")
    if len(hours) > 1 or ("I" in hours) != ("p" in plain):
        _refuse("it needs %H, or %I with %p")
    if ({"M", "S"} & {*plain} and not hours) or ("S" in plain and "M" not in plain):
        _refuse("it has smaller units without larger ones")
    return "".join(parts)


def _refuse(why: str) -> None:
    raise OptionError(
        f"the format of times is not understood: {why}",
        hint="give --time-format iso, iso+02:00, epoch, epoch-ms, or a pattern such as "
        "'%d/%b/%Y:%H:%M:%S' of %Y %m %b %d %H %I %p %M %S",
    )


def format_from(given: str, column: str | None, *, typed: bool) -> str:
    """The declared format, checked; for a column of text that is AOL's, the one that is known.

    Args:
        given: As it was typed; auto follows from what else is declared.
        column: The column of times, if there is one.
        typed: Whether columns declare their types, so that the engine decides by them.
    """
    if given == AUTO:
        if typed or column is None:
            return AUTO
        if is_aols(column):
            return _AOL
        raise OptionError(
            "texts do not declare how they write times, and values are not looked at",
            hint="add --time-format iso (2026-01-31 09:30:00), epoch, epoch-ms, or a pattern such "
            f"as '{_AOL.replace('-', '/')}'",
        )
    if given in ("epoch", "epoch-ms") or re.fullmatch(f"iso(Z|{_OFFSET})?", given):
        return given
    if "%" not in given:
        _refuse("there is no such name")
    if not re.fullmatch(r"(%[A-Za-z%]|[TZ0-9 :/.,+_-])*", given):
        _refuse("between its signs it has more than T, Z, digits, spaces and : / . , + _ -")
    _pattern(given)
    return given


def is_aols(column: str) -> bool:
    """Whether a column is the one in which AOL wrote its times."""
    return re.sub(r"[\W_]", "", column.lower()) == "querytime"


def format_of_type(name: str, column: str, sql_type: str) -> TimeFormat | None:
    """The format in which a column of a declared type is read; None if the type declares it."""
    of_times = _TYPED.fullmatch(sql_type) is not None
    if name == AUTO and (of_times or is_aols(column)):
        return None if of_times else TimeFormat(_AOL)
    if name == AUTO:
        raise OptionError(
            f"the column {column} is declared {sql_type}, which does not say how it writes times",
            hint="add --time-format iso, epoch, epoch-ms, or a pattern such as '%Y/%m/%d %H:%M'",
        )
    if of_times:
        raise OptionError(
            f"the column {column} is declared {sql_type}, so --time-format has no effect",
            hint="leave --time-format out",
        )
    return TimeFormat(name)
