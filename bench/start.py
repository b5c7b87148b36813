"""How long does slogan take to start, beside `import numpy`?"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

from bench.machine import line
from bench.store import Record, Store

YARDSTICK = "import numpy"
COMMANDS = {
    YARDSTICK: ("-c", "import numpy"),
    "import slogan": ("-c", "import slogan"),
    "slogan --version": ("-m", "slogan", "--version"),
    "slogan --help": ("-m", "slogan", "--help"),
    "slogan sanitize --help": ("-m", "slogan", "sanitize", "--help"),
    "slogan dance (a usage error)": ("-m", "slogan", "dance"),
}
ALLOWED = 4


def main(argv: list[str]) -> None:
    """Start each command many times, in turns, so that other work disturbs all of them alike."""
    parser = argparse.ArgumentParser(prog="bench start", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few runs of each")
    options = parser.parse_args(argv)
    store = Store("start-quick" if options.quick else "start")
    runs: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(5 if options.quick else 25):
        for name, words in COMMANDS.items():
            runs[name].append(_cpu_seconds(words))
    for name, seconds in runs.items():
        store.keep(name, {"median": statistics.median(seconds), "least": min(seconds)})
    store.print_and_keep(_markdown(store.records, line(store.machine)))


def _cpu_seconds(words: tuple[str, ...]) -> float:
    """User and system time of one process and its threads."""
    before = os.times()
    subprocess.run([sys.executable, *words], capture_output=True, check=False)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def _markdown(records: dict[str, Record], machine: str) -> str:
    whole = records[YARDSTICK]
    lines = ["| command | CPU, s | least | beside `import numpy` |", "|" + " --- |" * 4]
    for name in COMMANDS:
        median, least = records[name]["median"], records[name]["least"]
        lines.append(f"| `{name}` | {median:.2f} | {least:.2f} | {median / whole['median']:.1f}× |")
    return "\n\n".join([f"# {__doc__}", _WORDS, "\n".join(lines), machine])


_WORDS = f"""User and system time of a new process, the median of 25 runs and the least.
Asked: help, version and a usage error take at most {ALLOWED}× the time of `import numpy`."""
