"""How Spark draws a user for every released click, so that a task that runs again redraws nothing.

The driver draws one key. The word of a click is HMAC-SHA-256 of its pair and number under that key,
so whoever computes it, and however often, computes the same. Proof: docs/proofs/sampling.md.
"""

from __future__ import annotations

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.engines.spark.sql import frame_of, ints, run
from slogan.randomness import Randomness
from slogan.sampling import Output

WORD_BITS = 60
_DIGITS = WORD_BITS // 4
_PLACES = range(1, 64 - _DIGITS, _DIGITS)
"""Where the words of a digest begin, which has 64 hexadecimal digits."""
_KEY_WORDS = 4
_BLOCK = 64
_BATCH = 1 << 16

_TOTALS = """
    SELECT r.pair, r.drawn, sum(c.clicks) AS total
    FROM {clicks} c JOIN {released} r ON r.pair = c.pair GROUP BY r.pair, r.drawn"""
# In two steps, so that no array is longer than a batch.
_EACH_CLICK = f"""
    SELECT pair, total, explode(sequence(first, least(first + {_BATCH}, drawn) - 1)) AS click
    FROM (SELECT *, explode(sequence(0L, drawn - 1, {_BATCH}L)) AS first FROM {{totals}})"""
_MESSAGE = "CAST(concat(CAST(pair AS STRING), ' ', CAST(click AS STRING)) AS BINARY)"
_DIGEST = f"""
    SELECT /*+ BROADCAST(k) */ d.pair, d.click, d.total,
           {1 << WORD_BITS} - {1 << WORD_BITS} % d.total AS kept,
           sha2(concat(k.`outer`, unhex(sha2(concat(k.`inner`, {_MESSAGE}), 256))), 256) AS digest
    FROM {{clicks}} d CROSS JOIN {{key}} k"""
_OWNERS = """
    SELECT coalesce(owner, -1L), pair, count(*) FROM (
        SELECT pair, drawn, last_value(`user`, true) OVER (
            PARTITION BY pair ORDER BY place NULLS FIRST, drawn
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS owner
        FROM (SELECT c.pair, c.user, 0 AS drawn,
                     sum(c.clicks) OVER (PARTITION BY c.pair ORDER BY c.user) - c.clicks AS place
              FROM {clicks} c JOIN {released} r ON r.pair = c.pair
              UNION ALL SELECT pair, NULL, 1, point FROM {points}))
    WHERE drawn = 1 GROUP BY owner, pair"""


def draw_users(
    session: SparkSession, clicks: DataFrame, pairs: Ints, counts: Ints, rng: Randomness
) -> Output:
    """Draw user k of pair ij with probability c_ijk/c_ij for each of the clicks on these pairs.

    Args:
        session: Where the clicks stand.
        clicks: user, pair, clicks: each user and pair once.
        pairs: The pairs of which something is released.
        counts: How many clicks of each.
        rng: Where the key comes from.
    """
    positive = counts > 0
    released = frame_of(session, pair=pairs[positive], drawn=counts[positive])
    while True:
        key = rng.words(_KEY_WORDS).tobytes()
        user, pair, count = ints(owners(session, clicks, released, key))
        # A click whose words were all rejected has no owner: then all are drawn anew.
        if not (user < 0).any():
            return _in_order(user, pair, count)


def owners(session: SparkSession, clicks: DataFrame, released: DataFrame, key: bytes) -> DataFrame:
    """How often each user is drawn for each pair, as user, pair, count; -1 is nobody.

    The clicks of a pair are laid end to end, user by user, as `sample_users` does it. Where each
    user begins and where the draws point is sorted together: the last to begin before is meant.
    """
    totals = run(session, _TOTALS, clicks=clicks, released=released)
    each = run(session, _EACH_CLICK, totals=totals)
    return run(
        session,
        _OWNERS,
        clicks=clicks,
        released=released,
        points=points(session, each, key),
    )


def points(session: SparkSession, clicks: DataFrame, key: bytes) -> DataFrame:
    """For each pair, click and total an integer point in 0..total−1, each equally likely.

    The first word of the click's digest below the largest multiple of the total, reduced modulo
    the total; NULL if there is none.
    """
    words = (f"CAST(conv(substr(digest, {at}, {_DIGITS}), 16, 10) AS BIGINT)" for at in _PLACES)
    tried = ", ".join(f"IF({word} < kept, {word} % total, NULL)" for word in words)
    return run(
        session,
        f"SELECT pair, click, total, coalesce({tried}) AS point FROM {{digests}}",
        digests=run(session, _DIGEST, clicks=clicks, key=_key_frame(session, key)),
    )


def _key_frame(session: SparkSession, key: bytes) -> DataFrame:
    """The key as data, which no plan, log or page of Spark shows, padded as HMAC has it."""
    padded = key.ljust(_BLOCK, b"\0")
    inner, outer = (bytes(byte ^ mask for byte in padded) for mask in (0x36, 0x5C))
    return frame_of(session, inner=[inner], outer=[outer])


def _in_order(user: Ints, pair: Ints, count: Ints) -> Output:
    """By user, then pair, as a histogram has its rows."""
    order = np.lexsort((pair, user))
    return Output(user=user[order], pair=pair[order], count=count[order])
