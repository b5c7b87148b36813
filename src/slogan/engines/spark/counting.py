"""How Spark counts: add up rows, count bad rows, keep shared pairs, number texts in their order.

Nothing here depends on how Spark divides the work, so a task that runs twice changes nothing. A
second log is numbered like the first: same text, same number.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.engines.engine import Whose, require_clicks
from slogan.engines.spark.reading import HEADER, address
from slogan.engines.spark.sql import Kept, array, by_number, frame_of, ints, one, run
from slogan.logs.rows import NO_CLICK, bad_row_error
from slogan.logs.searchlog import SearchLog
from slogan.logs.vocabulary import Pair

ROWS_PER_STRETCH = 250_000
"""Texts that one task may sort; more are divided by their first letters."""

_FINE = (None, NO_CLICK)
_OVERFLOWN = 2**62
_MOST_APART = 64
# Rows that do not count lose their texts, so that they add up to few: one for each reason and file.
# Were it one, a single task would add up all of a log's bad rows. So they are spread over as many
# tasks as `apart` has values, by a hash of the user; rows that count are apart by their pair alone.
#
# A header is recognised by its text, for no row knows its number in the file. Of the rows of a
# file with that text one is the header, n - 1 are bad rows; HAVING leaves out what is then empty.
# All must therefore add up in one place, so a header is never apart.
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


def added_up(rows: DataFrame) -> DataFrame:
    """One row for each user and pair with its clicks; one for each reason and file not to count.

    The header of each file is gone; if it comes again, that is a row as any other, and no good one.
    Rows of one pair are together from here on, so that what is asked of pairs moves nothing.
    """
    return run(_ADDED_UP, judged=run(_JUDGED, rows=rows).repartition("query", "url", "apart"))


def check(added: DataFrame, log: SearchLog) -> tuple[int, int, dict[str, int]]:
    """Raise for bad rows, or count them if they may be skipped; raise if no click is left.

    Returns the clicks, the rows without one, and the bad rows by reason.
    """
    groups = run(
        """SELECT reason, file, sum(n) AS n, CAST(sum(CAST(clicks AS DECIMAL(38))) AS STRING) AS c
           FROM {added} GROUP BY reason, file ORDER BY file, reason""",
        added=added,
    ).collect()
    clicks = sum(int(row["c"]) for row in groups)
    no_click = sum(int(row["n"]) for row in groups if row["reason"] == NO_CLICK)
    bad: dict[str, int] = {}
    for row in groups:
        reason, n = row["reason"], int(row["n"])
        if reason not in _FINE:
            if not log.skip_bad_rows:
                error = bad_row_error(reason, f"{row['file']}, {n} rows", log)
                error.say_how_many(sum(int(g["n"]) for g in groups if g["reason"] not in _FINE), 0)
                raise error
            bad[reason] = bad.get(reason, 0) + n
    require_clicks(clicks, no_click)
    return clicks, no_click, bad


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

    def numbers_of(self, listed: DataFrame) -> Ints:
        """The numbers of these pairs, in order."""
        return np.sort(
            ints(
                run(
                    "SELECT p.pair FROM {pairs} p JOIN {listed} l USING (query, url)",
                    pairs=self.pairs,
                    listed=listed,
                )
            )[0]
        )


def public_pairs(session: SparkSession, pairs: Sequence[Pair]) -> DataFrame:
    """A frame of public pairs: query, url."""
    queries, urls = zip(*pairs, strict=True)
    return frame_of(session, query=list(queries), url=list(urls)).where("query <> ''").distinct()


def number(
    added: DataFrame, kept: Kept, *, unique_pairs: bool, listed: DataFrame | None = None
) -> Numbered:
    """Number pairs, queries and users from 0 in the order of their bytes.

    Public pairs are numbered too; those without a click have no rows.
    """
    held = run(_HELD, added=added)
    enough = f"holders >= {1 if unique_pairs else 2}"
    pairs_of_log, numbered_pairs, rows, clicks_of_pairs = one(
        f"""SELECT count(*), count_if({enough}), coalesce(sum(IF({enough}, holders, 0)), 0),
                   coalesce(sum(IF({enough}, clicks, 0)), 0) FROM {{held}}""",
        held=held,
    )
    some = held.filter(enough)
    if listed is not None:
        unheld = run(
            """SELECT l.query, l.url, CAST(0 AS INT) AS apart, CAST(0 AS BIGINT) AS holders,
                      CAST(0 AS BIGINT) AS clicks
               FROM {listed} l LEFT ANTI JOIN {held} h ON h.query = l.query AND h.url = l.url""",
            listed=listed,
            held=held,
        )
        some = some.unionByName(unheld)
        numbered_pairs += unheld.count()
    with _for_now(some) as some:
        pairs = kept.keep(_numbered_pairs(some, numbered_pairs))
        pairs.count()
    named = kept.keep(run(_NAMED, added=added, pairs=pairs).repartition("name"))
    (users_of_log,) = one(f"SELECT count(*) FROM ({_NAMES})", named=named)
    with _for_now(run(f"{_NAMES} HAVING count(pair) > 0", named=named)) as some:
        users = kept.keep(numbered_users(some, users_of_log))
        users_here = users.count()
    return Numbered(
        pairs=pairs,
        users=users,
        clicks=run(_CLICKS, named=named, users=users),
        pairs_of_log=pairs_of_log,
        users_of_log=users_of_log,
        size=(rows, users_here, numbered_pairs),
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
# there are stretches, are sent to the driver, and their running sums go back as a constant array
# (`_starts`). The same holds for the numbers of queries, with distinct queries in place of rows and
# dense_rank in place of row_number: the key of a pair is that of its query, so no query is in two
# stretches.
#
# key(t) (in `_parted`): every text lies between the first and the last, so it begins with the bytes
# that these two have in common. They are left out; the next seven bytes, filled up with zeros, are
# read as a number to the base 256. It is below 2^56, a BIGINT. Texts that differ later, or by zeros
# at the end, have the same key, which does no harm: equal keys are in one stretch.
#
# The cuts are quantiles of the keys, for stretches of about ROWS_PER_STRETCH texts. They may be
# approximate: other cuts change the work of tasks and no number. But all tasks must use the same,
# so they are sent to the driver once and are written into the statement.


def _numbered_pairs(held: DataFrame, rows: int) -> DataFrame:
    parted = _parted(held, "query", rows)
    pairs, queries = _starts(parted, "count(*)", "count(DISTINCT query)")
    pair = _rank("row_number()", "query, url", pairs)
    query = _rank("dense_rank()", "query", queries)
    return parted.selectExpr(f"{pair} AS pair", f"{query} AS query_number", "query", "url", "apart")


def numbered_users(names: DataFrame, rows: int) -> DataFrame:
    """Users by name, numbered from 0 in the order of their bytes; `rows` is about how many."""
    parted = _parted(names, "name", rows)
    (users,) = _starts(parted, "count(*)")
    return parted.selectExpr(f"{_rank('row_number()', 'name', users)} AS user", "name")


def _rank(within: str, order: str, starts: str) -> str:
    window = f"OVER (PARTITION BY stretch ORDER BY {order})"
    return f"{within} {window} - 1 + element_at({starts}, stretch + 1)"


def _parted(frame: DataFrame, text: str, rows: int) -> DataFrame:
    """The frame with a number for the stretch of the order in which the text of a row lies."""
    stretches = -(-rows // ROWS_PER_STRETCH)
    if stretches <= 1:
        return frame.selectExpr("*", "0 AS stretch")
    (common,) = one(_COMMON, texts=frame.selectExpr(f"{text} AS text"))
    beginning = f"hex(substr(CAST({text} AS BINARY), {common + 1}, 7))"
    key = f"CAST(conv(rpad({beginning}, 14, '0'), 16, 10) AS BIGINT)"
    shares = ", ".join(f"{i}D / {stretches}" for i in range(1, stretches))
    cuts = f"SELECT explode(approx_percentile({key}, array({shares}))) AS cut FROM {{frame}}"
    places = np.unique(ints(run(cuts, frame=frame))[0])
    return frame.selectExpr("*", f"size(filter({array(places)}, c -> c <= {key})) AS stretch")


def _starts(parted: DataFrame, *counts: str) -> list[str]:
    """For each count, the sums over earlier stretches as an array of SQL."""
    counted = f"SELECT stretch, {', '.join(counts)} FROM {{parted}} GROUP BY stretch"
    stretch, *sizes = ints(run(counted, parted=parted))
    whole = np.zeros((len(sizes), int(stretch.max(initial=0)) + 1), dtype=np.int64)
    whole[:, stretch] = sizes
    return [array(before) for before in np.cumsum(whole, axis=1) - whole]


def known_pairs(mine: Numbered, theirs: Numbered) -> tuple[Ints, Ints]:
    """For each pair of the second log the number it has in the first, and that of its query."""
    known = run(
        """SELECT t.pair, coalesce(p.pair, -1), coalesce(q.query_number, -1)
           FROM {theirs} t LEFT JOIN {mine} p ON p.query = t.query AND p.url = t.url
           LEFT JOIN (SELECT DISTINCT query, query_number FROM {mine}) q ON q.query = t.query""",
        mine=mine.pairs,
        theirs=theirs.pairs,
    )
    pair, number, query = ints(known)
    order = np.argsort(pair)
    return number[order], query[order]


def known_users(mine: Numbered, theirs: Numbered, users: Whose) -> Ints:
    """For each user of the second log the number they have in the first, or −1."""
    if users == "others":
        return np.full(theirs.size[1], -1, dtype=np.int64)
    named = theirs.users
    if isinstance(users, Path):
        named = run(
            """SELECT t.user, n.name FROM {shown} t LEFT JOIN
                   (SELECT CAST(pseudonym AS STRING) AS shown, min(CAST(`user` AS STRING)) AS name
                    FROM {table} GROUP BY 1) n ON n.shown = t.name""",
            shown=named,
            table=named.sparkSession.read.parquet(address(users)),
        )
    known = run(
        "SELECT t.user, coalesce(u.user, -1) FROM {named} t LEFT JOIN {mine} u ON u.name = t.name",
        named=named,
        mine=mine.users,
    )
    return by_number(known, theirs.size[1])
