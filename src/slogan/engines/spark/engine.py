"""SparkEngine: counts one log with Spark and writes outputs for it.

Texts stay in Spark. This process receives integers, the urls of released pairs, and the
number of rows by reason.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path

import numpy as np
from pyspark.sql import DataFrame

from slogan.arrays import Ints
from slogan.engines.engine import (
    Beside,
    Counted,
    Packed,
    Question,
    Shared,
    Whose,
    none_beside,
    require_counted,
    require_text,
    with_numbers_of,
)
from slogan.engines.events import EventTypes, event_types, events_of, to_write
from slogan.engines.pseudonyms import IdKind, id_kind
from slogan.engines.spark import Spark, counting, events, reading, sql, writing
from slogan.engines.spark.distributed import solver
from slogan.engines.spark.session import Opened, opened
from slogan.engines.spark.sums import SparkHistogram
from slogan.errors import EmptyLogError
from slogan.histogram import Events, LogSize, MadeEvents, Output
from slogan.logs.searchlog import SearchLog
from slogan.logs.vocabulary import Pair
from slogan.planning.solvers import Effort
from slogan.progress import Progress, silent

_writing = partial(
    sql.discreet,
    "Spark cannot write the release",
    "choose a folder that every worker can write to; if a released value does not fit the "
    "type of its column, widen the types of the count and user columns, or make them text",
)


class SparkEngine:
    """Counts one log and writes outputs for it."""

    def __init__(self, settings: Spark, progress: Progress = silent) -> None:
        self._arrivals = sql.Arrivals.within(settings.memory_limit, progress)
        self._opened = opened(settings)
        self._session = self._opened.session
        self._kept = sql.Kept(self._session)
        self._log: SearchLog | None = None
        self._added: DataFrame | None = None
        self._numbered: counting.Numbered | None = None
        self._result: Counted | None = None
        self._types: dict[str, str] = {}
        self._moments: EventTypes | None = None
        self._known: DataFrame | None = None

    @property
    def arrived(self) -> tuple[str, ...]:
        return tuple(self._arrivals.announced)

    def count(
        self,
        log: SearchLog,
        *,
        unique_pairs: bool = False,
        listed: Sequence[Pair] = (),
        with_events: bool = False,
    ) -> Counted:
        return self._count(
            log,
            unique_pairs=unique_pairs,
            fits=lambda _: True,
            listed=listed,
            with_events=with_events,
        )

    def count_in_place(self, log: SearchLog, *, forced: bool) -> Counted:
        return self._count(
            log, unique_pairs=False, fits=lambda size: not forced and self._arrivals.fit(size)
        )

    def _count(
        self,
        log: SearchLog,
        *,
        unique_pairs: bool,
        fits: Callable[[int], bool],
        listed: Sequence[Pair] = (),
        with_events: bool = False,
    ) -> Counted:
        if self._log is not None:
            raise RuntimeError("an engine counts one log; make another")
        self._log = log
        with _counting(log):
            self._types = writing.column_types(self._session, log)
            self._added = added = self._kept.keep(
                counting.added_up(self._rows(log, with_events=with_events))
            )
            clicks, no_click, bad_rows = counting.check(added, log)
            public = None
            if listed:
                require_text(self._types, log.columns, "STRING")
                public = counting.public_pairs(self._session, listed)
            numbered = counting.number(added, self._kept, unique_pairs=unique_pairs, listed=public)
            self._numbered = numbered
            known = np.zeros(0, np.int64) if public is None else numbered.numbers_of(public)
        whole = SparkHistogram(self._session, numbered, self._arrivals, self._kept)
        rows, users, pairs = numbered.size
        stayed = None
        if not fits(sql.histogram_bytes(rows, pairs)):
            stayed = Shared(users=users, pairs=pairs, clicks=numbered.clicks_of_pairs)
        here = solver.NOTHING.hist if stayed else whole
        self._result = Counted(
            rows=here if stayed or unique_pairs else whole.brought(),
            stayed=stayed,
            clicks=clicks,
            users=numbered.users_of_log,
            pairs=numbered.pairs_of_log,
            rows_without_click=no_click,
            bad_rows=bad_rows,
            listed=known,
        )
        return self._result

    def _rows(self, log: SearchLog, *, with_events: bool) -> DataFrame:
        """The rows as they are read; those that `events` needs are kept."""
        if not with_events:
            return reading.rows(self._session, log)
        kinds = {name: writing.sql_type(kind) for name, kind in self._types.items()}
        self._moments = event_types(log, kinds)
        rows = self._kept.keep(reading.rows(self._session, log, self._moments))
        self._known = events.known(rows)
        return rows.select("name", "query", "url", "clicks", "file", "reason")

    @sql.asking()
    def events(self) -> Events:
        return self._events_known(None)[0].sorted()

    def _events_known(self, others: DataFrame | None) -> tuple[Events, Ints]:
        """The events in any order; and the number that the query of each has in other pairs."""
        log, rows = require_counted(self._log), require_counted(self._known)
        users = self._numbers.users
        searching = sql.run(
            """SELECT DISTINCT r.name FROM {rows} r LEFT ANTI JOIN {users} u ON u.name = r.name
               WHERE r.search""",
            rows=rows,
            users=users,
        )
        later = counting.numbered_users(searching, searching.count())
        everyone = users.unionByName(
            later.selectExpr(f"`user` + {self._numbers.size[1]}L AS `user`", "name")
        )
        found = events.numbered(rows, everyone, self._numbers.pairs, others)
        size = sql.integer_bytes(rows.count(), len(found.columns))
        self._arrivals.announce("count", "the rows of the log", size)
        columns = dict(zip(found.columns, sql.ints(found), strict=True))
        if "session" in columns:
            columns["session"] = events.of_all_users(columns["user"], columns["session"])
        known = columns.get("known", np.full(len(columns["user"]), -1))
        return events_of(columns, log), known

    def pack(self, question: Question, effort: Effort) -> Packed:
        return solver.pack(self._numbers, question, effort, self._arrivals)

    def count_beside(self, log: SearchLog, users: Whose, *, with_events: bool = False) -> Beside:
        first, mine = require_counted(self._result), self._numbers
        other = SparkEngine(Spark(session=self._session))
        other._arrivals = self._arrivals
        try:
            second = other.count(log, unique_pairs=True, with_events=with_events).hist
            theirs = other._numbers
            with sql.asking():
                pair, query = counting.known_pairs(mine, theirs)
                user = counting.known_users(mine, theirs, users)
                found = other._events_known(mine.pairs) if with_events else None
        except EmptyLogError:
            return none_beside(first.hist)
        finally:
            other.close()
        return with_numbers_of(first.hist, second, user=user, pair=pair, query=query, events=found)

    @property
    def _numbers(self) -> counting.Numbered:
        return require_counted(self._numbered)

    @sql.asking()
    def sizes(self) -> tuple[LogSize, LogSize]:
        counted = require_counted(self._result)
        # One by one: asked for both at once, Spark would move every row twice.
        texts = ("query", "nullif(url, '')")
        questions = [f"SELECT count(DISTINCT {text}) FROM {{table}}" for text in texts]
        whole, shared = (
            [number for question in questions for number in sql.one(question, table=table)]
            for table in (require_counted(self._added), self._numbers.pairs)
        )
        return counted.sizes(whole, shared)

    @sql.asking()
    def urls(self, pairs: Ints) -> list[str]:
        rows = sql.run(
            "SELECT url FROM {pairs} JOIN {chosen} USING (pair) ORDER BY pair",
            pairs=self._numbers.pairs,
            chosen=sql.frame_of(self._session, pair=pairs),
        ).collect()
        return [row["url"] for row in rows]

    @sql.asking()
    def id_kind(self, *, fresh: bool) -> IdKind | None:
        columns = require_counted(self._log).columns
        user, count = (self._types.get(name or "") for name in (columns.user, columns.count))
        return id_kind(writing.sql_type(user or ""), count and writing.sql_type(count), fresh=fresh)

    def _shown(self, output: Output, pseudonyms: list[str] | None) -> DataFrame:
        """The users of an output and what they are called in it: user, shown."""
        numbers = np.unique(output.user)
        if pseudonyms is not None:
            return sql.frame_of(self._session, user=numbers, shown=pseudonyms)
        return self._named(sql.frame_of(self._session, user=numbers), "u.user, u.name AS shown")

    def _named(self, users: DataFrame, columns: str) -> DataFrame:
        """What is asked for of these users `m` and of their names in the log, `u`."""
        return sql.run(
            f"SELECT {columns} FROM {{users}} m JOIN {{names}} u ON u.user = m.user",
            users=users,
            names=self._numbers.users,
        )

    @_writing()
    def write(
        self,
        output: Output,
        pseudonyms: list[str] | None,
        target: Path,
        made: MadeEvents | None = None,
    ) -> None:
        log, shown, types = require_counted(self._log), self._shown(output, pseudonyms), None
        if made is not None:
            types = require_counted(self._moments)
            made = to_write(made, output, pseudonyms, log.columns, types)
        rows = writing.Rows.of(log, output, made, types)
        users, parts = writing.placed(shown, rows.of_users)
        columns = ", ".join(f"o.{n}" for n in rows.columns if n not in ("user", "pair", "query"))
        released = sql.run(
            f"""SELECT m.part, m.place, m.shown, {"p" if made is None else "q"}.query, p.url,
                       {columns} FROM {{output}} o JOIN {{users}} m ON m.user = o.user
                LEFT JOIN {{pairs}} p ON p.pair = o.pair
                LEFT JOIN (SELECT query_number, min(query) AS query FROM {{pairs}} GROUP BY 1) q
                ON q.query_number = o.query""",
            output=sql.frame_of(self._session, **rows.columns),
            pairs=self._numbers.pairs,
            users=users,
        )
        writing.write_log(log, self._types, released, parts, target, rows.roles)

    @_writing()
    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        shown = self._shown(output, pseudonyms)
        table = self._named(shown, "u.name AS `user`, m.shown AS pseudonym")
        writing.write_table(table.orderBy("user"), target)

    @_writing()
    def write_users(self, users: Ints, target: Path) -> None:
        table = self._named(sql.frame_of(self._session, user=users), "u.name AS `user`")
        writing.write_table(table.orderBy("user"), target)

    def close(self) -> None:
        self._kept.forget()
        self._added = self._numbered = self._known = None
        self._opened.close()
        self._opened = Opened(self._session)


def hand_over(spark: Spark, log: SearchLog, folder: Path) -> tuple[Path, Path]:
    """Add up the rows of a log; see `EngineSettings.hand_over`."""
    added, schema = folder / "added.spark", folder / "schema.spark"
    with closing(opened(spark)) as ours, _counting(log):
        rows = counting.added_up(reading.rows(ours.session, log)).drop("apart")
        rows.write.parquet(reading.address(added))
        if log.format == "parquet":
            types = reading.typed_table(ours.session, log).limit(0)
            types.write.parquet(reading.address(schema))
    return added, schema


def column_names(
    spark: Spark, addresses: tuple[str, ...], kind: str, encoding: str
) -> tuple[str, ...] | str:
    """The columns of a log at these addresses; see `EngineSettings.peek`."""
    problem = "Spark cannot read what is at that address"
    hint = "check the address, and that Spark has what its scheme needs: --spark-conf"
    with closing(opened(spark)) as ours, sql.discreet(problem, hint):
        return reading.column_names(ours.session, addresses, kind, encoding)


def _counting(log: SearchLog) -> AbstractContextManager[None]:
    return sql.discreet(
        f"Spark cannot read or count the log as {log.format}",
        "check that the files are complete and that every worker can read them; give Spark "
        "more memory with --spark-conf spark.driver.memory=4g or spark.executor.memory=4g",
    )


ENGINE = SparkEngine
