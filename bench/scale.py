"""How do time and memory grow with the log, beside DuckDB's plain GROUP BY of the same file?"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import slogan
from bench import growth
from bench.machine import line
from bench.store import Record, Store

USERS = (2_500, 65_000, 650_000)
CLICKS_PER_USER = 28
OBJECTIVES = ("output_size", "diversity", "query_diversity", "frequent_pairs")
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5")
FIXED_GAPS = (0.2, 0.15)
"""Reached at every size, so that equal quality is compared."""

_THREADS = 2
_PATIENCE = 1_800.0
# The name is part of the text: to bind it, DuckDB would import pandas within the time taken.
_BASELINE = """
import sys, time, duckdb
connection = duckdb.connect(config={"threads": sys.argv[2]})
connection.execute("SET enable_progress_bar = false")
name = sys.argv[1].replace("'", "''")
start = time.perf_counter()
connection.execute(
    'CREATE TABLE counted AS SELECT "user", query, url, count(*) AS n '
    f"FROM read_parquet('{name}') GROUP BY ALL")
print(time.perf_counter() - start)
"""


def main(argv: list[str]) -> None:
    """Measure every size and objective, then print one table for each question."""
    options = _options(argv)
    # Both sides take as many threads as they may use cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_THREADS])
    store = Store("scale-quick" if options.quick else "scale")
    with tempfile.TemporaryDirectory(prefix="slogan-bench-") as private:
        folder = options.logs or Path(private)
        folder.mkdir(parents=True, exist_ok=True)
        for users in options.users:
            log = made_log(folder, users)
            for objective in options.objectives:
                # The baseline runs beside each run: what else the machine does changes with time.
                plain = _group_by(log)
                until = ["--time-limit", str(options.time_limit)]
                ours = _sanitize(log, Path(private, f"{users}-{objective}"), objective, until)
                _keep(store, f"{users} users | {objective}", {"duckdb": plain, "slogan": ours})
            for gap in FIXED_GAPS:
                until = ["--gap", str(gap), "--time-limit", str(_PATIENCE)]
                ours = _sanitize(log, Path(private, f"{users}-{gap}"), OBJECTIVES[0], until)
                _keep(store, f"{users} users | to a gap of {gap:g}", ours)
    store.print_and_keep(growth.markdown(store.records, line(store.machine)))


def _keep(store: Store, key: str, record: Record) -> None:
    store.keep(key, record)
    print(key, record, file=sys.stderr, flush=True)


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest log out")
    parser.add_argument("--logs", type=Path, help="where logs are kept for the next time")
    parser.add_argument("--users", type=integers, help="such as 2500,65000")
    parser.add_argument("--objectives", type=_words, default=OBJECTIVES)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for the solver")
    options = parser.parse_args(argv)
    options.users = options.users or (USERS[:2] if options.quick else USERS)
    return options


def integers(text: str) -> tuple[int, ...]:
    """Numbers between commas."""
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def made_log(folder: Path, users: int) -> Path:
    """The log of that size, made if it is not there."""
    log = folder / f"clicks-{users}-{CLICKS_PER_USER}.parquet"
    if not log.exists():
        print(f"generating {log.name}", file=sys.stderr, flush=True)
        slogan.generate(log, users=users, clicks_per_user=CLICKS_PER_USER, seed=0)
    return log


def _group_by(log: Path) -> Record:
    ran = _run([sys.executable, "-c", _BASELINE, str(log), str(_THREADS)])
    if ran.failure:
        return {"failure": ran.failure}
    return {"seconds": float(ran.said), "cpu": ran.cpu, "peak_gib": ran.peak_gib}


def _sanitize(log: Path, target: Path, objective: str, until: list[str]) -> Record:
    verb = [sys.executable, "-m", "slogan", "sanitize", str(log), "-o", str(target), "--json"]
    ran = _run([*verb, "--objective", objective, *BUDGET, *until])
    measured = {"seconds": ran.seconds, "cpu": ran.cpu, "peak_gib": ran.peak_gib}
    if ran.failure:
        return {"failure": ran.failure, **measured}
    said = json.loads(ran.said)
    kept = ("value", "bound", "gap", "status", "solver", "clicks_in", "pairs", "clicks_out")
    return {
        **measured,
        "stages": said["seconds"],
        **{name: said[name] for name in kept},
        "shared": said["shared"],
        "until": " ".join(until),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ran:
    """What a process printed, and what it took from start to end."""

    said: str
    failure: str
    seconds: float
    cpu: float
    peak_gib: float


def _run(command: list[str]) -> _Ran:
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=said, stderr=complained, text=True)
        impatience = threading.Timer(_PATIENCE, process.kill)
        impatience.start()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        impatience.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        complained.seek(0)
        words = complained.read().strip().splitlines()
        failed = f"exit {process.returncode}: {' '.join(words[-2:])[:200]}"
        return _Ran(
            said=said.read(),
            failure=failed if process.returncode else "",
            seconds=round(seconds, 3),
            cpu=round(used.ru_utime + used.ru_stime, 3),
            peak_gib=round(used.ru_maxrss / 2**20, 3),
        )


if __name__ == "__main__":
    main(sys.argv[1:])
