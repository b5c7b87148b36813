"""Who keeps what of a log, and with which promise: slogan's modes beside methods of others?"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

import slogan
from bench.comparison_tables import markdown
from bench.machine import line
from bench.methods import Method
from bench.methods.k_anonymity import KAnonymity
from bench.methods.korolova import Korolova
from bench.methods.own import Own, given_the_counts, private_counts, synthetic
from bench.methods.row_sampling import RowSampling
from bench.methods.user_sampling import UserSampling
from bench.methods.zealous import Zealous
from bench.store import Record, Store
from slogan import engines
from slogan.budget import PrivacyBudget, exact
from slogan.engines.engine import Engine
from slogan.histogram import PairHistogram
from slogan.measures import (
    Comparison,
    Reference,
    Results,
    association,
    retention,
    supports,
)
from slogan.randomness import SystemRandomness

EPSILON, DELTA = "1", "1e-6"
"""Of methods that are private end to end."""
SUPPORTS = (Fraction(1, 500), Fraction(1, 2000))
CAPS = (1, 5, 20)
"""For how many pairs or clicks a user may speak, in methods that leave it open."""

STRICT = f"ε = {EPSILON}, δ = {DELTA}, end to end"
LOOSE = "e^ε = 2, δ = 0.5: every second user may be published"
NONE = "no differential privacy"


def groups(time_limit: float) -> dict[str, list[Method | Own]]:
    """The methods, by what they promise: only within a group are the numbers comparable."""
    strict = PrivacyBudget(epsilon=EPSILON, delta=DELTA)
    loose = PrivacyBudget(exp_epsilon="2", delta="0.5")
    spend = {"epsilon": exact(EPSILON), "delta": exact(DELTA)}
    return {
        STRICT: [
            synthetic(strict),
            *(Zealous(m=m, meaning="probabilistic", **spend) for m in CAPS),
            *(Zealous(m=m, meaning="indistinguishable", **spend) for m in CAPS),
            *(Zealous(m=m, meaning="added or removed", **spend) for m in CAPS),
            *(Korolova(d=d, d_c=d, **spend) for d in CAPS),
            private_counts(strict),
            UserSampling(delta=exact(DELTA)),
        ],
        LOOSE: [
            *(
                given_the_counts(name, loose, time_limit)
                for name in ("output_size", "diversity", "frequent_pairs")
            ),
            private_counts(loose),
            UserSampling(delta=Fraction(1, 2)),
        ],
        NONE: [
            KAnonymity(k=10),
            KAnonymity(k=10, of="pair"),
            KAnonymity(k=100, of="pair"),
            RowSampling(share=Fraction(1, 100)),
            RowSampling(share=Fraction(1, 10)),
        ],
    }


@dataclass(frozen=True, kw_only=True)
class Log:
    """A generated log: where it is, who counted it, and what was learnt from it."""

    file: Path
    host: Engine
    reference: Reference
    folder: Path

    @property
    def hist(self) -> PairHistogram:
        return self.reference.log


def main(argv: list[str]) -> None:
    """Run on logs of the asked sizes what has no record yet, measure, and print the tables."""
    options = _options(argv)
    store = Store("comparison")
    for users in options.users:
        missing = _missing(store, users, options)
        if not missing:
            continue
        with tempfile.TemporaryDirectory(prefix="slogan-bench-") as private:
            _compare(store, users, missing, Path(private))
    order = {group: [m.name for m in found] for group, found in groups(options.time_limit).items()}
    table = markdown(store.records, order)
    store.print_and_keep(f"{table}\n\n{line(store.machine)}")


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench comparison", description=__doc__)
    parser.add_argument("--users", type=int, nargs="*", default=(2_500,), help="sizes of logs")
    parser.add_argument("--runs", type=int, default=5, help="of each method that draws")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds of the solver")
    parser.add_argument("--only", default="", help="methods whose name has this word")
    return parser.parse_args(argv)


def _missing(
    store: Store, users: int, options: argparse.Namespace
) -> dict[str, tuple[Method | Own, int]]:
    """By key, the methods whose record is not of this code or of fewer runs, and their runs."""
    asked = {}
    for group, methods in groups(options.time_limit).items():
        for method in methods:
            key = f"{users} | {group} | {method.name}"
            # A solver plans the same counts again: only who is shown would differ.
            runs = 1 if method.promise.kind == "given the counts" else options.runs
            record = store.records.get(key, {"code": None, "runs": 0})
            known = record["code"] == code() and record["runs"] >= runs
            if options.only in method.name and not known:
                asked[key] = method, runs
    return asked


def code() -> str:
    """A digest of the methods and of this file: records of another code are asked again."""
    here = Path(__file__)
    digest = hashlib.sha256()
    for file in [*sorted((here.parent / "methods").glob("*.py")), here]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _compare(
    store: Store, users: int, missing: dict[str, tuple[Method | Own, int]], folder: Path
) -> None:
    file = folder / "clicks.parquet"
    slogan.generate(file, users=users, seed=0)
    host = engines.resolve("duckdb").start()
    try:
        hist = host.count(slogan.read(file), unique_pairs=True).hist
        log = Log(file=file, host=host, reference=Reference.of(hist), folder=folder / "release")
        for key, (method, runs) in missing.items():
            store.keep(key, {**_answer(method, log, runs), "code": code()})
            print(key, file=sys.stderr, flush=True)
    finally:
        host.close()


def _answer(method: Method | Own, log: Log, runs: int) -> Record:
    found = [_measured(method, log) for _ in range(runs)]
    promise = method.promise
    return {
        "promise": promise.kind,
        "unit": promise.unit,
        "meaning": promise.meaning,
        "open": promise.open,
        "epsilon": None if promise.epsilon is None else float(promise.epsilon),
        "delta": None if promise.delta is None else float(promise.delta),
        "same_schema": method.same_schema,
        "runs": len(found),
        **{name: _mean([_told(one)[name] for one in found]) for name in _told(found[0])},
    }


def _measured(method: Method | Own, log: Log) -> Results:
    """One run. Supports are of the whole log, times κ."""
    if isinstance(method, Own):
        output, coverage = method.released(log.file, log.host, log.folder)
        same_users = method.users == "same"
    else:
        output = method.release(log.hist, SystemRandomness())
        coverage = true_coverage(log.hist, output) if method.head_only else Fraction(1)
        same_users = method.same_schema
    return Results.of(
        Comparison(
            reference=log.reference,
            output=output,
            supports=SUPPORTS,
            coverage=coverage,
            same_users=same_users,
            samples=None,
        )
    )


def true_coverage(hist: PairHistogram, output: PairHistogram) -> Fraction:
    """κ as it is: the share of the log's clicks that fall on released pairs."""
    return Fraction(int(hist.pair_total[output.pair_total > 0].sum()), hist.clicks)


def _told(found: Results) -> dict[str, float | None]:
    clicks, retained = found[supports.SIZE], found[retention.DIVERSITY]
    distances, hits = found[supports.SUPPORTS], found[association.ALSO_CLICKED]
    common, rare = distances.frequent
    return {
        "clicks": clicks.size,
        "size_ratio": clicks.size_ratio,
        "pairs": retained.pairs.kept,
        "queries": retained.queries.kept,
        "precision": common.precision,
        "recall": common.recall,
        "sum_support_distance": common.sum_support_distance,
        "precision_rare": rare.precision,
        "recall_rare": rare.recall,
        "sum_support_distance_rare": rare.sum_support_distance,
        "all_support_distance": distances.all_pairs.sum_support_distance,
        "hit_at_10": hits.hit_at_10,
        "hit_at_10_of_popularity": hits.hit_at_10_of_popularity,
        "hit_at_10_of_original": hits.hit_at_10_of_original,
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Over the runs that have the measure: precision of nothing is none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
