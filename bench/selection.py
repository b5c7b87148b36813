"""How many pairs does each selector release, and how many of the top 1,000, at the same (ε, δ)?"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np

import slogan
from bench.machine import line
from bench.selection_tables import Asked, markdown
from bench.shapes import SHAPES
from bench.store import Record, Store
from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.curves import gaussian_budget
from slogan.dp.selection import SelectionBudget
from slogan.histogram import PairHistogram
from slogan.privacy import PrivacyBudget, exact
from slogan.randomness import SystemRandomness

EPSILONS = ("0.5", "1", "2", "4")
DELTAS = ("1e-6", "1e-8")
LOGS = {
    "search": (2_500, 65_000, 650_000),
    "single": (2_500, 26_000, 65_000, 650_000),
    "visits": (2_500, 32_000, 65_000, 650_000),
}
TOP = 1_000
_MANY_ROWS = 500_000
_RUNS_OF_MANY, _RUNS = 2, 10


def main(argv: list[str]) -> None:
    """Ask what is not answered yet, then print every table."""
    options = _options(argv)
    store = Store("selection")
    for shape, sizes in LOGS.items():
        for users in sizes:
            if shape in options.shapes and users in options.users:
                _ask_all(store, shape, users, options)
    store.print_and_keep(f"{markdown(store.records, code())}\n\n{line(store.machine)}")


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench selection", description=__doc__)
    parser.add_argument("--shapes", type=_words, default=tuple(LOGS))
    parser.add_argument("--users", type=_integers, default=(2_500, 26_000, 32_000, 65_000))
    parser.add_argument("--selectors", type=_words, default=selection.names())
    parser.add_argument("--epsilons", type=_words, default=EPSILONS)
    parser.add_argument("--deltas", type=_words, default=DELTAS)
    parser.add_argument("--runs", type=int, help="of each selector, whatever the log")
    return parser.parse_args(argv)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _ask_all(store: Store, shape: str, users: int, options: argparse.Namespace) -> None:
    asked = [
        Asked(shape=shape, users=users, epsilon=epsilon, delta=delta, selector=name)
        for epsilon in options.epsilons
        for delta in options.deltas
        for name in options.selectors
    ]
    known = code()
    missing = [a for a in asked if store.records.get(a.key, {}).get("code") != known]
    if not missing:
        return
    hist = SHAPES[shape](users, 0)
    for question in missing:
        runs = options.runs or (_RUNS_OF_MANY if len(hist.user) > _MANY_ROWS else _RUNS)
        record = _answer(hist, question, runs)
        store.keep(question.key, {**record, "code": known})
        print(question.key, record["pairs"], f"{record['seconds']:.2f} s", file=sys.stderr)


def _answer(hist: PairHistogram, asked: Asked, runs: int) -> Record:
    """Select with noise of the operating system, and check that the budget covers the cost."""
    select, budget = selection.load(asked.selector), _budget(asked)
    top = np.argsort(-hist.holders, kind="stable")[:TOP]
    whole = PrivacyBudget(epsilon=asked.epsilon, delta=asked.delta)
    start, pairs, recalls = time.perf_counter(), [], []
    for _ in range(runs):
        found = select(hist, budget, SystemRandomness())
        Account(found.stages).require(whole)
        pairs.append(len(found.pairs))
        recalls.append(float(np.isin(top, found.pairs).mean()))
    return {
        "pairs": pairs,
        "recall": float(np.mean(recalls)),
        "seconds": (time.perf_counter() - start) / runs,
        "rows": len(hist.user),
    }


def _budget(asked: Asked) -> SelectionBudget:
    """The whole of (ε, δ): half of δ for the noise and half for the threshold, or a pure ε."""
    epsilon, delta = exact(asked.epsilon), exact(asked.delta)
    mu_squared = gaussian_budget(epsilon, delta / 2)
    if asked.selector in ("laplace_histogram", "fitted"):
        return SelectionBudget(mu_squared=mu_squared, delta=delta, epsilon=epsilon)
    return SelectionBudget(mu_squared=mu_squared, delta=Fraction(delta, 2))


def code() -> str:
    """A digest of the selectors and the shapes: records of another code are asked again."""
    package = Path(slogan.__file__).parent / "dp" / "selection"
    digest = hashlib.sha256()
    for file in [*sorted(package.glob("*.py")), Path(__file__).with_name("shapes.py")]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
