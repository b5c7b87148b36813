"""The default engine: DuckDB, embedded, streaming from files and spilling to a private folder."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.detection import decompressed
from slogan.engines import Counted
from slogan.engines._rejects import raise_if_bad
from slogan.engines._sources import (
    MOST_CLICKS,
    NO_CLICK,
    fields_of,
    identifier,
    json_pointer,
    literal,
    rows_sql,
    source_sql,
)
from slogan.errors import EmptyLogError, HugeCountError, LogFormatError, SloganError
from slogan.histogram import LogSize, PairHistogram
from slogan.pseudonyms import IdKind
from slogan.sampling import Output
from slogan.searchlog import SearchLog

_INTEGER_LIMITS = {
    "TINYINT": 2**7 - 1,
    "SMALLINT": 2**15 - 1,
    "INTEGER": 2**31 - 1,
    "BIGINT": 2**53 - 1,
    "HUGEINT": 2**53 - 1,
    "UTINYINT": 2**8 - 1,
    "USMALLINT": 2**16 - 1,
    "UINTEGER": 2**32 - 1,
    "UBIGINT": 2**53 - 1,
    "UHUGEINT": 2**53 - 1,
}


class DuckDBEngine:
    """Counts one log and writes outputs for it."""

    def __init__(self, *, memory_limit: str | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="slogan-"))  # mode 0700
        self._sql = duckdb.connect(
            config={
                "temp_directory": str(self._folder),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                **({"memory_limit": memory_limit} if memory_limit else {}),
            }
        )
        self._close = weakref.finalize(self, _dispose, self._sql, self._folder)
        self._log: SearchLog | None = None
        self._parts: dict[str, str] = {}

    def count(self, log: SearchLog) -> Counted:
        if self._log is not None:
            raise RuntimeError("an engine counts one log; make another")
        self._log = log
        source = self._open(log)
        try:
            self._sql.execute(f"""
                CREATE TABLE triplets AS
                SELECT CASE WHEN reason IS NULL THEN "user" END AS "user",
                       CASE WHEN reason IS NULL THEN query END AS query,
                       CASE WHEN reason IS NULL THEN url END AS url,
                       reason, sum(clicks) AS clicks, count(*) AS n
                FROM ({rows_sql(source, fields_of(log))}) GROUP BY ALL""")
        except duckdb.OutOfMemoryException:
            raise SloganError(
                "counting ran out of memory and of room to spill",
                hint="raise --memory-limit, or point TMPDIR to a larger disk",
            ) from None
        except duckdb.Error:
            # DuckDB quotes the offending text in its message, so that message goes no further.
            raise LogFormatError(
                f"the log cannot be read as {log.format}",
                hint="check that the files are complete, with one kind of line end, and --format",
            ) from None
        skipped = raise_if_bad(self._sql, log, self._parts)
        return self._counted(skipped)

    def _open(self, log: SearchLog) -> str:
        """SQL that reads the whole log; SQL for its parts is kept by their names."""
        if log.table is not None:
            whole = self._table_source(log.table)
            self._parts = {"the table": whole}
        else:
            packed = log.compression if log.format == "parquet" else ""
            files = tuple(decompressed(f, packed, self._folder) for f in log.files)
            whole = source_sql(log, files, keep_rejects=True)
            self._parts = {
                str(named): source_sql(log, (file,), keep_rejects=False)
                for named, file in zip(log.files, files, strict=True)
            }
        return whole

    def _table_source(self, table: Any) -> str:
        if hasattr(table, "sink_parquet") or hasattr(table, "write_parquet"):
            # Polars and DuckDB tables pass through a private file: no pyarrow needed.
            file = self._folder / "table.parquet"
            write = getattr(table, "sink_parquet", None) or table.write_parquet
            write(str(file))
            return f"read_parquet({literal(str(file))})"
        self._sql.register("source", table)
        return "source"

    def _counted(self, skipped: dict[str, int]) -> Counted:
        clicks, users, no_click = self._sql.execute(f"""
            SELECT coalesce(sum(clicks) FILTER (reason IS NULL), 0)::HUGEINT,
                   count(DISTINCT "user"),
                   coalesce(sum(n) FILTER (reason = {literal(NO_CLICK)}), 0)::BIGINT
            FROM triplets""").fetchall()[0]
        if clicks == 0:
            raise EmptyLogError(
                f"the log holds no click ({no_click} rows without one)",
                hint="check that --url names the column of the clicked url",
            )
        if clicks > MOST_CLICKS:
            raise HugeCountError(
                f"the counts of the log sum to {clicks}, more than 2^53",
                hint="count in a coarser unit, or split the log",
            )
        pairs = self._number_pairs()
        return Counted(
            hist=self._histogram(),
            clicks=int(clicks),
            users=users,
            pairs=pairs,
            id_kind=self._id_kind(),
            rows_without_click=no_click,
            bad_rows=skipped,
        )

    def _number_pairs(self) -> int:
        """Number shared pairs, their queries and their users by text, so that row order is moot."""
        self._sql.execute("""
            CREATE TABLE held AS
            SELECT query, url, count(*) AS holders FROM triplets WHERE reason IS NULL
            GROUP BY query, url;
            CREATE TABLE pairs AS
            SELECT row_number() OVER (ORDER BY query, url) - 1 AS pair,
                   dense_rank() OVER (ORDER BY query) - 1 AS query_number, query, url
            FROM held WHERE holders >= 2;
            CREATE TABLE shared AS
            SELECT t."user" AS name, p.pair, t.clicks::BIGINT AS clicks
            FROM triplets t JOIN pairs p ON t.query = p.query AND t.url = p.url;
            CREATE TABLE users AS
            SELECT row_number() OVER (ORDER BY name) - 1 AS "user", name
            FROM (SELECT DISTINCT name FROM shared)""")
        return self._sql.execute("SELECT count(*) FROM held").fetchall()[0][0]

    def _histogram(self) -> PairHistogram:
        rows = self._sql.execute("""
            SELECT u."user", s.pair, s.clicks FROM shared s JOIN users u ON s.name = u.name
            ORDER BY u."user", s.pair""").fetchnumpy()
        query = self._sql.execute("SELECT query_number FROM pairs ORDER BY pair").fetchnumpy()
        users = self._sql.execute("SELECT count(*) FROM users").fetchall()[0][0]
        return PairHistogram(
            user=_ints(rows["user"]),
            pair=_ints(rows["pair"]),
            count=_ints(rows["clicks"]),
            users=users,
            pairs=len(query["query_number"]),
            query=_ints(query["query_number"]),
        )

    def _id_kind(self) -> IdKind:
        kind = self._types()[self._asked.columns.user]
        if kind in _INTEGER_LIMITS:
            return IdKind(type="integer", limit=_INTEGER_LIMITS[kind])
        if kind == "UUID":
            return IdKind(type="uuid")
        digits = self._sql.execute("""
            SELECT bool_and(regexp_full_match("user", '[1-9][0-9]{0,17}')) FROM triplets
            WHERE reason IS NULL""").fetchall()[0][0]
        return IdKind(type="integer" if digits else "text")

    @property
    def _asked(self) -> SearchLog:
        if self._log is None:
            raise RuntimeError("count a log first")
        return self._log

    def _types(self) -> dict[str, str]:
        """The SQL type of each column of the log, as it should be written."""
        log = self._asked
        first = next(iter(self._parts.values()))
        if log.format == "parquet":
            found = self._sql.execute(f"DESCRIBE SELECT * FROM {first}").fetchall()
            return {row[0]: row[1] for row in found}
        types = dict.fromkeys(log.columns.names, "VARCHAR")
        if log.format == "jsonl":
            types |= self._json_types(log, first)
        return types

    def _json_types(self, log: SearchLog, source: str) -> dict[str, str]:
        """BIGINT for roles whose first value is a JSON number, so that it is written as one."""
        roles = {log.columns.user, log.columns.count} - {None}
        line = self._sql.execute(f"SELECT line FROM {source} LIMIT 1").fetchall()[0][0]
        typed: dict[str, str] = {}
        for name in roles:
            asked = [line, json_pointer(str(name))]
            kind = self._sql.execute("SELECT json_type($1, $2)", asked).fetchall()[0][0]
            if kind in ("UBIGINT", "BIGINT"):
                typed[str(name)] = "BIGINT"
        return typed

    def sizes(self) -> tuple[LogSize, LogSize]:
        whole = """SELECT sum(clicks)::BIGINT, count(DISTINCT "user"), count(DISTINCT query),
                   count(DISTINCT url), (SELECT count(*) FROM held)
                   FROM triplets WHERE reason IS NULL"""
        shared = """SELECT (SELECT coalesce(sum(clicks), 0)::BIGINT FROM shared),
                    (SELECT count(*) FROM users), count(DISTINCT query), count(DISTINCT url),
                    count(*) FROM pairs"""
        return self._size(whole), self._size(shared)

    def _size(self, sql: str) -> LogSize:
        clicks, users, queries, urls, pairs = self._sql.execute(sql).fetchall()[0]
        return LogSize(clicks=clicks, users=users, queries=queries, urls=urls, pairs=pairs)

    def write(self, output: Output, pseudonyms: list[str] | None, target: Path) -> None:
        log = self._asked
        self._remember_names(output, pseudonyms)
        types = self._types()
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
        self._sql.execute(f"""
            COPY (SELECT {columns}
                  FROM released o JOIN pairs p USING (pair) JOIN shown m USING ("user") {repeated}
                  ORDER BY {_order("m.shown")}, p.query, p.url)
            TO {literal(str(target))} ({_copy_options(log)})""")

    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        self._remember_names(output, pseudonyms)
        self._sql.execute(f"""
            COPY (SELECT u.name AS "user", m.shown AS pseudonym
                  FROM shown m JOIN users u USING ("user") ORDER BY u.name)
            TO {literal(str(target))} (FORMAT parquet)""")

    def _remember_names(self, output: Output, pseudonyms: list[str] | None) -> None:
        released = {"user": output.user, "pair": output.pair, "clicks": output.count}
        self._sql.register("released_arrays", released)
        self._sql.execute("CREATE OR REPLACE TABLE released AS FROM released_arrays")
        self._sql.unregister("released_arrays")
        if pseudonyms is None:
            real = 'SELECT "user", name AS shown FROM users'
            self._sql.execute(f"CREATE OR REPLACE TABLE shown AS {real}")
            return
        numbers = np.unique(output.user)
        names = np.array(pseudonyms, dtype=object)
        self._sql.register("shown_arrays", {"user": numbers, "shown": names})
        self._sql.execute("CREATE OR REPLACE TABLE shown AS FROM shown_arrays")
        self._sql.unregister("shown_arrays")

    def close(self) -> None:
        self._close()


def _ints(column: Any) -> Ints:
    return np.ascontiguousarray(column, dtype=np.int64)


def _order(name: str) -> str:
    # Integers in their own order, any other text in that of its bytes.
    return f"TRY_CAST({name} AS HUGEINT) NULLS LAST, {name}"


def _copy_options(log: SearchLog) -> str:
    if log.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packing = {"": "none", ".gz": "gzip", ".zst": "zstd"}[log.compression]
    if log.format == "jsonl":
        return f"FORMAT json, COMPRESSION {packing}"
    raw = "" if log.format == "csv" else "DELIMITER '\t', QUOTE '', ESCAPE '', "
    return f"FORMAT csv, {raw}HEADER {log.header}, COMPRESSION {packing}"


def _dispose(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


ENGINE = DuckDBEngine
