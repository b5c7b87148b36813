"""DuckDBEngine: counts one log with DuckDB and writes outputs for it."""

from __future__ import annotations

import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.engines.duckdb import DuckDB
from slogan.engines.duckdb.matching import renumbered, save_texts
from slogan.engines.duckdb.rejects import raise_if_bad
from slogan.engines.duckdb.writing import column_types, kind_of_shown, write_log
from slogan.engines.engine import Counted, Whose
from slogan.engines.numbering import none_beside
from slogan.engines.pseudonyms import IdKind, kind_of_type
from slogan.errors import BadRowError, EmptyLogError, LogFormatError, OptionError
from slogan.histogram import LogSize, Output, PairHistogram
from slogan.logs.rows import (
    MOST_CLICKS,
    NO_CLICK,
    Fields,
    fields_of,
    literal,
    parquet_sql,
    rows_sql,
    source_sql,
)
from slogan.logs.searchlog import SearchLog
from slogan.progress import Progress, silent
from slogan.storage.database import clearly, connected, limit_memory, no_room, reason
from slogan.storage.folders import Held, cleaning, scratch

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGERS = {*_SIGNED, *(f"U{name}" for name in _SIGNED)}


class DuckDBEngine:
    """Counts one log and writes outputs for it."""

    arrived: tuple[str, ...] = ()

    def __init__(self, settings: DuckDB, _progress: Progress = silent) -> None:
        private = scratch()
        self._folder = private.path
        self._sql = connected(spill=self._folder)
        self._close = weakref.finalize(self, _dispose, self._sql, private)
        self._settings = settings
        if settings.memory_limit is not None:
            self._limit_memory(settings.memory_limit)
        self._log: SearchLog | None = None
        self._result: Counted | None = None
        self._parts: dict[str, str] = {}
        self._types: dict[str, str] = {}

    def _limit_memory(self, limit: str) -> None:
        try:
            limit_memory(self._sql, limit)
        except OptionError:
            self.close()
            raise

    @clearly()
    def count(self, log: SearchLog, *, unique_pairs: bool = False) -> Counted:
        if self._log is not None:
            raise RuntimeError("an engine counts one log; make another")
        self._log = log
        source = self._open(log)
        try:
            # Rows as they were read, without the texts of those that are not counted.
            self._sql.execute(f"""
                CREATE TABLE rows AS
                SELECT CASE WHEN reason IS NULL THEN "user" END AS name,
                       CASE WHEN reason IS NULL THEN query END AS query,
                       CASE WHEN reason IS NULL THEN url END AS url,
                       CASE WHEN reason IS NULL THEN clicks END AS clicks, reason
                FROM ({rows_sql(source, self._typed(fields_of(log), source))})""")
        except duckdb.OutOfMemoryException:
            raise no_room() from None
        except duckdb.Error as cause:
            if reason(cause):
                raise
            # DuckDB quotes the offending text in its message, so that message goes no further.
            raise LogFormatError(
                f"the log cannot be read as {log.format}",
                hint="check that the files are complete, with one kind of line end, and --format",
            ) from None
        skipped = raise_if_bad(self._sql, log, self._parts)
        self._types = column_types(self._sql, log, source)
        self._result = self._counted(skipped, unique_pairs=unique_pairs)
        return self._result

    def _typed(self, fields: Fields, source: str) -> Fields:
        """Let integer user-IDs be integers; as texts they are the same, and numbered the same."""
        about = self._sql.execute(f"DESCRIBE SELECT {fields.user} FROM {source}").fetchall()
        whole = about[0][1] in _INTEGERS
        return replace(fields, user_type=about[0][1]) if whole else fields

    def _open(self, log: SearchLog) -> str:
        """SQL that reads the whole log; SQL for its parts is kept by their names."""
        if log.table is not None:
            whole = self._table_source(log.table)
            self._parts = {"the table": whole}
        else:
            whole = source_sql(log, log.files, keep_rejects=True)
            self._parts = {
                str(file): source_sql(log, (file,), keep_rejects=False) for file in log.files
            }
        return whole

    def _table_source(self, table: Any) -> str:
        if hasattr(table, "sink_parquet") or hasattr(table, "write_parquet"):
            # Polars and DuckDB tables pass through a private file: no pyarrow needed.
            file = self._folder / "table.parquet"
            write = getattr(table, "sink_parquet", None) or table.write_parquet
            write(str(file))
            return parquet_sql(file)
        self._sql.register("source", table)
        return "source"

    def _counted(self, skipped: dict[str, int], *, unique_pairs: bool) -> Counted:
        clicks, no_click = self._sql.execute(f"""
            SELECT coalesce(sum(clicks), 0)::HUGEINT, count(*) FILTER (reason = {literal(NO_CLICK)})
            FROM rows""").fetchall()[0]
        if clicks == 0:
            raise EmptyLogError(
                f"the log holds no click ({no_click} rows without one)",
                hint="check that --url names the column of the clicked url",
            )
        if clicks > MOST_CLICKS:
            raise BadRowError(
                f"the counts of the log sum to {clicks}, more than 2^53",
                hint="count in a coarser unit, or split the log",
                reason="count huge",
            )
        users, pairs = self._number_texts(unique_pairs=unique_pairs)
        return Counted(
            rows=self._histogram(),
            clicks=int(clicks),
            users=users,
            pairs=pairs,
            rows_without_click=no_click,
            bad_rows=skipped,
        )

    def _number_texts(self, *, unique_pairs: bool) -> tuple[int, int]:
        """Number users, pairs and their queries by text, so that row order is moot.

        Returns how many users and how many pairs the log has.
        """
        users = self._sql.execute("""
            CREATE TABLE people AS
            SELECT row_number() OVER (ORDER BY name::VARCHAR) - 1 AS person, name
            FROM (SELECT DISTINCT name FROM rows WHERE reason IS NULL)""").fetchall()[0][0]
        # A pair is shared if its first and last user differ. Of pairs that are not kept, only the
        # number counts.
        kept = "TRUE" if unique_pairs else "min(name) <> max(name)"
        pairs = self._sql.execute(f"""
            CREATE TABLE held AS
            SELECT CASE WHEN kept THEN query END AS query, CASE WHEN kept THEN url END AS url
            FROM (SELECT query, url, {kept} AS kept FROM rows
                  WHERE reason IS NULL GROUP BY query, url)""").fetchall()[0][0]
        self._sql.execute("""
            CREATE TABLE pairs AS
            SELECT row_number() OVER (ORDER BY query, url) - 1 AS pair,
                   dense_rank() OVER (ORDER BY query) - 1 AS query_number, query, url
            FROM held WHERE query IS NOT NULL;
            DROP TABLE held""")
        return users, pairs

    def _histogram(self) -> PairHistogram:
        """Count the clicks on the numbered pairs; only their users keep a number and a name."""
        rows = self._sql.execute("""
            SELECT person, pair, clicks
            FROM rows JOIN pairs USING (query, url) JOIN people USING (name)""").fetchnumpy()
        query = self._sql.execute("SELECT query_number FROM pairs ORDER BY pair").fetchnumpy()
        person = _ints(rows["person"])
        seen = np.bincount(person) > 0
        kept = np.flatnonzero(seen)
        self._sql.register("kept", {"person": kept, "user": np.arange(len(kept))})
        self._sql.execute("""
            CREATE TABLE users AS
            SELECT "user", name::VARCHAR AS name FROM people JOIN kept USING (person);
            DROP TABLE people""")
        self._sql.unregister("kept")
        return PairHistogram.of_rows(
            user=(np.cumsum(seen) - 1)[person],
            pair=_ints(rows["pair"]),
            count=_ints(rows["clicks"]),
            users=len(kept),
            query=_ints(query["query_number"]),
        )

    @property
    def _asked(self) -> SearchLog:
        if self._log is None:
            raise RuntimeError("count a log first")
        return self._log

    @clearly()
    def count_beside(self, log: SearchLog, users: Whose) -> PairHistogram:
        first = self._counted_log
        other = DuckDBEngine(self._settings)
        try:
            second = other.count(log, unique_pairs=True)
            save_texts(other._sql, self._folder)
        except EmptyLogError:
            return none_beside(first.hist)
        finally:
            other.close()
        return renumbered(self._sql, first.hist, second.hist, self._folder, users)

    @property
    def _counted_log(self) -> Counted:
        if self._result is None:
            raise RuntimeError("count a log first")
        return self._result

    @clearly()
    def sizes(self) -> tuple[LogSize, LogSize]:
        counted = self._counted_log
        hist = counted.hist
        queries, urls = self._different("rows")
        whole = LogSize(
            clicks=counted.clicks,
            users=counted.users,
            queries=queries,
            urls=urls,
            pairs=counted.pairs,
        )
        queries, urls = self._different("pairs")
        shared = LogSize(
            clicks=hist.clicks, users=hist.users, queries=queries, urls=urls, pairs=hist.pairs
        )
        return whole, shared

    def _different(self, table: str) -> tuple[int, int]:
        """How many queries and urls a table holds; a row that is not counted has none."""
        return self._sql.execute(
            f"SELECT count(DISTINCT query), count(DISTINCT url) FROM {table}"
        ).fetchall()[0]

    @clearly()
    def urls(self, pairs: Ints) -> list[str]:
        self._sql.register("asked", {"pair": pairs})
        found = self._sql.execute(
            "SELECT url FROM pairs SEMI JOIN asked USING (pair) ORDER BY pair"
        )
        urls = [row[0] for row in found.fetchall()]
        self._sql.unregister("asked")
        return urls

    @clearly()
    def id_kind(self, output: Output | None) -> IdKind:
        fitting = kind_of_type(self._types[self._asked.columns.user])
        if fitting is not None or output is None:
            return fitting or IdKind(type="integer")
        self._remember_names(output, None)
        return kind_of_shown(self._sql)

    @clearly()
    def write(self, output: Output, pseudonyms: list[str] | None, target: Path) -> None:
        self._remember_names(output, pseudonyms)
        write_log(self._sql, self._asked, self._types, target)

    @clearly()
    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        self._remember_names(output, pseudonyms)
        self._sql.execute(f"""
            COPY (SELECT u.name AS "user", m.shown AS pseudonym
                  FROM shown m JOIN users u USING ("user") ORDER BY u.name)
            TO {literal(str(target.absolute()))} (FORMAT parquet)""")

    @clearly()
    def write_users(self, users: Ints, target: Path) -> None:
        self._sql.register("chosen_users", {"user": users})
        self._sql.execute(f"""
            COPY (SELECT name AS "user" FROM users SEMI JOIN chosen_users USING ("user")
                  ORDER BY name)
            TO {literal(str(target.absolute()))} (FORMAT parquet)""")
        self._sql.unregister("chosen_users")

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


def _dispose(connection: duckdb.DuckDBPyConnection, private: Held) -> None:
    with cleaning():
        connection.interrupt()  # after a signal a query may still be running
        connection.close()
        private.remove()


ENGINE = DuckDBEngine
