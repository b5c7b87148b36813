"""A packing problem solved in Spark: pruned, relaxed and made whole by relaxation.

This process receives the clicks on pairs that may be released, for the exact gate, or for
the search of the solver `packing` where there is room for what is in play.
"""

import hashlib
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from slogan.arrays import Ints
from slogan.engines.engine import Packed, Question, Trace
from slogan.engines.spark.counting import Numbered
from slogan.engines.spark.distributed import relaxation
from slogan.engines.spark.distributed.checkpoints import COMMON, Checkpoints
from slogan.engines.spark.sql import Arrivals, discreet, histogram_bytes, ints, one, run
from slogan.histogram import PairHistogram, Remainder
from slogan.planning.program import gap
from slogan.planning.solvers import Effort
from slogan.storage.folders import scratch_folder

STEPS_AT_ONCE = 10
"""Steps from one checkpoint to the next: one statement, of two shuffles a step."""
CHECK_EVERY = 2
"""Checkpoints from one look at value and bound to the next."""
_MOST_STEPS = 1_000
_NEAR = 0.02
"""Prices are good enough if counts and bound are this close."""
ROUNDS_AT_ONCE = 5
WORTH_TRYING = 1.3
"""A pair that costs more at the relaxation's prices is not tried; same value as in `packing`."""
_SHARE_OF_STEPS = 0.5
"""Of the time there is; the rest is for whole counts."""


_NONE = np.zeros(0, dtype=np.int64)
_EMPTY = PairHistogram.of_rows(user=_NONE, pair=_NONE, count=_NONE, users=0, query=_NONE)
NOTHING = Remainder(hist=_EMPTY, users=_NONE, pairs=_NONE)


def pack(numbered: Numbered, question: Question, effort: Effort, room: Arrivals) -> Packed:
    """Solve a packing problem, or as much of it as does not fit this process.

    Its checkpoints are removed at the end; if there is none, and the folder was given, they stay.
    """
    with (
        scratch_folder() if question.folder is None else nullcontext(question.folder) as folder,
        discreet(
            "Spark did not finish solving",
            "check that the cluster is up and that every worker can write beside the release; "
            "the same command goes on from the last checkpoint",
        ),
    ):
        kept = Checkpoints(numbered.clicks.sparkSession, folder)
        fits = kept.save(COMMON, 0, relaxation.fitting(numbered.clicks, question))
        packed = _Work(numbered, question, room, kept, fits).packed(effort)
        kept.remove()
    return packed


@dataclass(frozen=True)
class _Work:
    numbered: Numbered
    question: Question
    room: Arrivals
    kept: Checkpoints
    fits: DataFrame

    def packed(self, effort: Effort) -> Packed:
        rows, pairs, clicks = one(
            "SELECT count(*), count(DISTINCT pair), coalesce(sum(clicks), 0) FROM {fits}",
            fits=self.fits,
        )
        too_dear = self.numbered.clicks_of_pairs - clicks
        if rows == 0:
            least = relaxation.cheapest(self.numbered.clicks)
            return Packed(left=NOTHING, x=None, bound=0.0, too_dear=too_dear, cheapest=least)
        if not self.question.forced and self.room.fit(histogram_bytes(rows, pairs)):
            everything = self.fits.select("pair").distinct()
            return Packed(left=self._handed_over(everything), x=None, bound=None, too_dear=too_dear)
        self.kept.of(self._digest())
        left, x, bound, trace = self._solved(effort)
        return Packed(left=left, x=x, bound=bound, trace=trace, too_dear=too_dear)

    def _digest(self) -> str:
        """What identifies this problem: its numbers, in any order, and the question."""
        (found,) = run(
            """SELECT count(*), sum(CAST(xxhash64(`user`, pair, clicks, upper) AS DECIMAL(38))),
                      sum(CAST(hash(pair, `user`, clicks) AS DECIMAL(38))) FROM {fits}""",
            fits=self.fits,
        ).collect()
        identity = repr((tuple(map(str, found)), self.question.limit, self.question.one_of_query))
        return hashlib.sha256(identity.encode()).hexdigest()[:32]

    def _solved(self, effort: Effort) -> tuple[Remainder, Ints | None, float, Trace]:
        """Left pairs with counts, or without if the search should choose them; bound and trace."""
        begun = self.kept.last("step")
        if begun is None:
            entries = relaxation.charges(self.fits, self.numbered, self.question)
            begun = 0, self.kept.save("step", 0, relaxation.begin_steps(entries))
        # Pairs on no line that could bind get as many clicks as each may have.
        free = run(
            """SELECT DISTINCT f.pair, f.upper AS x FROM {fits} f
               LEFT ANTI JOIN {place} e ON e.pair = f.pair""",
            fits=self.fits,
            place=begun[1],
        )
        free = self.kept.save("free", 0, free)
        given = relaxation.clicks_of(free)
        place, bound, trace = self._relaxed(*begun, given, effort)
        wanted = relaxation.in_play(place, highest_price=WORTH_TRYING)
        wanted = self.kept.save("wanted", 0, wanted.union(free.select("pair")))
        if self.room.fit(histogram_bytes(*self._size_of(wanted))):
            return self._handed_over(wanted), None, bound, trace
        state = self._whole(place, lambda value: effort.report(value + given, bound))
        whole = relaxation.released(state)
        chosen = self.kept.save("chosen", 0, whole.union(free.select("pair", "x")))
        left = self._handed_over(chosen)
        pair, x = ints(chosen)
        return left, x[np.argsort(pair)], bound, trace

    def _relaxed(
        self, number: int, place: DataFrame, given: int, effort: Effort
    ) -> tuple[DataFrame, float, Trace]:
        """Steps until counts and bound are close, or time is up; from where the last run ended."""
        end = time.monotonic() + _SHARE_OF_STEPS * effort.time_limit
        noted: list[tuple[int, float, float]] = self.kept.noted("trace") or []
        trace = [(n, value, bound) for n, value, bound in noted]
        while True:
            looked = trace[-1][0] if trace else 0
            if number >= looked + CHECK_EVERY * STEPS_AT_ONCE:
                value, bound = relaxation.value_and_bound(place)
                trace.append((number, value + given, bound + given))
                self.kept.note("trace", trace)
                effort.report(*trace[-1][1:])
            if _enough(trace, number, end):
                return place, min(bound for _, _, bound in trace), tuple(trace)
            for _ in range(STEPS_AT_ONCE):
                place = relaxation.step(place)
            number += STEPS_AT_ONCE
            place = self.kept.save("step", number, place)

    def _whole(self, place: DataFrame, report: Callable[[int], None]) -> DataFrame:
        """Rounds until no pair may get another click."""
        number, state = self.kept.last("round") or (0, relaxation.begin_rounds(place))
        while True:
            for _ in range(ROUNDS_AT_ONCE):
                state = relaxation.next_round(state)
            number += ROUNDS_AT_ONCE
            state = self.kept.save("round", number, state)
            report(relaxation.clicks_of(relaxation.released(state)))
            if state.filter("open").isEmpty():
                return state

    def _size_of(self, chosen: DataFrame) -> tuple[int, int]:
        rows, pairs = one(
            "SELECT count(*), count(DISTINCT pair) FROM {rows}", rows=_only(self.fits, chosen)
        )
        return rows, pairs

    def _handed_over(self, chosen: DataFrame) -> Remainder:
        """The clicks of all holders of the chosen pairs, numbered again."""
        size = self._size_of(chosen)
        words = f"{size[0]:,} clicked pairs of users"
        self.room.announce("solve", words, histogram_bytes(*size))
        number, query = ints(_only(self.numbered.pairs, chosen).select("pair", "query_number"))
        user, pair, count = ints(_only(self.fits, chosen).select("user", "pair", "clicks"))
        users, user = np.unique(user, return_inverse=True)
        pairs, pair = np.unique(pair, return_inverse=True)
        query = np.unique(query[np.argsort(number)], return_inverse=True)[1]
        hist = PairHistogram.of_rows(
            user=user, pair=pair, count=count, users=len(users), query=query
        )
        return Remainder(hist=hist, users=users, pairs=pairs)


def _only(rows: DataFrame, chosen: DataFrame) -> DataFrame:
    """The rows of the chosen pairs."""
    joined = "SELECT * FROM {rows} r LEFT SEMI JOIN {chosen} c ON c.pair = r.pair"
    return run(joined, rows=rows, chosen=chosen)


def _enough(trace: list[tuple[int, float, float]], number: int, end: float) -> bool:
    """Whether the relaxation may end: not before a bound is proven."""
    if not trace:
        return False
    _, value, bound = trace[-1]
    close = gap(value=value, bound=bound) <= _NEAR
    return close or number >= _MOST_STEPS or time.monotonic() > end
