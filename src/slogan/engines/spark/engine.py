"""SparkEngine: counts one log with Spark and writes outputs for it.

Texts stay in Spark. What comes to this process are integers, the urls of released pairs, and the
number of rows by reason.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from slogan.arrays import Ints
from slogan.engines.engine import (
    Counted,
    Packed,
    Question,
    Shared,
    Whose,
    none_beside,
    with_numbers_of,
)
from slogan.engines.pseudonyms import IdKind
from slogan.engines.spark import Spark, reading, writing
from slogan.engines.spark.counting import (
    Numbered,
    added_up,
    check,
    known_pairs,
    known_users,
    number,
)
from slogan.engines.spark.distributed import solver
from slogan.engines.spark.reading import address, rows, typed_table
from slogan.engines.spark.session import opened
from slogan.engines.spark.sql import (
    Arrivals,
    Kept,
    asking,
    discreet,
    frame_of,
    histogram_bytes,
    one,
    run,
)
from slogan.engines.spark.sums import SparkHistogram
from slogan.errors import EmptyLogError
from slogan.histogram import LogSize, Output, PairHistogram
from slogan.logs.searchlog import SearchLog
from slogan.planning.solvers import Effort
from slogan.progress import Progress, silent


class SparkEngine:
    """Counts one log and writes outputs for it."""

    def __init__(self, settings: Spark, progress: Progress = silent) -> None:
        self._arrivals = Arrivals.within(settings.memory_limit, progress)
        self._opened = opened(settings)
        self._session = self._opened.session
        self._kept = Kept(self._session)
        self._log: SearchLog | None = None
        self._added: DataFrame | None = None
        self._numbered: Numbered | None = None
        self._result: Counted | None = None
        self._types: dict[str, str] = {}

    @property
    def arrived(self) -> tuple[str, ...]:
        return tuple(self._arrivals.told)

    def count(self, log: SearchLog, *, unique_pairs: bool = False) -> Counted:
        return self._count(log, unique_pairs=unique_pairs, stays=lambda _: False)

    def count_in_place(self, log: SearchLog, *, forced: bool) -> Counted:
        def stays(numbered: Numbered) -> bool:
            rows, _, pairs = numbered.size
            return forced or not self._arrivals.fit(histogram_bytes(rows, pairs))

        return self._count(log, unique_pairs=False, stays=stays)

    def _count(
        self, log: SearchLog, *, unique_pairs: bool, stays: Callable[[Numbered], bool]
    ) -> Counted:
        if self._log is not None:
            raise RuntimeError("an engine counts one log; make another")
        self._log = log
        with _counting(log):
            added = self._kept.keep(added_up(self._session, rows(self._session, log)))
            self._added = added
            checked = check(self._session, added, log)
            self._types = writing.column_types(self._session, log)
            numbered = number(self._session, added, self._kept, unique_pairs=unique_pairs)
            self._numbered = numbered
            whole = SparkHistogram(self._session, numbered, self._arrivals, self._kept)
        stayed = None
        if stays(numbered):
            _, users, pairs = numbered.size
            stayed = Shared(users=users, pairs=pairs, clicks=numbered.clicks_of_pairs)
        here = solver.NOTHING.hist if stayed else whole
        self._result = Counted(
            rows=here if stayed or unique_pairs else whole.brought(),
            stayed=stayed,
            clicks=checked.clicks,
            users=numbered.users_of_log,
            pairs=numbered.pairs_of_log,
            rows_without_click=checked.rows_without_click,
            bad_rows=checked.bad_rows,
        )
        return self._result

    def pack(self, asked: Question, effort: Effort) -> Packed:
        return solver.pack(self._session, self._numbers, asked, effort, self._arrivals)

    def count_beside(self, log: SearchLog, users: Whose) -> PairHistogram:
        first, mine = self._counted, self._numbers
        other = SparkEngine(Spark(session=self._session))
        other._arrivals = self._arrivals
        try:
            second = other.count(log, unique_pairs=True).hist
            theirs = other._numbers
            with asking():
                pair, query = known_pairs(self._session, mine, theirs)
                user = known_users(self._session, mine, theirs, users)
        except EmptyLogError:
            return none_beside(first.hist)
        finally:
            other.close()
        return with_numbers_of(first.hist, second, user=user, pair=pair, query=query)

    @property
    def _counted(self) -> Counted:
        if self._result is None:
            raise RuntimeError("count a log first")
        return self._result

    @property
    def _numbers(self) -> Numbered:
        if self._numbered is None:
            raise RuntimeError("count a log first")
        return self._numbered

    @property
    def _asked(self) -> SearchLog:
        if self._log is None:
            raise RuntimeError("count a log first")
        return self._log

    def sizes(self) -> tuple[LogSize, LogSize]:
        counted, hist = self._counted, self._counted.hist
        queries, urls = self._different(self._added)
        whole = LogSize(
            clicks=counted.clicks,
            users=counted.users,
            queries=queries,
            urls=urls,
            pairs=counted.pairs,
        )
        queries, urls = self._different(self._numbers.pairs)
        shared = LogSize(
            clicks=hist.clicks, users=hist.users, queries=queries, urls=urls, pairs=hist.pairs
        )
        return whole, shared

    def _different(self, table: DataFrame | None) -> list[int]:
        """How many queries and urls a frame holds; a row that is not counted has none."""
        if table is None:
            raise RuntimeError("count a log first")
        # One by one: asked for both at once, Spark would move every row twice.
        asked = [f"SELECT count(DISTINCT {text}) FROM {{table}}" for text in ("query", "url")]
        with asking():
            return [one(run(self._session, question, table=table))[0] for question in asked]

    def urls(self, pairs: Ints) -> list[str]:
        with asking():
            found = run(
                self._session,
                "SELECT url FROM {pairs} JOIN {asked} USING (pair) ORDER BY pair",
                pairs=self._numbers.pairs,
                asked=frame_of(self._session, pair=pairs),
            ).collect()
        return [row["url"] for row in found]

    def id_kind(self, output: Output | None) -> IdKind:
        fitting = writing.kind_of_ids(self._types[self._asked.columns.user])
        if fitting is not None or output is None:
            return fitting or IdKind(type="integer")
        with asking():
            return writing.kind_of_shown(self._session, self._shown(output, None))

    def _shown(self, output: Output, pseudonyms: list[str] | None) -> DataFrame:
        """The users of an output and what they are called in it: user, shown."""
        numbers = np.unique(output.user)
        if pseudonyms is not None:
            return frame_of(self._session, user=numbers, shown=pseudonyms)
        return run(
            self._session,
            "SELECT u.user, u.name AS shown FROM {users} u JOIN {asked} a ON a.user = u.user",
            users=self._numbers.users,
            asked=frame_of(self._session, user=numbers),
        )

    def write(self, output: Output, pseudonyms: list[str] | None, target: Path) -> None:
        with _writing():
            users, parts = writing.placed(
                self._session, self._asked, output, self._shown(output, pseudonyms)
            )
            released = run(
                self._session,
                """SELECT m.part, m.place, m.shown, p.query, p.url, o.clicks FROM {output} o
                   JOIN {pairs} p ON p.pair = o.pair JOIN {users} m ON m.user = o.user""",
                output=frame_of(
                    self._session, user=output.user, pair=output.pair, clicks=output.count
                ),
                pairs=self._numbers.pairs,
                users=users,
            )
            writing.write_log(self._session, self._asked, self._types, released, parts, target)

    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        with _writing():
            table = run(
                self._session,
                """SELECT u.name AS `user`, m.shown AS pseudonym
                   FROM {shown} m JOIN {users} u ON u.user = m.user ORDER BY u.name""",
                shown=self._shown(output, pseudonyms),
                users=self._numbers.users,
            )
            writing.write_table(table, target)

    def write_users(self, users: Ints, target: Path) -> None:
        with _writing():
            table = run(
                self._session,
                """SELECT u.name AS `user` FROM {users} u JOIN {chosen} c ON c.user = u.user
                   ORDER BY u.name""",
                users=self._numbers.users,
                chosen=frame_of(self._session, user=users),
            )
            writing.write_table(table, target)

    def close(self) -> None:
        self._kept.forget()
        self._added = self._numbered = None
        self._opened.end()
        self._opened = replace(self._opened, end=_nothing)


def hand_over(spark: Spark, log: SearchLog, folder: Path) -> tuple[Path, Path]:
    """Add up the rows of a log; see `EngineSettings.hand_over`."""
    added, schema = folder / "added.spark", folder / "schema.spark"
    ours = opened(spark)
    try:
        with _counting(log):
            told = added_up(ours.session, rows(ours.session, log)).drop("apart")
            told.write.parquet(address(added))
            if log.format == "parquet":
                typed_table(ours.session, log).limit(0).write.parquet(address(schema))
    finally:
        ours.end()
    return added, schema


def column_names(
    spark: Spark, addresses: tuple[str, ...], kind: str, encoding: str
) -> tuple[str, ...]:
    """The columns of a log at these addresses; see `EngineSettings.peek`."""
    ours = opened(spark)
    try:
        with discreet(
            "Spark cannot read what is at that address",
            "check the address, and that Spark has what its scheme needs: --spark-conf",
        ):
            return reading.column_names(ours.session, addresses, kind, encoding)
    finally:
        ours.end()


@contextmanager
def _counting(log: SearchLog) -> Generator[None]:
    with discreet(
        f"Spark cannot read or count the log as {log.format}",
        "check that the files are complete and that every worker can read them; give Spark "
        "more memory with --spark-conf spark.driver.memory=4g or spark.executor.memory=4g",
    ):
        yield


def _nothing() -> None:
    """Nothing is left to end."""


@contextmanager
def _writing() -> Generator[None]:
    with discreet(
        "Spark cannot write the release",
        "choose a folder that every worker can write to; if a released value does not fit the "
        "type of its column, widen the types of the count and user columns, or make them text",
    ):
        yield


ENGINE = SparkEngine
