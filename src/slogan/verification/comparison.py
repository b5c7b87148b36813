"""Count an input log and a released one, and compare them, with code of verify's own."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.errors import LogFormatError, SloganError
from slogan.logs.files import field_sql, literal, require_modest
from slogan.logs.rows import parquet_sql
from slogan.logs.searchlog import SearchLog, declared_table
from slogan.storage.database import connected, limit_memory
from slogan.storage.folders import scratch_folder
from slogan.verification.conditions import Factor, Judgement, Profiles, judge
from slogan.verification.events.table import COLUMNS, FILLED, OF_EVENTS, arrays
from slogan.verification.plain_reader import (
    LenientError,
    Row,
    Rules,
    judged,
    roles_of,
    rows_of,
    rules_of,
)
from slogan.verification.ubi import reader as ubi

_AT_ONCE = 200_000

# The tables of a comparison: `clicked` and `shown` hold the two logs, one row per user and pair.
_COMPARE = """
    CREATE TABLE IF NOT EXISTS declared (query VARCHAR, url VARCHAR);
    CREATE TABLE pairs AS
    SELECT row_number() OVER (ORDER BY query, url) AS pair, query, url, released,
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
# Pseudonyms with the same pairs are checked once; only holders of their rarest pair are candidates.
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
    """A temporary database, and the private folder for its temporary files."""
    with scratch_folder() as folder:
        sql = connected(spill=folder)
        try:
            sql.execute("SET preserve_insertion_order = false")
            if memory_limit is not None:
                limit_memory(sql, memory_limit)
            yield sql, folder
        except duckdb.Error:
            # DuckDB's message may quote texts of the log, so it is not passed on.
            hint = "raise --memory-limit, or point TMPDIR to a larger disk"
            raise SloganError("comparing the logs failed in the database", hint=hint) from None
        finally:
            sql.close()


@dataclass(frozen=True, kw_only=True)
class Counted:
    """A log whose clicks are in a table of the database."""

    log: SearchLog
    types: tuple[str, ...]
    """The declared type of each column, as DuckDB names it."""
    bad_rows: int

    @property
    def user_type(self) -> str:
        """The declared type of the user-ID."""
        return self.type_of(self.log.columns.user)

    def type_of(self, name: str) -> str:
        """The declared type of a column, or of a field inside one."""
        column, *inside = self.log.columns.path(name)
        kind = self.types[self.log.columns.names.index(column)]
        for field in inside:
            kind = fields_of(kind).get(field, kind)
        return kind


def fields_of(kind: str) -> dict[str, str]:
    """The fields that a type of records declares, each with its type; none for other types."""
    declared: Any = duckdb.sqltype(kind)
    return {n: str(k) for n, k in declared.children} if declared.id == "struct" else {}


def count(
    sql: duckdb.DuckDBPyConnection,
    log: SearchLog,
    *,
    into: str,
    ignored: str,
    added_up: tuple[Path, Path] | None = None,
    with_events: bool = False,
) -> Counted:
    """Count a log into a table, and the bad rows: those refused for another reason than `ignored`.

    The table `{into}_rows` keeps the rows in the order they were read. `added_up` is what
    `EngineSettings.hand_over` returns: sums by an engine, which are not read again. With events the
    rows have second, rank and session too, and searches without a click are among them.
    """
    rows = f"{into}_rows"
    try:
        if added_up is None:
            types, bad = _read_rows(sql, log, rows, ignored, with_events=with_events)
        else:
            types, bad = _take_rows(sql, added_up, rows, ignored)
    except duckdb.OutOfMemoryException:
        raise
    except (duckdb.Error, LenientError):
        hint = "give it as it was given to sanitize"
        raise LogFormatError(f"the log cannot be read as {log.format}", hint=hint) from None
    sql.execute(f"""
        CREATE TABLE {into} AS
        SELECT "user", query, url, sum(clicks) AS clicks FROM {rows}
        {"WHERE NOT search" if with_events else ""} GROUP BY "user", query, url""")
    return Counted(log=log, types=types, bad_rows=bad)


def _read_rows(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, into: str, ignored: str, *, with_events: bool
) -> tuple[tuple[str, ...], int]:
    """Read a log with the plain reader, in chunks."""
    columns = f"{COLUMNS}, {OF_EVENTS}" if with_events else COLUMNS
    sql.execute(f"CREATE TABLE {into} ({columns})")
    bad = n = 0
    with _typed_table(log, with_events=with_events) as (types, typed):
        of_text = ubi.rows_of if log.format == "ubi" else rows_of
        rows = of_text(log, with_events=with_events) if typed is None else typed
        while some := list(islice(rows, _AT_ONCE)):
            good = [row for row in some if row.reason is None or row.is_search]
            bad += sum(row.reason not in (None, ignored) and not row.is_search for row in some)
            sql.register("chunk", arrays(good, n, with_events=with_events))
            filled = f"* REPLACE ({FILLED})" if with_events else "*"
            sql.execute(f"INSERT INTO {into} SELECT {filled} FROM chunk")
            sql.unregister("chunk")
            n += len(good)
    return types, bad


@contextmanager
def _typed_table(
    log: SearchLog, *, with_events: bool
) -> Generator[tuple[tuple[str, ...], Iterator[Row] | None]]:
    """The types of the columns, and the rows of a typed log; None for text files."""
    if log.format != "parquet":
        numbers = (log.columns.count, log.columns.rank, log.numeric_time)
        numbers = numbers if log.format == "jsonl" else ()
        yield tuple("BIGINT" if n in numbers else "VARCHAR" for n in log.columns.names), None
        return
    with scratch_folder() as folder, connected(spill=folder) as reader:
        source, table = parquet_sql(*log.files), declared_table(log)
        if table is not None:
            write = getattr(table, "sink_parquet", None) or getattr(table, "write_parquet", None)
            if write is None:
                reader.register("input_table", table)
                reader.execute(
                    f"COPY input_table TO {literal(str(folder / 'input'))} (FORMAT parquet)"
                )
            else:
                write(str(folder / "input"))
            source = parquet_sql(folder / "input")
        reader.execute("SET TimeZone = 'UTC'")
        rules = rules_of(log, with_events=with_events)
        yield _types(reader, source), _typed_rows(reader, log, source, rules)


def _types(sql: duckdb.DuckDBPyConnection, source: str) -> tuple[str, ...]:
    return tuple(row[1] for row in sql.execute(f"DESCRIBE SELECT * FROM {source}").fetchall())


def _typed_rows(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, source: str, rules: Rules
) -> Iterator[Row]:
    roles = roles_of(log, rules)
    values = ", ".join(f"{field_sql(log.columns.path(name))}::VARCHAR" for name in roles.values())
    found = sql.execute(f"SELECT {values} FROM {source}")
    while some := found.fetchmany(10_000):
        for row in some:
            yield judged(dict(zip(roles, row, strict=True)), rules)


def _take_rows(
    sql: duckdb.DuckDBPyConnection, added_up: tuple[Path, Path], into: str, ignored: str
) -> tuple[tuple[str, ...], int]:
    """Load the sums that an engine computed."""
    added, schema = (parquet_sql(*part.glob("*.parquet")) for part in added_up)
    sql.execute(f"""
        CREATE TABLE {into} AS
        SELECT 0 AS n, name AS "user", query, url, clicks FROM {added} WHERE reason IS NULL""")
    bad = number(
        sql,
        f"SELECT coalesce(sum(n), 0) FROM {added} "
        f"WHERE reason IS NOT NULL AND reason <> {literal(ignored)}",
    )
    return _types(sql, schema), bad


def _whole(columns: dict[str, Any]) -> tuple[Ints, Ints]:
    holder, pair = (np.asarray(columns[name], dtype=np.int64) for name in ("holder", "pair"))
    return holder, pair


def number(sql: duckdb.DuckDBPyConnection, query: str) -> int:
    """The only number that a query gives."""
    return int(sql.execute(query).fetchall()[0][0])


def remove_users(sql: duckdb.DuckDBPyConnection, table: Path) -> tuple[int, int]:
    """Remove a table's users from the input log; how many it lists, and how many without effect."""
    require_modest(table, {"user": "user"})
    sql.execute(f"""
        CREATE TABLE removed AS
        SELECT "user"::VARCHAR AS "user" FROM {parquet_sql(table)}""")
    listed = number(sql, "SELECT count(*) FROM removed")
    known = number(
        sql, 'SELECT count(DISTINCT "user") FROM removed SEMI JOIN clicked USING ("user")'
    )
    sql.execute('DELETE FROM clicked WHERE "user" IN (SELECT "user" FROM removed)')
    return listed, listed - known


def restore_rows(sql: duckdb.DuckDBPyConnection, table: Path) -> tuple[int, int, int]:
    """Put withheld rows back into the released log: their queries, pairs, and faults.

    A fault is a query of which a part is still released, a row that is listed twice, and one
    without a positive number of clicks.
    """
    require_modest(table, {name: name for name in ("user", "query", "url", "clicks")})
    sql.execute(f"""
        CREATE TABLE withheld AS
        SELECT "user"::VARCHAR AS "user", query::VARCHAR AS query, url::VARCHAR AS url,
               clicks::BIGINT AS clicks
        FROM {parquet_sql(table)}""")
    faults = number(
        sql,
        """SELECT (SELECT count(DISTINCT query) FROM shown SEMI JOIN withheld USING (query))
            + (SELECT count(*) - count(DISTINCT ("user", query, url)) FROM withheld)
            + (SELECT count(*) FROM withheld WHERE coalesce(clicks, 0) <= 0 OR "user" IS NULL
                                                OR query IS NULL OR url IS NULL)""",
    )
    sql.execute("INSERT INTO shown BY NAME SELECT * FROM withheld")
    queries = number(sql, "SELECT count(DISTINCT query) FROM withheld")
    return queries, number(sql, "SELECT count(DISTINCT (query, url)) FROM withheld"), faults


class Comparison:
    """Both logs in one database, with their numbers of pairs, users and rows."""

    def __init__(self, sql: duckdb.DuckDBPyConnection) -> None:
        self._sql = sql
        sql.execute(_COMPARE)
        self.pairs = number(sql, "SELECT count(*) FROM pairs")
        self.unique_pairs = number(sql, "SELECT count(*) FROM pairs WHERE holders = 1")
        self.unknown_pairs = number(
            sql,
            "SELECT count(*) FROM pairs ANTI JOIN declared USING (query, url) WHERE holders = 0",
        )
        self.declared_unheld = number(
            sql,
            "SELECT count(*) FROM pairs SEMI JOIN declared USING (query, url) WHERE holders = 0",
        )
        self.users = number(sql, "SELECT count(*) FROM people")
        self.rows = number(sql, "SELECT count(*) FROM shown")
        self.clicks = number(sql, "SELECT coalesce(sum(clicks), 0) FROM shown")

    def strangers(self, shown: str = "shown") -> int:
        """Released combinations of user and pair that are not in the input log."""
        return number(
            self._sql, f'SELECT count(*) FROM {shown} ANTI JOIN clicked USING ("user", query, url)'
        )

    def unexplained_pseudonyms(self) -> int:
        """Pseudonyms for which no user of the input log holds all of their pairs."""
        return number(self._sql, _UNEXPLAINED)

    def real_names(self, table: Path) -> tuple[int, int]:
        """Resolve pseudonyms by a table: how many are not one-to-one, and the `strangers`."""
        require_modest(table, {"user": "user", "pseudonym": "pseudonym"})
        self._sql.execute(f"""
            CREATE TABLE real_names AS
            SELECT "user"::VARCHAR AS "user", pseudonym::VARCHAR AS pseudonym
            FROM {parquet_sql(table)}""")
        different = 'least(count(DISTINCT "user"), count(DISTINCT pseudonym))'
        repeated = number(self._sql, f"SELECT count(*) - {different} FROM real_names")
        return repeated, self.strangers(_UNMASKED)

    def clipped(self, norm: int, most: int) -> list[tuple[int, float, int]]:
        """For each released pair: released clicks, clipped clicks and all clicks in the log."""
        return self._sql.execute(f"""
            SELECT any_value(released), sum(own * least(1, {norm} / sqrt(square))), any_value(total)
            FROM (SELECT *, sum(own * own) OVER (PARTITION BY holder) AS square FROM (
                SELECT pair, holder, released, total, least(own, {most})::DOUBLE AS own FROM held))
            GROUP BY pair
            UNION ALL SELECT released, 0, 0 FROM pairs WHERE holders = 0""").fetchall()

    def weights(self, heaviest: Sequence[float]) -> tuple[Floats, Floats, Flags, Flags]:
        """For each pair of the log: the most weight its users can give it, and if it is released.

        A user with n pairs gives at most heaviest[n]. The second is the chance that the only user
        of a pair contributes it: users with too many pairs contribute a random subset. The last is
        whether the pair was declared public.
        """
        self._weigh(heaviest)
        columns = self._sql.execute("""
            SELECT weight, inclusion, p.pair IS NOT NULL AS released, d.query IS NOT NULL AS public
            FROM reach LEFT JOIN pairs p USING (query, url) LEFT JOIN declared d USING (query, url)
            """).fetchnumpy()
        weight, inclusion = (np.asarray(columns[n], dtype=float) for n in ("weight", "inclusion"))
        released, public = (np.asarray(columns[n], dtype=np.bool_) for n in ("released", "public"))
        return weight, inclusion, released, public

    def _weigh(self, heaviest: Sequence[float]) -> None:
        most = len(heaviest) - 1
        self._sql.register(
            "heaviest", {"n": np.arange(most + 1), "weight": np.array(heaviest, dtype=float)}
        )
        self._sql.execute(f"""
            CREATE TABLE IF NOT EXISTS reach AS
            SELECT query, url, sum(weight) AS weight,
                   CASE WHEN count(*) = 1 THEN any_value({most} / greatest({most}, held)) ELSE 1
                   END AS inclusion
            FROM clicked JOIN (SELECT "user", count(*) AS held FROM clicked GROUP BY "user")
                 USING ("user") JOIN heaviest ON n = least(held, {most})
            GROUP BY query, url""")
        self._sql.unregister("heaviest")

    def most_held(self, lightest: float, heaviest: Sequence[float]) -> int:
        """How many pairs of more than this weight, or released ones, the same user holds."""
        self._weigh(heaviest)
        return number(
            self._sql,
            f"""SELECT coalesce(max(n), 0) FROM (
                SELECT count(*) AS n FROM clicked JOIN reach USING (query, url)
                LEFT JOIN pairs p USING (query, url) LEFT JOIN declared d USING (query, url)
                WHERE weight > {lightest} OR p.pair IS NOT NULL OR d.query IS NOT NULL
                GROUP BY "user")""",
        )

    def numbers_of_users(self) -> tuple[Floats, Floats, Floats]:
        """For each released pair: its clicks, its users in the log, those without another pair."""
        columns = self._sql.execute("""
            SELECT p.released, count(*) AS holders, count(*) FILTER (n = 1) AS alone
            FROM pairs p JOIN clicked USING (query, url)
            JOIN (SELECT "user", count(*) AS n FROM clicked GROUP BY "user") USING ("user")
            GROUP BY p.pair, p.released ORDER BY p.pair""").fetchnumpy()
        shown, holders, alone = (
            np.asarray(columns[name], dtype=float) for name in ("released", "holders", "alone")
        )
        return shown, holders, alone

    def longer(self, most: int) -> int:
        """How many users of the log hold more pairs than this."""
        return number(
            self._sql,
            f"""SELECT count(*) FROM (
                SELECT 1 FROM clicked GROUP BY "user" HAVING count(*) > {most})""",
        )

    @cached_property
    def holders(self) -> int:
        """How many users of the log hold a released pair."""
        return number(self._sql, "SELECT count(DISTINCT holder) FROM held")

    def covered(self, most: int) -> tuple[float, float]:
        """Clicks on released pairs, and all clicks, each user scaled to a total of at most this."""
        inside, whole = self._sql.execute(f"""
            SELECT sum(inside * least(1, {most} / total)), sum(least(total, {most})) FROM (
                SELECT sum(clicks)::DOUBLE AS total,
                       coalesce(sum(clicks) FILTER (p.pair IS NOT NULL), 0)::DOUBLE AS inside
                FROM clicked LEFT JOIN pairs p USING (query, url) GROUP BY "user")""").fetchall()[0]
        return float(inside or 0), float(whole or 0)

    def shown_users(self) -> tuple[list[str], Floats, Floats]:
        """The shown IDs, each with its clicks and its number of pairs."""
        rows = self._sql.execute(
            'SELECT "user", sum(clicks)::DOUBLE, count(*)::DOUBLE FROM shown GROUP BY "user"'
        ).fetchall()
        ids, clicks, pairs = zip(*rows, strict=True) if rows else ((), (), ())
        return list(ids), np.array(clicks), np.array(pairs)

    def real_ids(self, most: int) -> list[str]:
        """Some of the log's user-IDs, the same each time."""
        rows = self._sql.execute(
            f'SELECT "user" FROM people ORDER BY hash("user") LIMIT {most}'
        ).fetchall()
        return [user for (user,) in rows]

    def named(self, table: Path) -> list[tuple[str, str]]:
        """Real and shown IDs by the curator's table, in the order of the real ones."""
        require_modest(table, {"user": "user", "pseudonym": "pseudonym"})
        return self._sql.execute(f"""
            SELECT "user"::VARCHAR, pseudonym::VARCHAR FROM {parquet_sql(table)}
            ORDER BY "user"::VARCHAR""").fetchall()

    def exposure(self) -> list[tuple[str, Floats, int]]:
        """Users and rows: the chance of each to be shown, given the counts, and how many are.

        Each of x clicks of a pair is drawn from its c clicks, so a user with k of them is not
        shown with a chance of (1 − k/c)^x.
        """
        none = "sum(CASE WHEN own >= total THEN -1e9 ELSE released * ln(1 - own / total) END)"
        queries = (
            ("users", f"SELECT 1 - exp({none}) FROM held GROUP BY holder", 'DISTINCT "user"'),
            ("rows", f"SELECT 1 - exp({none}) FROM held GROUP BY holder, pair", "*"),
        )
        return [
            (
                what,
                np.array([chance for (chance,) in self._sql.execute(query).fetchall()]),
                number(self._sql, f"SELECT count({counted}) FROM shown"),
            )
            for what, query, counted in queries
        ]

    def dealt_rows(self) -> tuple[Ints, Floats, Floats]:
        """The pair and clicks of each shown row, and how many pairs each user has."""
        columns = self._sql.execute(
            "SELECT pair - 1 AS pair, clicks FROM shown JOIN pairs USING (query, url)"
        ).fetchnumpy()
        pair, clicks = (np.asarray(columns[name]) for name in ("pair", "clicks"))
        return pair.astype(np.int64), clicks.astype(float), self.shown_users()[2]

    def sets(self) -> tuple[tuple[Ints, Ints], tuple[Ints, Ints]]:
        """Rows of shown users, and of the log's users with a released pair: (user, pair).

        Both are numbers from 0, and rows are in their order.
        """
        shown, held = (
            self._sql.execute(query).fetchnumpy()
            for query in (
                """SELECT dense_rank() OVER (ORDER BY "user") - 1 AS holder, pair - 1 AS pair
                   FROM shown JOIN pairs USING (query, url) ORDER BY ALL""",
                """SELECT dense_rank() OVER (ORDER BY holder) - 1 AS holder, pair - 1 AS pair
                   FROM held ORDER BY ALL""",
            )
        )
        return (_whole(shown), _whole(held))

    @cached_property
    def _factors(self) -> list[Factor]:
        rows = self._sql.execute(_FACTORS).fetchall()
        return [Factor(total=total, own=own, released=x) for total, own, x in rows]

    def judge(self, bound: Fraction) -> Judgement:
        """Count the users whose charge exceeds a bound."""
        return judge(bound, self._profiles(), self._factors)

    def _profiles(self) -> Profiles:
        rows = self._sql.execute(_PROFILES)
        while some := rows.fetchmany(10_000):
            yield from some
