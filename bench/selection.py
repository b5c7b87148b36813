"""How much of a log does each selector release at the same (ε, δ), and what is it worth?"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from bench import end_to_end, fingerprint, selectors
from bench.machine import line
from bench.selection_tables import PURE, Asked, markdown
from bench.selectors import BudgetWithEpsilon
from bench.shapes import SHAPES, Log
from bench.store import Record, Store
from slogan.arrays import Ints
from slogan.budget import PrivacyBudget, exact
from slogan.dp.accounting import Account, gaussian_budget
from slogan.dp.selection import SelectionBudget
from slogan.histogram import PairHistogram
from slogan.randomness import SystemRandomness

EPSILONS = ("0.5", "1", "2", "4")
DELTAS = ("1e-6", "1e-8")
SIZES = (2_500, 65_000)
"""What is asked for by default; 650,000 users take an hour more."""
TOP = 1_000
_MANY_ROWS = 500_000
_RUNS_OF_MANY, _RUNS = 2, 10
_LOGS_OF_MANY, _LOGS = 1, 3
_FINGERPRINTS = {
    "key": fingerprint.of_selection,
    "end_to_end_key": fingerprint.of_synthetic_logs,
}


def main(argv: list[str]) -> None:
    """Ask what is not answered yet, then print every table."""
    options = _options(argv)
    store = Store("selection")
    if not options.tables:
        for shape in options.shapes:
            for users in options.sizes:
                _ask_all(store, shape, users, options)
    store.print_and_keep(f"{markdown(store.records, _current)}\n\n{line(store.machine)}")


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench selection", description=__doc__)
    parser.add_argument("--tables", action="store_true", help="print what is known, ask nothing")
    parser.add_argument("--shapes", type=_words, default=tuple(SHAPES))
    parser.add_argument("--sizes", type=_integers, default=SIZES, help="such as 2500,65000,650000")
    parser.add_argument("--selectors", type=_words, default=selectors.names())
    parser.add_argument("--epsilons", type=_words, default=EPSILONS)
    parser.add_argument("--deltas", type=_words, default=DELTAS)
    parser.add_argument("--runs", type=int, help="of each selector, whatever the log")
    parser.add_argument("--logs", type=int, help="synthetic ones by each selector, likewise")
    return parser.parse_args(argv)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _ask_all(store: Store, shape: str, users: int, options: argparse.Namespace) -> None:
    """Both halves of every question on one log, which is made and counted once."""
    asked = [
        Asked(shape=shape, users=users, epsilon=epsilon, delta=delta, selector=name)
        for epsilon in options.epsilons
        for delta in options.deltas
        for name in options.selectors
    ]
    missing = [
        (question, half)
        for question in asked
        for half in _FINGERPRINTS
        if not _current(question, half, store.records.get(getattr(question, half)))
    ]
    if not missing:
        return
    halves = _halves(SHAPES[shape](users, 0), options)
    for question, half in missing:
        key, record = getattr(question, half), halves[half](question)
        store.keep(key, {**record, "code": _FINGERPRINTS[half](question.selector)})
        print(key, record["pairs"], f"{record['seconds']:.2f} s", file=sys.stderr, flush=True)


def _halves(log: Log, options: argparse.Namespace) -> dict[str, Callable[[Asked], Record]]:
    """Selection alone, and a synthetic log."""
    hist, many = log.hist, len(log.hist.user) > _MANY_ROWS
    runs = options.runs or (_RUNS_OF_MANY if many else _RUNS)
    logs = options.logs or (_LOGS_OF_MANY if many else _LOGS)
    top = np.argsort(-hist.holders, kind="stable")[:TOP]
    real = {"hits_of_the_log": end_to_end.hits_of_the_log(hist)}
    return {
        "key": lambda asked: _selected(hist, top, asked, runs),
        "end_to_end_key": lambda asked: {**end_to_end.answer(log, top, asked, logs), **real},
    }


def _selected(hist: PairHistogram, top: Ints, asked: Asked, runs: int) -> Record:
    """Select with noise of the operating system, and check that the budget covers the cost."""
    select, budget = selectors.load(asked.selector), _budget(asked)
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
    if asked.selector == PURE:
        return BudgetWithEpsilon(mu_squared=mu_squared, delta=delta, epsilon=epsilon)
    return SelectionBudget(mu_squared=mu_squared, delta=Fraction(delta, 2))


def _current(asked: Asked, half: str, record: Record | None) -> bool:
    """Whether there is a record, of what the code does now."""
    return record is not None and record["code"] == _FINGERPRINTS[half](asked.selector)
