"""How DuckDB writes a release: the columns, types and format of the log that was counted.

Everything here sees the released rows only: tables `released` (user, pair, clicks), `shown`
(user, shown) and `pairs` (pair, query, url). So the form of a release says nothing about others.
"""

from pathlib import Path

import duckdb

from slogan.engines.pseudonyms import IdKind
from slogan.errors import SloganError
from slogan.logs.files import identifier
from slogan.logs.rows import PACKINGS, json_pointer, literal, plain_type
from slogan.logs.searchlog import SearchLog

_JSON_NUMBERS = ("UBIGINT", "BIGINT", "DOUBLE", "HUGEINT")
_RELEASED = 'released o JOIN pairs p USING (pair) JOIN shown m USING ("user")'


def column_types(sql: duckdb.DuckDBPyConnection, log: SearchLog, source: str) -> dict[str, str]:
    """The SQL type of each column as it should be written; JSON for a number in JSON Lines."""
    if log.format == "parquet":
        described = sql.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        return {row[0]: plain_type(row[1]) for row in described}
    types = dict.fromkeys(log.columns.names, "VARCHAR")
    if log.format == "jsonl":
        roles = log.columns.roles.values()
        asked = ", ".join(_mostly_numbers(json_pointer(name)) for name in roles)
        found = sql.execute(f"SELECT {asked} FROM {source} WHERE json_valid(line)").fetchall()[0]
        types |= {name: "JSON" for name, numbers in zip(roles, found, strict=True) if numbers}
    return types


def _mostly_numbers(pointer: str) -> str:
    """Whether most rows have a number there: in whatever order, and whatever one user does."""
    kind = f"json_type(line, {literal(pointer)})"
    return f"2 * count_if({kind} IN {_JSON_NUMBERS}) > count_if({kind} <> 'NULL')"


def kind_of_shown(sql: duckdb.DuckDBPyConnection) -> IdKind:
    """What kind of pseudonym looks like the IDs of shown users, which are text."""
    numeric = sql.execute(
        "SELECT bool_and(regexp_full_match(shown, '[1-9][0-9]{0,17}')) FROM shown"
    ).fetchall()[0][0]
    return IdKind(type="integer" if numeric else "text")


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
        f"{_value(sql, roles.get(name, 'NULL'), types[name])} AS {identifier(name)}"
        for name in log.columns.names
    )
    # A log of events gets one row per click back.
    repeated = ", range(o.clicks)" if log.counts_events else ""
    # Integers in their own order, any other ID in that of its bytes.
    order = "TRY_CAST(m.shown AS HUGEINT) NULLS LAST, m.shown, p.query, p.url"
    try:
        sql.execute(f"""
            COPY (SELECT {columns} FROM {_RELEASED} {repeated} ORDER BY {order})
            TO {literal(str(target.absolute()))} ({_options(log)})""")
    except duckdb.ConversionException:
        # DuckDB quotes the value in its message, so that message goes no further.
        raise SloganError(
            "a released value does not fit the type of its column",
            hint="widen the types of the count and user columns, or make them text",
        ) from None


def _value(sql: duckdb.DuckDBPyConnection, place: str, sql_type: str) -> str:
    if sql_type != "JSON":
        return f"CAST({place} AS {sql_type})"
    # A number in JSON stays one if all that is released in its column are whole numbers.
    whole = sql.execute(
        f"SELECT count(*) FROM {_RELEASED} WHERE TRY_CAST({place} AS BIGINT) IS NULL"
    ).fetchall()[0][0]
    return f"CAST({place} AS {'VARCHAR' if whole else 'BIGINT'})"


def _options(log: SearchLog) -> str:
    if log.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packing = PACKINGS[log.compression]
    if log.format == "jsonl":
        return f"FORMAT json, COMPRESSION {packing}"
    raw = "" if log.format == "csv" else "DELIMITER '\t', QUOTE '', ESCAPE '', "
    return f"FORMAT csv, {raw}HEADER {log.header}, COMPRESSION {packing}"
