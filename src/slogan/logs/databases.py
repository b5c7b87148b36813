"""Databases as logs: a table or a query of a DuckDB or SQLite file, or of a PostgreSQL server.

The columns that are needed are copied into a private Parquet file when the log is counted. Types
are those that the database declares; a value that is not of its column's type is missing.
"""

import difflib
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import duckdb
import numpy as np

from slogan.errors import EngineError, LogFormatError, LogNotFoundError, OptionError
from slogan.logs.files import identifier, literal, reported
from slogan.storage.database import connected

POSTGRES = ("postgresql://", "postgres://")
_ENDINGS = (".duckdb", ".ddb", ".db", ".db3", ".sqlite", ".sqlite3")
_CHUNK = 20_000
_NOT_IN_PARQUET = ("HUGEINT", "UHUGEINT", "BIT", "BIGNUM", "VARINT")
_AFFINITIES = {"INT": "BIGINT", "REAL": "DOUBLE", "FLOA": "DOUBLE", "DOUB": "DOUBLE"}
"""What SQLite looks for in a declared type; any other column is text."""
_POSTGRES_TYPES = {
    16: "BOOLEAN",
    20: "BIGINT",
    21: "SMALLINT",
    23: "INTEGER",
    700: "FLOAT",
    701: "DOUBLE",
    1082: "DATE",
    1114: "TIMESTAMP",
    1184: "TIMESTAMP WITH TIME ZONE",
    2950: "UUID",
}
"""PostgreSQL's numbers of types; any other column is text."""

Values = Iterable[Sequence[object]]


@dataclass(frozen=True, kw_only=True, repr=False)
class Database:
    """A table or a query of a database."""

    kind: str
    """DuckDB, SQLite or PostgreSQL."""
    place: str
    """The file, or the address, which may hold a password."""
    table: str | None
    sql: str
    """The query that selects everything."""
    schema: tuple[tuple[str, str], ...]
    wanted: tuple[str, ...] = ()
    """The columns that are copied; the others are empty."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(name for name, _ in self.schema)

    def __str__(self) -> str:
        what = "a query" if self.table is None else f"table {self.table}"
        return f"{what} of a {self.kind} database"

    def first_rows(self, fields: Sequence[str], number: int) -> list[tuple[str, ...]]:
        """The first rows as texts, of columns or fields in SQL; empty where a value is missing."""
        chosen = f"SELECT {', '.join(fields)} FROM ({self.sql}) AS t LIMIT {number}"
        with _reworded(self.kind, self.place), _opened(self.kind, self.place) as sql:
            rows = sql.execute(chosen).fetchall()
        return [tuple(_text(value) or "" for value in row) for row in rows]

    def write_parquet(self, file: str) -> None:
        """Write the wanted columns, and the others empty, as a Parquet file."""
        columns = ", ".join(
            f"TRY_CAST({identifier(name) if name in self.wanted else 'NULL'} AS {kind}) "
            f"AS {identifier(name)}"
            for name, kind in self.schema
        )
        target = f"TO {literal(file)} (FORMAT parquet)"
        with _reworded(self.kind, self.place):
            if self.kind == "DuckDB":
                with connected(Path(self.place), spill=Path(file).parent, read_only=True) as sql:
                    sql.execute(f"COPY (SELECT {columns} FROM ({self.sql})) {target}")
                return
            with connected(spill=Path(file).parent) as sql, _rows(self) as chunks:
                texts = ", ".join(f"{identifier(name)} VARCHAR" for name in self.wanted)
                sql.execute(f"CREATE TABLE copied ({texts})")
                for rows in chunks:
                    arrays = {
                        str(n): np.array(column, dtype=object)
                        for n, column in enumerate(zip(*rows, strict=True))
                    }
                    sql.register("arrays", arrays)
                    sql.execute("INSERT INTO copied SELECT * FROM arrays")
                    sql.unregister("arrays")
                sql.execute(f"COPY (SELECT {columns} FROM copied) {target}")


def database(source: str, query: str | None) -> Database | None:
    """The database that a source names as FILE::TABLE, FILE or an address; None for other files."""
    with reported(Path(source)):
        place, mark, table = source.rpartition("::")
        if not mark or Path(source).exists() or {*"/]"} & {*table}:  # an address may be [::1]
            place, mark, table = source, "", ""
    if place.startswith(POSTGRES):
        kind = "PostgreSQL"
    elif not mark and query is None and not place.lower().endswith(_ENDINGS):
        return None
    else:
        kind = _kind(Path(place))
    if table and query is not None:
        raise OptionError("a table and a query are both given", hint="leave ::TABLE out, or --sql")
    with _reworded(kind, place):
        if query is None:
            table = _table(kind, place, table)
        elif kind == "DuckDB":
            _require_one_select(query)
        schema = _schema(kind, place, table, query)
    selecting = query or f"SELECT * FROM {'.'.join(map(identifier, table.split('.')))}"
    return Database(kind=kind, place=place, table=table or None, sql=selecting, schema=schema)


def _kind(file: Path) -> str:
    with reported(file), file.open("rb") as data:
        beginning = data.read(16)
    if beginning.startswith(b"SQLite format 3\0"):
        return "SQLite"
    if beginning[8:12] == b"DUCK":
        return "DuckDB"
    raise LogFormatError(
        f"{file.name} is not a DuckDB or SQLite file",
        hint="name a table as FILE::TABLE, and give --sql, for such files only",
    )


def _require_one_select(query: str) -> None:
    """Refuse what could write a file: DuckDB would run several statements one after another."""
    kinds = [statement.type for statement in duckdb.extract_statements(query)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise OptionError(
            "a log is read by one SELECT, and this is another query", hint="correct --sql"
        )


@contextmanager
def _reworded(kind: str, place: str) -> Generator[None]:
    """Replace the messages of databases, which may quote values or a password."""
    try:
        yield
    except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as cause:
        first = str(cause).partition("\n")[0]
        raise OptionError(
            f"{kind} does not run the query: {first}", hint="correct --sql, or the table"
        ) from None
    except (duckdb.Error, sqlite3.Error):
        raise LogFormatError(
            f"{Path(place).name} cannot be read as a {kind} database, or the query fails",
            hint="check that no other program has it open, and try the query there",
        ) from None


@contextmanager
def _opened(kind: str, place: str) -> Generator[Any]:
    """A connection that cannot write."""
    if kind == "DuckDB":
        with connected(Path(place), read_only=True) as sql:
            yield sql
    elif kind == "SQLite":
        address = f"file:{quote(str(Path(place).absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as sql:
            sql.text_factory = bytes
            yield sql
    else:
        with _connected_to_server(place) as sql:
            yield sql


@contextmanager
def _connected_to_server(address: str) -> Generator[Any]:
    try:
        psycopg: Any = import_module("psycopg")
    except ModuleNotFoundError as cause:
        raise EngineError(
            "PostgreSQL needs psycopg, which is not installed",
            hint="pip install 'slogan[postgres]'",
        ) from cause
    host = urlsplit(address).hostname or "this machine"
    try:
        with psycopg.connect(address) as sql:
            sql.read_only = True
            sql.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield sql
    except psycopg.OperationalError:
        raise LogNotFoundError(
            f"the PostgreSQL server on {host} cannot be reached, or refuses",
            hint="try psql with the same address; keep the password in ~/.pgpass",
        ) from None
    except (psycopg.ProgrammingError, psycopg.DataError):
        raise OptionError(
            f"PostgreSQL on {host} does not run the query",
            hint="try it in psql, and correct --sql or the name of the table",
        ) from None


def _table(kind: str, place: str, named: str) -> str:
    """The name of the table, which need not be given if the database has only one."""
    if "." in named:  # a schema and a table
        return named
    own = "table_schema NOT IN ('information_schema', 'pg_catalog')"
    listed = f"SELECT table_name FROM information_schema.tables WHERE {own} ORDER BY table_name"
    if kind == "SQLite":
        listed = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite_%' ORDER BY name"
        )
    with _opened(kind, place) as sql:
        names = [_text(name) or "" for (name,) in sql.execute(listed).fetchall()]
    if named in names or (len(names) == 1 and not named):
        return named or names[0]
    if close := difflib.get_close_matches(named, names, n=1):
        raise OptionError(
            f"the {kind} database has no table {named!r}; did you mean {close[0]!r}?",
            hint=f"give {_named(kind, place, close[0])}",
        )
    raise OptionError(
        f"the {kind} database has {len(names)} tables{': ' * bool(names)}{', '.join(names[:20])}",
        hint=f"name one, such as {_named(kind, place, names[0])}; or give --sql 'SELECT …'"
        if names
        else "write a table into it, or name another database",
    )


def _named(kind: str, place: str, table: str) -> str:
    """How a table is named; the address of a server may hold a password."""
    known = f"{Path(place).name}::{table}"
    return known if kind != "PostgreSQL" else f"::{table} after the address"


def _schema(kind: str, place: str, table: str, query: str | None) -> tuple[tuple[str, str], ...]:
    """The columns of a table or a query, with the types that the database declares."""
    named = ".".join(map(identifier, table.split(".")))
    everything = query or f"SELECT * FROM {named}"
    with _opened(kind, place) as sql:
        if kind == "DuckDB":
            rows = sql.execute(f"DESCRIBE {everything}").fetchall()
            return tuple((name, _in_parquet(kind)) for name, kind, *_ in rows)
        found = sql.execute(f"SELECT * FROM ({everything}) AS t LIMIT 0").description
        if kind == "PostgreSQL":
            return tuple((c.name, _POSTGRES_TYPES.get(c.type_code, "VARCHAR")) for c in found)
        kinds = dict.fromkeys((name for name, *_ in found), "")
        if table:
            for _, name, declared, *_ in sql.execute(f"PRAGMA table_info({named})").fetchall():
                kinds[_text(name) or ""] = (_text(declared) or "").upper()
        return tuple((name, _affinity(kinds[name])) for name, *_ in found)


def _in_parquet(kind: str) -> str:
    return "VARCHAR" if "ENUM" in kind or kind in _NOT_IN_PARQUET else kind


def _affinity(declared: str) -> str:
    return next((kind for part, kind in _AFFINITIES.items() if part in declared), "VARCHAR")


@contextmanager
def _rows(table: Database) -> Generator[Iterator[list[list[str | None]]]]:
    """The wanted columns as texts, some rows at a time."""
    server = table.kind == "PostgreSQL"
    cast = "::text" if server else ""
    columns = ", ".join(f"t.{identifier(name)}{cast}" for name in table.wanted)
    named = {"name": "slogan"} if server else {}  # a cursor on the server sends some rows at a time
    with _opened(table.kind, table.place) as sql, closing(sql.cursor(**named)) as cursor:
        cursor.execute(f"SELECT {columns} FROM ({table.sql}) AS t")
        chunks = iter(lambda: cursor.fetchmany(_CHUNK), [])
        yield ([[_text(value) for value in row] for row in rows] for rows in chunks)


def _text(value: object) -> str | None:
    """A value as text; SQLite gives texts as bytes, which may not be valid UTF-8."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return None
    return None if value is None else str(value)
