"""Which pairs each user speaks for, and what the users give them, in Spark.

`capped` and `spread` of slogan/dp/selection in SQL, number for number. A user's coins are a
function of one word, drawn on the driver, so a task that runs again tosses none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Flags, Ints
from slogan.dp.selection._grid import BITS
from slogan.dp.selection._spreading import CLOSED, HALVINGS, Halvings
from slogan.engines.spark.keeping import Kept
from slogan.engines.spark.sql import asking, by_number, frame_of, ints, root, run
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
_SPREAD = f"""
    SELECT pair, sum(least({root("exact")}, element_at({{heaviest}}, spoken_for + 1))) FROM (
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

    session: SparkSession
    chosen: DataFrame
    pairs: int
    most: int
    speakers: Ints

    @property
    def held(self) -> Flags:
        return self.speakers > 0

    def spread(self, halvings: Halvings, heaviest: Ints) -> Ints:
        still = np.flatnonzero(halvings < CLOSED)
        weights = ", ".join(f"{weight}L" for weight in heaviest.tolist())
        with asking():
            given = run(
                self.session,
                _SPREAD.format(heaviest=f"array({weights})"),
                chosen=self.chosen,
                open=frame_of(self.session, pair=still, halvings=halvings[still].astype(np.int64)),
            )
            return by_number(given, self.pairs)


def speaking(
    session: SparkSession, clicks: DataFrame, kept: Kept, rng: Randomness, *, most: int, pairs: int
) -> SparkContributions:
    """The choices of `capped`; users with more pairs than so many get a word each, in order."""
    with asking():
        (many,) = ints(run(session, _MANY, {"most": most}, clicks=clicks))
        own = rng.words(len(many)).view(np.int64)
        words = frame_of(session, user=np.sort(many), own=own)
        chosen = kept.keep(run(session, _CHOSEN, {"most": most}, clicks=clicks, own=words))
        speakers = by_number(run(session, _SPEAKERS, chosen=chosen), pairs)
    return SparkContributions(
        session=session, chosen=chosen, pairs=pairs, most=most, speakers=speakers
    )
