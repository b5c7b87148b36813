"""Whole files that are broken somewhere, read one after the other in a separate process.

    python tests/fuzz/files.py KIND SEED NUMBER

prints one line for each file: seed, size, outcome, seconds of processors, memory at its highest in
MB.
"""

from __future__ import annotations

import gzip
import io
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import duckdb
import zstandard
from tests.fuzz.mutation import mutated
from tests.fuzz.rows import batch

from slogan.engines.duckdb import DuckDB
from slogan.errors import SloganError
from slogan.logs.searchlog import read

TYPES = (
    *("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(9,2)", "UUID"),
    *("BLOB", "INTEGER[]", "STRUCT(a INTEGER, b VARCHAR)", "MAP(VARCHAR, INTEGER)", "HUGEINT"),
    *("TIME", "INTERVAL", "ENUM('a', 'b')", "TIMESTAMP WITH TIME ZONE", "UTINYINT", "FLOAT"),
)
VALUES = ("NULL", "''", "'1'", "'a'", "1", "-1", "1.5", "'nan'", "DATE '2020-01-01'", "[1]", "true")


def parquet(rng: Random) -> bytes:
    """A Parquet file whose four columns may be of any type."""
    names = ["user", "query", "url", "count"]
    columns = [f'TRY_CAST({rng.choice(VALUES)} AS {rng.choice(TYPES)}) AS "{n}"' for n in names]
    if rng.random() < 0.5:
        columns = ["(i % 7)::VARCHAR AS user", "'q' || i % 3 AS query", "'u' AS url", "i AS count"]
    columns += [f"NULL::{rng.choice(TYPES)} AS x{n}" for n in range(rng.choice((0, 0, 1, 30)))]
    packing = rng.choice(("snappy", "zstd", "gzip", "uncompressed"))
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as sql:
        file = f"{folder}/a.parquet"
        try:
            sql.execute(
                f"COPY (SELECT {', '.join(columns)} FROM range(1, 40) t(i)) TO '{file}' "
                f"(FORMAT parquet, COMPRESSION {packing})"
            )
        except duckdb.Error:
            return b"PAR1"
        return Path(file).read_bytes()


def text(kind: str):
    return lambda rng: batch(kind, rng.choice((1, 5, 60)), rng)


def packed(kind: str, pack):
    """A packed file, broken after it was packed or before."""

    def made(rng: Random) -> bytes:
        data = text(kind)(rng)
        if rng.random() < 0.1:
            data += b"1\tq\tu\t1\n" * 200_000
        return pack(data)

    return made


def several_frames(data: bytes) -> bytes:
    whole = io.BytesIO()
    for at in range(0, len(data), max(1, len(data) // 3)):
        whole.write(zstandard.compress(data[at : at + max(1, len(data) // 3)]))
    return whole.getvalue()


MAKERS = {
    "tsv": text("tsv"),
    "csv": text("csv"),
    "jsonl": text("jsonl"),
    "parquet": parquet,
    "tsv.gz": packed("tsv", gzip.compress),
    "csv.zst": packed("csv", zstandard.compress),
    "jsonl.zst": packed("jsonl", several_frames),
}


def damaged(data: bytes, rng: Random) -> bytes:
    chance = rng.random()
    if chance < 0.15:
        return data
    if chance < 0.35:
        return data[: rng.randrange(len(data) + 1)]
    if chance < 0.4:
        return rng.randbytes(rng.choice((0, 1, 12, 5_000)))
    if chance < 0.5:
        return data + rng.choice((data, b"\n", b"PAR1", rng.randbytes(50)))
    return mutated(data, rng, rng.choice((1, 2, 5, 20)))


def outcome(file: Path, rng: Random) -> str:
    """What became of reading a file: counted, or an error of ours. Anything else goes through."""
    engine = DuckDB(memory_limit="500MB").start()
    try:
        log = read(file, on_bad_row=rng.choice(("error", "skip")))
        engine.count(log, unique_pairs=rng.random() < 0.5)
        engine.sizes()
    except SloganError as error:
        if not (error.problem and error.hint):
            raise
        return type(error).__name__
    finally:
        engine.close()
    return "counted"


def main(kind: str, first: int, number: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / f"log.{kind}"
        for seed in range(first, first + number):
            rng = Random(f"{kind} {seed}")
            file.write_bytes(damaged(MAKERS[kind](rng), rng))
            start = time.process_time()
            found = outcome(file, rng)
            spent = time.process_time() - start
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            told = [seed, file.stat().st_size, found, round(spent, 3), most]
            sys.stdout.write(json.dumps(told) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
