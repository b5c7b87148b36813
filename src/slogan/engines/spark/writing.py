"""How Spark writes a release: the columns, types and format of the counted log, in parts.

Everything here sees the released rows only: user, pair, clicks, the shown names, the pairs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import zstandard
from pyspark.sql import DataFrame, SparkSession

from slogan.engines.pseudonyms import IdKind, kind_of_type
from slogan.engines.spark.reading import PARSED, address, json_path, lines, paths, typed_table
from slogan.engines.spark.sql import frame_of, ints, one, quoted, run
from slogan.histogram import Output
from slogan.logs.searchlog import SearchLog

ROWS_PER_PART = 1_000_000
"""Rows after which another file is begun; a user's rows stay together."""
_MOST_TASKS = 1_000
_OURS = "zstd by us"
_ORDER = tuple(f"slogan_{key}" for key in ("part", "place", "query", "url"))
"""What rows are sorted by, under names that no column of a log should have."""
_KEYS = "part AS slogan_part, place AS slogan_place, query AS slogan_query, url AS slogan_url"
_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "json": "JSON",
}


def column_types(session: SparkSession, log: SearchLog) -> dict[str, str]:
    """The type of each column as it should be written; "json" for a number in JSON Lines."""
    if log.format == "parquet":
        return {f.name: f.dataType.simpleString() for f in typed_table(session, log).schema.fields}
    types = dict.fromkeys(log.columns.names, "string")
    if log.format == "jsonl":
        roles = log.columns.roles
        asked = ", ".join(map(_mostly_numbers, roles))
        found = one(
            run(
                session,
                f"SELECT {asked} FROM (SELECT {PARSED} AS v FROM {{lines}})",
                {role: json_path(name) for role, name in roles.items()},
                lines=lines(session, paths(log), log.encoding),
            )
        )
        types |= {n: "json" for n, numbers in zip(roles.values(), found, strict=True) if numbers}
    return types


def _mostly_numbers(role: str) -> str:
    """Whether most rows have a number there: in whatever order, and whatever one user does."""
    kind = f"schema_of_variant(try_variant_get(v, :{role}, 'variant'))"
    numbers = f"count_if(regexp_like({kind}, '^(BIGINT|DECIMAL|DOUBLE)'))"
    return f"CAST(2 * {numbers} > count_if({kind} <> 'VOID') AS INT)"


def kind_of_ids(spark_type: str) -> IdKind | None:
    """What kind of pseudonym fits a column of this type; None if it holds any text."""
    return kind_of_type(_TYPES.get(spark_type, spark_type.upper()))


def kind_of_shown(session: SparkSession, shown: DataFrame) -> IdKind:
    """What kind of pseudonym looks like the IDs of shown users, which are text."""
    (others,) = one(
        run(
            session,
            "SELECT count_if(NOT regexp_like(shown, :digits)) FROM {shown}",
            {"digits": "^[1-9][0-9]{0,17}$"},
            shown=shown,
        )
    )
    return IdKind(type="text" if others else "integer")


def placed(
    session: SparkSession, log: SearchLog, output: Output, shown: DataFrame
) -> tuple[DataFrame, int]:
    """The shown users with their place in the order of names and the part they are written to.

    Returns user, shown, place, part, and how many parts there are. Where parts end is a function of
    what is released, not of how Spark divides its work, which depends on the whole log.
    """
    user, place = ints(
        run(
            session,
            """SELECT `user`, row_number() OVER (
                   ORDER BY try_cast(shown AS DECIMAL(38)) NULLS LAST, shown) FROM {shown}""",
            shown=shown,
        )
    )
    user = user[np.argsort(place)]
    numbers, owner = np.unique(output.user, return_inverse=True)
    rows = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(rows, owner, output.count if log.counts_events else 1)
    rows = rows[np.searchsorted(numbers, user)]
    part = np.unique((np.cumsum(rows) - rows) // ROWS_PER_PART, return_inverse=True)[1]
    places = frame_of(session, user=user, place=np.arange(len(user)), part=part)
    named = run(
        session,
        "SELECT p.user, s.shown, p.place, p.part FROM {places} p JOIN {shown} s ON s.user = p.user",
        places=places,
        shown=shown,
    )
    return named, int(part.max(initial=-1)) + 1


def write_log(
    session: SparkSession,
    log: SearchLog,
    types: dict[str, str],
    released: DataFrame,
    parts: int,
    target: Path,
) -> None:
    """Write rows of part, place, shown, query, url, clicks as a folder of that many files."""
    if log.counts_events:
        # A log of events gets one row per click back.
        released = run(
            session,
            "SELECT *, explode(sequence(1L, clicks)) AS nth FROM {r}",
            r=released,
        )
    if log.format == "parquet":
        columns = ", ".join(
            f"{_cast(place, types[name])} AS {quoted(name)}" for name, place in _places(log).items()
        )
        rows = run(session, f"SELECT {_KEYS}, {columns} FROM {{r}}", r=released)
        _write_parts(rows, parts, target, "parquet", "zstd", log.suffix)
        return
    packing = {"": "none", ".gz": "gzip", ".zst": _OURS}[log.compression]
    rows = _lines(session, log, types, released)
    if log.header and log.format in ("tsv", "csv"):
        rows = rows.union(_headers(session, log, max(parts, 1)))
    _write_parts(rows, parts, target, "text", packing, log.suffix)


def _places(log: SearchLog) -> dict[str, str]:
    """What each column of the log is filled with."""
    columns = log.columns
    roles = {columns.user: "shown", columns.query: "query", columns.url: "url"}
    if columns.count is not None:
        roles[columns.count] = "clicks"
    return {name: roles.get(name, "NULL") for name in columns.names}


def _cast(place: str, spark_type: str) -> str:
    if place == "NULL":
        return f"CAST(NULL AS {spark_type})"
    # A cast alone would not fail in a session where ANSI mode is off.
    return (
        f"coalesce(try_cast({place} AS {spark_type}), "
        f"CAST(raise_error('does not fit') AS {spark_type}))"
    )


def _headers(session: SparkSession, log: SearchLog, parts: int) -> DataFrame:
    """The header before everything else in each part."""
    names = log.columns.names
    header = "\t".join(names) if log.format == "tsv" else ",".join(map(_csv_field, names))
    return run(
        session,
        "SELECT part, -1L, '', '', :header FROM {parts}",
        {"header": header},
        parts=frame_of(session, part=np.arange(parts)),
    )


def _csv_field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*'",\r\n'} else text


def _lines(
    session: SparkSession, log: SearchLog, types: dict[str, str], released: DataFrame
) -> DataFrame:
    """The released rows as lines."""
    places = _places(log)
    if log.format == "jsonl":
        fields = ", ".join(
            f":key{i}, {_json_value(session, place, types[name], released)}"
            for i, (name, place) in enumerate(places.items())
        )
        line = f"to_json(named_struct({fields}), map('ignoreNullFields', 'false'))"
    else:
        value = _text if log.format == "tsv" else _csv_text
        line = f"concat_ws(:between, {', '.join(map(value, places.values()))})"
    return run(
        session,
        f"SELECT {_KEYS}, {line} AS line FROM {{r}}",
        {
            "between": "\t" if log.format == "tsv" else ",",
            "special": '[",\r\n]',
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


def _json_value(session: SparkSession, place: str, kind: str, released: DataFrame) -> str:
    if place == "NULL" or kind != "json":
        return f"CAST({place} AS STRING)"
    # A number in JSON stays one if all that is released in its column are whole numbers.
    (other,) = one(
        run(session, f"SELECT count_if(try_cast({place} AS BIGINT) IS NULL) FROM {{r}}", r=released)
    )
    return f"CAST({place} AS {'STRING' if other else 'BIGINT'})"


def _write_parts(
    rows: DataFrame, parts: int, target: Path, format: str, compression: str, suffix: str
) -> None:
    """Write each part as one file, in order, with nothing of Spark's beside it."""
    if parts:
        ordered = rows.repartition(min(parts, _MOST_TASKS), _ORDER[0]).sortWithinPartitions(*_ORDER)
        written = _written(ordered.drop(*_ORDER[1:]), target, format, compression, by=_ORDER[0])
    else:  # nothing is released: one file without rows
        written = _written(rows.drop(*_ORDER).coalesce(1), target, format, compression)
    target.mkdir()
    for i, file in enumerate(written):
        _place(file, target / f"part-{i:05}{suffix}", packed=compression == _OURS)
    shutil.rmtree(_staging(target))


def _place(file: Path, target: Path, *, packed: bool) -> None:
    """Give a written file its name; Spark writes text as Zstandard only with Hadoop's own code."""
    if not packed:
        file.rename(target)
        return
    with file.open("rb") as plain, target.open("wb") as packing:
        zstandard.ZstdCompressor().copy_stream(plain, packing)
    file.unlink()


def write_table(frame: DataFrame, target: Path) -> None:
    """Write a frame as one Parquet file."""
    (file,) = _written(frame.coalesce(1), target, "parquet", "zstd")
    file.rename(target)
    shutil.rmtree(_staging(target))


def _written(
    frame: DataFrame, target: Path, format: str, compression: str, *, by: str | None = None
) -> list[Path]:
    """The files that Spark wrote, in order, in a folder beside the target."""
    writer = frame.write.format(format)
    writer = writer.option("compression", "none" if compression == _OURS else compression)
    if by is not None:
        writer = writer.partitionBy(by)
    writer.option("maxRecordsPerFile", 0).save(address(_staging(target)))
    return sorted(_staging(target).rglob("part-*"), key=_number_of_part)


def _number_of_part(file: Path) -> tuple[int, str]:
    number = file.parent.name.partition("=")[2]
    return int(number or 0), file.name


def _staging(target: Path) -> Path:
    return target.with_name(f".{target.name}.spark")
