"""How DuckDB numbers a second log like the one it counted: same text, same number.

Everything here sees the tables `pairs` (pair, query_number, query, url) and `users` (user, name) of
the counted log, and the same tables of the other log as Parquet files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.engines.engine import Whose
from slogan.engines.numbering import with_numbers_of
from slogan.histogram import PairHistogram
from slogan.logs.files import unreadable
from slogan.logs.rows import literal, parquet_sql


def save_texts(sql: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Write what the numbers of a counted log stand for, for another engine of the same process."""
    for table in ("pairs", "users"):
        file = literal(str(folder / f"beside-{table}.parquet"))
        sql.execute(f"COPY (FROM {table}) TO {file} (FORMAT parquet)")


def renumbered(
    sql: duckdb.DuckDBPyConnection,
    first: PairHistogram,
    second: PairHistogram,
    folder: Path,
    users: Whose,
) -> PairHistogram:
    """The second histogram with the numbers of the first; what is new comes after."""
    pair, query = _known_pairs(sql, _saved(folder, "pairs"))
    user = _known_users(sql, _saved(folder, "users"), users)
    return with_numbers_of(first, second, user=user, pair=pair, query=query)


def _saved(folder: Path, table: str) -> str:
    return parquet_sql(folder / f"beside-{table}.parquet")


def _known_pairs(sql: duckdb.DuckDBPyConnection, theirs: str) -> tuple[Ints, Ints]:
    """For each pair of the second log the number it has in the first, and that of its query."""
    found = sql.execute(f"""
        SELECT coalesce(p.pair, -1) AS pair, coalesce(q.query_number, -1) AS query_number
        FROM {theirs} t LEFT JOIN pairs p USING (query, url)
        LEFT JOIN (SELECT query, any_value(query_number) AS query_number FROM pairs
                   SEMI JOIN {theirs} USING (query) GROUP BY query) q ON q.query = t.query
        ORDER BY t.pair""").fetchnumpy()
    return _ints(found["pair"]), _ints(found["query_number"])


def _known_users(sql: duckdb.DuckDBPyConnection, theirs: str, users: Whose) -> Ints:
    """For each user of the second log the number they have in the first, or −1."""
    if isinstance(users, Path):
        table = parquet_sql(users)
        names = f"""SELECT t."user", n.name FROM {theirs} t LEFT JOIN
            (SELECT pseudonym::VARCHAR AS shown, min("user"::VARCHAR) AS name
             FROM {table} GROUP BY shown) n ON n.shown = t.name"""
    else:
        names = (
            f'SELECT "user", {"name" if users == "same" else "NULL::VARCHAR"} AS name FROM {theirs}'
        )
    try:
        found = sql.execute(f"""
            SELECT coalesce(u."user", -1) AS "user" FROM ({names}) t LEFT JOIN users u USING (name)
            ORDER BY t."user" """).fetchnumpy()
    except duckdb.Error as cause:
        if not isinstance(users, Path) or isinstance(cause, duckdb.OperationalError):
            raise
        raise unreadable(users) from None  # what DuckDB says may quote a user-ID
    return _ints(found["user"])


def _ints(column: Any) -> Ints:
    return np.ascontiguousarray(column, dtype=np.int64)
