"""How DuckDB numbers a second log like the one it counted: same text, same number.

Everything here sees the tables `pairs` (pair, query_number, query, url) and `users` (user, name) of
the counted log, and the same tables of the other log as Parquet files.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.detection import unreadable
from slogan.engines import Whose
from slogan.histogram import PairHistogram
from slogan.rows import literal, parquet_sql


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


def with_numbers_of(
    first: PairHistogram, second: PairHistogram, *, user: Ints, pair: Ints, query: Ints
) -> PairHistogram:
    """The second histogram with the numbers of the first; what is new comes after.

    Args:
        first: The histogram whose numbers stay.
        second: The histogram that gets other numbers.
        user: For each user of the second the number in the first, or −1.
        pair: For each pair of the second the number in the first, or −1.
        query: For each pair of the second the number of its query in the first, or −1.
    """
    queries = int(first.query.max(initial=-1)) + 1
    new = np.flatnonzero(query < 0)
    query = query.copy()
    query[new] = queries + np.unique(second.query[new], return_inverse=True)[1]
    users = _after(user, first.users)
    return PairHistogram.of_rows(
        user=users[second.user],
        pair=_after(pair, first.pairs)[second.pair],
        count=second.count,
        users=max(first.users, int(users.max(initial=-1)) + 1),
        query=np.concatenate([first.query, query[pair < 0]]),
    )


def none_beside(first: PairHistogram) -> PairHistogram:
    """A second log without any click."""
    nobody = np.zeros(0, dtype=np.int64)
    return replace(first, user=nobody, pair=nobody, count=nobody)


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


def _after(numbers: Ints, taken: int) -> Ints:
    """Where there is no number (−1), the next one that is not taken."""
    new = numbers < 0
    return np.where(new, taken + np.cumsum(new) - 1, numbers)


def _ints(column: Any) -> Ints:
    return np.ascontiguousarray(column, dtype=np.int64)
