"""How Spark writes a release: the columns, types and format of the counted log, in parts.

Everything here sees the released rows only: user, pair, clicks, the shown names, the pairs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from slogan.detection import first_line
from slogan.engines._writing import kind_of_type
from slogan.engines.spark.reading import address, lines, paths, typed_table
from slogan.engines.spark.sql import one, quoted, run
from slogan.pseudonyms import IdKind
from slogan.searchlog import SearchLog

_ROWS_OF = 1 << 33
"""Spark's running numbers begin anew in each task, at multiples of this."""
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
_ORDER = "try_cast(shown AS DECIMAL(38)) NULLS LAST, shown, query, url"


def column_types(session: SparkSession, log: SearchLog) -> dict[str, str]:
    """The type of each column as it should be written; "json" for a number in JSON Lines."""
    if log.format == "parquet":
        return {f.name: f.dataType.simpleString() for f in typed_table(session, log).schema.fields}
    types = dict.fromkeys(log.columns.names, "string")
    if log.format == "jsonl":
        first = json.loads(_first_line(session, log))
        numbers = {k for k, v in first.items() if type(v) in (int, float)}
        types.update(dict.fromkeys(numbers & types.keys(), "json"))
    return types


def _first_line(session: SparkSession, log: SearchLog) -> str:
    if log.files:
        return first_line(log.files[0], log.compression, log.encoding)
    return str(lines(session, paths(log), log.encoding).filter("beginning").head()["line"])  # pyright: ignore[reportOptionalSubscript]


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


def write_log(
    session: SparkSession, log: SearchLog, types: dict[str, str], released: DataFrame, target: Path
) -> None:
    """Write rows of shown, query, url, clicks, sorted by shown user, query and url."""
    if log.counts_events:
        # A log of events gets one row per click back.
        released = run(
            session,
            "SELECT shown, query, url, clicks FROM {r} LATERAL VIEW explode(sequence(1, clicks))",
            r=released,
        )
    if log.format == "parquet":
        columns = ", ".join(
            f"{_cast(place, types[name])} AS {quoted(name)}" for name, place in _places(log).items()
        )
        ordered = run(session, f"SELECT {columns} FROM {{r}} ORDER BY {_ORDER}", r=released)
        write_parts(ordered, target, format="parquet", compression="zstd", suffix=log.suffix)
        return
    packing = {"": "none", ".gz": "gzip", ".zst": "zstd"}[log.compression]
    text = _lines(session, log, types, released)
    write_parts(text, target, format="text", compression=packing, suffix=log.suffix)


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


def _lines(
    session: SparkSession, log: SearchLog, types: dict[str, str], released: DataFrame
) -> DataFrame:
    """The released rows as lines in their order, each task's first with the header before it."""
    places = _places(log)
    headers = {"tsv": "\t".join, "csv": _csv_line}
    line = {"tsv": _tsv_text, "csv": _csv_text}.get(log.format)
    if line is not None:
        ordered = run(
            session,
            f"SELECT {line(places)} AS line FROM {{r}} ORDER BY {_ORDER}",
            {"tab": "\t", "special": '[",\r\n]'},
            r=released,
        )
        if not log.header:
            return ordered
        return run(
            session,
            f"""SELECT IF(monotonically_increasing_id() % {_ROWS_OF} = 0,
                          concat(:header, chr(10), line), line) AS line FROM {{ordered}}""",
            {"header": headers[log.format](log.columns.names)},
            ordered=ordered,
        )
    fields = ", ".join(
        f":key{i}, {_json_value(session, place, types[name], released)}"
        for i, (name, place) in enumerate(places.items())
    )
    return run(
        session,
        f"""SELECT to_json(named_struct({fields}), map('ignoreNullFields', 'false')) AS line
            FROM {{r}} ORDER BY {_ORDER}""",
        {f"key{i}": name for i, name in enumerate(places)},
        r=released,
    )


def _tsv_text(places: dict[str, str]) -> str:
    return "concat_ws(:tab, " + ", ".join(f"coalesce({p}, '')" for p in places.values()) + ")"


def _csv_text(places: dict[str, str]) -> str:
    values = ", ".join(
        f"""IF(regexp_like(coalesce({p}, ''), :special),
               concat('"', replace({p}, '"', '""'), '"'), coalesce({p}, ''))"""
        for p in places.values()
    )
    return f"concat_ws(',', {values})"


def _csv_line(names: tuple[str, ...]) -> str:
    return ",".join(
        '"' + name.replace('"', '""') + '"' if {*name} & {*'",\r\n'} else name for name in names
    )


def _json_value(session: SparkSession, place: str, kind: str, released: DataFrame) -> str:
    if place == "NULL":
        return "CAST(NULL AS STRING)"
    if kind != "json":
        return f"CAST({place} AS STRING)"
    # A number in JSON stays one if all that is released in its column are whole numbers.
    (other,) = one(
        run(session, f"SELECT count_if(try_cast({place} AS BIGINT) IS NULL) FROM {{r}}", r=released)
    )
    return f"CAST({place} AS {'STRING' if other else 'BIGINT'})"


def write_parts(
    frame: DataFrame, target: Path, *, format: str, compression: str, suffix: str
) -> None:
    """Write a frame as a folder of files that have nothing of Spark's beside them."""
    target.mkdir()
    for i, part in enumerate(_written(frame, target, format, compression)):
        part.rename(target / f"part-{i:05}{suffix}")
    _clear(target)


def write_table(frame: DataFrame, target: Path) -> None:
    """Write a frame as one Parquet file."""
    (part,) = _written(frame.coalesce(1), target, "parquet", "zstd")
    part.rename(target)
    _clear(target)


def _written(frame: DataFrame, target: Path, format: str, compression: str) -> list[Path]:
    """The files that Spark wrote, in order, in a folder beside the target."""
    writer = frame.write.format(format).option("compression", compression)
    writer.option("maxRecordsPerFile", 0).save(address(_staging(target)))
    return [p for p in sorted(_staging(target).glob("part-*")) if p.stat().st_size]


def _staging(target: Path) -> Path:
    return target.with_name(f".{target.name}.spark")


def _clear(target: Path) -> None:
    shutil.rmtree(_staging(target))
