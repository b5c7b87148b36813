"""A packing problem as frames of Spark: pruned, relaxed by first-order steps, made whole in rounds.

The problem is a frame of its entries, and so is where steps and rounds are: each entry carries the
count of its pair and the price or slack of its line. What a pair or a line needs to know is a sum
over its entries, written beside each. So steps are a chain, of which any number is one statement,
and no task keeps anything in mind.
"""

from pyspark.sql import DataFrame

from slogan.engines.engine import Question
from slogan.engines.spark.counting import Numbered
from slogan.engines.spark.sql import one, run

_SCALE = 2**36
"""Sums are sums of integers, so that no order of additions changes a digit. Those of a user with
ten million pairs stay below 2^63."""


def _summed(what: str, *, by: str) -> str:
    """A sum over a line or pair, written beside each of its entries."""
    return f"sum(CAST(rint(({what}) * {_SCALE}D) AS BIGINT)) OVER (PARTITION BY {by}) / {_SCALE}D"


# --- pruning: pairs of which not one click fits the budget, and lines that cannot bind ---
#
# Floating point takes away only what is beyond the budget by more than its own error. What is
# closer stays, and is decided by the driver, in integers.

_CLEARLY = 1 + 1e-9
"""Several times the error of a quotient of logarithms."""
_HALF = 0.5 * _CLEARLY


def fitting(clicks: DataFrame, question: Question) -> DataFrame:
    """Clicks on pairs of which one click may fit: user, pair, clicks, share, upper.

    The share is what one released click charges the user, as part of the limit: log t_ijk / b. The
    upper bound is ⌊b / max_k log t_ijk⌋, or one more where that is a tie.
    """
    limit = f"{question.limit * _CLEARLY!r}D"
    upper = f"floor({limit} / {_cost('largest')})"
    if question.most is not None:
        upper = f"least({upper}, {question.most}L)"
    totals = "sum(clicks) OVER of_pair AS total, max(clicks) OVER of_pair AS largest"
    return run(
        f"""SELECT `user`, pair, clicks, {_cost("clicks")} / {question.limit!r}D AS share,
                   {upper} AS upper
            FROM (SELECT *, {totals} FROM {{clicks}} WINDOW of_pair AS (PARTITION BY pair))""",
        clicks=clicks,
    ).filter("upper > 0")


def cheapest(clicks: DataFrame) -> float:
    """What one click of the cheapest pair charges the user whom it charges most."""
    (found,) = run(
        f"""SELECT min({_cost("largest")}) FROM (
            SELECT sum(clicks) AS total, max(clicks) AS largest FROM {{clicks}} GROUP BY pair)""",
        clicks=clicks,
    ).collect()
    return float(found[0])


def _cost(own: str) -> str:
    """Log t_ijk, by the formula that is precise for the share at hand."""
    return f"IF(2 * {own} > total, ln(total / (total - {own})), -log1p(-{own} / total))"


def charges(fits: DataFrame, numbered: Numbered, question: Question) -> DataFrame:
    """The packing problem, entry by entry: line, pair, share, upper.

    On every line Σ share·x ≤ 1. A user has two lines: what released clicks charge, and a clique,
    that of the pairs which charge more than half of the limit, of which one can be released. A
    query may have one: that of its pairs. Lines that the upper bounds alone keep are left out.
    """
    lines = fits.selectExpr("2 * `user` AS line", "pair", "share", "upper").union(
        fits.filter(f"share > {_HALF!r}D").selectExpr("2 * `user` + 1", "pair", "1D", "upper")
    )
    if question.one_of_query:
        lines = lines.union(
            run(
                """SELECT -1 - p.query_number, p.pair, 1D, f.upper FROM {pairs} p
                   JOIN (SELECT DISTINCT pair, upper FROM {fits}) f ON f.pair = p.pair""",
                pairs=numbered.pairs,
                fits=fits,
            )
        )
    load = _summed("share * upper", by="line")
    return lines.selectExpr("*", f"{load} AS load").filter(f"load > {_CLEARLY!r}D").drop("load")


# --- steps: prices that prove a bound, and the fractional counts they go with ---
#
# They are those of Chambolle and Pock with their diagonal step sizes, over-relaxed.

_BEYOND = 1.5
"""How far to go in the direction of a step; 1 is the plain method, and 2 need not converge."""
_ROUND_UP = 1 + 1e-9
"""Covers the rounding of the bound, a sum of products in floating point, many times over."""
_PARTS = 2**20
"""Clicks are summed in such parts of one, as integers."""
_ENTRY = ("line", "pair", "share", "upper")
_COUNT = "least(upper, greatest(0D, x))"
_PRICE = "greatest(0D, y)"
"""Going beyond a step may leave the range of counts and prices."""


def begin_steps(charges: DataFrame) -> DataFrame:
    """Where the steps begin: nothing released, nothing priced."""
    return charges.selectExpr(*_ENTRY, "0D AS x", "0D AS y")


def step(place: DataFrame) -> DataFrame:
    """The next place."""
    worth, weight = _summed("share * y", by="pair"), _summed("share", by="pair")
    there = f"least(upper, greatest(0D, x + (1 - {worth}) / ({weight})))"
    load, length = _summed("share * (2 * there - x)", by="line"), _summed("share", by="line")
    priced = f"greatest(0D, y + ({load} - 1) / ({length}))"
    return place.selectExpr(*_ENTRY, "x", "y", f"{there} AS there").selectExpr(
        *_ENTRY,
        f"x + {_BEYOND}D * (there - x) AS x",
        f"y + {_BEYOND}D * ({priced} - y) AS y",
    )


def value_and_bound(place: DataFrame) -> tuple[float, float]:
    """What a place proves: the clicks of counts that obey every line, and the most there can be.

    The fractional counts are scaled down until every line holds. By weak duality any prices prove
    the bound Σ y + Σ upper·max(0, 1 − Σ share·y). Here the first sum is rounded up, the last down.
    """
    (found,) = run(
        f"""SELECT coalesce(sum(CAST(floor(value * {_PARTS}D) AS BIGINT)), 0) / {_PARTS}D,
                   coalesce(sum(CAST(paid AS DECIMAL(28))), 0) / {_SCALE}D
                       + coalesce(sum(CAST(ceil(unpaid * {_PARTS}D) AS BIGINT)), 0) / {_PARTS}D
            FROM (SELECT max(x) / greatest(1D, max(load)) AS value,
                         sum(CAST(ceil(y / entries * {_SCALE}D) AS BIGINT)) AS paid,
                         sum(CAST(floor(share * y * {_SCALE}D) AS BIGINT)) / {_SCALE}D AS price,
                         max(upper) * greatest(0D, 1 - price) AS unpaid
                  FROM (SELECT pair, share, upper, {_COUNT} AS x, {_PRICE} AS y,
                               count(*) OVER (PARTITION BY line) AS entries,
                               {_summed(f"share * {_COUNT}", by="line")} AS load FROM {{place}})
                  GROUP BY pair)""",
        place=place,
    ).collect()
    return float(found[0]), float(found[1]) * _ROUND_UP


def in_play(place: DataFrame, *, highest_price: float) -> DataFrame:
    """The pairs that have a count, or cost at most this at the prices of now."""
    return run(
        f"""SELECT pair FROM (SELECT pair, max({_COUNT}) AS count, sum(share * {_PRICE}) AS price
                              FROM {{place}} GROUP BY pair)
            WHERE count > 0 OR price < {highest_price}D""",
        place=place,
    )


# --- rounds: whole counts ---
#
# In each round every line says yes to what it can pay, in one order. Pairs are wanted in the order
# of what they cost at the prices of the relaxation, each as often as it fits. A line grants the
# longest beginning of that order which it can pay. A pair gets the clicks that all its lines grant.
# The first of all pairs that still fit is granted everywhere, so every round comes closer to the
# end. Costs are integers, so no order of additions changes a count.

_LIMIT = 2**40
_FORGIVEN = 256
"""Forgives the rounding of ties such as 2·log 1.5 = log 2.25; the gate decides them."""
_CLAIM = ("line", "pair", "cost", "upper", "price")
_ALL = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"


def begin_rounds(relaxed: DataFrame) -> DataFrame:
    """Nothing is released, and all of every limit is there."""
    return run(
        f"""SELECT line, pair, greatest(1L, CAST(rint(share * {_LIMIT}D) AS BIGINT)) AS cost, upper,
                   {_summed(f"share * {_PRICE}", by="pair")} AS price,
                   0L AS x, 0L AS granted, {_LIMIT}L AS slack, true AS open FROM {{relaxed}}""",
        relaxed=relaxed,
    )


def next_round(state: DataFrame) -> DataFrame:
    """One round: lines grant what they can pay, then pairs take what all their lines grant.

    A pair is closed when some line cannot pay for a click of it: slack only shrinks.
    """
    window = "OVER (PARTITION BY line ORDER BY price, pair {})"
    paid = state.selectExpr(
        *_CLAIM, "x", "open", f"slack - sum(cost * granted) {window.format(_ALL)} AS slack"
    )
    room = f"least(upper - x, greatest(0L, (slack + {_FORGIVEN}) div cost))"
    asking = paid.selectExpr("*", f"IF(open, {room}, 0L) AS room")
    requested = f"sum(cost * room) {window.format(_SO_FAR)}"
    answered = asking.selectExpr("*", f"IF({requested} <= slack + {_FORGIVEN}, room, 0L) AS yes")
    taken = answered.selectExpr(
        *_CLAIM,
        "x",
        "slack",
        "min(yes) OVER (PARTITION BY pair) AS granted",
        "min(room) OVER (PARTITION BY pair) > 0 AS open",
    )
    return taken.selectExpr(*_CLAIM, "x + granted AS x", "granted", "slack", "open")


def released(state: DataFrame) -> DataFrame:
    """The pairs that got clicks: pair, x."""
    return run("SELECT pair, max(x) AS x FROM {s} GROUP BY pair HAVING max(x) > 0", s=state)


def clicks_of(chosen: DataFrame) -> int:
    """Clicks that pairs have so far, of a frame of pair and x."""
    return one("SELECT coalesce(sum(x), 0) FROM {chosen}", chosen=chosen)[0]
