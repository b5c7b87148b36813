"""How Spark prunes: pairs of which not one click fits the budget, and rows that cannot bind.

Floating point takes away only what is beyond the budget by more than its own error. What is closer
stays, and is decided by the driver, in integers.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from slogan.engines import Question
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
