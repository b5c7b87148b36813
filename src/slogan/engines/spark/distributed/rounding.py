"""Whole counts in Spark: in each round every line says yes to what it can pay, in one order.

Pairs are wanted in the order of what they cost at the prices of the relaxation, each as often as it
fits. A line grants the longest beginning of that order which it can pay. A pair gets the clicks
that all its lines grant. The first of all pairs that still fit is granted everywhere, so every
round comes closer to the end. Costs are integers, so no order of additions changes a count.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from slogan.engines.spark.distributed.relaxation import PRICE, summed
from slogan.engines.spark.sql import one, run

_LIMIT = 2**40
_FORGIVEN = 256
"""Forgives the rounding of ties such as 2·log 1.5 = log 2.25; the gate decides them."""
_ENTRY = ("line", "pair", "cost", "upper", "price")
_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def begun(relaxed: DataFrame) -> DataFrame:
    """Nothing is released, and all of every limit is there."""
    return relaxed.selectExpr(
        "line",
        "pair",
        f"greatest(1L, CAST(rint(share * {_LIMIT}D) AS BIGINT)) AS cost",
        "upper",
        f"{summed(f'share * {PRICE}', by='pair')} AS price",
        "0L AS x",
        "0L AS granted",
        f"{_LIMIT}L AS slack",
        "true AS open",
    )


def next_round(state: DataFrame) -> DataFrame:
    """One round: lines grant what they can pay, then pairs take what all their lines grant.

    A pair is closed when some line cannot pay for a click of it: slack only shrinks.
    """
    window = "OVER (PARTITION BY line ORDER BY price, pair {})"
    paid = state.selectExpr(
        *_ENTRY, "x", "open", f"slack - sum(cost * granted) {window.format(_ALL)} AS slack"
    )
    room = f"least(upper - x, greatest(0L, (slack + {_FORGIVEN}) div cost))"
    asking = paid.selectExpr("*", f"IF(open, {room}, 0L) AS room")
    asked = f"sum(cost * room) {window.format(_SO_FAR)}"
    answered = asking.selectExpr("*", f"IF({asked} <= slack + {_FORGIVEN}, room, 0L) AS yes")
    taken = answered.selectExpr(
        *_ENTRY,
        "x",
        "slack",
        "min(yes) OVER (PARTITION BY pair) AS granted",
        "min(room) OVER (PARTITION BY pair) > 0 AS open",
    )
    return taken.selectExpr(*_ENTRY, "x + granted AS x", "granted", "slack", "open")


def open_pairs(session: SparkSession, state: DataFrame) -> int:
    """How many pairs may still get a click."""
    (left,) = one(run(session, "SELECT count(DISTINCT pair) FROM {s} WHERE open", s=state))
    return left


def released(session: SparkSession, state: DataFrame) -> DataFrame:
    """The pairs that got clicks: pair, x."""
    return run(
        session,
        "SELECT pair, max(x) AS x FROM {s} GROUP BY pair HAVING max(x) > 0",
        s=state,
    )


def size(session: SparkSession, state: DataFrame) -> int:
    """Clicks that pairs on lines have so far."""
    (clicks,) = one(run(session, "SELECT coalesce(sum(x), 0) FROM {r}", r=released(session, state)))
    return clicks
