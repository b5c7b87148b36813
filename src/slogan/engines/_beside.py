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
from slogan.detection import plain_glob
from slogan.engines import Whose
from slogan.histogram import PairHistogram
from slogan.rows import literal


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
    pair, query = _pair_numbers(sql, first, _saved(folder, "pairs"))
    user = _user_numbers(sql, first, _saved(folder, "users"), users)
    return PairHistogram.of_rows(
        user=user[second.user],
        pair=pair[second.pair],
        count=second.count,
        users=max(first.users, int(user.max(initial=-1)) + 1),
        query=query,
    )


def none_beside(first: PairHistogram) -> PairHistogram:
    """A second log without any click."""
    nobody = np.zeros(0, dtype=np.int64)
    return replace(first, user=nobody, pair=nobody, count=nobody)


def _saved(folder: Path, table: str) -> str:
    return f"read_parquet({literal(plain_glob(folder / f'beside-{table}.parquet'))})"


def _pair_numbers(
    sql: duckdb.DuckDBPyConnection, first: PairHistogram, theirs: str
) -> tuple[Ints, Ints]:
    """For each pair of the second log its number, and the query of every pair of both."""
    found = sql.execute(f"""
        SELECT coalesce(p.pair, -1) AS pair, coalesce(q.query_number, -1) AS query_number,
               dense_rank() OVER (PARTITION BY q.query IS NULL ORDER BY t.query) - 1 AS rank
        FROM {theirs} t LEFT JOIN pairs p USING (query, url)
        LEFT JOIN (SELECT query, any_value(query_number) AS query_number FROM pairs
                   SEMI JOIN {theirs} USING (query) GROUP BY query) q ON q.query = t.query
        ORDER BY t.pair""").fetchnumpy()
    pair, known, rank = (_ints(found[name]) for name in ("pair", "query_number", "rank"))
    queries = int(first.query.max(initial=-1)) + 1
    query = np.where(known >= 0, known, queries + rank)
    return _after(pair, first.pairs), np.concatenate([first.query, query[pair < 0]])


def _user_numbers(
    sql: duckdb.DuckDBPyConnection, first: PairHistogram, theirs: str, users: Whose
) -> Ints:
    if isinstance(users, Path):
        table = f"read_parquet({literal(plain_glob(users))})"
        names = f"""SELECT t."user", n.name FROM {theirs} t LEFT JOIN
            (SELECT pseudonym::VARCHAR AS shown, min("user"::VARCHAR) AS name
             FROM {table} GROUP BY shown) n ON n.shown = t.name"""
    else:
        names = (
            f'SELECT "user", {"name" if users == "same" else "NULL::VARCHAR"} AS name FROM {theirs}'
        )
    found = sql.execute(f"""
        SELECT coalesce(u."user", -1) AS "user" FROM ({names}) t LEFT JOIN users u USING (name)
        ORDER BY t."user" """).fetchnumpy()
    return _after(_ints(found["user"]), first.users)


def _after(numbers: Ints, taken: int) -> Ints:
    """Where there is no number (−1), the next one that is not taken."""
    new = numbers < 0
    return np.where(new, taken + np.cumsum(new) - 1, numbers)


def _ints(column: Any) -> Ints:
    return np.ascontiguousarray(column, dtype=np.int64)
