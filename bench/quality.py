"""How good are packing's answers, beside every peer at equal and at ten times the time?"""

from __future__ import annotations

import argparse
import sys
import time
from itertools import product

import numpy as np

from bench import harness, tables
from bench.cases import Case
from bench.harness import Question
from bench.store import Record, Store
from slogan.planning.objectives import Largest
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import Plan, plan

BUDGETS = ("1.1,0.1", "1.4,0.2", "2,0.5", "2.3,0.8")
OBJECTIVES = ("output_size", "diversity", "query_diversity", "frequent_pairs")
PEERS = ("packing", "exact", "highs", "scip", "cpsat", "pump", "spe", "relaxed")
PATIENT = ("highs", "scip", "cpsat")
"""The peers that are also given ten times the time; the others have nothing to do with it."""


def main(argv: list[str]) -> None:
    """Answer what is not answered yet, then print the tables of everything asked for."""
    options = _options(argv)
    store = Store("quality-quick" if options.quick else "quality")
    cases = [
        Case(objective, seed, *budget.split(","))
        for objective, seed, budget in product(options.objectives, options.seeds, options.budgets)
    ]
    if not options.tables:
        _announce(options.peers)
        for case in cases:
            _answer(case, store, options)
    store.print_and_keep(tables.markdown(store, PEERS, (options.seconds, options.long_seconds)))


def _options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench quality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seed 0 with 5 and 10 seconds")
    parser.add_argument("--tables", action="store_true", help="print what is known, ask nothing")
    parser.add_argument("--seeds", type=_integers, help="such as 0,1,2")
    parser.add_argument("--budgets", nargs="+", default=BUDGETS, help="such as 2,0.5 2.3,0.8")
    parser.add_argument("--objectives", type=_words, default=OBJECTIVES)
    parser.add_argument("--peers", type=_words, default=PEERS)
    parser.add_argument("--seconds", type=float, help="for every peer; 30 if not given")
    parser.add_argument("--long-seconds", type=float, help=f"for {', '.join(PATIENT)}; 0 for none")
    parser.add_argument("--every-variant", action="store_true", help="in the long runs too")
    options = parser.parse_args(argv)
    usual = ((0,), 5.0, 10.0) if options.quick else ((0, 1, 2), 30.0, 300.0)
    for name, value in zip(("seeds", "seconds", "long_seconds"), usual, strict=True):
        if getattr(options, name) is None:
            setattr(options, name, value)
    if unknown := set(options.peers) - set(PEERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    return options


def _announce(asked: tuple[str, ...]) -> None:
    for peer in asked:
        if "absent" in harness.code(peer):
            _say(f"!! {peer} is NOT INSTALLED and is left out")


def _answer(case: Case, store: Store, options: argparse.Namespace) -> None:
    question: Question | None = None
    for peer, seconds in _asked(options):
        variants = _variants(case, peer, seconds, store, options)
        if "absent" in harness.code(peer) or not variants:
            continue
        question = question or Question(
            case=case, program=case.program(_largest(case, store, options.seconds))
        )
        for variant in variants:
            _say(f"{time.strftime('%H:%M:%S')} {case.key}: {peer}, {seconds:g} s")
            for tried, record in harness.ask(question, peer, variant, seconds).items():
                store.keep(tables.key(case, peer, tried, seconds), record)
                _say(f"    {tried}: {tables.words(record)}")


def _asked(options: argparse.Namespace) -> list[tuple[str, float]]:
    short = [(peer, options.seconds) for peer in options.peers]
    patient = [peer for peer in options.peers if peer in PATIENT]
    return short + [(peer, options.long_seconds) for peer in patient if options.long_seconds]


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
    if not long or options.every_variant:
        return () if now else ("all",)
    better = tables.best(before, minimises=case.minimises)
    return () if now or better is None else (better,)


def _largest(case: Case, store: Store, seconds: float) -> Largest:
    """λ for F-UMP, found once and kept, so that every peer and every run has the same |O|."""

    def largest() -> tuple[Plan, float]:
        size = Case("output_size", case.seed, case.exp_epsilon, case.delta)
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


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.split(","))


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
