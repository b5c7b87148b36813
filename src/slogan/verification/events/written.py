"""SQL that writes the times, ranks and sessions of released rows once more, and orders them."""

from collections.abc import Mapping

from slogan.logs.files import literal
from slogan.logs.searchlog import SearchLog

_DAY = 86_400
_AOL = "%Y-%m-%d %H:%M:%S"


def values_of(log: SearchLog, kinds: Mapping[str, str]) -> dict[str, str]:
    """The value of time, rank and session of a row; `kinds` are the types of those with values."""
    values = {"rank": "rank", "session": "session"}
    if "time" in kinds:
        values["time"] = _time(log, kinds["time"])
    return {role: values[role] for role in kinds}


def _time(log: SearchLog, kind: str) -> str:
    day = f"(DATE '{log.period and log.period.first}' + (second // {_DAY})::INTEGER)"
    moment, form = f"({day} + to_seconds(second - second // {_DAY} * {_DAY}))", log.time_format
    if form in ("epoch", "epoch-ms"):
        units = 1000 if form == "epoch-ms" else 1
        return f"datediff('second', TIMESTAMP '1970-01-01', {moment}) * {units}"
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return f"timezone('UTC', {moment})" if kind.endswith("ZONE") else moment
    if form.startswith("iso"):
        form = f"%Y-%m-%dT%H:%M:%S{form[3:]}"
    return f"strftime({moment}, {literal(_AOL if form == 'auto' else form)})"


def order_of(log: SearchLog) -> str:
    """The order of rows `s`: shown user, time, query, url, rank, session.

    Integers in their own order, any other ID in that of its bytes; released columns have names of
    their own, which may be those of others here.
    """
    roles = log.columns.event_roles
    return ", ".join(
        [
            'TRY_CAST(s."user" AS HUGEINT) NULLS LAST',
            's."user"',
            *(["s.second NULLS FIRST"] if "time" in roles else []),
            "s.query",
            "s.url",
            *(["s.rank NULLS FIRST"] if "rank" in roles else []),
            *(["TRY_CAST(s.session AS BIGINT) NULLS FIRST"] if "session" in roles else []),
            *(["s.session NULLS FIRST"] if "session" in roles else []),
        ]
    )
