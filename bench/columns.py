"""How good are time, rank and session of a synthetic log, and what do they cost in pairs?"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from statistics import fmean
from typing import Any

import slogan
from bench.machine import line
from bench.store import Record, Store
from slogan import engines
from slogan.dp import selection
from slogan.dp.fields.statistics import stages_of
from slogan.dp.statistics import spread
from slogan.randomness import SeededRandomness

USERS = (65_000, 2_500)
BUDGET = slogan.PrivacyBudget(epsilon="1", delta="1e-6")
CLICKS = 95.1
"""Clicks per user, as in the paper's sample."""
PERIOD = "2006-03-01/2006-05-31"
MIN_SUPPORT = "1/2000"
COLUMNS = ("--time", "time", "--rank", "rank", "--period", PERIOD)
"""Sessions are those that half an hour ends."""

DRAWS = 10
"""Selections of pairs with other noise: one alone differs by more than the columns cost."""

_THREADS = 2


@dataclass(frozen=True)
class Figure:
    """A line of the table: what is measured, read from the fields of `evaluate --json`."""

    name: str
    read: Callable[[Record], float | None]
    form: str
    most: float | None = None
    """What the project asks of itself on 65,000 users, at ε = 1 and δ = 1e-6."""

    def cell(self, told: Record) -> str:
        """The figure of a release or of the sample; in bold if it misses what is asked."""
        value = self.value(told)
        if value is None:
            return "–"
        words = format(value, self.form)
        return words if self.most is None or value <= self.most else f"**{words}**"

    def value(self, told: Record) -> float | None:
        """None where the release has no such column."""
        try:
            return self.read(told)
        except (KeyError, TypeError):
            return None


def _loss(model: str, *, released: bool) -> Callable[[Record], float]:
    def read(told: Record) -> float:
        models = told["click_models"]
        found = (models["released_queries"] if released else models)[model]
        return float(found["perplexity"] / found["perplexity_of_original"] - 1)

    return read


def _by_basis() -> Iterator[Figure]:
    for basis, words in (("released_pairs", "released pairs"), ("whole_log", "whole log")):

        def of(*names: str, basis: str = basis) -> Callable[[Record], float]:
            return lambda r: reduce(
                lambda found, name: found[name], (names[0], basis, *names[1:]), r
            )

        def change(r: Record, basis: str = basis) -> float:
            users = r["sessions"][basis]
            return float(abs(users["per_user"] / users["per_user_of_original"] - 1))

        yield Figure(f"{words}: hour of day", of("times", "hour_of_day"), ".3f", 0.05)
        yield Figure(f"{words}: weekday", of("times", "weekday"), ".3f", 0.03)
        yield Figure(f"{words}: day", of("times", "day"), ".3f")
        yield Figure(f"{words}: rank 1 to 10", of("ranks", "variation"), ".3f", 0.05)
        yield Figure(f"{words}: sessions per user, change", change, ".1%", 0.10)
        yield Figure(f"{words}: searches per session", of("sessions", "length_variation"), ".3f")
        yield Figure(f"{words}: clicks per session", of("sessions", "click_variation"), ".3f")


FIGURES = (
    *_by_basis(),
    *(
        Figure(
            f"{words} model on {queries}: perplexity above the log's",
            _loss(model, released=released),
            "+.1%",
            0.05,
        )
        for queries, released in (("released queries", True), ("all shared queries", False))
        for model, words in (("position_based", "position-based"), ("cascade", "cascade"))
    ),
    Figure(
        "position-based model, nDCG", lambda r: r["click_models"]["position_based"]["ndcg"], ".3f"
    ),
    Figure(
        "… of the log's", lambda r: r["click_models"]["position_based"]["ndcg_of_original"], ".3f"
    ),
    Figure("cascade model, nDCG", lambda r: r["click_models"]["cascade"]["ndcg"], ".3f"),
    Figure("… of the log's", lambda r: r["click_models"]["cascade"]["ndcg_of_original"], ".3f"),
    Figure("next query, hit@10", lambda r: r["next_query"]["hit_at_10"], ".3f"),
    Figure("… of the log", lambda r: r["next_query"]["hit_at_10_of_original"], ".3f"),
    Figure("… of popularity", lambda r: r["next_query"]["hit_at_10_of_popularity"], ".3f"),
    Figure("ten most clicked pairs of each day", lambda r: r["trends"]["recall_at_10"], ".3f"),
    Figure("… of all days", lambda r: r["trends"]["recall_at_10_of_all_days"], ".3f"),
)
COSTS = (
    (f"pairs, mean of {DRAWS} draws", lambda r: r["mean_pairs"], ",.1f", 1),
    ("clicks", lambda r: r["size"], ",d", 1),
    ("recall of frequent pairs", lambda r: r["recall"], ".3f", 1),
    ("sum of support distances", lambda r: r["sum_support_distance"], ".5f", -1),
)
"""Name, field, format, and whether more is better."""
MOST_LOST = 0.06


def main(argv: list[str]) -> None:
    """Synthesize with and without the columns, measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench columns", description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=USERS, help="sizes of logs")
    parser.add_argument("--logs", type=Path, help="a folder to keep generated logs in")
    options = parser.parse_args(argv)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_THREADS])
    store = Store("columns")
    with tempfile.TemporaryDirectory(prefix="slogan-bench-") as private:
        folder = options.logs or Path(private)
        folder.mkdir(parents=True, exist_ok=True)
        for users in options.users:
            log = folder / f"events-{users}.parquet"
            if not log.exists():
                slogan.generate(log, users=users, seed=0, clicks_per_user=CLICKS, events=True)
            for name, columns in (("with", COLUMNS), ("without", ())):
                record = _synthesized(log, Path(private, "release"), columns)
                record["mean_pairs"] = _mean_pairs(log, with_columns=bool(columns))
                store.keep(f"{users:,} users | {name}", record)
                print(users, name, record["seconds"], file=sys.stderr, flush=True)
    store.print_and_keep(markdown(store.records, line(store.machine)))


def _synthesized(log: Path, target: Path, columns: tuple[str, ...]) -> Record:
    start = time.perf_counter()
    made, peak = _slogan(
        "synthesize",
        str(log),
        "-o",
        str(target),
        "--force",
        "--epsilon",
        f"{BUDGET.epsilon}",
        "--delta",
        f"{BUDGET.delta}",
        *columns,
    )
    seconds = time.perf_counter() - start
    told, peak_of_evaluate = _slogan(
        "evaluate", str(log), str(target), "--min-support", MIN_SUPPORT
    )
    manifest = json.loads((target / "public/manifest.json").read_text(encoding="utf-8"))
    return {
        "seconds": seconds,
        "seconds_to_evaluate": time.perf_counter() - start - seconds,
        "peak_gib": peak,
        "peak_gib_to_evaluate": peak_of_evaluate,
        "users_out": made["users_out"],
        "outputs": {n: v for n, v in manifest["outputs"].items() if not isinstance(v, list)},
        "stages": [stage["name"] for stage in manifest["account"]["stages"]],
        **{name: told[name] for name in told if name != "seconds"},
    }


def _mean_pairs(log: Path, *, with_columns: bool) -> float:
    """How many pairs are selected on average, of the budget that the columns leave."""
    asked = stages_of(time=True, rank=True, session=False, searches=True)
    spending = spread(BUDGET, association=True, fields=asked if with_columns else ())
    select = selection.load(selection.DEFAULT)
    with closing(engines.resolve("duckdb").start()) as host:
        rows = host.count(slogan.read(log), unique_pairs=True).rows
    return fmean(
        len(select(rows, spending.selection, SeededRandomness(seed)).pairs) for seed in range(DRAWS)
    )


def _slogan(*words: str) -> tuple[dict[str, Any], float]:
    """What a command prints as JSON, and the largest peak so far, in GiB."""
    command = [sys.executable, "-m", "slogan", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20


def markdown(records: dict[str, Record], measured_on: str) -> str:
    """Two tables: the columns beside what is asked, and the release beside one without them."""
    sizes = list(dict.fromkeys(key.partition(" | ")[0] for key in records))
    sizes.sort(key=lambda size: -int(size.split()[0].replace(",", "")))
    lines = [
        "# How good are time, rank and session of a synthetic log?",
        "",
        f"`slogan synthesize --epsilon 1 --delta 1e-6`, {CLICKS} clicks per user, logs by "
        f"`slogan generate --events`. {measured_on}",
        "",
        "Each figure of the release is beside that of a random sample of as many rows. A value in "
        "bold misses what is asked, which is of 65,000 users.",
        "The first figures, without the changes, are total variations, beside what the log has of "
        "released pairs, and beside all of it.",
        "",
        "| measure | asked | " + " | ".join(f"{s}: release | sample" for s in sizes) + " |",
        "| --- " * (2 + 2 * len(sizes)) + "|",
    ]
    for figure in FIGURES:
        asked = "" if figure.most is None else f"≤ {figure.most:g}"
        cells = [figure.name, asked]
        for size in sizes:
            told = records[f"{size} | with"]
            cells += [figure.cell(told), figure.cell(told["yardstick"]).replace("**", "")]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"What the columns cost; at most {MOST_LOST:.0%} may be lost.",
        "",
        "| log | figure | with | without | lost |",
        "| --- " * 5 + "|",
    ]
    for size in sizes:
        told, plain = (records.get(f"{size} | {name}") for name in ("with", "without"))
        for name, read, form, sign in COSTS:
            if told is None or plain is None or not read(plain):
                continue
            lost = sign * (1 - read(told) / read(plain))
            words = f"{lost:.1%}" if lost <= MOST_LOST else f"**{lost:.1%}**"
            cells = size, name, format(read(told), form), format(read(plain), form), words
            lines.append("| " + " | ".join(cells) + " |")
    seconds = [
        f"{size}: {records[f'{size} | {name}']['seconds']:.0f} s {name} the columns"
        for size in sizes
        for name in ("with", "without")
        if f"{size} | {name}" in records
    ]
    return "\n".join([*lines, "", f"Time to synthesize: {'; '.join(seconds)}."])


if __name__ == "__main__":
    main(sys.argv[1:])
