"""How do time and memory grow with the log, beside DuckDB's plain GROUP BY of the same file?"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import slogan
from bench.machine import line
from bench.store import Record, Store

USERS = (2_500, 65_000, 650_000)
CLICKS_PER_USER = 28
OBJECTIVES = ("output_size", "diversity", "query_diversity", "frequent_pairs")
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5")
MOST_TIMES_DUCKDB, MOST_GIB, MOST_TIMES_LINEAR = 3.0, 8.0, 1.3
"""What the project asks of itself."""

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
            log = _log(folder, users)
            for objective in options.objectives:
                # The baseline runs beside each run: what else the machine does changes with time.
                plain = _group_by(log)
                ours = _sanitize(log, Path(private, f"{users}-{objective}"), objective, options)
                store.keep(_key(users, objective), {"duckdb": plain, "slogan": ours})
                print(_key(users, objective), plain, ours, file=sys.stderr, flush=True)
    asked = {
        (users, objective): store.records[_key(users, objective)]
        for users in options.users
        for objective in options.objectives
    }
    store.print_and_keep(markdown(asked, line(store.machine)))


def _key(users: int, objective: str) -> str:
    return f"{users} users | {objective}"


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave the largest log out")
    parser.add_argument("--logs", type=Path, help="where logs are kept for the next time")
    parser.add_argument("--users", type=_integers, help="such as 2500,65000")
    parser.add_argument("--objectives", type=_words, default=OBJECTIVES)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for the solver")
    options = parser.parse_args(argv)
    options.users = options.users or (USERS[:2] if options.quick else USERS)
    return options


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _log(folder: Path, users: int) -> Path:
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


def _sanitize(log: Path, target: Path, objective: str, options: argparse.Namespace) -> Record:
    verb = [sys.executable, "-m", "slogan", "sanitize", str(log), "-o", str(target), "--json"]
    solver = ["--solver", options.solver, "--time-limit", str(options.time_limit)]
    ran = _run([*verb, "--objective", objective, *BUDGET, *solver])
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
        "time_limit": options.time_limit,
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


Records = dict[tuple[int, str], Record]
"""By users and objective: what DuckDB took and what slogan took."""


def markdown(records: Records, measured_on: str) -> str:
    """One table for each question."""
    return "\n\n".join(
        [
            "# How do time and memory grow with the log?",
            f"{CLICKS_PER_USER} clicks per user, seed 0, Parquet; e^ε = 2, δ = 0.5; "
            f"{_THREADS} threads for both. {measured_on}",
            _beside_duckdb(records),
            _growth(records),
            _stages(records),
            _bought(records),
        ]
    )


def _done(records: Records, users: int) -> list[Record]:
    """The records of a size in which nothing failed."""
    return [
        record
        for (size, _), record in records.items()
        if size == users and not any("failure" in side for side in record.values())
    ]


def _around(ours: Record) -> float:
    """Seconds of every stage but the solver's."""
    return sum(spent for stage, spent in ours["stages"].items() if stage != "solve")


def _beside_duckdb(records: Records) -> str:
    rows = []
    for users in dict.fromkeys(users for users, _ in records):
        done = _done(records, users)
        if not done:
            rows.append([f"{users:,}", *["failed"] * 5])
            continue
        plain = [record["duckdb"]["seconds"] for record in done]
        around = [_around(record["slogan"]) for record in done]
        ratio = statistics.median(a / p for a, p in zip(around, plain, strict=True))
        rows.append(
            [
                f"{users:,}",
                f"{statistics.median(plain):.2f} ({min(plain):.2f}–{max(plain):.2f})",
                f"{statistics.median(around):.2f} ({min(around):.2f}–{max(around):.2f})",
                f"**{ratio:.2f}×**",
                f"{max(record['slogan']['peak_gib'] for record in done):.2f}",
                f"{max(record['duckdb']['peak_gib'] for record in done):.2f}",
            ]
        )
    return _table(
        "What does everything but solving cost, beside a plain GROUP BY of the same file?",
        "Median and range over the objectives, each run beside its own GROUP BY. "
        f"Asked: a ratio of at most {MOST_TIMES_DUCKDB:g} and a peak of at most {MOST_GIB:g} GiB "
        "for the whole of `sanitize`, solver included.",
        "users | GROUP BY, s | slogan but solving, s | ratio | peak, GiB | peak of DuckDB, GiB",
        rows,
    )


def _growth(records: Records) -> str:
    rows = []
    sizes = sorted({users for users, _ in records})
    for few, many in itertools.pairwise(sizes):
        pair = [_done(records, users) for users in (few, many)]
        if not all(pair):
            continue
        clicks = pair[1][0]["slogan"]["clicks_in"] / pair[0][0]["slogan"]["clicks_in"]
        times = {
            "GROUP BY": lambda record: record["duckdb"]["seconds"],
            "slogan but solving": lambda record: _around(record["slogan"]),
            "the whole of `sanitize`": lambda record: record["slogan"]["seconds"],
        }
        for what, seconds in times.items():
            before, after = (statistics.median(map(seconds, done)) for done in pair)
            grown = after / before
            factors = [f"{clicks:.2f}×", f"{grown:.2f}×", f"**{grown / clicks:.2f}**"]
            rows.append([f"{few:,} → {many:,}", what, *factors])
    return _table(
        "How fast does time grow?",
        f"Medians over the objectives. Asked: at most {MOST_TIMES_LINEAR:g} × linear "
        "from 65,000 to 650,000 users.",
        "users | what | clicks grow | time grows | × linear",
        rows,
    )


def _stages(records: Records) -> str:
    ran = {key: record["slogan"] for key, record in records.items()}
    stages = list(dict.fromkeys(s for ours in ran.values() for s in ours.get("stages", ())))
    rows = []
    for (users, objective), ours in ran.items():
        spent = ours.get("stages", {})
        rows.append(
            [f"{users:,}", objective]
            + [f"{spent[stage]:.2f}" if stage in spent else "–" for stage in stages]
            + [f"{ours['seconds'] - sum(spent.values()):.2f}" if spent else ours["failure"]]
            + [f"{ours['seconds']:.2f}", f"{ours['peak_gib']:.2f}"]
        )
    return _table(
        "Where do the seconds go?",
        "“rest” is starting Python, importing and printing.",
        " | ".join(["users", "objective", *stages, "rest", "whole process", "peak, GiB"]),
        rows,
    )


def _bought(records: Records) -> str:
    rows = []
    for (users, objective), record in records.items():
        ours = record["slogan"]
        if "value" not in ours:
            rows.append([f"{users:,}", objective, *[ours["failure"]] * 6])
            continue
        rows.append(
            [
                f"{users:,}",
                objective,
                f"{ours['shared']['pairs']:,}",
                f"{ours['value']:,.7g}",
                f"{ours['bound']:,.7g}",
                f"{100 * ours['gap']:.2f} %",
                ours["status"],
                f"{ours['solver']}, {ours['time_limit']:g} s",
            ]
        )
    return _table(
        "What was bought with the time?",
        "Value and proven bound in the objective's own unit.",
        "users | objective | shared pairs | value | bound | gap | status | solver",
        rows,
    )


def _table(question: str, words: str, names: str, rows: list[list[str]]) -> str:
    columns = names.split(" | ")
    lines = [f"| {names} |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([f"## {question}", "", words, "", *lines])


if __name__ == "__main__":
    main(sys.argv[1:])
