"""What does counting cost on Spark, beside DuckDB on the same cores, and what does it move?"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.counting import CORES, DRIVER_MEMORY
from bench.machine import line
from bench.scale import CLICKS_PER_USER, USERS, integers, made_log
from bench.store import Record, Store

ENGINES = ("duckdb", "spark")
MOST_TIMES_DUCKDB = 12.0
"""What the project asks of itself, at the size of the AOL log."""
_PATIENCE = 1_800.0


def main(argv: list[str]) -> None:
    """Count every size with both engines, one after the other, then print the tables."""
    options = _options(argv)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    store = Store("engines")
    with tempfile.TemporaryDirectory(prefix="slogan-bench-") as private:
        folder = options.logs or Path(private)
        folder.mkdir(parents=True, exist_ok=True)
        for users in options.users:
            log = made_log(folder, users)
            for engine in ENGINES:
                record = _counted(log, engine)
                store.keep(f"{users} users | {engine}", record)
                print(users, engine, record, file=sys.stderr, flush=True)
    store.print_and_keep(_markdown(store))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench engines", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest log out")
    parser.add_argument("--logs", type=Path, help="where logs are kept for the next time")
    parser.add_argument("--users", type=integers, help="such as 2500,65000")
    options = parser.parse_args(argv)
    options.users = options.users or (USERS[:2] if options.quick else USERS)
    return options


def _counted(log: Path, engine: str) -> Record:
    ran = subprocess.run(
        [sys.executable, "-m", "bench.counting", str(log), engine],
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
        timeout=_PATIENCE,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(ran.stdout)


def _markdown(store: Store) -> str:
    sizes = sorted({int(key.split()[0]) for key in store.records})
    both = {n: [store.records[f"{n} users | {engine}"] for engine in ENGINES] for n in sizes}
    return "\n\n".join(
        [
            "# What does counting cost on Spark?",
            f"{CLICKS_PER_USER} clicks per user, seed 0, Parquet; Spark as local[{CORES}] with "
            f"{DRIVER_MEMORY} for Java, its start-up apart. {line(store.machine)}",
            f"Asked at {USERS[-1]:,} users: at most {MOST_TIMES_DUCKDB:g} times DuckDB.",
            _table(
                "users | clicks | count, DuckDB s | count, Spark s | ratio | inspect, DuckDB s | "
                "inspect, Spark s | ratio | same histogram",
                [_beside(n, *pair) for n, pair in both.items()],
            ),
            "What Spark moved, by its own log of events; the driver's memory is Python's, with "
            "the histogram in it, and without Java's.",
            _table(
                "users | processor µs a click | shuffled bytes a click | shuffled rows a click | "
                "spilled MB | handed over, MB | driver's peak, GiB | start-up, s",
                [_moved(n, spark) for n, (_, spark) in both.items()],
            ),
        ]
    )


def _beside(users: int, duckdb: Record, spark: Record) -> list[str]:
    cells = [f"{users:,}", f"{spark['clicks']:,}"]
    for what in ("count", "inspect"):
        ratio = spark[what] / duckdb[what]
        cells += [f"{duckdb[what]:.2f}", f"{spark[what]:.2f}", f"**{ratio:.1f}×**"]
    return [*cells, "yes" if spark["histogram"] == duckdb["histogram"] else "**NO**"]


def _moved(users: int, spark: Record) -> list[str]:
    clicks = spark["clicks"]
    return [
        f"{users:,}",
        f"{spark['cpu_nanoseconds'] / 1e3 / clicks:.1f}",
        f"{spark['shuffle_bytes'] / clicks:.0f}",
        f"{spark['shuffle_rows'] / clicks:.2f}",
        f"{spark['spilled_bytes'] / 1e6:,.0f}",
        f"{24 * spark['charges'] / 1e6:,.1f}",
        f"{spark['peak_gib']:.2f}",
        f"{spark['start_up']:.1f}",
    ]


def _table(heads: str, rows: list[list[str]]) -> str:
    cells = [heads.split(" | "), ["---"] * (1 + heads.count(" | ")), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


if __name__ == "__main__":
    main(sys.argv[1:])
