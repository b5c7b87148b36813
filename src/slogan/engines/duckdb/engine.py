"""DuckDBEngine: counts one log with DuckDB and writes outputs for it."""

import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.engines.duckdb import DuckDB, events
from slogan.engines.duckdb.rejects import raise_if_bad
from slogan.engines.duckdb.writing import column_types, write_log
from slogan.engines.engine import (
    Advice,
    Beside,
    Counted,
    Whose,
    none_beside,
    require_clicks,
    require_counted,
    require_text,
    with_numbers_of,
)
from slogan.engines.events import EventTypes, event_types, events_of, to_write
from slogan.engines.pseudonyms import INTEGERS, IdKind, id_kind
from slogan.errors import EmptyLogError, LogFormatError, OptionError
from slogan.histogram import Events, LogSize, MadeEvents, Output, PairHistogram
from slogan.logs import ubi_sql
from slogan.logs.files import unreadable
from slogan.logs.fold import folded_query, folded_url
from slogan.logs.rows import (
    NO_CLICK,
    fields_of,
    literal,
    parquet_sql,
    rows_sql,
    source_sql,
    whole_lines,
)
from slogan.logs.searchlog import SearchLog, declared_table
from slogan.logs.vocabulary import Pair
from slogan.progress import Progress, silent
from slogan.storage.database import clearly, connected, limit_memory, reason
from slogan.storage.folders import Held, cleaning, scratch

_QUERIES = "SELECT query, any_value(query_number) AS query_number"
_KNOWN = "(reason IS NULL OR search)"
"""Rows of which the texts are kept with events: those that count, and searches without a click."""


class DuckDBEngine:
    """Counts one log and writes outputs for it.

    What the numbers of its histogram stand for is in the tables `pairs` (pair, query_number, query,
    url) and `users` (user, name).
    """

    arrived: tuple[str, ...] = ()

    def __init__(self, settings: DuckDB, _progress: Progress = silent) -> None:
        private = scratch()
        self._folder = private.path
        self._sql = connected(spill=self._folder)
        self._close = weakref.finalize(self, _dispose, self._sql, private)
        self._settings = settings
        self._log: SearchLog | None = None
        self._result: Counted | None = None
        self._types: dict[str, str] = {}
        self._moments: EventTypes | None = None
        if settings.memory_limit is not None:
            try:
                limit_memory(self._sql, settings.memory_limit)
            except OptionError:
                self.close()
                raise

    @clearly()
    def count(
        self,
        log: SearchLog,
        *,
        unique_pairs: bool = False,
        listed: Sequence[Pair] = (),
        with_events: bool = False,
    ) -> Counted:
        if self._log is not None:
            raise RuntimeError("an engine counts one log; make another")
        self._log = log
        source, parts, places = self._sources(log)
        try:
            self._types = column_types(self._sql, log, source)
            self._sql.execute(f"CREATE TABLE rows AS {self._kept_rows(log, source, with_events)}")
        except duckdb.Error as cause:
            if isinstance(cause, duckdb.OutOfMemoryException) or reason(cause):
                raise
            # DuckDB quotes the offending text in its message, so that message goes no further.
            raise LogFormatError(
                f"the log cannot be read as {log.format}",
                hint="check that the files are complete, and --format",
            ) from None
        bad = raise_if_bad(self._sql, log, parts, places)
        clicks, no_click = self._one(f"""
            SELECT coalesce(sum(clicks) FILTER (reason IS NULL), 0)::HUGEINT,
                   count(*) FILTER (reason = {literal(NO_CLICK)})
            FROM rows""")
        if log.format == "ubi" and clicks == 0:
            raise EmptyLogError(
                "no event of the log is a click with an object_id",
                hint="name the action_name of clicks: --click-action NAME; if the log has queries "
                "only, add --url none; to count searches without a click, --searches all",
            )
        require_clicks(clicks, no_click)
        if listed:
            require_text(self._types, log.columns, "VARCHAR")
        self._list(listed, fold=log.fold)
        users, pairs = self._number_texts(unique_pairs=unique_pairs)
        self._result = Counted(
            rows=self._histogram(),
            clicks=int(clicks),
            users=users,
            pairs=pairs,
            rows_without_click=no_click,
            bad_rows=bad.reasons,
            bad_users=bad.users,
            listed=self._ints("SELECT pair FROM pairs SEMI JOIN listed USING (query, url)")[0],
        )
        return self._result

    def _list(self, pairs: Sequence[Pair], *, fold: bool) -> None:
        """Make the table of public pairs, read as the log is."""
        query, url = (folded_query("query"), folded_url("url")) if fold else ("query", "url")
        texts = np.array(pairs, dtype=object).reshape(-1, 2)
        self._make("listed", query=texts[:, 0], url=texts[:, 1])
        self._sql.execute(f"""
            CREATE OR REPLACE TABLE listed AS
            SELECT DISTINCT {query} AS query, {url} AS url
            FROM (SELECT query::VARCHAR AS query, url::VARCHAR AS url FROM listed)
            WHERE query <> ''""")

    def _sources(self, log: SearchLog) -> tuple[str, dict[str, str], dict[str, Path]]:
        """SQL of the whole log, SQL of its parts by name, and the file behind each path read."""
        if log.table is None:
            files = whole_lines(log, self._folder)
            places = {str(read.absolute()): f for read, f in zip(files, log.files, strict=True)}
            parts = {
                str(f): source_sql(log, (read,), keep_rejects=False)
                for read, f in zip(files, log.files, strict=True)
            }
            return source_sql(log, files, keep_rejects=True), parts, places
        whole = "source"
        table = declared_table(log)
        if hasattr(table, "sink_parquet") or hasattr(table, "write_parquet"):
            # Polars and DuckDB tables pass through a private file: no pyarrow needed.
            file = self._folder / "table.parquet"
            write = getattr(table, "sink_parquet", None) or table.write_parquet
            write(str(file))
            whole = parquet_sql(file)
        else:
            self._sql.register(whole, table)
        return whole, {"the table": whole}, {}

    def _kept_rows(self, log: SearchLog, source: str, with_events: bool) -> str:
        """SQL of the rows as they were read, without the texts of those that are not counted.

        Integer user-IDs stay integers: as texts they are numbered the same. With events, searches
        without a click keep their texts too.
        """
        more, known, beside = "", "reason IS NULL", None
        if with_events:
            self._moments = types = event_types(log, self._types)
            known, beside = _KNOWN, events.beside(log, types)
            more = ", search" + "".join(
                f", CASE WHEN {known} THEN {value} END AS {name}"
                for name, value in events.kept(log, types).items()
            )
        if log.format == "ubi":
            rows = ubi_sql.rows_sql(source, log, beside)
        else:
            fields = fields_of(log)
            kind = self._one(f"DESCRIBE SELECT {fields.user} FROM {source}")[1]
            fields = replace(fields, user_type=kind) if kind in INTEGERS else fields
            rows = rows_sql(source, fields, beside)
        return f"""
            SELECT CASE WHEN {known} THEN "user" END AS name,
                   CASE WHEN {known} THEN query END AS query,
                   CASE WHEN reason IS NULL THEN url END AS url,
                   CASE WHEN {known} THEN clicks END AS clicks, reason,
                   CASE WHEN reason IS NOT NULL THEN hash("user") END AS bad_user {more}
            FROM ({rows})"""

    def _number_texts(self, *, unique_pairs: bool) -> tuple[int, int]:
        """Number users, pairs and their queries by text, so that row order is moot.

        Returns how many users and how many pairs the log has.
        """
        (users,) = self._one("""
            CREATE TABLE people AS
            SELECT row_number() OVER (ORDER BY name::VARCHAR) - 1 AS person, name
            FROM (SELECT DISTINCT name FROM rows WHERE reason IS NULL)""")
        # A pair is shared if its first and last user differ. Of pairs that are not kept, only the
        # number counts.
        kept = "TRUE" if unique_pairs else "min(name) <> max(name)"
        (pairs,) = self._one(f"""
            CREATE TABLE held AS
            SELECT CASE WHEN kept THEN query END AS query, CASE WHEN kept THEN url END AS url
            FROM (SELECT query, url, {kept} AS kept FROM rows
                  WHERE reason IS NULL GROUP BY query, url)""")
        self._sql.execute("""
            CREATE TABLE pairs AS
            SELECT row_number() OVER (ORDER BY query, url) - 1 AS pair,
                   dense_rank() OVER (ORDER BY query) - 1 AS query_number, query, url
            FROM (SELECT query, url FROM held WHERE query IS NOT NULL
                  UNION ALL FROM (FROM listed ANTI JOIN held USING (query, url)));
            DROP TABLE held""")
        return users, pairs

    def _histogram(self) -> PairHistogram:
        """Count the clicks on the numbered pairs; only their users keep a number and a name."""
        person, pair, clicks = self._ints("""
            SELECT person, pair, clicks
            FROM rows JOIN pairs USING (query, url) JOIN people USING (name)""")
        (query,) = self._ints("SELECT query_number FROM pairs ORDER BY pair")
        seen = np.bincount(person) > 0
        numbered = np.flatnonzero(seen)
        self._make("numbered", person=numbered, user=np.arange(len(numbered)))
        self._sql.execute("""
            CREATE TABLE users AS
            SELECT "user", name::VARCHAR AS name FROM people JOIN numbered USING (person);
            DROP TABLE people; DROP TABLE numbered""")
        return PairHistogram.of_rows(
            user=(np.cumsum(seen) - 1)[person],
            pair=pair,
            count=clicks,
            users=len(numbered),
            query=query,
        )

    @clearly()
    def events(self) -> Events:
        return self._events_known(None)[0]

    def _events_known(self, queries: str | None) -> tuple[Events, Ints]:
        """The events; and the number that the query of each has in another table, if it is there.

        The query of a search is known if a pair has it; the numbers in the table are −1 if not.
        """
        log, types = require_counted(self._log), require_counted(self._moments)
        counted, kept = require_counted(self._result), events.kept(log, types)
        self._sql.execute(f"""
            CREATE OR REPLACE TEMP VIEW everyone AS
            SELECT "user", name FROM users
            UNION ALL
            SELECT {counted.hist.users} - 1 + row_number() OVER (ORDER BY name) AS "user", name
            FROM (SELECT DISTINCT name::VARCHAR AS name FROM rows WHERE search)
            ANTI JOIN users USING (name)""")
        sessions = f"""LEFT JOIN (
            SELECT row_number() OVER (ORDER BY e."user", session) - 1 AS number, "user", session
            FROM (SELECT DISTINCT name::VARCHAR AS name, session FROM rows
                  WHERE {_KNOWN} AND session IS NOT NULL) JOIN everyone e USING (name)) s
            ON s."user" = e."user" AND s.session = r.session"""
        found = self._sql.execute(f"""
            SELECT e."user",
                   {"r.second," if "second" in kept else ""}
                   coalesce(p.pair, -1) AS pair,
                   {"r.rank," if "rank" in kept else ""}
                   {"coalesce(s.number, -1)::INTEGER AS session," if "session" in kept else ""}
                   coalesce(p.query_number, q.query_number, -1) AS query, r.clicks AS count,
                   {"coalesce(k.query_number, -1)" if queries else "-1"} AS known
            FROM rows r JOIN everyone e ON e.name = r.name::VARCHAR
            LEFT JOIN pairs p ON p.query = r.query AND p.url = r.url
            LEFT JOIN ({_QUERIES} FROM pairs GROUP BY query) q ON q.query = r.query
            {_known_by(queries) if queries else ""}
            {sessions if "session" in kept else ""} WHERE {_KNOWN} ORDER BY ALL""").fetchnumpy()
        return events_of(found, log), np.ascontiguousarray(found["known"], dtype=np.int64)

    @clearly()
    def count_beside(self, log: SearchLog, users: Whose, *, with_events: bool = False) -> Beside:
        first = require_counted(self._result).hist
        other = DuckDBEngine(self._settings)
        theirs = {name: self._folder / f"beside-{name}.parquet" for name in ("pairs", "users")}
        found, mine = None, self._folder / "pairs.parquet"
        try:
            second = other.count(log, unique_pairs=True, with_events=with_events).hist
            for table, file in theirs.items():
                other._copy(f"FROM {table}", file)
            if with_events:
                self._copy("SELECT query, query_number FROM pairs", mine)
                found = other._events_known(parquet_sql(mine))
        except EmptyLogError:
            return none_beside(first)
        finally:
            other.close()
        pair, query = self._known_pairs(parquet_sql(theirs["pairs"]))
        user = self._known_users(parquet_sql(theirs["users"]), users)
        return with_numbers_of(first, second, user=user, pair=pair, query=query, events=found)

    def _known_pairs(self, theirs: str) -> list[Ints]:
        """For each pair of the second log the number it has in the first, and that of its query."""
        return self._ints(f"""
            SELECT coalesce(p.pair, -1) AS pair, coalesce(q.query_number, -1) AS query_number
            FROM {theirs} t LEFT JOIN pairs p USING (query, url)
            LEFT JOIN (SELECT query, any_value(query_number) AS query_number FROM pairs
                       SEMI JOIN {theirs} USING (query) GROUP BY query) q ON q.query = t.query
            ORDER BY t.pair""")

    def _known_users(self, theirs: str, users: Whose) -> Ints:
        """For each user of the second log the number they have in the first, or −1."""
        name = "name" if users == "same" else "NULL::VARCHAR"
        names = f'SELECT "user", {name} AS name FROM {theirs}'
        if isinstance(users, Path):
            names = f"""SELECT t."user", n.name FROM {theirs} t LEFT JOIN
                (SELECT pseudonym::VARCHAR AS shown, min("user"::VARCHAR) AS name
                 FROM {parquet_sql(users)} GROUP BY shown) n ON n.shown = t.name"""
        try:
            return self._ints(f"""
                SELECT coalesce(u."user", -1) AS "user"
                FROM ({names}) t LEFT JOIN users u USING (name) ORDER BY t."user" """)[0]
        except duckdb.Error as cause:
            if not isinstance(users, Path) or isinstance(cause, duckdb.OperationalError):
                raise
            raise unreadable(users) from None  # what DuckDB says may quote a user-ID

    @clearly()
    def sizes(self) -> tuple[LogSize, LogSize]:
        counted = require_counted(self._result)
        texts = "SELECT count(DISTINCT query), count(DISTINCT nullif(url, '')) FROM "
        whole = f"{texts} rows WHERE reason IS NULL"
        return counted.sizes(self._one(whole), self._one(f"{texts} pairs"))

    @clearly()
    def advice(self) -> Advice:
        query, url = folded_query("query"), folded_url("url")
        pairs, clicks = self._one(f"""
            SELECT count(*), coalesce(sum(clicks), 0) FROM (
                SELECT sum(clicks) AS clicks FROM rows WHERE reason IS NULL
                GROUP BY {query}, {url} HAVING min(name) <> max(name))""")
        queries, of_queries = self._one("""
            SELECT count(*), coalesce(sum(clicks), 0) FROM (
                SELECT sum(clicks) AS clicks FROM rows WHERE reason IS NULL
                GROUP BY query HAVING min(name) <> max(name))""")
        (similar,) = self._one("""
            SELECT coalesce(sum(n), 0) FROM (
                SELECT count(*) AS n FROM (SELECT DISTINCT name::VARCHAR AS name FROM rows
                                           WHERE reason IS NULL)
                GROUP BY regexp_replace(trim(name), '^0+(.)', '\\1') HAVING n > 1)""")
        return Advice(
            fold_pairs=pairs,
            fold_clicks=int(clicks),
            shared_queries=queries,
            query_clicks=int(of_queries),
            similar_users=int(similar),
        )

    @clearly()
    def urls(self, pairs: Ints) -> list[str]:
        self._make("chosen", pair=pairs)
        urls = self._sql.execute(
            "SELECT url FROM pairs SEMI JOIN chosen USING (pair) ORDER BY pair"
        )
        return [url for (url,) in urls.fetchall()]

    @clearly()
    def id_kind(self, *, fresh: bool) -> IdKind | None:
        columns = require_counted(self._log).columns
        return id_kind(self._types[columns.user], self._types.get(columns.count or ""), fresh=fresh)

    @clearly()
    def write(
        self,
        output: Output,
        pseudonyms: list[str] | None,
        target: Path,
        made: MadeEvents | None = None,
    ) -> None:
        self._remember_names(output, pseudonyms)
        log = require_counted(self._log)
        if made is None:
            write_log(self._sql, log, self._types, target)
            return
        types = require_counted(self._moments)
        made = to_write(made, output, pseudonyms, log.columns, types)
        columns = {"user": made.user, "pair": made.pair, "query_number": made.query}
        columns["clicks"] = np.ones_like(made.user)
        of_events = {"second": made.second, "rank": made.rank, "session": made.session}
        filled = {name: values for name, values in of_events.items() if values is not None}
        self._make("released", **columns, **filled)
        write_log(self._sql, log, self._types, target, filled=filled, moments=types)

    @clearly()
    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        self._remember_names(output, pseudonyms)
        table = 'SELECT name AS "user", shown AS pseudonym FROM shown JOIN users USING ("user")'
        self._copy(f"{table} ORDER BY name", target)

    @clearly()
    def write_users(self, users: Ints, target: Path) -> None:
        self._make("chosen", user=users)
        names = 'SELECT name AS "user" FROM users SEMI JOIN chosen USING ("user") ORDER BY name'
        self._copy(names, target)

    def _remember_names(self, output: Output, pseudonyms: list[str] | None) -> None:
        self._make("released", user=output.user, pair=output.pair, clicks=output.count)
        if pseudonyms is None:
            real = 'SELECT "user", name AS shown FROM users SEMI JOIN released USING ("user")'
            self._sql.execute(f"CREATE OR REPLACE TABLE shown AS {real}")
        else:
            names = np.array(pseudonyms, dtype=object)
            self._make("shown", user=np.unique(output.user), shown=names)

    def _make(self, table: str, **columns: np.ndarray) -> None:
        """Make a table of arrays, in place of one of that name."""
        self._sql.register("arrays", columns)
        self._sql.execute(f"CREATE OR REPLACE TABLE {table} AS FROM arrays")
        self._sql.unregister("arrays")

    def _copy(self, statement: str, target: Path) -> None:
        file = literal(str(target.absolute()))
        self._sql.execute(f"COPY ({statement}) TO {file} (FORMAT parquet)")

    def _one(self, statement: str) -> tuple[Any, ...]:
        return self._sql.execute(statement).fetchall()[0]

    def _ints(self, statement: str) -> list[Ints]:
        columns = self._sql.execute(statement).fetchnumpy().values()
        return [np.ascontiguousarray(column, dtype=np.int64) for column in columns]

    def close(self) -> None:
        self._close()


def _known_by(queries: str) -> str:
    return f"LEFT JOIN ({_QUERIES} FROM {queries} GROUP BY query) k ON k.query = r.query"


def _dispose(connection: duckdb.DuckDBPyConnection, private: Held) -> None:
    with cleaning():
        connection.interrupt()  # after a signal a query may still be running
        connection.close()
        private.remove()


ENGINE = DuckDBEngine
