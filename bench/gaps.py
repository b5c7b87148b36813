"""How far apart are the best value and the proven bound after a minute on hard and large logs?"""

from __future__ import annotations

import argparse
import sys

from bench import harness, tables
from bench.cases import Case
from bench.harness import Question
from bench.logs import LARGE, LOGS
from bench.machine import line
from bench.store import Store
from slogan.planning.plan import Plan

BUDGET = ("2", "0.5")
CASES = (
    ("flat", "output_size"),
    ("tags", "output_size"),
    ("listening", "output_size"),
    ("flat-65000", "output_size"),
    ("flat-65000", "diversity"),
    ("search-650000", "output_size"),
)


def main(argv: list[str]) -> None:
    """Ask what is not answered yet with the code of today, one case at a time."""
    parser = argparse.ArgumentParser(prog="bench gaps", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the small logs, 10 seconds")
    parser.add_argument("--logs", help=f"of {', '.join(dict.fromkeys(log for log, _ in CASES))}")
    parser.add_argument("--again", action="store_true", help="ask again what is known")
    options = parser.parse_args(argv)
    seconds = 10.0 if options.quick else 60.0
    logs = (
        options.logs.split(",") if options.logs else list(LOGS if options.quick else LOGS | LARGE)
    )
    store = Store("gaps-quick" if options.quick else "gaps")
    for log, objective in CASES:
        case = Case(objective, log, *BUDGET)
        known = store.records.get(case.key, {}).get("code") == harness.code(tables.OURS)
        if log in logs and (options.again or not known):
            print(case.key, file=sys.stderr, flush=True)
            question = Question(case=case, program=case.program(_no_targets))
            (record,) = harness.ask(question, tables.OURS, "all", seconds).values()
            store.keep(case.key, record)
    store.print_and_keep(_markdown(store, seconds))


def _no_targets() -> tuple[Plan, float]:
    raise AssertionError("only frequent_pairs needs the largest output")


def _markdown(store: Store, seconds: float) -> str:
    head = [
        "# Proven gaps on hard and large logs",
        f"After {seconds:g} s, at e^ε, δ = {', '.join(BUDGET)}. The bound is proven; processor"
        " seconds below twice the time mean that other work used the cores.",
    ]
    rows = [["log", "objective", "value", "bound", "gap", "seconds", "processor seconds"]]
    rows.append(["---"] * len(rows[0]))
    for log, objective in CASES:
        record = store.records.get(Case(objective, log, *BUDGET).key)
        if record and "value" in record:
            numbers = [f"{record[name]:.0f}" for name in ("value", "bound")]
            gap = f"{100 * record['gap']:.1f} %"
            rows.append([log, objective, *numbers, gap, f"{record['seconds']:.0f}"])
            rows[-1].append(f"{record['cpu']:.0f}")
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return "\n\n".join([*head, table, line(store.machine)])
