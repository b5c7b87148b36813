"""An input log and a released one side by side, counted and compared with code of their own."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from pathlib import Path

import duckdb

from slogan.errors import LogFormatError, SloganError
from slogan.logs.files import require_modest
from slogan.logs.rows import fields_of, literal, parquet_sql, rows_sql, source_sql, whole_lines
from slogan.logs.searchlog import SearchLog, declared_table
from slogan.storage.database import connected, limit_memory
from slogan.storage.folders import scratch_folder
from slogan.verification.conditions import Factor, Judgement, Profiles, judge

# The tables of a comparison: `clicked` and `shown` hold the two logs, one row per user and pair.
_COMPARE = """
    CREATE TABLE pairs AS
    SELECT row_number() OVER () AS pair, query, url, released,
           coalesce(total, 0) AS total, coalesce(holders, 0) AS holders
    FROM (SELECT query, url, sum(clicks) AS released FROM shown GROUP BY query, url)
    LEFT JOIN (SELECT query, url, sum(clicks) AS total, count(*) AS holders
               FROM clicked SEMI JOIN shown USING (query, url) GROUP BY query, url)
         USING (query, url);
    CREATE TABLE people AS
    SELECT row_number() OVER () AS holder, "user" FROM (SELECT DISTINCT "user" FROM clicked);
    CREATE TABLE held AS
    SELECT holder, pair, total, clicks AS own, released
    FROM clicked JOIN pairs USING (query, url) JOIN people USING ("user");
    CREATE TABLE factors AS
    SELECT row_number() OVER () - 1 AS factor, total, own, released
    FROM (SELECT DISTINCT total, own, released FROM held)"""
_FACTORS = "SELECT total, own, released FROM factors ORDER BY factor"
# rows: (numbers of factors, how many users have exactly these)
_PROFILES = """
    SELECT numbers, count(*) FROM (
        SELECT list(factor ORDER BY factor) AS numbers
        FROM held JOIN factors USING (total, own, released) GROUP BY holder)
    GROUP BY numbers"""
# Pseudonyms with the same pairs are asked about once; only holders of their rarest pair are tried.
_UNEXPLAINED = """
    WITH sets AS (
        SELECT row_number() OVER () AS number, pairs, count(*) AS pseudonyms
        FROM (SELECT list_sort(list(pair)) AS pairs
              FROM shown JOIN pairs USING (query, url) GROUP BY "user")
        GROUP BY pairs),
    wanted AS (SELECT number, unnest(pairs) AS pair FROM sets),
    rarest AS (
        SELECT number, count(*) AS size, arg_min(pair, holders) AS pair
        FROM wanted JOIN pairs USING (pair) GROUP BY number),
    tried AS (SELECT number, size, holder FROM rarest JOIN held USING (pair)),
    explained AS (
        SELECT number FROM tried JOIN wanted USING (number) JOIN held USING (holder, pair)
        GROUP BY number, size, holder HAVING count(*) = size)
    SELECT coalesce(sum(pseudonyms), 0) FROM sets ANTI JOIN explained USING (number)"""
_UNMASKED = """(
    SELECT r."user", query, url FROM shown s LEFT JOIN real_names r ON r.pseudonym = s."user")"""


@contextmanager
def private_database(memory_limit: str | None) -> Generator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """A database of one's own, and the folder, closed to others, into which it spills."""
    with scratch_folder() as folder:
        sql = connected(spill=folder)
        try:
            sql.execute("SET preserve_insertion_order = false")
            if memory_limit is not None:
                limit_memory(sql, memory_limit)
            yield sql, folder
        except duckdb.Error:
            # DuckDB may quote texts of the log in its message, so that message goes no further.
            hint = "raise --memory-limit, or point TMPDIR to a larger disk"
            raise SloganError("comparing the logs failed in the database", hint=hint) from None
        finally:
            sql.close()


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A log whose clicks are in a table of the database."""

    log: SearchLog
    source: str
    """SQL that reads the log once more."""
    bad_rows: int


def count(
    sql: duckdb.DuckDBPyConnection,
    log: SearchLog,
    folder: Path,
    *,
    into: str,
    ignored: str,
    added_up: tuple[Path, Path] | None = None,
) -> Counted:
    """Count a log into a table; rows that cannot be counted are bad, but for the ignored reason.

    What an engine has added up, as `EngineSettings.hand_over` says, is not read again.
    """
    if added_up is None:
        source = _source(sql, log, folder)
        rows = f"(SELECT *, 1 AS n FROM ({rows_sql(source, fields_of(log))}))"
    else:
        added, source = (parquet_sql(*part.glob("*.parquet")) for part in added_up)
        rows = f'(SELECT name AS "user", * EXCLUDE (name) FROM {added})'
    try:
        sql.execute(f"""
            CREATE TABLE {into} AS
            SELECT "user", query, url, reason, sum(clicks) AS clicks, sum(n) AS n
            FROM {rows}
            WHERE reason IS DISTINCT FROM {literal(ignored)} GROUP BY ALL""")
    except duckdb.OutOfMemoryException:
        raise
    except duckdb.Error:
        hint = "give it as it was given to sanitize"
        raise LogFormatError(f"the log cannot be read as {log.format}", hint=hint) from None
    bad = _number(sql, f"SELECT coalesce(sum(n), 0) FROM {into} WHERE reason IS NOT NULL")
    sql.execute(f"DELETE FROM {into} WHERE reason IS NOT NULL")
    return Counted(log=log, source=source, bad_rows=bad + _rejected(sql))


def _source(sql: duckdb.DuckDBPyConnection, log: SearchLog, folder: Path) -> str:
    table = declared_table(log)
    if table is None:
        return source_sql(log, whole_lines(log, folder), keep_rejects=True)
    write = getattr(table, "sink_parquet", None) or getattr(table, "write_parquet", None)
    if write is None:
        sql.register("input_table", table)
        return "input_table"
    write(str(folder / "input_table.parquet"))
    return parquet_sql(folder / "input_table.parquet")


def _number(sql: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(sql.execute(query).fetchall()[0][0])


def _rejected(sql: duckdb.DuckDBPyConnection) -> int:
    """How many lines DuckDB's reader gave up on since this was last asked."""
    if not _number(sql, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'"):
        return 0
    lines = _number(sql, "SELECT count(DISTINCT (scan_id, file_id, line)) FROM reject_errors")
    sql.execute("DROP TABLE reject_errors; DROP TABLE reject_scans")
    return lines


def types_of(sql: duckdb.DuckDBPyConnection, counted: Counted) -> list[str]:
    """The column types of a log, as Parquet keeps them: it knows fewer than a table in memory."""
    with scratch_folder() as folder:
        file = folder / "types.parquet"
        sql.execute(
            f"COPY (SELECT * FROM {counted.source} LIMIT 0) "
            f"TO {literal(str(file))} (FORMAT parquet)"
        )
        described = sql.execute(f"DESCRIBE SELECT * FROM {parquet_sql(file)}").fetchall()
    return [row[1] for row in described]


def rows_beyond_schema(sql: duckdb.DuckDBPyConnection, counted: Counted) -> int:
    """Rows with a value in a column that is not modelled, or with a key that is no column."""
    log, columns = counted.log, counted.log.columns
    modelled = {columns.user, columns.query, columns.url, columns.count}
    beyond = ["FALSE"]
    for name in columns.names:
        place = fields_of(replace(log, columns=replace(columns, query=name))).query
        if name in columns.emptied:
            beyond.append(f"coalesce(({place})::VARCHAR <> '', FALSE)")
        elif name not in modelled:
            beyond.append(_fields_beyond(counted, name, place))
    if log.format == "jsonl":
        keys = ", ".join(literal(name) for name in columns.names)
        beyond.append(f"json_keys(CASE WHEN json_valid(line) THEN line END) <> [{keys}]")
    rows = _number(sql, f"SELECT count(*) FROM {counted.source} WHERE {' OR '.join(beyond)}")
    _rejected(sql)
    return rows


def _fields_beyond(counted: Counted, name: str, place: str) -> str:
    """Whether a record has a value in a field that is not modelled.

    A patch of JSON removes the modelled fields, and patched into nothing empty ones vanish.
    """
    left = f"({place})::JSON" if counted.log.format == "jsonl" else f"to_json({place})"
    for path in map(counted.log.columns.path, counted.log.columns.roles.values()):
        if path[0] == name:
            patch = reduce(lambda inside, field: {field: inside}, reversed(path[1:]), None)
            left = f"json_merge_patch({left}, {literal(json.dumps(patch))})"
    rest = f"json_merge_patch('{{}}', {left})::VARCHAR"
    return f"coalesce(regexp_matches({rest}, ':[^{{]'), FALSE)"


def remove_users(sql: duckdb.DuckDBPyConnection, table: Path) -> tuple[int, int]:
    """Take the users of a table out of the input log; how many it lists, and how many in vain."""
    require_modest(table, {"user": "user"})
    sql.execute(f"""
        CREATE TABLE removed AS
        SELECT "user"::VARCHAR AS "user" FROM {parquet_sql(table)}""")
    listed = _number(sql, "SELECT count(*) FROM removed")
    known = _number(
        sql, 'SELECT count(DISTINCT "user") FROM removed SEMI JOIN clicked USING ("user")'
    )
    sql.execute('DELETE FROM clicked WHERE "user" IN (SELECT "user" FROM removed)')
    return listed, listed - known


class Comparison:
    """Both logs in one database, as numbers of pairs, users and rows."""

    def __init__(self, sql: duckdb.DuckDBPyConnection) -> None:
        self._sql = sql
        sql.execute(_COMPARE)
        self.pairs = _number(sql, "SELECT count(*) FROM pairs")
        self.unique_pairs = _number(sql, "SELECT count(*) FROM pairs WHERE holders = 1")
        self.unknown_pairs = _number(sql, "SELECT count(*) FROM pairs WHERE holders = 0")
        self.users = _number(sql, "SELECT count(*) FROM people")
        self.rows = _number(sql, "SELECT count(*) FROM shown")
        self.clicks = _number(sql, "SELECT coalesce(sum(clicks), 0) FROM shown")

    def strangers(self, shown: str = "shown") -> int:
        """Released combinations of user and pair that are not in the input log."""
        return _number(
            self._sql, f'SELECT count(*) FROM {shown} ANTI JOIN clicked USING ("user", query, url)'
        )

    def unexplained_pseudonyms(self) -> int:
        """Pseudonyms for which no user of the input log holds all of their pairs."""
        return _number(self._sql, _UNEXPLAINED)

    def real_names(self, table: Path) -> tuple[int, int]:
        """By a table of pseudonyms: how many are not one-to-one, and `strangers` behind them."""
        require_modest(table, {"user": "user", "pseudonym": "pseudonym"})
        self._sql.execute(f"""
            CREATE TABLE real_names AS
            SELECT "user"::VARCHAR AS "user", pseudonym::VARCHAR AS pseudonym
            FROM {parquet_sql(table)}""")
        different = 'least(count(DISTINCT "user"), count(DISTINCT pseudonym))'
        repeated = _number(self._sql, f"SELECT count(*) - {different} FROM real_names")
        return repeated, self.strangers(_UNMASKED)

    def clipped(self, norm: int, most: int) -> list[tuple[int, float]]:
        """For each released pair: released clicks, and the log's, each user scaled to L2 ≤ norm."""
        return self._sql.execute(f"""
            SELECT any_value(released), sum(own * least(1, {norm} / sqrt(square))) FROM (
                SELECT pair, released, own, sum(own * own) OVER (PARTITION BY holder) AS square
                FROM (SELECT pair, holder, released, least(own, {most})::DOUBLE AS own FROM held))
            GROUP BY pair""").fetchall()

    def shown_ids(self) -> tuple[int, int, int]:
        """How many IDs are shown, are also in the input log, are digits or UUIDs."""
        return self._sql.execute("""
            SELECT count(*), count(*) FILTER (EXISTS (FROM people p WHERE p."user" = s."user")),
                   count(*) FILTER (regexp_full_match("user", '[0-9]+|[0-9a-f-]{36}'))
            FROM (SELECT DISTINCT "user" FROM shown) s""").fetchall()[0]

    @cached_property
    def _factors(self) -> list[Factor]:
        rows = self._sql.execute(_FACTORS).fetchall()
        return [Factor(total=total, own=own, released=x) for total, own, x in rows]

    def judge(self, bound: Fraction) -> Judgement:
        """Whether the released counts keep every user within a bound."""
        return judge(bound, self._profiles(), self._factors)

    def _profiles(self) -> Profiles:
        rows = self._sql.execute(_PROFILES)
        while some := rows.fetchmany(10_000):
            yield from some
