"""How DuckDB writes a release: the columns, types and format of the log that was counted.

Everything here sees the released rows only: tables `released` (user, pair, clicks), `shown`
(user, shown) and `pairs` (pair, query, url). So the form of a release says nothing about others.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb

from slogan.engines.duckdb.events import written
from slogan.engines.events import EventTypes
from slogan.errors import SloganError
from slogan.logs.columns import EVENT_ROLES
from slogan.logs.files import field_sql, identifier, literal
from slogan.logs.rows import copy_options, plain_type
from slogan.logs.searchlog import SearchLog
from slogan.logs.ubi_sql import lines_sql

_RELEASED = 'released o JOIN pairs p USING (pair) JOIN shown m USING ("user")'
_EVENTS = """released o JOIN shown m USING ("user") LEFT JOIN pairs p USING (pair)
    JOIN (SELECT query_number, any_value(query) AS query FROM pairs GROUP BY query_number) q
    ON q.query_number = o.query_number"""


def column_types(sql: duckdb.DuckDBPyConnection, log: SearchLog, source: str) -> dict[str, str]:
    """The SQL type of each column as it should be written: as declared, or else text.

    Values decide nothing: a type that one user's row could change would betray the row.
    """
    if log.format == "parquet":
        described = sql.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {row[0]: plain_type(row[1]) for row in described}
        for name in log.columns.filled(EVENT_ROLES).values():
            place = field_sql(log.columns.path(name))
            types[name] = plain_type(str(sql.sql(f"SELECT {place} FROM {source} LIMIT 0").types[0]))
        return types
    named = log.columns.filled(EVENT_ROLES).values()
    types = dict.fromkeys((*log.columns.names, *named), "VARCHAR")
    if log.format == "jsonl":
        numbers = (log.columns.count, log.columns.rank, log.numeric_time)
        types |= {name: "BIGINT" for name in numbers if name is not None}
    return types


def write_log(
    sql: duckdb.DuckDBPyConnection,
    log: SearchLog,
    types: dict[str, str],
    target: Path,
    *,
    filled: Collection[str] = (),
    moments: EventTypes | None = None,
) -> None:
    """Write the released rows, sorted by shown user, time, query, url, rank and session.

    With `moments` each row is an event, and has its query_number and those of second, rank and
    session that are filled; else it is a pair of a user, with its clicks.
    """
    query = "p.query" if moments is None else "q.query"
    roles = {"user": "m.shown", "query": query, "url": "nullif(p.url, '')", "count": "o.clicks"}
    if moments is not None and log.period is not None and "second" in filled:
        roles["time"] = f"CASE WHEN o.second >= 0 THEN {written(moments, log.period)} END"
    roles |= {"rank": "nullif(o.rank, 0)"} if "rank" in filled else {}
    roles |= {"session": _session(moments)} if "session" in filled else {}
    values = {
        log.columns.path(name): f"CAST({roles[role]} AS {types[name]})"
        for role, name in log.columns.filled(roles).items()
    }
    columns = ", ".join(
        f"{_value(sql, (name,), types[name], values)} AS {identifier(name)}"
        for name in log.columns.names
    )
    # A log of events gets one row per click back.
    repeated = ", range(o.clicks)" if log.counts_events and moments is None else ""
    # Integers in their own order, any other ID in that of its bytes.
    keys = ["TRY_CAST(m.shown AS HUGEINT) NULLS LAST", "m.shown"]
    keys += ["o.second"] if "second" in filled else []
    keys += [query, "coalesce(p.url, '')"]
    order = ", ".join([*keys, *(f"o.{name}" for name in ("rank", "session") if name in filled)])
    released = _RELEASED if moments is None else _EVENTS
    options = copy_options(log)
    rows = f"SELECT {columns} FROM {released} {repeated} ORDER BY {order}"
    if log.format == "ubi":
        rows = lines_sql(log, roles, f"{released} {repeated}", order)
    try:
        sql.execute(f"""
            COPY ({rows})
            TO {literal(str(target.absolute()))} ({options})""")
    except duckdb.ConversionException:
        # DuckDB quotes the value in its message, so that message goes no further.
        raise SloganError(
            "a released value does not fit the type of its column",
            hint="widen the types of the count and user columns, or make them text",
        ) from None


def _session(types: EventTypes | None) -> str:
    number = "nullif(o.session, -1)"
    if types is None or types.session != "UUID":
        return number
    return f"printf('00000000-0000-0000-0000-%012x', {number})"


def _value(
    sql: duckdb.DuckDBPyConnection,
    path: tuple[str, ...],
    kind: str,
    values: Mapping[tuple[str, ...], str],
) -> str:
    """What is written at a path: a value, a record with a value inside, or nothing."""
    if path in values:
        return values[path]
    below = [other for other in values if other[: len(path)] == path]
    if not below:
        return f"CAST(NULL AS {kind})"
    typed = sql.sqltype(kind)
    # A record of Parquet has its declared fields, one of JSON those that are named.
    fields = (
        {name: plain_type(str(inner)) for name, inner in typed.children}
        if typed.id == "struct"
        else dict.fromkeys((other[len(path)] for other in below), "VARCHAR")
    )
    inside = (f"{literal(n)}: {_value(sql, (*path, n), k, values)}" for n, k in fields.items())
    return f"{{{', '.join(inside)}}}"
