"""First-order steps in Spark: prices that prove a bound, and the fractional counts they go with.

The steps are those of Chambolle and Pock with their diagonal step sizes, over-relaxed. The problem
is a frame of its entries, and so is where the steps are: each entry carries the count x of its pair
and the price y of its line. Half a step is a sum over a pair or a line, written beside its entries.
So steps are a chain, of which any number is one statement, and no task keeps anything in mind.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from slogan.engines.spark.pruning import SCALE, summed
from slogan.engines.spark.sql import run

_BEYOND = 1.5
"""How far to go in the direction of a step; 1 is the plain method, and 2 need not converge."""
_ROUND_UP = 1 + 1e-9
"""Covers the rounding of the bound, a sum of products in floating point, many times over."""
_PARTS = 2**20
"""Clicks are summed in such parts of one, as integers."""
_ENTRY = ("line", "pair", "share", "upper")
COUNT = "least(upper, greatest(0D, x))"
PRICE = "greatest(0D, y)"
"""Going beyond a step may leave the range of counts and prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What some steps prove."""

    value: float
    """The clicks of fractional counts that obey every line."""
    bound: float
    """No integer counts release more: weak duality."""


def begun(charges: DataFrame) -> DataFrame:
    """Where the steps begin: nothing released, nothing priced."""
    return charges.selectExpr(*_ENTRY, "0D AS x", "0D AS y")


def step(place: DataFrame) -> DataFrame:
    """The next place."""
    worth, weight = summed("share * y", by="pair"), summed("share", by="pair")
    there = f"least(upper, greatest(0D, x + (1 - {worth}) / ({weight})))"
    load, length = summed("share * (2 * there - x)", by="line"), summed("share", by="line")
    priced = f"greatest(0D, y + ({load} - 1) / ({length}))"
    return place.selectExpr(*_ENTRY, "x", "y", f"{there} AS there").selectExpr(
        *_ENTRY,
        f"x + {_BEYOND}D * (there - x) AS x",
        f"y + {_BEYOND}D * ({priced} - y) AS y",
    )


def reached(session: SparkSession, place: DataFrame) -> Reached:
    """Bound and value at a place; the counts are scaled down until every line holds.

    Any prices prove the bound Σ y + Σ upper·max(0, 1 − Σ share·y). Here the first sum is rounded
    up, the last down.
    """
    loaded = place.selectExpr(
        "pair",
        "share",
        "upper",
        f"{COUNT} AS x",
        f"{PRICE} AS y",
        "count(*) OVER (PARTITION BY line) AS entries",
        f"{summed(f'share * {COUNT}', by='line')} AS load",
    )
    (found,) = run(
        session,
        f"""SELECT coalesce(sum(CAST(floor(value * {_PARTS}D) AS BIGINT)), 0) / {_PARTS}D,
                   coalesce(sum(CAST(paid AS DECIMAL(28))), 0) / {SCALE}D
                       + coalesce(sum(CAST(ceil(unpaid * {_PARTS}D) AS BIGINT)), 0) / {_PARTS}D
            FROM (SELECT max(x) / greatest(1D, max(load)) AS value,
                         sum(CAST(ceil(y / entries * {SCALE}D) AS BIGINT)) AS paid,
                         sum(CAST(floor(share * y * {SCALE}D) AS BIGINT)) / {SCALE}D AS price,
                         max(upper) * greatest(0D, 1 - price) AS unpaid
                  FROM {{loaded}} GROUP BY pair)""",
        loaded=loaded,
    ).collect()
    return Reached(value=float(found[0]), bound=float(found[1]) * _ROUND_UP)


def in_play(session: SparkSession, place: DataFrame, *, dearest: float) -> DataFrame:
    """The pairs that have a count, or cost at most this at the prices of now."""
    return run(
        session,
        f"""SELECT pair FROM (SELECT pair, max({COUNT}) AS count, sum(share * {PRICE}) AS price
                              FROM {{place}} GROUP BY pair)
            WHERE count > 0 OR price < {dearest}D""",
        place=place,
    )
