"""How DuckDB writes a release: the columns, types and format of the log that was counted.

Everything here sees the released rows only: tables `released` (user, pair, clicks), `shown`
(user, shown) and `pairs` (pair, query, url). So the form of a release says nothing about others.
"""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from slogan.errors import SloganError
from slogan.logs.files import field_sql, identifier, literal
from slogan.logs.rows import copy_options, plain_type
from slogan.logs.searchlog import SearchLog
from slogan.logs.ubi_sql import lines_sql

_RELEASED = 'released o JOIN pairs p USING (pair) JOIN shown m USING ("user")'


def column_types(sql: duckdb.DuckDBPyConnection, log: SearchLog, source: str) -> dict[str, str]:
    """The SQL type of each column as it should be written: as declared, or else text.

    Values decide nothing: a type that one user's row could change would betray the row.
    """
    if log.format == "parquet":
        described = sql.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        types = {row[0]: plain_type(row[1]) for row in described}
        for name in log.columns.roles.values():
            place = field_sql(log.columns.path(name))
            types[name] = plain_type(str(sql.sql(f"SELECT {place} FROM {source} LIMIT 0").types[0]))
        return types
    types = dict.fromkeys((*log.columns.names, *log.columns.roles.values()), "VARCHAR")
    if log.format == "jsonl" and log.columns.count is not None:
        types[log.columns.count] = "BIGINT"
    return types


def write_log(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, types: dict[str, str], target: Path
) -> None:
    """Write the released rows, sorted by shown user, query and url."""
    roles = {
        log.columns.user: "m.shown",
        log.columns.query: "p.query",
        log.columns.url: "nullif(p.url, '')",
        log.columns.count: "o.clicks",
    }
    values = {
        log.columns.path(name): f"CAST({roles[name]} AS {types[name]})"
        for name in log.columns.roles.values()
    }
    columns = ", ".join(
        f"{_value(sql, (name,), types[name], values)} AS {identifier(name)}"
        for name in log.columns.names
    )
    # A log of events gets one row per click back.
    repeated = ", range(o.clicks)" if log.counts_events else ""
    # Integers in their own order, any other ID in that of its bytes.
    order = "TRY_CAST(m.shown AS HUGEINT) NULLS LAST, m.shown, p.query, p.url"
    options = copy_options(log)
    rows = f"SELECT {columns} FROM {_RELEASED} {repeated} ORDER BY {order}"
    if log.format == "ubi":
        numbered = f"row_number() OVER (ORDER BY {order}) AS n, m.shown, p.query, p.url"
        numbered = f"SELECT {numbered} FROM {_RELEASED} {repeated}"
        rows = lines_sql(log.columns, numbered, log.click_actions[0])
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
