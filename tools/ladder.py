"""python -m tools.ladder: climb every rung, print one table, write it into the page on trust.

A rung is a command. What it tells goes, line by line, into a file of its own that SLOGAN_LADDER
names.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.conftest import KINDS, LADDER

import slogan

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/explanation/trust.md"
BEGIN, END = "<!-- written by `make test-all` -->", "<!-- end -->"

WITHOUT_SPARK = "tests without Spark"

# What it means that a test in one of these places fails.
LOST = ("tests/faults/", "tests/unit/ledger/test_ledger_faults.py")
LEAKED = (
    "tests/attacks/",
    "tests/fuzz/",
    "tests/statistics/",
    "tests/unit/planning/test_plan_gate.py",
    "tests/fuzz/test_hostile_strings.py",
    "tests/leaks/test_leaks.py",
    "tests/leaks/test_taint.py",
)


def rungs():
    """The commands, by name."""
    python = [sys.executable, "-m"]
    spark = subprocess.run([ROOT / ".ci/java"], check=False).returncode == 0
    tests = [*python, "pytest", "-n", "3", "--dist", "loadgroup"]
    return {
        "tests" if spark else WITHOUT_SPARK: [
            *tests,
            *([] if spark else ["-m", "not spark"]),
        ],
        "mutants": [*python, "tools.mutation", "--jobs", "2", "--write"],
        "dependencies": [*python, "tools.dependencies"],
    }


def climb(commands, folder):
    """Run every command, also after one has failed; the exit codes by name."""
    codes = {}
    for name, command in commands.items():
        print(f"--- {name}", flush=True)
        env = {**os.environ, LADDER: str(folder / name)}
        codes[name] = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    return codes


def read(folder):
    """What the rungs told, each line with its rung."""
    return [
        {**json.loads(line), "rung": file.name}
        for file in sorted(folder.iterdir())
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def table(told, codes, *, seconds):
    """The table as lines of Markdown, its last line the verdict."""
    number = Counter()
    for line in told:
        number[line["what"]] += line["number"]
    remarks = [line["test"] for line in told if line["what"] == "remark"]
    if WITHOUT_SPARK in codes:
        remarks.append("Spark's tests did not run: there is no Java 17 or later here.")
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    minutes = max(1, round(seconds / 60))
    return [
        "| what | number |",
        "|---|---|",
        *(f"| {kind} | {number[kind]:,} |" for kind in KINDS),
        "",
        f"Slogan {slogan.__version__}, {when}, {minutes} minutes, Python {sys.version.split()[0]}.",
        *remarks,
        "",
        *verdict(told, codes),
    ]


def verdict(told, codes):
    """ "lost: 0, leaked: 0", or what failed; unknown if a rung did not come to its end."""
    failures = [line for line in told if line["what"] == "failed"]
    failed = sorted({line["test"] for line in failures})
    lost = [test for test in failed if test.startswith(LOST)]
    leaked = [test for test in failed if test.startswith(LEAKED)]
    others = [test for test in failed if test not in lost + leaked]
    # 1 is how a rung ends that knows what failed; any other code is a rung that broke off.
    explained = {(line["rung"], 1) for line in failures}
    ended = [(name, code) for name, code in codes.items() if code]
    broken = [rung for rung in ended if rung not in explained]
    numbers = ("unknown", "unknown") if broken else (len(lost), len(leaked))
    lines = ["**lost: {}, leaked: {}**".format(*numbers)]
    if failed or ended:
        lines += [""]
        lines += [f"- lost: `{test}`" for test in lost] + [f"- leaked: `{test}`" for test in leaked]
        lines += [f"- failed: `{test}`" for test in others]
        lines += [f"- the rung `{name}` ended with code {code}" for name, code in ended]
        lines += [f"- no failure that was told explains how `{name}` ended" for name, _ in broken]
    return lines


def written(page, lines):
    """A page with the lines between its two marks."""
    block = "\n".join([BEGIN, "", *lines, "", END])
    found, times = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, page, flags=re.DOTALL
    )
    if times != 1:
        raise SystemExit(f"{PAGE} needs {BEGIN} and {END} once")
    return found


def main():
    """Climb, print, write; the exit code of the whole."""
    begin = time.monotonic()
    with TemporaryDirectory() as folder:
        codes = climb(rungs(), Path(folder))
        lines = table(read(Path(folder)), codes, seconds=time.monotonic() - begin)
    print("\n".join(lines))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main())
