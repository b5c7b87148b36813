"""How useful is a synthetic log, private end to end, and how long does it take?"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import scipy.sparse as sp

import slogan
from bench.machine import line
from bench.store import Record, Store
from slogan.arrays import Floats
from slogan.generation import vocabulary

CASES = {"65,000 users": (65_000, 95.1), "650,000 users": (650_000, 28.0)}
"""Users and clicks per user: the paper's sample, and the whole of AOL's log."""
KINDS = ("independent", "domains", "pairs", "taxonomy")
MIN_SUPPORT = 1 / 2000
MOST_SECONDS, MOST_DISTANCE, LEAST_RECALL, LEAST_PRECISION = 120.0, 0.004, 0.9, 0.95
"""What the project asks of itself, at ε = 1 and δ = 1e-6."""

_THREADS = 2
_ASKED = 10
_HIDDEN = 10_000
_LABELLED = 20_000
_POPULARITY = 0.05


def main(argv: list[str]) -> None:
    """Synthesize every case, measure, and print a table."""
    options = _options(argv)
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_THREADS])
    store = Store("synthesis")
    with tempfile.TemporaryDirectory(prefix="slogan-bench-") as private:
        folder = options.logs or Path(private)
        folder.mkdir(parents=True, exist_ok=True)
        taxonomy = Path(private, "kinds.tsv")
        for case, (users, clicks) in CASES.items():
            if options.users and users not in options.users:
                continue
            log = _log(folder, users, clicks)
            for kind in options.kinds:
                if kind == "taxonomy":
                    _write_taxonomy(taxonomy, log)
                record = _synthesized(log, Path(private, "release"), kind, taxonomy)
                key = f"{case} | {kind}"
                store.keep(key, record)
                print(key, record, file=sys.stderr, flush=True)
    store.print_and_keep(_markdown(store.records, line(store.machine)))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench synthesis", description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", help="only logs of these sizes")
    parser.add_argument("--kinds", nargs="*", default=KINDS, help="kinds of association")
    parser.add_argument("--logs", type=Path, help="a folder to keep generated logs in")
    return parser.parse_args(argv)


def _log(folder: Path, users: int, clicks: float) -> Path:
    log = folder / f"{users}-{clicks:g}.parquet"
    if not log.exists():
        slogan.generate(log, users=users, seed=0, clicks_per_user=clicks)
    return log


def _write_taxonomy(file: Path, log: Path) -> None:
    """Popular sites of the log under the topic whose word their name holds: labels are right."""
    topic = {word: name for name, words in vocabulary.TOPICS.items() for word in words}
    longest = sorted(topic, key=len, reverse=True)
    with duckdb.connect() as sql:
        rows = sql.execute(f"""
            SELECT url FROM '{log}' GROUP BY url ORDER BY sum(count) DESC, url
            LIMIT {_LABELLED}""").fetchall()
    lines = []
    for (url,) in rows:
        host = url.removeprefix("www.")
        found = next((topic[word] for word in longest if word in host), None)
        if found:
            lines.append(f"{host}\t{found}\n")
    file.write_text("".join(lines))


def _synthesized(log: Path, target: Path, kind: str, taxonomy: Path) -> Record:
    more = ["--taxonomy", str(taxonomy)] if kind == "taxonomy" else []
    command = [sys.executable, "-m", "slogan", "synthesize", str(log), "-o", str(target), "--force"]
    command += ["--epsilon", "1", "--delta", "1e-6", "--association", kind, "--json", *more]
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    told = json.loads(done.stdout)
    return {
        **{name: told[name] for name in ("pairs_out", "users_out", "coverage", "association")},
        "stages": told["seconds"],
        "seconds": seconds,
        "processor_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "peak_gib": after.ru_maxrss / 2**20,
        **_measured(log, target / "public/log.parquet", told["coverage"]),
    }


def _measured(log: Path, released: Path, coverage: float) -> Record:
    """Precision, recall and distances of supports; hits of synthetic and of real co-occurrence."""
    with duckdb.connect() as sql:
        sql.execute(f"""
            CREATE TABLE truth AS SELECT query, url, sum(count) AS n FROM '{log}' GROUP BY ALL;
            CREATE TABLE shown AS
            SELECT row_number() OVER (ORDER BY query, url) - 1 AS pair, query, url, sum(count) AS x
            FROM '{released}' GROUP BY query, url""")
        both = sql.execute("""
            SELECT n / (SELECT sum(n) FROM truth) AS truth, coalesce(x, 0) AS x
            FROM truth LEFT JOIN shown USING (query, url)""").fetchnumpy()
        synthetic, people = (_holders(sql, file) for file in (released, log))
    truth, x = np.asarray(both["truth"]), np.asarray(both["x"], dtype=np.float64)
    support = coverage * x / x.sum()
    frequent, called = truth >= MIN_SUPPORT, support >= MIN_SUPPORT
    right = int((frequent & called).sum())
    return {
        "frequent": int(frequent.sum()),
        "recall": right / max(1, int(frequent.sum())),
        "precision": right / max(1, int(called.sum())),
        "distance": float(np.abs(support - truth)[frequent].sum()),
        "true_coverage": float(truth[x > 0].sum()),
        "hits": _hits(people, synthetic),
        "hits_of_the_log": _hits(people, people),
    }


def _holders(sql: duckdb.DuckDBPyConnection, file: Path) -> sp.csr_array:
    """Which users of a log hold which released pairs."""
    rows = sql.execute(f"""
        SELECT dense_rank() OVER (ORDER BY "user") - 1 AS "user", pair FROM
        (SELECT DISTINCT "user", pair FROM '{file}' JOIN shown USING (query, url))""").fetchnumpy()
    user, pair = (np.asarray(rows[name], dtype=np.int64) for name in ("user", "pair"))
    return sp.csr_array((np.ones(len(user)), (user, pair)))


def _hits(people: sp.csr_array, source: sp.csr_array) -> float:
    """How often a real user's hidden pair is among the ten that co-occur most with the others."""
    together: Floats = (source.T @ source).toarray()
    holders = together.diagonal().copy()
    np.fill_diagonal(together, 0)
    likely = together / np.maximum(holders, 1)[:, None]
    popular = _POPULARITY * holders / holders.sum()
    draw = np.random.default_rng(0)
    asked = np.flatnonzero(np.diff(people.indptr) >= 2)
    asked = draw.permutation(asked)[:_HIDDEN]
    hits = 0
    for user in asked:
        pairs = people.indices[people.indptr[user] : people.indptr[user + 1]]
        hidden = draw.choice(pairs)
        known = pairs[pairs != hidden]
        score = likely[known].sum(axis=0) + popular
        score[known] = -1
        hits += int((score > score[hidden]).sum()) < _ASKED
    return hits / max(1, len(asked))


def _markdown(records: dict[str, Record], measured_on: str) -> str:
    head = (
        "| log | association | pairs | users | coverage (true) | recall | precision | "
        "sum of distances | hit@10 (real log) | seconds (of processor) | peak, GiB |"
    )
    rows = [
        f"| {key} → {r['association']} | {r['pairs_out']:,} | "
        f"{r['users_out']:,} | {r['coverage']:.4f} ({r['true_coverage']:.4f}) | "
        f"{_judged(r['recall'], r['recall'] >= LEAST_RECALL)} | "
        f"{_judged(r['precision'], r['precision'] >= LEAST_PRECISION)} | "
        f"{_judged(r['distance'], r['distance'] <= MOST_DISTANCE, digits=5)} | "
        f"{r['hits']:.3f} ({r['hits_of_the_log']:.3f}) | "
        f"{_judged(r['seconds'], r['seconds'] <= MOST_SECONDS, digits=0)} "
        f"({r['processor_seconds']:.0f}) | {r['peak_gib']:.1f} |"
        for key, r in records.items()
    ]
    return "\n".join(
        [
            "# How useful is a synthetic log, private end to end, and how long does it take?",
            "",
            f"`slogan synthesize --epsilon 1 --delta 1e-6`; support from 1/2000. {measured_on}",
            "",
            f"Asked: recall ≥ {LEAST_RECALL}, precision ≥ {LEAST_PRECISION}, sum of support "
            f"distances ≤ {MOST_DISTANCE}, {MOST_SECONDS:g} s. A value in bold misses it.",
            "hit@10: a pair of a real user is hidden and guessed from the others by what the users "
            "of the synthetic log hold together.",
            "",
            head,
            "| --- " * 11 + "|",
            *rows,
        ]
    )


def _judged(value: float, fine: bool, digits: int = 3) -> str:
    words = f"{value:.{digits}f}"
    return words if fine else f"**{words}**"


if __name__ == "__main__":
    main(sys.argv[1:])
