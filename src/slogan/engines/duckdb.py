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
from slogan.engines._writing import column_types, id_kind, write_log
from slogan.errors import EmptyLogError, HugeCountError, LogFormatError, OptionError, SloganError
from slogan.histogram import LogSize, PairHistogram
from slogan.pseudonyms import IdKind
from slogan.rows import MOST_CLICKS, NO_CLICK, fields_of, literal, rows_sql, source_sql
from slogan.sampling import Output
from slogan.searchlog import SearchLog


class DuckDBEngine:
    """Counts one log and writes outputs for it."""

    def __init__(self, *, memory_limit: str | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="slogan-"))  # mode 0700
        self._sql = duckdb.connect(
            config={
                "temp_directory": str(self._folder),
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
            }
        )
        self._close = weakref.finalize(self, _dispose, self._sql, self._folder)
        if memory_limit is not None:
            self._limit_memory(memory_limit)
        self._log: SearchLog | None = None
        self._parts: dict[str, str] = {}
        self._types: dict[str, str] = {}

    def _limit_memory(self, limit: str) -> None:
        try:
            self._sql.execute(f"SET memory_limit = {literal(limit)}")
        except duckdb.Error:
            self.close()
            raise OptionError(
                f"a memory limit of {limit[:20]!r} is not understood",
                hint="write it as 4GB or 500MB",
            ) from None

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
        self._types = column_types(self._sql, log, next(iter(self._parts.values())))
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

    @property
    def _asked(self) -> SearchLog:
        if self._log is None:
            raise RuntimeError("count a log first")
        return self._log

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

    def id_kind(self, output: Output) -> IdKind:
        self._remember_names(output, None)
        return id_kind(self._sql, self._types[self._asked.columns.user])

    def write(self, output: Output, pseudonyms: list[str] | None, target: Path) -> None:
        self._remember_names(output, pseudonyms)
        write_log(self._sql, self._asked, self._types, target)

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
            real = 'SELECT "user", name AS shown FROM users SEMI JOIN released USING ("user")'
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


def _dispose(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.close()
    shutil.rmtree(folder, ignore_errors=True)


ENGINE = DuckDBEngine
