"""How DuckDB writes a release: the columns, types and format of the log that was counted.

Everything here sees the released rows only: tables `released` (user, pair, clicks), `shown`
(user, shown) and `pairs` (pair, query, url). So the form of a release says nothing about others.
"""

from pathlib import Path

import duckdb

from slogan.errors import SloganError
from slogan.logs.files import identifier
from slogan.logs.rows import copy_options, literal, plain_type
from slogan.logs.searchlog import SearchLog

_RELEASED = 'released o JOIN pairs p USING (pair) JOIN shown m USING ("user")'


def column_types(sql: duckdb.DuckDBPyConnection, log: SearchLog, source: str) -> dict[str, str]:
    """The SQL type of each column as it should be written: as declared, or else text.

    Values decide nothing: a type that one user's row could change would betray the row.
    """
    if log.format == "parquet":
        described = sql.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        return {row[0]: plain_type(row[1]) for row in described}
    types = dict.fromkeys(log.columns.names, "VARCHAR")
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
        log.columns.url: "p.url",
        log.columns.count: "o.clicks",
    }
    columns = ", ".join(
        f"CAST({roles.get(name, 'NULL')} AS {types[name]}) AS {identifier(name)}"
        for name in log.columns.names
    )
    # A log of events gets one row per click back.
    repeated = ", range(o.clicks)" if log.counts_events else ""
    # Integers in their own order, any other ID in that of its bytes.
    order = "TRY_CAST(m.shown AS HUGEINT) NULLS LAST, m.shown, p.query, p.url"
    options = copy_options(log.format, log.compression, header=log.header)
    try:
        sql.execute(f"""
            COPY (SELECT {columns} FROM {_RELEASED} {repeated} ORDER BY {order})
            TO {literal(str(target.absolute()))} ({options})""")
    except duckdb.ConversionException:
        # DuckDB quotes the value in its message, so that message goes no further.
        raise SloganError(
            "a released value does not fit the type of its column",
            hint="widen the types of the count and user columns, or make them text",
        ) from None
