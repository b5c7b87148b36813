"""How Spark writes a release: the columns, types and format of the counted log, in parts.

Everything here sees the released rows only: user, pair, clicks, the shown names, the pairs.
"""

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zstandard
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.engines.events import EventTypes
from slogan.engines.spark import events
from slogan.engines.spark.reading import address, typed_table
from slogan.engines.spark.sql import frame_of, ints, quoted, run
from slogan.histogram import MadeEvents, Output
from slogan.logs.searchlog import SearchLog

ROWS_PER_PART = 1_000_000
"""Rows after which another file is begun; a user's rows stay together."""
_MOST_TASKS = 1_000
_OURS = "zstd by us"
_SORTED = ("part", "place", "second", "query", "coalesce(url, '') AS url", "rank", "session")
_ORDER = tuple(f"slogan_{key.rpartition(' ')[2]}" for key in _SORTED)
"""What rows are sorted by, under names that no column of a log should have."""
_KEYS = ", ".join(
    f"{key.partition(' AS ')[0]} AS {name}" for key, name in zip(_SORTED, _ORDER, strict=True)
)
_TYPES = {"int": "INTEGER", "string": "VARCHAR"}
"""Spark's names of types where they are not those of `id_kind` in small letters."""


def column_types(session: SparkSession, log: SearchLog) -> dict[str, str]:
    """The type of each column as it should be written: as declared, or else text."""
    if log.format == "parquet":
        return {f.name: f.dataType.simpleString() for f in typed_table(session, log).schema.fields}
    types = dict.fromkeys(log.columns.names, "string")
    if log.format == "jsonl":
        numbers = (log.columns.count, log.columns.rank, log.numeric_time)
        types |= {name: "bigint" for name in numbers if name is not None}
    return types


def sql_type(spark_type: str) -> str:
    """The type under the name that `id_kind` knows."""
    return _TYPES.get(spark_type, spark_type.upper())


@dataclass(frozen=True, slots=True)
class Rows:
    """What a release has row by row, as arrays, and the column of each role that is filled."""

    columns: dict[str, Ints | list[str]]
    """user, pair, query, clicks, second, rank, session, and moment if times are filled."""
    roles: dict[str, str]
    of_users: Ints
    """The rows of each user, in the order of users."""

    @classmethod
    def of(
        cls, log: SearchLog, output: Output, made: MadeEvents | None, types: EventTypes | None
    ) -> "Rows":
        """The rows of an output, or those that were made of it."""
        if made is None:
            weight = output.count if log.counts_events else np.ones_like(output.count)
            columns = {"user": output.user, "pair": output.pair, "clicks": output.count}
            return cls(_filled(columns), {}, _by_user(output.user, weight))
        ones = np.ones_like(made.user)
        columns = {"user": made.user, "pair": made.pair, "query": made.query, "clicks": ones}
        roles = dict[str, str]()
        if made.rank is not None:
            columns["rank"], roles["rank"] = made.rank.astype(np.int64), "nullif(rank, 0)"
        if made.session is not None:
            columns["session"] = made.session.astype(np.int64)
            roles["session"] = "nullif(session, -1)"
        moments = dict[str, Ints | list[str]]()
        if made.second is not None and types is not None and log.period is not None:
            columns["second"] = made.second.astype(np.int64)
            roles["time"] = f"IF(second < 0, NULL, {events.written(types)})"
            moments["moment"] = events.moments(columns["second"], types, log.period)
        return cls(_filled(columns) | moments, roles, _by_user(made.user, ones))


def _filled(columns: dict[str, Ints]) -> dict[str, Ints | list[str]]:
    """The columns with 0 for those by which rows are sorted, and which are not there."""
    nothing = np.zeros_like(columns["user"])
    return {**dict.fromkeys(("query", "second", "rank", "session"), nothing), **columns}


def _by_user(user: Ints, weight: Ints) -> Ints:
    """The sum of weights of each user, in the order of users."""
    users, owner = np.unique(user, return_inverse=True)
    return np.bincount(owner, weight, len(users)).astype(np.int64)


def placed(shown: DataFrame, rows: Ints) -> tuple[DataFrame, int]:
    """The shown users with their place in the order of names and the part they are written to.

    Returns user, shown, place, part, and how many parts there are. Where parts end is a function of
    what is released, not of how Spark divides its work, which depends on the whole log. `rows` are
    those of each user, in the order of users.
    """
    user, place = ints(
        shown.selectExpr(
            "`user`",
            "row_number() OVER (ORDER BY try_cast(shown AS DECIMAL(38)) NULLS LAST, shown)",
        )
    )
    user = user[np.argsort(place)]
    rows = rows[np.searchsorted(np.sort(user), user)]
    part = np.unique((np.cumsum(rows) - rows) // ROWS_PER_PART, return_inverse=True)[1]
    named = run(
        "SELECT p.user, s.shown, p.place, p.part FROM {places} p JOIN {shown} s ON s.user = p.user",
        places=frame_of(shown.sparkSession, user=user, place=np.arange(len(user)), part=part),
        shown=shown,
    )
    return named, int(part.max(initial=-1)) + 1


def write_log(
    log: SearchLog,
    types: dict[str, str],
    released: DataFrame,
    parts: int,
    target: Path,
    filled: dict[str, str],
) -> None:
    """Write rows of part, place, shown, query, url, clicks as a folder of that many files.

    `filled` has the value of each of time, rank and session that is there.
    """
    if log.counts_events:
        # A log of events gets one row per click back.
        released = released.selectExpr("*", "explode(sequence(1L, clicks)) AS nth")
    columns = log.columns
    values = {"user": "shown", "query": "query", "url": "nullif(url, '')", "count": "clicks"}
    roles = {name: (values | filled)[role] for role, name in columns.filled(filled).items()}
    places = {name: roles.get(name, "NULL") for name in columns.names}
    if log.format == "parquet":
        values = (
            f"{_cast(place, types[name])} AS {quoted(name)}" for name, place in places.items()
        )
        rows = run(f"SELECT {_KEYS}, {', '.join(values)} FROM {{r}}", r=released)
        _write_parts(rows, parts, target, "parquet", "zstd", log.suffix)
        return
    packing = {"": "none", ".gz": "gzip", ".zst": _OURS}[log.compression]
    rows = _lines(log, types, places, released)
    if log.header and log.format in ("tsv", "csv"):
        rows = rows.union(_headers(rows.sparkSession, log, max(parts, 1)))
    _write_parts(rows, parts, target, "text", packing, log.suffix)


def _cast(place: str, spark_type: str) -> str:
    # A cast alone would not fail in a session where ANSI mode is off.
    return (
        f"IF({place} IS NULL, CAST(NULL AS {spark_type}), coalesce(try_cast({place} AS "
        f"{spark_type}), CAST(raise_error('does not fit') AS {spark_type})))"
    )


def _headers(session: SparkSession, log: SearchLog, parts: int) -> DataFrame:
    """The header before everything else in each part."""
    names = log.columns.names
    if log.format == "csv":
        names = tuple(_csv_field(name, log.delimiter) for name in names)
    return run(
        "SELECT part, -1L, 0L, '', '', 0L, 0L, :header FROM {parts}",
        {"header": log.delimiter.join(names)},
        parts=frame_of(session, part=np.arange(parts)),
    )


def _csv_field(text: str, sign: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*f'"{sign}\r\n'} else text


def _lines(
    log: SearchLog, types: dict[str, str], places: dict[str, str], released: DataFrame
) -> DataFrame:
    """The released rows as lines."""
    if log.format == "jsonl":
        fields = ", ".join(
            f":key{i}, CAST({place} AS {types[name]})"
            for i, (name, place) in enumerate(places.items())
        )
        line = f"to_json(named_struct({fields}), map('ignoreNullFields', 'false'))"
    else:
        value = _text if log.format == "tsv" else _csv_text
        line = f"concat_ws(:between, {', '.join(map(value, places.values()))})"
    return run(
        f"SELECT {_KEYS}, {line} AS line FROM {{r}}",
        {
            "between": log.delimiter,
            "special": f'["{log.delimiter}\r\n]',
            **{f"key{i}": name for i, name in enumerate(places)},
        },
        r=released,
    )


def _text(place: str) -> str:
    return f"coalesce(CAST({place} AS STRING), '')"


def _csv_text(place: str) -> str:
    text = _text(place)
    doubled = f"""concat('"', replace({text}, '"', '""'), '"')"""
    return f"IF(regexp_like({text}, :special), {doubled}, {text})"


def _write_parts(
    rows: DataFrame, parts: int, target: Path, format: str, compression: str, suffix: str
) -> None:
    """Write each part as one file, in order, with nothing of Spark's beside it."""
    if parts:
        ordered = rows.repartition(min(parts, _MOST_TASKS), _ORDER[0]).sortWithinPartitions(*_ORDER)
        rows, by = ordered.drop(*_ORDER[1:]), _ORDER[:1]
    else:  # nothing is released: one file without rows
        rows, by = rows.drop(*_ORDER).coalesce(1), ()
    plain = "none" if compression == _OURS else compression
    with _written(rows, target, format, plain, *by) as files:
        target.mkdir()
        for i, file in enumerate(files):
            named = target / f"part-{i:05}{suffix}"
            if compression != _OURS:
                file.rename(named)
                continue
            # Spark writes text as Zstandard only with Hadoop's own code.
            with file.open("rb") as unpacked, named.open("wb") as packed:
                zstandard.ZstdCompressor().copy_stream(unpacked, packed)
            file.unlink()


def write_table(frame: DataFrame, target: Path) -> None:
    """Write a frame as one Parquet file."""
    with _written(frame.coalesce(1), target, "parquet", "zstd") as (file,):
        file.rename(target)


@contextmanager
def _written(
    frame: DataFrame, target: Path, format: str, compression: str, *by: str
) -> Generator[list[Path]]:
    """The files that Spark wrote, in order, in a folder beside the target that is then removed."""
    staging = target.with_name(f".{target.name}.spark")
    writer = frame.write.format(format).partitionBy(*by)
    writer.options(compression=compression, maxRecordsPerFile=0).save(address(staging))
    files = staging.rglob("part-*")  # each in a folder slogan_part=number, if there are parts
    yield sorted(files, key=lambda file: (int(file.parent.name.partition("=")[2] or 0), file.name))
    shutil.rmtree(staging)
