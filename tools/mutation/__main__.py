"""python -m tools.mutation: try every mutant, list those that no test notices."""

import argparse
import fcntl
import hashlib
import json
import os
import signal
import sys
import traceback
from collections import Counter
from itertools import accumulate

from tools.mutation import report
from tools.mutation.guards import GUARDS, ROOT
from tools.mutation.mutants import mutants
from tools.mutation.reach import reaching
from tools.mutation.trial import Copy, compiled
from tools.mutation.watch import Outcome, Plain

STATE = ROOT / ".mutants"


def main():
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("files", nargs="*", help="source files; all that are guarded if none")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--again", action="store_true", help="survivors without a reason once more")
    parser.add_argument("--quick", action="store_true", help="few examples; leaves survivors open")
    parser.add_argument("--write", action="store_true", help="write .mutants/report.md")
    asked = parser.parse_args()
    files = asked.files or [*GUARDS]
    STATE.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, _stopped)
    workers = [_fork(files, n, asked) for n in range(asked.jobs)]
    try:
        failed = [worker for worker in workers if os.waitpid(worker, 0)[1]]
    except (SystemExit, KeyboardInterrupt):
        for worker in workers:
            os.kill(worker, signal.SIGTERM)
        raise
    found = {file: known(file) for file in files}
    unexplained = report.show(found)
    if asked.write:
        report.write({file: known(file) for file in GUARDS})
    return 1 if failed or unexplained else 0


def _stopped(*_):
    """Leave in order, so that copies and children go too."""
    raise SystemExit(143)


def _fork(files, number, asked):
    if child := os.fork():
        return child
    code = 1
    try:
        copy = Copy(examples=10 if asked.quick else None)
        try:
            code = 0
            for file in files:
                code |= try_all(copy, file, number, asked)
        finally:
            copy.remove()
    except Exception:  # noqa: BLE001 - it would not be reported otherwise
        code = 1
        traceback.print_exc()
    finally:
        os._exit(code)


def state_of(file):
    """Where the outcomes of a file's mutants are kept; another file if the source changes."""
    digest = hashlib.sha256((ROOT / file).read_bytes()).hexdigest()[:12]
    return STATE / f"{file.replace('/', '.')}-{digest}.jsonl"


def known(file):
    """Outcomes so far, by the mutant's name; of several the last."""
    if not (state := state_of(file)).exists():
        return {}
    lines = [json.loads(line) for line in state.read_text().splitlines()]
    return {line["mutant"]: line for line in lines}


def try_all(copy, file, number, asked):
    """Try a part of a file's mutants that are not known yet; whether the tests fail without one."""
    before = known(file)
    retried = report.unexplained({file: before})
    left = [
        mutant
        for mutant in [*mutants((ROOT / file).read_text(encoding="utf-8"))][number :: asked.jobs]
        if mutant.name not in before or (asked.again and (file, mutant.name) in retried)
    ]
    if not left:
        return 0
    plain = plainly(copy, file)
    if plain.outcome.status != "survived":
        print(f"{file}: the tests fail without a mutant: {plain.outcome}", file=sys.stderr)
        return 1
    usual = plain.seconds
    print(f"{file}: {len(left)} mutants, {len(usual)} tests", flush=True)
    kills = Counter(line["by"] for line in before.values())
    for mutant in left:
        again = mutant.name in before
        tests = {*usual} if again else reaching(file, mutant.line, plain.reached)
        order = in_order(file, mutant, {test: usual[test] / (1 + kills[test]) for test in tests})
        chosen = {test: order[test] for test in first(order, usual, 0.5 if asked.quick else None)}
        outcome = trial(copy, file, mutant, usual, chosen, anew=again)
        explained = mutant.name in report.reasons().get(file, {})
        if outcome.status == "survived" and asked.quick and order and not explained:
            print(f"  open {outcome.seconds} s: {mutant.name}", flush=True)
            continue
        kills[outcome.by] += 1
        line = {"mutant": mutant.name, **vars(outcome)}
        with state_of(file).open("a") as state:
            state.write(json.dumps(line) + "\n")
        if outcome.status != "killed":
            print(f"  {outcome.status} {outcome.seconds} s: {mutant.name}", flush=True)
    return 0


def in_order(file, mutant, price):
    """First what is fast and has killed before; where fixtures are made again, file by file."""
    if mutant.line:
        return {test: price[test] for test in sorted(price)}
    ranks = sorted(price, key=lambda t: (GUARDS[file].index(t.split("::")[0]), price[t], t))
    return {test: rank for rank, test in enumerate(ranks)}


def first(order, usual, within):
    """The first tests in an order, as many as end within a number of seconds."""
    seconds = accumulate(usual[test] for test in sorted(order, key=order.get))
    return [
        test
        for test, spent in zip(sorted(order, key=order.get), seconds, strict=True)
        if within is None or spent <= within
    ]


def plainly(copy, file):
    """How the guards of a file behave without a mutant; kept while no source or test changes."""
    digest = hashlib.sha256(str([GUARDS[file], compiled(file), copy.examples]).encode())
    for part in [*sorted((ROOT / "src").rglob("*.py")), *(ROOT / test for test in GUARDS[file])]:
        digest.update(part.read_bytes())
    state = STATE / f"plain-{digest.hexdigest()[:12]}.json"
    with (STATE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not state.exists():
            plain = copy.plain(file, GUARDS[file])
            if plain.outcome.status != "survived":
                return plain
            state.write_text(json.dumps([plain.seconds, plain.reached]))
    return Plain(Outcome("survived", 0.0), *json.loads(state.read_text()))


def trial(copy, file, mutant, usual, order, *, anew):
    """The outcome of a mutant; a test that takes too long is timed alone before that counts."""
    if not order:
        return Outcome("survived", 0.0)  # no test reaches it
    outcome = copy.mutated(file, mutant.source, GUARDS[file], usual, order, anew=anew)
    if outcome.status == "timeout" and outcome.by in usual:
        alone = copy.plain(file, [outcome.by]).seconds.get(outcome.by, 0.0)
        if alone > usual[outcome.by]:
            # it had been spared what fixtures and caches had ready from other tests
            usual[outcome.by] = alone
            return copy.mutated(file, mutant.source, GUARDS[file], usual, order, anew=anew)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
