"""The form of a release: every byte of public/ follows from its rows and its manifest.

A released log is written once more from the rows that were read of it, and must come out the same.
A manifest holds known names only, each with values of its kind.
"""

import ast
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import zstandard
from pydantic_core import to_json

from slogan.logs.files import ENCODINGS, identifier, open_bytes
from slogan.logs.rows import PACKINGS, literal, parquet_sql
from slogan.manifest.labels import is_label
from slogan.manifest.manifest import Manifest, Outputs, released_file
from slogan.registry import module_names
from slogan.report.html import wording_digest
from slogan.storage.database import connected
from slogan.storage.folders import scratch_folder
from slogan.storage.untrusted import modest
from slogan.verification.accounting import account_as_written
from slogan.verification.comparison import Counted
from slogan.verification.evidence import Evidence, Finding, NotPossibleError
from slogan.verification.wording import names_of_log, words_of

_ORDER = 'TRY_CAST("user" AS HUGEINT) NULLS LAST, "user", query, url'
"""Integers in numeric order, any other ID in the order of its bytes."""
_GZIP = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"
"""Deflate, no name, no comment, no extra field, no time."""
_ZSTD = b"\x28\xb5\x2f\xfd"
_WRITERS = re.compile(r"(DuckDB version v|parquet-mr version )[\w.]+ \(build [0-9a-f]+\)")
_SPARKS_OWN = {"org.apache.spark.version", "org.apache.spark.sql.parquet.row.metadata"}


def rows_as_written(evidence: Evidence) -> Finding:
    """Check that writing the rows in the documented order gives the bytes of the released log."""
    shown = evidence.released
    if not shown.log.counts_events:
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
    with scratch_folder() as folder:
        again = folder / f"again{shown.log.suffix}"
        sql.execute("SET preserve_insertion_order = true")
        sql.execute(
            f"COPY (SELECT {_columns(shown)} FROM shown_rows ORDER BY {_ORDER}) "
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
    """SQL of the released columns: those with a role in their type, the others empty."""
    columns = shown.log.columns
    roles = {columns.user: '"user"', columns.query: "query", columns.url: "url"}
    if columns.count is not None:
        roles[columns.count] = "clicks"
    return ", ".join(
        f"CAST({roles.get(name, 'NULL')} AS {kind}) AS {identifier(name)}"
        for name, kind in zip(columns.names, shown.types, strict=True)
    )


def _options(shown: Counted) -> str:
    log = shown.log
    if log.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packing = f"COMPRESSION {PACKINGS[log.compression]}"
    if log.format == "jsonl":
        return f"FORMAT json, {packing}"
    raw = "" if log.format == "csv" else "DELIMITER '\t', QUOTE '', ESCAPE '', "
    return f"FORMAT csv, {raw}HEADER {log.header}, {packing}"


def _parts_fault(sql: duckdb.DuckDBPyConnection, shown: Counted, parts: list[Path]) -> str | None:
    """The fault of a log in parts, as Spark writes it; None if there is none."""
    if shown.log.format == "parquet":
        given = sql.execute('SELECT "user", query, url FROM shown_rows ORDER BY n').fetchall()
        order = f'SELECT "user", query, url FROM shown_rows ORDER BY {_ORDER}'
        if given != sql.execute(order).fetchall():
            return "the rows are not in the documented order"
    else:
        rows = sql.execute(f'SELECT "user", query, url, clicks FROM shown_rows ORDER BY {_ORDER}')
        expected = _written(shown, rows)
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
    names = log.columns.names
    return "\t".join(names) if log.format == "tsv" else ",".join(map(_quoted, names))


def _written(shown: Counted, rows: duckdb.DuckDBPyConnection) -> Iterator[str]:
    log, columns = shown.log, shown.log.columns
    while some := rows.fetchmany(10_000):
        for user, query, url, clicks in some:
            known = {columns.user: user, columns.query: query, columns.url: url}
            values = [
                clicks if name == columns.count else known.get(name) for name in columns.names
            ]
            if log.format == "jsonl":
                fields = dict(zip(columns.names, values, strict=True))
                yield json.dumps(fields, ensure_ascii=False, separators=(",", ":")) + "\n"
            else:
                texts = ["" if value is None else str(value) for value in values]
                yield (
                    "\t".join(texts) if log.format == "tsv" else ",".join(map(_quoted, texts))
                ) + "\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*'",\r\n'} else text


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


# --- the manifest ---

_NUMBER = re.compile(r"[0-9]{1,200}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?(/[0-9]{1,200})?")
_TYPED = re.compile(r"[0-9./eE+_-]{1,40}")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}[0-9a-z.+-]{0,16}")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
_LIBRARIES = {"python", "duckdb", "highspy", "numpy", "scipy"}
_GROUPINGS = {"independent", "domains", "spectral", "taxonomy"}
_GRID = 2**20
"""Noise is a multiple of 1/_GRID, and so is every number measured with it."""
_MOST_RANK = 800
_BINS = 31
Accepts = Callable[[object], bool]


def _number(value: object) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_of(*names: str) -> Accepts:
    return lambda value: value in names


def _allowed(manifest: Manifest) -> dict[str, Accepts]:
    """The parameters a manifest may have, each with a test of its value."""
    objectives = module_names("slogan.planning.objectives")
    objective = manifest.parameters.get("objective")
    own = _fields("slogan.planning.objectives", str(objective)) if objective in objectives else ()
    return {
        **dict.fromkeys(own, _number),
        "objective": _one_of(*objectives),
        "solver": _one_of("auto", "distributed", *module_names("slogan.planning.solvers")),
        "engine": _one_of(*module_names("slogan.engines", packages_only=True)),
        "time_limit": _number,
        "gap": _number,
        "patience": _number,
        "encoding": _one_of(*ENCODINGS),
        "on_bad_row": _one_of("error", "skip"),
        "selector": _one_of(*module_names("slogan.dp.selection")),
        "association": _one_of(*_GROUPINGS),
        "taxonomy_sha256": lambda value: _DIGEST.fullmatch(str(value)) is not None,
        "accept_weak_privacy": _one_of("yes"),
        **dict.fromkeys(
            (
                *("laplace_bound", "laplace_epsilon", "sampling_share", "sampling_cap"),
                *("share_selection", "share_counts", "share_association", "share_sizes"),
                *("share_coverage", "selection_delta", "counts_norm", "counts_most_clicks"),
                *("sizes_largest", "coverage_most_clicks", "association_head"),
                "association_most_categories",
            ),
            _number,
        ),
    }


def _fields(package: str, module: str) -> tuple[str, ...]:
    """The fields of the classes in a module, read from its source without importing it."""
    spec = find_spec(f"{package}.{module}")
    if spec is None or spec.origin is None:
        return ()
    classes = [
        n
        for n in ast.parse(Path(spec.origin).read_text("utf-8")).body
        if isinstance(n, ast.ClassDef)
    ]
    fields = (part for one in classes for part in one.body if isinstance(part, ast.AnnAssign))
    return tuple(field.target.id for field in fields if isinstance(field.target, ast.Name))


def manifest_as_written(evidence: Evidence) -> Finding:
    """Check that the manifest has only known fields with valid values, as slogan writes them."""
    manifest = evidence.manifest
    try:
        raw = modest(evidence.public / "manifest.json").decode()
        parsed = json.loads(raw, object_pairs_hook=_without_repetition)
    except (OSError, ValueError):
        return False, "public/manifest.json cannot be read, or has a repeated field"
    allowed = _allowed(manifest)
    unknown = [
        name
        for name, value in manifest.parameters.items()
        if value is not None and (name not in allowed or not allowed[name](value))
    ]
    budget = [text for text in manifest.budget.model_dump().values() if text is not None]
    log, labels = manifest.log, manifest.labels.given()
    faults = {
        "is not written as slogan writes it": raw != to_json(parsed, indent=2).decode() + "\n"
        or (
            manifest.slogan_version == version("slogan")
            and manifest.wording == wording_digest()
            and raw != manifest.model_dump_json(indent=2) + "\n"
        ),
        f"has {len(unknown)} parameters with unknown names or values": bool(unknown),
        "has a budget that is not written as a number": not all(map(_TYPED.fullmatch, budget)),
        "has invalid version numbers": not _plain_versions(manifest),
        "has labels that are not one line each": not all(map(is_label, labels.values())),
        "has labels that name a user of the log": names_of_log(
            evidence,
            words_of(" ".join(text for name, text in labels.items() if name != "contact")),
            ("user",),
        ),
        "has an invalid digest of its wording": _DIGEST.fullmatch(manifest.wording) is None,
        "does not name the released log": log.file != f"log.{log.format}{log.compression}",
        "has an account that does not follow from its stages": not account_as_written(evidence),
        "has outputs that the mechanism cannot produce": not _plain_outputs(manifest),
        "withholds more queries than pairs": manifest.withheld is not None
        and manifest.withheld.queries > manifest.withheld.pairs,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, f"the manifest {'; '.join(found) or 'has only known, valid fields'}"


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated field")
    return dict(pairs)


def _plain_versions(manifest: Manifest) -> bool:
    versions = {"slogan": manifest.slogan_version, **manifest.versions}
    known = versions.keys() <= _LIBRARIES | {"slogan"}
    return known and all(map(_VERSION.fullmatch, versions.values()))


def _plain_outputs(manifest: Manifest) -> bool:
    """Whether measured figures lie on the grid of the noise, and derived ones are consistent."""
    outputs = manifest.outputs
    if outputs is None:
        return True
    bins = outputs.users_by_pairs
    measured = list(bins)
    follows = len(bins) == _BINS and outputs.users == max(0, round(sum(bins[1:])))
    if isinstance(outputs, Outputs):
        measured += [outputs.clicks_released, outputs.clicks_other]
        inside, outside = (max(part, 0.0) for part in measured[-2:])
        share = inside / (inside + outside) if inside + outside > 0 else 0.0
        follows = follows and outputs.coverage == share and outputs.association in _GROUPINGS
        follows = follows and 0 <= outputs.association_rank <= _MOST_RANK
    return follows and all((number * _GRID).is_integer() for number in measured)
