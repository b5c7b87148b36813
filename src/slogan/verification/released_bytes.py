"""The bytes of a released log: all of them follow from its rows and its manifest.

It is written once more from the rows that were read of it, and must come out the same.
"""

import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from slogan.logs.files import identifier, literal, open_bytes
from slogan.logs.rows import PACKINGS, parquet_sql
from slogan.logs.searchlog import SearchLog
from slogan.manifest.manifest import Manifest, released_file
from slogan.storage.database import connected
from slogan.storage.folders import scratch_folder
from slogan.verification.comparison import Counted, fields_of
from slogan.verification.events.written import order_of, values_of
from slogan.verification.evidence import Evidence, Finding, NotPossibleError
from slogan.verification.ubi.written import ubi_fault

_GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""Deflate, no name, no comment, no extra field, no time."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_NUMBERS = ("clicks", "rank", "datediff")
"""How SQL begins of what is a number in JSON."""
_WRITERS = re.compile(r"(DuckDB version v|parquet-mr version )[\w.]+ \(build [0-9a-f]+\)")
_SPARKS_OWN = {"org.apache.spark.version", "org.apache.spark.sql.parquet.row.metadata"}


def rows_as_written(evidence: Evidence) -> Finding:
    """Check that writing the rows in the documented order gives the bytes of the released log."""
    shown = evidence.released
    if not (shown.log.counts_events or shown.log.columns.event_roles):
        twice = _one(
            evidence.sql,
            'SELECT count(*) - count(DISTINCT ("user", query, url)) FROM shown_rows',
        )
        if twice:
            return False, f"{twice} rows have the same user and pair as another row"
    released = released_file(evidence.public, evidence.manifest)
    try:
        if released.is_dir():
            fault = _parts_fault(evidence.sql, shown, sorted(released.iterdir()))
        else:
            fault = _file_fault(evidence.sql, shown, released, evidence.manifest)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, UnicodeDecodeError, duckdb.Error):
        raise NotPossibleError("the released log cannot be read") from None
    return fault is None, fault or "writing the rows again, in order, gives the same bytes"


def _file_fault(
    sql: duckdb.DuckDBPyConnection, shown: Counted, released: Path, manifest: Manifest
) -> str | None:
    if shown.log.format == "ubi":
        return ubi_fault(sql, shown, released) or _container_fault(released, shown)
    with scratch_folder() as folder:
        again = folder / f"again{shown.log.suffix}"
        sql.execute("SET preserve_insertion_order = true")
        sql.execute(
            f"COPY (SELECT {_columns(shown)} FROM shown_rows s ORDER BY {order_of(shown.log)}) "
            f"TO {literal(str(again))} ({_options(shown)})"
        )
        if _same(released.open("rb"), again.open("rb")):
            return None
        if (
            manifest.versions.get(duckdb.__name__) == duckdb.__version__
            and shown.log.format == "parquet"
        ):
            return "writing the rows again, in order, gives other bytes"
        if shown.log.format == "parquet":
            return _rows_fault(sql, released, again) or _container_fault(released, shown)
        packing = shown.log.compression
        if not _same(open_bytes(released, packing), open_bytes(again, packing)):
            return "writing the rows again, in order, gives other bytes"
    return _container_fault(released, shown)


def _same(one: Any, other: Any) -> bool:
    with one, other:
        while piece := one.read(1 << 20):
            if other.read(len(piece)) != piece:
                return False
        return not other.read(1)


def _rows_fault(sql: duckdb.DuckDBPyConnection, released: Path, again: Path) -> str | None:
    """Whether two Parquet files hold the same rows in the same order."""
    both = [sql.cursor().execute(f"FROM {parquet_sql(file)}") for file in (released, again)]
    while some := both[0].fetchmany(10_000):
        if both[1].fetchmany(len(some)) != some:
            return "the rows are not in the documented order"
    return None


def _columns(shown: Counted) -> str:
    """SQL of the released columns: the modelled values, each of its type, and nothing else."""
    columns = shown.log.columns
    texts = {"user": '"user"', "query": "query", "url": "nullif(url, '')", "count": "clicks"}
    kinds = {role: shown.type_of(name) for role, name in columns.event_roles.items()}
    named, texts = columns.roles | columns.event_roles, texts | values_of(shown.log, kinds)
    values = {columns.path(name): texts[role] for role, name in named.items()}
    return ", ".join(
        f"{_value((name,), kind, values)} AS {identifier(name)}"
        for name, kind in zip(columns.names, shown.types, strict=True)
    )


def _value(path: tuple[str, ...], kind: str, values: Mapping[tuple[str, ...], str]) -> str:
    """SQL of what is written at a path: a value, a record around some, or nothing."""
    if path in values:
        return f"CAST({values[path]} AS {kind})"
    below = [value for value in values if value[: len(path)] == path]
    if not below:
        return f"CAST(NULL AS {kind})"
    # A record of Parquet declares its fields; one of JSON has those that are named.
    fields = fields_of(kind) or {
        one[len(path)]: "BIGINT" if values[one].startswith(_NUMBERS) else "VARCHAR" for one in below
    }
    inside = (f"{literal(n)}: {_value((*path, n), k, values)}" for n, k in fields.items())
    return f"{{{', '.join(inside)}}}"


def _options(shown: Counted) -> str:
    log = shown.log
    if log.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packing = f"COMPRESSION {PACKINGS[log.compression]}"
    if log.format == "jsonl":
        return f"FORMAT json, {packing}"
    raw = "" if log.format == "csv" else "QUOTE '', ESCAPE '', "
    between = f"DELIMITER {literal(_delimiter(log))}"
    return f"FORMAT csv, {between}, {raw}HEADER {log.header}, {packing}"


def _delimiter(log: SearchLog) -> str:
    return "\t" if log.format == "tsv" else log.delimiter


def _parts_fault(sql: duckdb.DuckDBPyConnection, shown: Counted, parts: list[Path]) -> str | None:
    """The fault of a log in parts, as Spark writes it; None if there is none."""
    if shown.log.format == "parquet":
        rows, order = f"SELECT {_columns(shown)} FROM shown_rows s ORDER BY", order_of(shown.log)
        if sql.execute(f"{rows} n").fetchall() != sql.execute(f"{rows} {order}").fetchall():
            return "the rows are not in the documented order"
    else:
        expected = _written(
            shown.log,
            sql.execute(
                f"SELECT {_columns(shown)} FROM shown_rows s ORDER BY {order_of(shown.log)}"
            ),
        )
        for part in parts:
            with open_bytes(part, shown.log.compression) as data:
                lines = io.TextIOWrapper(data, encoding="utf-8", newline="\n")
                if _header(shown) is not None and next(lines, None) != f"{_header(shown)}\n":
                    return f"{part.name} does not begin with the header"
                if any(line != next(expected, None) for line in lines):
                    return "writing the rows again, in order, gives other bytes"
        if next(expected, None) is not None:
            return "writing the rows again, in order, gives other bytes"
    faults = (_container_fault(part, shown) for part in parts)
    return next((fault for fault in faults if fault), None)


def _header(shown: Counted) -> str | None:
    log = shown.log
    if not log.header or log.format == "jsonl":
        return None
    return _line(log, log.columns.names)


def _line(log: SearchLog, fields: Sequence[str]) -> str:
    sign = _delimiter(log)
    quoted = fields if log.format == "tsv" else [_quoted(text, sign) for text in fields]
    return sign.join(quoted)


def _written(log: SearchLog, rows: duckdb.DuckDBPyConnection) -> Iterator[str]:
    while some := rows.fetchmany(10_000):
        for values in some:
            if log.format == "jsonl":
                fields = dict(zip(log.columns.names, values, strict=True))
                yield json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
            else:
                yield _line(log, ["" if v is None else str(v) for v in values]) + "\n"


def _quoted(text: str, sign: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*f'"{sign}\r\n'} else text


def _container_fault(file: Path, shown: Counted) -> str | None:
    """Whether a file contains anything besides its rows."""
    if shown.log.format == "parquet":
        return _parquet_fault(file)
    if shown.log.compression == ".gz":
        plain = file.read_bytes().startswith(_GZIP) and _members(file) == 1
        return None if plain else "its gzip header has optional fields, or it has several streams"
    if shown.log.compression == ".zst":
        return None if _plain_zstd(file) else "its Zstandard frames contain more than rows"
    return None


def _members(file: Path) -> int:
    """The number of streams in a gzip file; a plain one has exactly one."""
    members, data = 0, file.read_bytes()
    while data:
        stream = zlib.decompressobj(wbits=31)
        stream.decompress(data)
        members, data = members + 1, stream.unused_data
    return members


def _plain_zstd(file: Path) -> bool:
    data = file.read_bytes()
    while data:
        if not data.startswith(_ZSTD) or zstandard.get_frame_parameters(data).dict_id:
            return False
        frame = zstandard.ZstdDecompressor().decompressobj()
        frame.decompress(data)
        data = frame.unused_data
    return True


def _parquet_fault(file: Path) -> str | None:
    with connected() as sql:
        name = literal(str(file.absolute()))
        (writer, footer), *_ = sql.execute(
            f"SELECT created_by, footer_size FROM parquet_file_metadata({name})"
        ).fetchall()
        extra = {
            bytes(key).decode(errors="replace")
            for (key,) in sql.execute(f"SELECT key FROM parquet_kv_metadata({name})").fetchall()
        }
        chunks, more = sql.execute(
            f"SELECT sum(total_compressed_size + coalesce(bloom_filter_length, 0)), "
            f"count(*) FILTER (cardinality(key_value_metadata) > 0) FROM parquet_metadata({name})"
        ).fetchall()[0]
    if not _WRITERS.match(writer or "") or extra - _SPARKS_OWN or more:
        return "its Parquet footer contains more than a schema"
    # Spark adds page indexes, whose length the footer does not state.
    ours = not writer.startswith("parquet-mr")
    if ours and 4 + int(chunks or 0) + footer + 8 != file.stat().st_size:
        return "the Parquet file has bytes that belong to no column"
    return None


def _one(sql: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(sql.execute(query).fetchall()[0][0])
