"""Events with Spark: SQL that reads time, rank and session, their numbers, and times as written."""

import re
from datetime import datetime, timedelta

import numpy as np
from pyspark.sql import DataFrame

from slogan.arrays import Ints
from slogan.engines.events import EventTypes
from slogan.engines.spark.sql import run
from slogan.logs.searchlog import SearchLog
from slogan.logs.times import DAY, MONTHS, Period, TimeFormat

COLUMNS = ("second", "rank", "session")
_RANK = r"\A[0-9]{1,9}(?:\.0*)?\z"


def kept(log: SearchLog, types: EventTypes) -> tuple[dict[str, str], dict[str, str]]:
    """SQL of second, rank and session from of_time, of_rank and of_session; and its values."""
    values, patterns = dict[str, str](), dict[str, str]()
    if log.period is not None and types.time is not None:
        values["second"] = f"CAST(coalesce({_second(types, log.period)}, -1) AS INT)"
        if types.format is not None:
            patterns["moment"] = types.format.bare
    if types.rank is not None:
        whole = "try_cast(substring_index(CAST(of_rank AS STRING), '.', 1) AS INT)"
        values["rank"] = f"IF(regexp_like(CAST(of_rank AS STRING), :rank), {whole}, 0)"
        patterns["rank"] = _RANK
    if types.session is not None:
        values["session"] = "nullif(CAST(of_session AS STRING), '')"
    return values, patterns


def _second(types: EventTypes, period: Period) -> str:
    """The second of the period, clamped into it; NULL if it is not a time."""
    form, last = types.format, period.days * DAY - 1
    if form is None:
        return _clamped(f"{_epoch(types)} - {period.begin}", last)
    parts = {
        group: f"regexp_extract(CAST(of_time AS STRING), :moment, {place})"
        for place, group in enumerate(form.groups, start=1)
    }
    if form.numeric:
        number = f"try_cast({parts['number']} AS BIGINT)"
        # Clamped first, so that nothing overflows; division is of numbers from 0 on.
        first = period.begin * form.units
        inside = f"greatest(0L, least({(last + 1) * form.units - 1}L, {number} - {first}L))"
        return f"IF({number} IS NULL, NULL, {inside} div {form.units})"
    month = parts.get("month")
    if month is None:
        words = ", ".join(f"'{word}'" for word in MONTHS)
        place = f"array_position(array({words}), {parts['word']})"
        month = f"lpad(CAST({place} AS STRING), 2, '0')"
    day = f"try_cast(concat({parts['year']}, '-', {month}, '-', {parts['day']}) AS DATE)"
    hour, minute, second = (
        f"coalesce(try_cast({parts.get(unit, 'NULL')} AS INT), 0)"
        for unit in ("hour", "minute", "second")
    )
    valid = f"{hour} <= 23 AND {minute} <= 59 AND {second} <= 60"
    if "hour12" in parts:
        twelve = f"try_cast({parts['hour12']} AS INT)"
        valid += f" AND {twelve} BETWEEN 1 AND 12"
        hour = f"({twelve} % 12 + IF({parts['half']} = 'PM', 12, 0))"
    days = f"CAST(datediff({day}, DATE '{period.first}') AS BIGINT)"
    whole = f"{days} * {DAY} + {hour} * 3600 + {minute} * 60 + least({second}, 59)"
    return f"IF({parts['year']} <> '0000' AND {valid}, {_clamped(whole, last)}, NULL)"


def _clamped(number: str, last: int) -> str:
    # Spark's least and greatest leave NULL out, so that alone would be a time.
    return f"IF(({number}) IS NULL, NULL, greatest(0L, least({last}L, {number})))"


def _epoch(types: EventTypes) -> str:
    """Seconds of the epoch of a column whose type is one of times, whatever the session's zone."""
    if types.time == "TIMESTAMP":
        return "unix_seconds(of_time)"
    days = f"CAST(datediff(CAST(of_time AS DATE), DATE '1970-01-01') AS BIGINT) * {DAY}"
    if types.time == "DATE":
        return days
    return f"{days} + hour(of_time) * 3600 + minute(of_time) * 60 + second(of_time)"


_KNOWN = """
    SELECT name, query, IF(reason IS NULL, url, NULL) AS url, clicks, search {more} FROM {{rows}}
    WHERE reason IS NULL OR search"""


def known(rows: DataFrame) -> DataFrame:
    """The rows that count, and searches without a click."""
    more = "".join(f", {name}" for name in COLUMNS if name in rows.columns)
    return run(_KNOWN.format(more=more), rows=rows)


def numbered(
    rows: DataFrame, users: DataFrame, pairs: DataFrame, others: DataFrame | None
) -> DataFrame:
    """Rows as integers: user, pair, query, count, and second, rank and session if there.

    With other pairs also `known`, the number of the query among these. Sessions have numbers from 0
    in each user, in the order of their bytes; −1 stands for none.
    """
    more = "".join(f", r.{name}" for name in COLUMNS[:2] if name in rows.columns)
    if "session" in rows.columns:
        place = "dense_rank() OVER (PARTITION BY u.user ORDER BY r.session NULLS LAST) - 1"
        more += f", IF(r.session IS NULL, -1, {place}) AS session"
    queries, frames = "(SELECT DISTINCT query, query_number FROM {})", {"pairs": pairs}
    beside = ""
    if others is not None:
        frames["others"] = others
        more += ", coalesce(k.query_number, -1) AS known"
        beside = f"LEFT JOIN {queries.format('{others}')} k ON k.query = r.query"
    return run(
        f"""SELECT u.user, coalesce(p.pair, -1) AS pair,
                   coalesce(p.query_number, q.query_number, -1) AS query, r.clicks AS count {more}
            FROM {{rows}} r JOIN {{users}} u ON u.name = r.name
            LEFT JOIN {{pairs}} p ON p.query = r.query AND p.url = r.url
            LEFT JOIN {queries.format("{pairs}")} q ON q.query = r.query {beside}""",
        rows=rows,
        users=users,
        **frames,
    )


def of_all_users(user: Ints, session: Ints) -> Ints:
    """Numbers of sessions over all users, from numbers in each user; −1 stays."""
    sessions = np.zeros(int(user.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(sessions, user, session + 1)
    return np.where(session < 0, -1, session + (np.cumsum(sessions) - sessions)[user])


def written(types: EventTypes) -> str:
    """SQL of the time that is written for `moment`: a text, or seconds of the epoch."""
    form = types.format
    if form is not None:
        return f"moment * {form.units}" if form.numeric else "moment"
    if types.time == "DATE":
        return f"date_from_unix_date(CAST(moment div {DAY} AS INT))"
    if types.time == "TIMESTAMP":
        return "timestamp_seconds(moment)"
    return "TIMESTAMP_NTZ '1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, moment)"


def moments(second: Ints, types: EventTypes, period: Period) -> Ints | list[str]:
    """What `written` makes a time of: texts are made here, for Spark's depend on its zone."""
    form = types.format
    if form is None or form.numeric:
        return second + period.begin
    found, place = np.unique(second, return_inverse=True)
    texts = [_text(form, period, int(n)) for n in found]
    return [texts[n] for n in place.tolist()]


def _text(form: TimeFormat, period: Period, second: int) -> str:
    moment = datetime.combine(period.first, datetime.min.time()) + timedelta(seconds=second)
    signs = {
        "Y": f"{moment.year:04}",
        "m": f"{moment.month:02}",
        "b": MONTHS[moment.month - 1],
        "d": f"{moment.day:02}",
        "H": f"{moment.hour:02}",
        "I": f"{(moment.hour - 1) % 12 + 1:02}",
        "p": "AM" if moment.hour < 12 else "PM",
        "M": f"{moment.minute:02}",
        "S": f"{moment.second:02}",
        "%": "%",
    }
    return re.sub("%(.)", lambda sign: signs[sign[1]], form.written)
