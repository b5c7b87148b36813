"""A histogram that stays in Spark: the driver receives sums over users, exact integers.

Each sum is that of the function of the same name in slogan/dp, in SQL, number for number. So are
the choices of `capped`, which pairs a user contributes to: a user's coins are a function of one
word, drawn on the driver, so a task that runs again tosses none.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Flags, Ints
from slogan.dp.grouping import Grouping
from slogan.dp.selection._weights import CLOSED, HALVINGS, Halvings
from slogan.dp.sums import BITS, LARGEST, MOST_CLICKS, MOST_HELD, largest_size
from slogan.dp.sums import MOST_COVERED as COVERAGE_MOST
from slogan.engines.spark import sql
from slogan.engines.spark.counting import Numbered
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

_MANY = "SELECT `user` FROM {clicks} GROUP BY `user` HAVING count(*) > :most"
_CHOSEN = """
    SELECT `user`, pair, count(*) OVER (PARTITION BY `user`) AS spoken_for FROM (
        SELECT `user`, pair,
               row_number() OVER (PARTITION BY `user` ORDER BY xxhash64(own, nth), nth) AS turn
        FROM (SELECT c.user, c.pair, o.own, CAST(
                  row_number() OVER (PARTITION BY c.user ORDER BY c.pair) - 1 AS BIGINT) AS nth
              FROM {clicks} c LEFT JOIN {own} o ON o.user = c.user))
    WHERE turn <= :most"""
_SPEAKERS = "SELECT pair, count(*) FROM {chosen} GROUP BY pair"
_CAPS = """
    SELECT pair, sum(element_at({heaviest}, CAST(spoken_for AS INT) + 1)) FROM {{chosen}}
    GROUP BY pair"""
_SPREAD = f"""
    SELECT pair, sum(least({sql.root("exact")}, element_at({{heaviest}}, spoken_for + 1))) FROM (
        SELECT pair, spoken_for,
               shiftleft(1L, 2 * ({BITS + HALVINGS} - halvings)) div square AS exact
        FROM (SELECT c.pair, CAST(c.spoken_for AS INT) AS spoken_for, o.halvings,
                     sum(shiftleft(1L, 2 * ({HALVINGS} - o.halvings)))
                         OVER (PARTITION BY c.user) AS square
              FROM {{{{chosen}}}} c
              JOIN (SELECT pair, CAST(halvings AS INT) AS halvings FROM {{{{open}}}}) o
                   ON o.pair = c.pair))
    GROUP BY pair"""


@dataclass(frozen=True, kw_only=True)
class SparkContributions:
    """The sets C_u as a frame: user, pair, and for how many pairs the user speaks."""

    chosen: DataFrame
    pairs: int
    most: int
    speakers: Ints

    @property
    def held(self) -> Flags:
        return self.speakers > 0

    @sql.asking()
    def spread(self, halvings: Halvings, heaviest: Ints) -> Ints:
        still = np.flatnonzero(halvings < CLOSED)
        left = halvings[still].astype(np.int64)
        given = sql.run(
            _SPREAD.format(heaviest=sql.array(heaviest)),
            chosen=self.chosen,
            open=sql.frame_of(self.chosen.sparkSession, pair=still, halvings=left),
        )
        return sql.by_number(given, self.pairs)

    @sql.asking()
    def caps(self, heaviest: Ints) -> Ints:
        query = _CAPS.format(heaviest=sql.array(heaviest))
        return sql.by_number(sql.run(query, chosen=self.chosen), self.pairs)


_BYTES_PER_SUM = 8 * 2

_TOTALS = "SELECT pair, sum(clicks) FROM {clicks} GROUP BY pair"
_BY_HOLDERS = """
    SELECT holders, count(*) FROM (SELECT count(*) AS holders FROM {clicks} GROUP BY pair)
    GROUP BY holders"""
_HOLDERS = """
    SELECT r.place, count(*) FROM {clicks} c JOIN {released} r ON r.pair = c.pair
    GROUP BY r.place"""
_HEAVIEST = """
    SELECT max(weight) FROM (
        SELECT sum(1 / sqrt(least(held, :most))) AS weight
        FROM (SELECT pair, count(*) OVER (PARTITION BY `user`) AS held FROM {clicks})
        GROUP BY pair)"""
_COUNTS = f"""
    SELECT place, sum(IF(square > :norm * :norm, {sql.root("scaled")}, shiftleft(c, {BITS})))
    FROM (
        SELECT place, c, square,
               CAST(c * c * :norm * :norm AS DECIMAL(25)) * {1 << 2 * BITS} div square AS scaled
        FROM (SELECT place, c, sum(c * c) OVER (PARTITION BY `user`) AS square FROM (
              SELECT c.user, r.place, least(c.clicks, {MOST_CLICKS}) AS c
              FROM {{clicks}} c JOIN {{released}} r ON r.pair = c.pair)))
    GROUP BY place"""
_SIZES = f"""
    SELECT least(held, {LARGEST}), count(*) FROM (
        SELECT count(*) AS held FROM {{clicks}} c JOIN {{released}} r ON r.pair = c.pair
        GROUP BY c.user)
    GROUP BY least(held, {LARGEST})"""
_LENGTHS = """
    SELECT IF(held > :few, 1, 0), count(*) FROM (
        SELECT count(*) AS held FROM {clicks} GROUP BY `user`) GROUP BY IF(held > :few, 1, 0)"""
_SCALED = f"""coalesce(sum(IF(total > {COVERAGE_MOST},
    CAST(part AS DECIMAL(25)) * {COVERAGE_MOST << BITS} div total, shiftleft(part, {BITS}))), 0)"""
_COVERAGE = f"""
    SELECT {_SCALED.replace("part", "inside")}, {_SCALED.replace("part", "total - inside")} FROM (
        SELECT sum(c.clicks) AS total, sum(IF(r.pair IS NULL, 0, c.clicks)) AS inside
        FROM {{clicks}} c LEFT JOIN {{released}} r ON r.pair = c.pair GROUP BY c.user)"""
_KINDS_HELD = f"""
    SELECT c.user, k.category, least(count(*), {MOST_HELD}) AS v
    FROM {{clicks}} c JOIN {{kinds}} k ON k.pair = c.pair GROUP BY c.user, k.category"""
_WEIGHED = f"""
    SELECT `user`, category, v, same, {sql.root("exact")} AS weight FROM (
        SELECT *, {1 << 2 * BITS} div square AS exact FROM (
            SELECT *, (sum(v * v) OVER mine * sum(v * v) OVER mine
                       - sum(v * v * v * v) OVER mine) div 2 + sum(same * same) OVER mine AS square
            FROM (SELECT *, v * (v - 1) div 2 AS same FROM {{held}})
            WINDOW mine AS (PARTITION BY `user`))
        WHERE square > 0)"""
_TOGETHER = """
    SELECT a.category * :size + b.category, sum(a.v * b.v * a.weight)
    FROM {weighed} a JOIN {weighed} b ON b.user = a.user AND b.category > a.category
    GROUP BY a.category, b.category
    UNION ALL SELECT category * (:size + 1), sum(same * weight) FROM {weighed} GROUP BY category"""


class SparkHistogram:
    """The clicks c_ijk of a log that was counted."""

    def __init__(
        self, session: SparkSession, numbered: Numbered, arrivals: sql.Arrivals, kept: sql.Kept
    ) -> None:
        self._session = session
        self._numbered = numbered
        self._arrivals = arrivals
        self._rows, self.users, self.pairs = numbered.size
        self._kept = kept

    @cached_property
    def clicks(self) -> DataFrame:
        """user, pair, clicks: computed once, each user's rows together."""
        return self._kept.keep(self._numbered.clicks.repartition("user"))

    @sql.asking()
    def brought(self) -> PairHistogram:
        words = f"{self._rows:,} clicked pairs of users"
        self._arrivals.announce("count", words, sql.histogram_bytes(self._rows, self.pairs))
        numbers = self._numbered.pairs.select("pair", "query_number")
        user, pair, count = sql.ints(self._numbered.clicks)
        return PairHistogram.of_rows(
            user=user,
            pair=pair,
            count=count,
            users=self.users,
            query=sql.by_number(numbers, self.pairs),
        )

    @property
    @sql.asking()
    def pair_total(self) -> Ints:
        return sql.by_number(sql.run(_TOTALS, clicks=self.clicks), self.pairs)

    @sql.asking()
    def query_of(self, pairs: Ints) -> Ints:
        queries = sql.run(
            "SELECT r.place, p.query_number FROM {pairs} p JOIN {released} r ON r.pair = p.pair",
            pairs=self._numbered.pairs,
            released=self._released(pairs),
        )
        return sql.by_number(queries, len(pairs))

    @sql.asking()
    def holders_of(self, pairs: Ints) -> Ints:
        found = sql.run(_HOLDERS, clicks=self.clicks, released=self._released(pairs))
        return sql.by_number(found, len(pairs))

    @sql.asking()
    def pairs_by_holders(self) -> Ints:
        return sql.by_number(sql.run(_BY_HOLDERS, clicks=self.clicks), self.users + 1)

    @sql.asking()
    def heaviest(self, most: int) -> float:
        weight = sql.run(_HEAVIEST, {"most": most}, clicks=self.clicks).head()
        return float(weight[0]) if weight else 0.0

    @sql.asking()
    def capped(self, rng: Randomness, most: int) -> SparkContributions:
        """The choices of `capped`; users with more pairs than `most` get a word each, in order."""
        words = f"sums for {self.pairs:,} pairs"
        self._arrivals.announce("selection", words, _BYTES_PER_SUM * self.pairs)
        (many,) = sql.ints(sql.run(_MANY, {"most": most}, clicks=self.clicks))
        own = rng.words(len(many)).view(np.int64)
        coins = sql.frame_of(self._session, user=np.sort(many), own=own)
        chosen = self._kept.keep(sql.run(_CHOSEN, {"most": most}, clicks=self.clicks, own=coins))
        speakers = sql.by_number(sql.run(_SPEAKERS, chosen=chosen), self.pairs)
        return SparkContributions(chosen=chosen, pairs=self.pairs, most=most, speakers=speakers)

    @sql.asking()
    def clipped_counts(self, pairs: Ints, *, norm: int) -> Ints:
        released = self._released(pairs)
        counts = sql.run(_COUNTS, {"norm": norm}, clicks=self.clicks, released=released)
        return sql.by_number(counts, len(pairs))

    @sql.asking()
    def size_sums(self, pairs: Ints) -> Ints:
        sizes = sql.run(_SIZES, clicks=self.clicks, released=self._released(pairs))
        users = sql.by_number(sizes, largest_size(pairs) + 1)
        users[0] = self.users - users.sum()
        return users << BITS

    @sql.asking()
    def length_sums(self, few: int) -> Ints:
        return sql.by_number(sql.run(_LENGTHS, {"few": few}, clicks=self.clicks), 2) << BITS

    @sql.asking()
    def coverage_sums(self, pairs: Ints) -> Ints:
        sums = sql.one(_COVERAGE, clicks=self.clicks, released=self._released(pairs))
        return np.array(sums, dtype=np.int64)

    @sql.asking()
    def together_sums(self, pairs: Ints, grouping: Grouping) -> Ints:
        size, some = grouping.categories, grouping.category >= 0
        kinds = sql.frame_of(self._session, pair=pairs[some], category=grouping.category[some])
        held = sql.run(_KINDS_HELD, clicks=self.clicks, kinds=kinds)
        sums = sql.run(_TOGETHER, {"size": size}, weighed=sql.run(_WEIGHED, held=held))
        table = sql.by_number(sums, size * size)
        return table.reshape(size, size)[np.triu_indices(size)]

    def _released(self, pairs: Ints) -> DataFrame:
        return sql.frame_of(self._session, pair=pairs, place=np.arange(len(pairs)))
