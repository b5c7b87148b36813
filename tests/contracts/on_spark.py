"""Releases of every kind as a program with its own Spark driver, while workers die.

python on_spark.py LOG FOLDER MASTER [PID PID]

The first worker is killed in `sanitize`, when all is counted and nothing handed over; the second in
`synthesize`, when the log is counted and Spark is still to sum up all rounds, and to write.

python on_spark.py LOG FOLDER MASTER sanitize

One release, and no worker dies.

python on_spark.py LOG FOLDER MASTER distributed [PID]

One release solved in Spark, and a worker killed when the first steps are taken.
"""

import json
import os
import signal
import sys
from pathlib import Path

from tests.contracts.small_spark import SMALL

import slogan

DELTAS = {"sanitize": "0.5", "synthesize": "1e-3"}
MOMENTS = {"sanitize": "count", "synthesize": "selection"}


def place(master):
    conf = {**SMALL, "spark.executor.memory": "512m"}
    return slogan.Spark(master=master, conf={} if master.startswith("sc:") else conf)


def distributed(log, folder, master, *workers):
    doomed, killed = [int(pid) for pid in workers], []

    def kill(stage, note="", share=None):
        if stage == "solve" and "gap" in note and doomed:
            killed.append(doomed.pop())
            os.kill(killed[0], signal.SIGKILL)

    budget = slogan.PrivacyBudget(epsilon=6, delta="0.5")
    release = slogan.sanitize(
        log,
        budget,
        engine=place(master),
        solver="distributed",
        output=Path(folder) / "out",
        progress=kill,
    )
    release.save()
    release.close()
    told = {
        "solver": release.solution.solver,
        "killed": len(killed),
        "ok": slogan.verify(log, Path(folder) / "out").ok,
        "left": (Path(folder) / "kept").exists(),
    }
    sys.stdout.write(json.dumps(told))


def main(log, folder, master, *workers):
    if workers[:1] == ("distributed",):
        return distributed(log, folder, master, *workers[1:])
    engine = place(master)
    chosen, pids = (workers, ()) if workers[:1] == ("sanitize",) else (DELTAS, workers)
    doomed, told = [int(pid) for pid in pids], {}
    for name in chosen:
        delta = DELTAS[name]
        verb, killed = getattr(slogan, name), []
        budget = slogan.PrivacyBudget(epsilon=6, delta=delta)

        def kill(stage, note, name=name, killed=killed):
            counted = stage != "count" or "MB" in note
            if stage == MOMENTS[name] and counted and doomed and not killed:
                killed.append(doomed.pop(0))
                os.kill(killed[0], signal.SIGKILL)

        release = verb(log, budget, engine=engine, progress=kill)
        release.save(Path(folder) / name)
        digest = release.counted.hist.without_unique_pairs().digest()
        release.close()
        told[name] = {
            "digest": digest,
            "killed": len(killed),
            "ok": slogan.verify(log, Path(folder) / name).ok,
        }
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
