"""The records of the scale benchmark as Markdown, one table for each question."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable

from bench.store import Record

MOST_TIMES_DUCKDB, MOST_GIB, MOST_TIMES_LINEAR = 3.0, 8.0, 1.3
"""What the project asks of itself."""
_SOLVING = ("constrain", "solve", "gate")

Records = dict[tuple[int, str], Record]
"""By users and objective: what DuckDB took and what slogan took."""


def markdown(stored: dict[str, Record], measured_on: str) -> str:
    """One table for each question."""
    keys = [name.split(" users | ") for name in stored]
    runs = {
        (int(users), what): stored[f"{users} users | {what}"]
        for users, what in sorted(keys, key=lambda key: (int(key[0]), key[1]))
    }
    records = {key: run for key, run in runs.items() if "slogan" in run}
    fixed = {key: run for key, run in runs.items() if "slogan" not in run}
    return "\n\n".join(
        [
            "# How do time and memory grow with the log?",
            f"28 clicks per user, seed 0, Parquet; e^ε = 2, δ = 0.5; 2 threads. {measured_on}",
            _beside_duckdb(records),
            _growth(records),
            _to_a_gap(fixed),
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
    """Seconds of every stage but forming the constraints, solving, and the gate."""
    return sum(spent for stage, spent in ours["stages"].items() if stage not in _SOLVING)


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


def _to_a_gap(fixed: dict[tuple[int, str], Record]) -> str:
    rows = []
    for asked in sorted({what for _, what in fixed}, reverse=True):
        before = None
        for users in sorted(users for users, what in fixed if what == asked):
            ours = fixed[users, asked]
            rows.append([asked.removeprefix("to a gap of "), f"{users:,}", *_at_gap(before, ours)])
            before = ours
    return _table(
        "How long until an output is proven to be within the same gap of the largest?",
        f"The whole of `sanitize --gap`. Asked: at most {MOST_TIMES_LINEAR:g} × linear from "
        "65,000 to 650,000 users. A larger log also has more shared pairs for each click.",
        "asked | users | shared pairs | gap | seconds | peak, GiB | × linear in clicks | "
        "× in shared pairs",
        rows,
    )


def _at_gap(before: Record | None, ours: Record) -> list[str]:
    if "value" not in ours:
        return [ours.get("failure", "")] * 6
    return [
        f"{ours['shared']['pairs']:,}",
        f"{100 * ours['gap']:.1f} %",
        f"{ours['seconds']:.1f}",
        f"{ours['peak_gib']:.2f}",
        _times_linear(before, ours, lambda run: run["clicks_in"]),
        _times_linear(before, ours, lambda run: run["shared"]["pairs"]),
    ]


def _times_linear(before: Record | None, now: Record, size: Callable[[Record], float]) -> str:
    if before is None or "value" not in before:
        return "–"
    return f"{now['seconds'] / before['seconds'] / (size(now) / size(before)):.2f}"


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
                f"{ours['solver']} {ours['until']}",
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
