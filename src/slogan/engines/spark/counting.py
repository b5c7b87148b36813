"""How Spark counts: rows added up, bad rows told, shared pairs kept, texts numbered in their order.

Nothing here depends on how Spark divides the work, so a task that runs twice changes nothing.

How Spark numbers a second log like the one it counted: same text, same number.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.engines.engine import Whose
from slogan.engines.spark.reading import HEADER, address
from slogan.engines.spark.sql import Kept, ints, one, run
from slogan.errors import BadRowError, EmptyLogError
from slogan.logs.rows import MOST_CLICKS, NO_CLICK, bad_row_error
from slogan.logs.searchlog import SearchLog

ROWS_PER_STRETCH = 250_000
"""Texts that one task may sort; more are divided by their first letters."""

_OVERFLOWN = 2**62
_MOST_APART = 64
# Rows that do not count lose their texts; their users' names keep them from meeting in one task.
_JUDGED = f"""
    SELECT IF(reason IS NULL, name, NULL) AS name, IF(reason IS NULL, query, NULL) AS query,
           IF(reason IS NULL, url, NULL) AS url, IF(reason IS NULL, clicks, 0) AS clicks,
           reason, IF(reason IS NULL OR reason = '{NO_CLICK}', NULL, file) AS file,
           IF(reason IS NULL OR reason = '{HEADER}', 0, pmod(hash(name), {_MOST_APART})) AS apart
    FROM {{rows}}"""
_ADDED_UP = f"""
    SELECT name, query, url, IF(reason = '{HEADER}', 'unreadable', reason) AS reason, file, apart,
           coalesce(try_sum(clicks), {_OVERFLOWN}) AS clicks,
           count(*) - IF(reason <=> '{HEADER}', 1, 0) AS n
    FROM {{judged}} GROUP BY name, query, url, reason, file, apart HAVING n > 0"""
_TOGETHER = ("query", "url", "apart")
_HELD = """
    SELECT query, url, apart, count(*) AS holders, sum(clicks) AS clicks FROM {added}
    WHERE reason IS NULL GROUP BY query, url, apart"""
# A hash of the pairs or users of each task spares sorting the clicks, which are many more.
_NAMED = """
    SELECT /*+ SHUFFLE_HASH(p) */ t.name, p.pair, t.clicks FROM {added} t
    LEFT JOIN {pairs} p ON p.query = t.query AND p.url = t.url AND p.apart = t.apart
    WHERE t.reason IS NULL"""
_NAMES = "SELECT name FROM {named} GROUP BY name"
_CLICKS = """
    SELECT /*+ SHUFFLE_HASH(u) */ u.user, n.pair, n.clicks FROM {named} n
    JOIN {users} u ON u.name = n.name WHERE n.pair IS NOT NULL"""
# The bytes that all texts begin with tell nothing; the next seven, as a number, keep the order.
_COMMON = """
    SELECT size(filter(sequence(1, least(256, octet_length(low))),
                       i -> substr(low, 1, i) = substr(high, 1, i))) AS common
    FROM (SELECT CAST(min(text) AS BINARY) AS low, CAST(max(text) AS BINARY) AS high FROM {texts})
"""


def added_up(session: SparkSession, rows: DataFrame) -> DataFrame:
    """One row for each user and pair with its clicks; one for each reason and file not to count.

    The header of each file is gone; if it comes again, that is a row as any other, and no good one.
    Rows of one pair are together from here on, so that what is asked of pairs moves nothing.
    """
    judged = run(session, _JUDGED, rows=rows).repartition(*_TOGETHER)
    return run(session, _ADDED_UP, judged=judged)


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the added rows say of the log as a whole."""

    clicks: int
    rows_without_click: int
    bad_rows: dict[str, int]


def check(session: SparkSession, added: DataFrame, log: SearchLog) -> Checked:
    """Raise for bad rows, or count them if they may be skipped; raise if no click is left."""
    told = run(
        session,
        """SELECT reason, file, sum(n) AS n, CAST(sum(CAST(clicks AS DECIMAL(38))) AS STRING) AS c
           FROM {added} GROUP BY reason, file ORDER BY file, reason""",
        added=added,
    ).collect()
    clicks = sum(int(row["c"]) for row in told)
    no_click = sum(int(row["n"]) for row in told if row["reason"] == NO_CLICK)
    bad: dict[str, int] = {}
    for row in told:
        reason, n = row["reason"], int(row["n"])
        if reason not in (None, NO_CLICK):
            if not log.skip_bad_rows:
                raise bad_row_error(reason, f"{row['file']}, {n} rows", log)
            bad[reason] = bad.get(reason, 0) + n
    if clicks == 0:
        raise EmptyLogError(
            f"the log holds no click ({no_click} rows without one)",
            hint="check that --url names the column of the clicked url",
        )
    if clicks > MOST_CLICKS:
        raise BadRowError(
            "the counts of the log sum to more than 2^53",
            hint="count in a coarser unit, or split the log",
            reason="count huge",
        )
    return Checked(clicks=clicks, rows_without_click=no_click, bad_rows=bad)


@dataclass(frozen=True, kw_only=True)
class Numbered:
    """The texts of a log with their numbers, and the clicks, all as frames."""

    pairs: DataFrame
    """pair, query_number, query, url, apart"""
    users: DataFrame
    """user, name"""
    clicks: DataFrame
    """user, pair, clicks"""
    pairs_of_log: int
    users_of_log: int
    size: tuple[int, int, int]
    """Rows of clicks, users and pairs that have numbers."""
    clicks_of_pairs: int
    """Clicks on the pairs that have numbers."""


def number(session: SparkSession, added: DataFrame, kept: Kept, *, unique_pairs: bool) -> Numbered:
    """Number pairs, queries and users from 0 in the order of their bytes."""
    held = run(session, _HELD, added=added)
    least = 1 if unique_pairs else 2
    pairs_of_log, numbered_pairs, rows, clicks_of_pairs = one(
        run(
            session,
            f"""SELECT count(*), count_if(holders >= {least}),
                       coalesce(sum(IF(holders >= {least}, holders, 0)), 0),
                       coalesce(sum(IF(holders >= {least}, clicks, 0)), 0) FROM {{held}}""",
            held=held,
        )
    )
    with _for_now(held.filter(f"holders >= {least}")) as some:
        pairs = kept.keep(_numbered_pairs(session, some, numbered_pairs))
        pairs.count()
    named = kept.keep(run(session, _NAMED, added=added, pairs=pairs).repartition("name"))
    (users_of_log,) = one(run(session, f"SELECT count(*) FROM ({_NAMES})", named=named))
    with _for_now(run(session, f"{_NAMES} HAVING count(pair) > 0", named=named)) as some:
        users = kept.keep(_numbered_users(session, some, users_of_log))
        numbered_users = users.count()
    clicks = run(session, _CLICKS, named=named, users=users)
    return Numbered(
        pairs=pairs,
        users=users,
        clicks=clicks,
        pairs_of_log=pairs_of_log,
        users_of_log=users_of_log,
        size=(rows, numbered_users, numbered_pairs),
        clicks_of_pairs=clicks_of_pairs,
    )


@contextmanager
def _for_now(frame: DataFrame) -> Generator[DataFrame]:
    """Held by Spark while several things are asked of it."""
    try:
        yield frame.persist()
    finally:
        frame.unpersist()


# Numbers in order without one task that sorts everything.
#
# The number of a text t is its rank, the number of texts s < t in the order of bytes. A window
# without PARTITION BY would have one task sort all texts. So the order is cut into stretches: let
# key(t) be an integer that never falls as t grows, c_1 < … < c_k some cuts, and
#
#     stretch(t) = number of cuts c_i <= key(t).
#
# Since key is monotone, all texts of a stretch come before those of the next, hence
#
#     rank(t) = Σ_{j < stretch(t)} size(j) + rank of t among the texts of its stretch.
#
# The second term is a window with PARTITION BY stretch, a task each. The sizes, as many integers as
# there are stretches, come to the driver, and their running sums go back as a constant array
# (`_starts`). The same holds for the numbers of queries, with distinct queries in place of rows and
# dense_rank in place of row_number: the key of a pair is that of its query, so no query is in two
# stretches.
#
# key(t) (in `_parted`): every text lies between the first and the last, so it begins with the bytes
# that these two have in common. They are left out; the next seven bytes, filled up with zeros, are
# read as a number to the base 256. It is below 2^56, a BIGINT. Texts that differ later, or by zeros
# at the end, have the same key, which is no harm: equal keys are in one stretch.
#
# The cuts are quantiles of the keys, for stretches of about ROWS_PER_STRETCH texts. They may be
# approximate: other cuts change the work of tasks and no number. But all tasks must use the same,
# so they come to the driver once and are written into the statement.


def _numbered_pairs(session: SparkSession, held: DataFrame, rows: int) -> DataFrame:
    parted = _parted(session, held, "query", rows)
    counts = "SELECT stretch, count(*) AS pairs, count(DISTINCT query) AS queries FROM {parted}"
    pairs, queries = _starts(session, parted, counts)
    return run(
        session,
        f"""SELECT row_number() OVER (PARTITION BY stretch ORDER BY query, url) - 1
                       + element_at({pairs}, stretch + 1) AS pair,
                   dense_rank() OVER (PARTITION BY stretch ORDER BY query) - 1
                       + element_at({queries}, stretch + 1) AS query_number, query, url, apart
            FROM {{parted}}""",
        parted=parted,
    )


def _numbered_users(session: SparkSession, names: DataFrame, rows: int) -> DataFrame:
    parted = _parted(session, names, "name", rows)
    counts = "SELECT stretch, count(*) AS users FROM {parted}"
    (users,) = _starts(session, parted, counts)
    return run(
        session,
        f"""SELECT row_number() OVER (PARTITION BY stretch ORDER BY name) - 1
                       + element_at({users}, stretch + 1) AS user, name
            FROM {{parted}}""",
        parted=parted,
    )


def _parted(session: SparkSession, frame: DataFrame, text: str, rows: int) -> DataFrame:
    """The frame with a number for the stretch of the order in which the text of a row lies."""
    stretches = -(-rows // ROWS_PER_STRETCH)
    if stretches <= 1:
        return frame.selectExpr("*", "0 AS stretch")
    texts = frame.selectExpr(f"{text} AS text")
    (common,) = one(run(session, _COMMON, texts=texts))
    beginning = (
        f"CAST(conv(rpad(hex(substr(CAST({text} AS BINARY), {common + 1}, 7)), 14, '0'), 16, 10) "
        "AS BIGINT)"
    )
    shares = ", ".join(f"{i}D / {stretches}" for i in range(1, stretches))
    cuts = run(
        session,
        f"SELECT explode(approx_percentile({beginning}, array({shares}))) AS cut FROM {{frame}}",
        frame=frame,
    )
    places = ", ".join(f"{cut}L" for cut in sorted({*ints(cuts)[0].tolist()}))
    return frame.selectExpr(
        "*", f"size(filter(array({places}), cut -> cut <= {beginning})) AS stretch"
    )


def _starts(session: SparkSession, parted: DataFrame, counts: str) -> list[str]:
    """For each count, the sums over earlier stretches as an array of SQL."""
    stretch, *found = ints(run(session, f"{counts} GROUP BY stretch", parted=parted))
    arrays: list[str] = []
    for count in found:
        whole = np.zeros(int(stretch.max(initial=0)) + 1, dtype=np.int64)
        whole[stretch] = count
        before = np.cumsum(whole) - whole
        arrays.append(f"array({', '.join(f'{n}L' for n in before.tolist())})")
    return arrays


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
