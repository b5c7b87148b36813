"""python -m tests.mutation: try every mutant, list those that no test notices."""

import argparse
import hashlib
import json
import os
import signal
import sys
from collections import Counter

from tests.mutation import report
from tests.mutation.guards import GUARDS, ROOT
from tests.mutation.mutants import mutants
from tests.mutation.trial import Copy

STATE = ROOT / ".mutants"


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("files", nargs="*", help="source files; all that are guarded if none")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--again", action="store_true", help="survivors without a reason once more")
    parser.add_argument("--write", action="store_true", help="write the page of survivors")
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
        copy = Copy()
        try:
            code = 0
            for file in files:
                code |= try_all(copy, file, number, asked)
        finally:
            copy.remove()
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
    outcome, seconds = copy.plain(file, GUARDS[file])
    if outcome.status != "survived":
        print(f"{file}: the tests fail without a mutant: {outcome}", file=sys.stderr)
        return 1
    print(f"{file}: {len(left)} mutants, {len(seconds)} tests in {outcome.seconds} s", flush=True)
    kills = Counter(line["by"] for line in before.values())
    for mutant in left:
        # first what is fast and has killed before
        order = {test: took / (1 + kills[test]) for test, took in seconds.items()}
        outcome = copy.mutated(file, mutant.source, GUARDS[file], seconds, order)
        kills[outcome.by] += 1
        line = {"mutant": mutant.name, **vars(outcome)}
        with state_of(file).open("a") as state:
            state.write(json.dumps(line) + "\n")
        if outcome.status != "killed":
            print(f"  {outcome.status} {outcome.seconds} s: {mutant.name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
