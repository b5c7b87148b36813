"""The released rows as an Arrow table: read back from the file that the engine writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slogan.errors import OptionError
from slogan.logs.files import identifier, plain_glob
from slogan.logs.rows import PACKINGS, literal
from slogan.logs.searchlog import SearchLog
from slogan.storage.database import connected


def released_rows(file: Path, log: SearchLog) -> Any:
    """Read a released file, or a folder of parts, as a `pyarrow.Table` with this log's schema."""
    parts = sorted(file.iterdir()) if file.is_dir() else [file]
    files = ", ".join(literal(plain_glob(part)) for part in parts)
    with connected() as sql:
        try:
            rows: Any = sql.sql(f"SELECT * FROM {_source(files, log)}")
            return rows.to_arrow_table()
        except ModuleNotFoundError as cause:
            raise OptionError(
                f"tables need {cause.name}, which is not installed",
                hint="pip install 'slogan[tables]'",
            ) from cause


def _source(files: str, log: SearchLog) -> str:
    if log.format == "parquet":
        return f"read_parquet([{files}], hive_partitioning=false)"
    count = log.columns.count
    columns = ", ".join(
        f"{literal(name)}: {literal('BIGINT' if name == count else 'VARCHAR')}"
        for name in log.columns.names
    )
    packing = PACKINGS[log.compression]
    if log.format == "jsonl":
        options = f"columns={{{columns}}}, format='newline_delimited'"
        packing = "uncompressed" if packing == "none" else packing  # read_json has its own word
        return f"read_json([{files}], {options}, compression='{packing}')"
    raw = "" if log.format == "csv" else "delim='\t', quote='', escape='', "
    header = f"header={str(log.header).lower()}"
    options = f"columns={{{columns}}}, auto_detect=false, {header}, compression='{packing}'"
    names = ", ".join(identifier(name) for name in log.columns.names)
    return f"(SELECT {names} FROM read_csv([{files}], {raw}{options}))"
