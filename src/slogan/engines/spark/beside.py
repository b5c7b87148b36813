"""How Spark numbers a second log like the one it counted: same text, same number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.engines import Whose
from slogan.engines.spark.counting import Numbered
from slogan.engines.spark.reading import address
from slogan.engines.spark.sql import ints, run


def known_pairs(session: SparkSession, mine: Numbered, theirs: Numbered) -> tuple[Ints, Ints]:
    """For each pair of the second log the number it has in the first, and that of its query."""
    pair, known, query = ints(
        run(
            session,
            """SELECT t.pair, coalesce(p.pair, -1), coalesce(q.query_number, -1)
               FROM {theirs} t LEFT JOIN {mine} p ON p.query = t.query AND p.url = t.url
               LEFT JOIN (SELECT DISTINCT query, query_number FROM {mine}) q
                    ON q.query = t.query""",
            mine=mine.pairs,
            theirs=theirs.pairs,
        )
    )
    return _in_order(pair, known), _in_order(pair, query)


def known_users(session: SparkSession, mine: Numbered, theirs: Numbered, users: Whose) -> Ints:
    """For each user of the second log the number they have in the first, or −1."""
    if users == "others":
        return np.full(theirs.size[1], -1, dtype=np.int64)
    named = theirs.users
    if isinstance(users, Path):
        named = _unmasked(session, named, session.read.parquet(address(users)))
    user, known = ints(
        run(
            session,
            """SELECT t.user, coalesce(u.user, -1)
               FROM {named} t LEFT JOIN {mine} u ON u.name = t.name""",
            named=named,
            mine=mine.users,
        )
    )
    return _in_order(user, known)


def _unmasked(session: SparkSession, shown: DataFrame, table: DataFrame) -> DataFrame:
    return run(
        session,
        """SELECT t.user, n.name FROM {shown} t LEFT JOIN
               (SELECT CAST(pseudonym AS STRING) AS shown, min(CAST(`user` AS STRING)) AS name
                FROM {table} GROUP BY 1) n ON n.shown = t.name""",
        shown=shown,
        table=table,
    )


def _in_order(place: Ints, values: Ints) -> Ints:
    ordered = np.empty_like(values)
    ordered[place] = values
    return ordered
