"""How Spark prunes: pairs of which not one click fits the budget, and rows that cannot bind.

Floating point takes away only what is beyond the budget by more than its own error. What is closer
stays, and is decided by the driver, in integers.

First-order steps in Spark: prices that prove a bound, and the fractional counts they go with.

The steps are those of Chambolle and Pock with their diagonal step sizes, over-relaxed. The problem
is a frame of its entries, and so is where the steps are: each entry carries the count x of its pair
and the price y of its line. Half a step is a sum over a pair or a line, written beside its entries.
So steps are a chain, of which any number is one statement, and no task keeps anything in mind.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from slogan.engines.engine import Question
from slogan.engines.spark.counting import Numbered
from slogan.engines.spark.sql import run

_CLEARLY = 1 + 1e-9
"""Several times the error of a quotient of logarithms."""
_HALF = 0.5 * _CLEARLY
SCALE = 2**36
"""Sums are sums of integers, so that no order of additions changes a digit. Those of a user with
ten million pairs stay below 2^63."""


def fitting(clicks: DataFrame, asked: Question) -> DataFrame:
    """Clicks on pairs of which one click may fit: user, pair, clicks, share, upper.

    The share is what one released click charges the user, as part of the limit: log t_ijk / b. The
    upper bound is ⌊b / max_k log t_ijk⌋, or one more where that is a tie.
    """
    limit = f"{asked.limit * _CLEARLY!r}D"
    upper = f"floor({limit} / {_cost('largest')})"
    if asked.most is not None:
        upper = f"least({upper}, {asked.most}L)"
    return (
        clicks.selectExpr(
            "`user`",
            "pair",
            "clicks",
            "sum(clicks) OVER (PARTITION BY pair) AS total",
            "max(clicks) OVER (PARTITION BY pair) AS largest",
        )
        .selectExpr(
            "`user`",
            "pair",
            "clicks",
            f"{_cost('clicks')} / {asked.limit!r}D AS share",
            f"{upper} AS upper",
        )
        .filter("upper > 0")
    )


def cheapest(session: SparkSession, clicks: DataFrame) -> float:
    """What one click of the cheapest pair charges the user whom it charges most."""
    pairs = run(
        session,
        "SELECT sum(clicks) AS total, max(clicks) AS largest FROM {clicks} GROUP BY pair",
        clicks=clicks,
    )
    (found,) = pairs.selectExpr(f"min({_cost('largest')})").collect()
    return float(found[0])


def _cost(own: str) -> str:
    """Log t_ijk, by the formula that is precise for the share at hand."""
    return f"IF(2 * {own} > total, ln(total / (total - {own})), -log1p(-{own} / total))"


def charges(
    session: SparkSession, fits: DataFrame, numbered: Numbered, asked: Question
) -> DataFrame:
    """The packing problem, entry by entry: line, pair, share, upper.

    On every line Σ share·x ≤ 1. A user has two lines: what released clicks charge, and a clique,
    that of the pairs which charge more than half of the limit, of which one can be released. A
    query may have one: that of its pairs. Lines that the upper bounds alone keep are left out.
    """
    lines = fits.selectExpr("2 * `user` AS line", "pair", "share", "upper").union(
        fits.filter(f"share > {_HALF!r}D").selectExpr("2 * `user` + 1", "pair", "1D", "upper")
    )
    if asked.one_of_query:
        lines = lines.union(
            run(
                session,
                """SELECT -1 - p.query_number, p.pair, 1D, f.upper FROM {pairs} p
                   JOIN (SELECT DISTINCT pair, upper FROM {fits}) f ON f.pair = p.pair""",
                pairs=numbered.pairs,
                fits=fits,
            )
        )
    load = summed("share * upper", by="line")
    return lines.selectExpr("*", f"{load} AS load").filter(f"load > {_CLEARLY!r}D").drop("load")


def summed(what: str, *, by: str) -> str:
    """A sum over a line or pair, written beside each of its entries."""
    return f"sum(CAST(rint(({what}) * {SCALE}D) AS BIGINT)) OVER (PARTITION BY {by}) / {SCALE}D"


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
