"""How good are packing's answers, beside every peer at equal and at ten times the time?"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np

from bench import harness, tables
from bench.cases import Case
from bench.harness import PRESOLVED, Question
from bench.logs import LOGS, SHAPES, has_several_pairs_of_a_query
from bench.store import Record, Store
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import Plan, plan

BUDGETS = ("1.1,0.1", "1.4,0.2", "2,0.5", "2.3,0.8")
OBJECTIVES = ("output_size", "diversity", "query_diversity", "frequent_pairs")
PLAIN = ("packing", "exact", "highs", "scip", "cpsat", "localmip", "pump", "spe", "relaxed")
PEERS = (*PLAIN, *(f"{peer}{PRESOLVED}" for peer in ("highs", "scip", "cpsat", "localmip")))
PATIENT = ("highs", "scip", "cpsat", "localmip")
"""The peers that are also given more time; the others have nothing to do with it."""
SEARCH = ("search-0", "search-1", "search-2")
FIRST = {"highs": "plain", "scip": "default", "cpsat": "2 workers", "localmip": "two seeds"}
"""The variant to run where there is time for one only."""
LONG = ("2,0.5", ("output_size", "diversity"))
"""Of the shapes, the budget that all peers get, and the objectives for which some get more time."""
ALWAYS = ("packing", "highs", "relaxed")
"""Of the shapes, the peers that every budget gets."""
FOR_LARGEST = 5.0
"""Seconds for the output size of F-UMP on the shapes: all peers get the same, whatever it is."""


def main(argv: list[str]) -> None:
    """Answer what is not answered yet, then print the tables of everything asked for."""
    options = _options(argv)
    question = "shapes" if options.shapes else "quality"
    store = Store(f"{question}-quick" if options.quick else question)
    budgets = sorted(options.budgets, key=lambda budget: budget != LONG[0])
    cases = [
        Case(objective, log, *budget.split(","))
        for budget, objective, log in product(budgets, options.objectives, options.logs)
        if objective != "query_diversity" or has_several_pairs_of_a_query(log)
    ]
    if options.cores:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
    if not options.tables:
        _announce(options.peers)
        for case in cases:
            _answer(case, store, options)
    store.print_and_keep(tables.markdown(store, PEERS, (options.seconds, options.long_seconds)))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench quality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one log, 5 and 10 seconds")
    parser.add_argument("--shapes", action="store_true", help="a log of each shape, 20 and 100 s")
    parser.add_argument("--tables", action="store_true", help="print what is known, ask nothing")
    parser.add_argument("--logs", type=_words, help=f"of {', '.join(LOGS)}")
    parser.add_argument("--budgets", nargs="+", default=BUDGETS, help="such as 2,0.5 2.3,0.8")
    parser.add_argument("--objectives", type=_words, default=OBJECTIVES)
    parser.add_argument("--peers", type=_words, default=PEERS)
    parser.add_argument("--seconds", type=float, help="for every peer; 30 if not given")
    parser.add_argument("--long-seconds", type=float, help=f"for {', '.join(PATIENT)}; 0 for none")
    parser.add_argument("--cores", type=int, help="for every process; all if not given")
    parser.add_argument("--every-variant", action="store_true", help="in the long runs too")
    options = parser.parse_args(argv)
    logs = SHAPES if options.shapes else SEARCH[:1] if options.quick else SEARCH
    times = (5.0, 10.0) if options.quick else (20.0, 100.0) if options.shapes else (30.0, 300.0)
    for name, value in zip(("logs", "seconds", "long_seconds"), (logs, *times), strict=True):
        if getattr(options, name) is None:
            setattr(options, name, value)
    if unknown := set(options.logs) - set(LOGS):
        parser.error(f"no such log: {', '.join(sorted(unknown))}; there are {', '.join(LOGS)}")
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return options


def _announce(asked: tuple[str, ...]) -> None:
    for peer in asked:
        if "absent" in harness.code(peer):
            _say(f"!! {peer} is NOT INSTALLED and is left out")


def _answer(case: Case, store: Store, options: argparse.Namespace) -> None:
    question: Question | None = None
    for peer, seconds in _asked(case, options):
        variants = _variants(case, peer, seconds, store, options)
        if "absent" in harness.code(peer) or not variants:
            continue
        limit = min(seconds, _useful(case, peer, store, options))
        if limit <= 0:
            continue
        for_largest = FOR_LARGEST if options.shapes else options.seconds
        question = question or Question(
            case=case, program=case.program(_largest(case, store, for_largest))
        )
        for variant in variants:
            _say(f"{time.strftime('%H:%M:%S')} {case.key}: {peer}, {limit:.3g} s")
            for tried, record in harness.ask(question, peer, variant, limit).items():
                store.keep(tables.key(case, peer, tried, seconds), record)
                _say(f"    {tried}: {tables.words(record)}")


def _useful(case: Case, peer: str, store: Store, options: argparse.Namespace) -> float:
    """How long a peer can still show something about a shape.

    Where packing and HiGHS have proven the same optimum, others can only be faster to prove it.
    """
    if not options.shapes or peer in ALWAYS[:2]:
        return math.inf
    both = [tables.current(store, case, first, options.seconds) for first in ALWAYS[:2]]
    mine, other = (next(iter(records.values()), {}) for records in both)
    if not (mine.get("proven") and other.get("proven")):
        return math.inf
    same = math.isclose(mine["value"], other["value"], abs_tol=1e-9)
    return (tables.proven_at(mine) - tables.GRACE) / tables.FACTOR if same else math.inf


def _asked(case: Case, options: argparse.Namespace) -> list[tuple[str, float]]:
    """Peers and times; of the shapes, only one budget has all peers, and patient ones."""
    all_of_them = not options.shapes or case.budget == LONG[0]
    peers = [peer for peer in options.peers if all_of_them or peer in ALWAYS]
    patient = [peer for peer in peers if peer in PATIENT and options.long_seconds]
    if options.shapes and not (all_of_them and case.objective in LONG[1]):
        patient = []
    short = [(peer, options.seconds) for peer in peers]
    return short + [(peer, options.long_seconds) for peer in patient]


def _variants(
    case: Case, peer: str, seconds: float, store: Store, options: argparse.Namespace
) -> tuple[str, ...]:
    """What is still to be asked: all variants, but in a long run the one that did better before."""

    def known(at: float) -> dict[str, Record]:
        records = tables.current(store, case, peer, at)
        return {name: record for name, record in records.items() if "failure" not in record}

    before, now = known(options.seconds), known(seconds)
    long = seconds != options.seconds
    if long and any(record.get("proven") for record in before.values()):
        return ()  # solved within the short time
    if options.shapes:
        return () if now else (FIRST.get(peer.removesuffix(PRESOLVED), "all"),)
    if not long or options.every_variant:
        return () if now else ("all",)
    better = tables.best(before, minimises=case.minimises)
    return () if now or better is None else (better,)


def _largest(case: Case, store: Store, seconds: float) -> Callable[[], tuple[Plan, float]]:
    """λ for F-UMP, found once and kept, so that every peer and every run has the same |O|."""

    def largest() -> tuple[Plan, float]:
        size = replace(case, objective="output_size")
        constraints = case.constraints
        name = f"{size.key} largest"
        if name not in store.records:
            program = OutputSize().program(constraints)
            store.keep(name, harness.largest(Question(case=size, program=program), seconds))
        record = store.records[name]
        x = np.zeros(constraints.hist.pairs)
        x[record["pairs"]] = record["clicks"]
        return plan(x, constraints), record["bound"]

    return largest


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
