"""python -m tests.ladder: climb every rung, print one table, write it into the page on trust.

A rung is a command. What it tells goes, line by line, into the file that SLOGAN_LADDER names.
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

# What it means that a test in one of these places fails.
LOST = ("tests/faults/", "tests/unit/test_ledger_faults.py")
LEAKED = (
    "tests/attacks/",
    "tests/fuzz/",
    "tests/statistics/",
    "tests/unit/test_gate.py",
    "tests/unit/test_hostile_strings.py",
    "tests/unit/test_leaks.py",
    "tests/unit/test_taint.py",
)


def rungs():
    """The commands, by name."""
    python = [sys.executable, "-m"]
    spark = subprocess.run([ROOT / ".ci/java"], check=False).returncode == 0
    tests = [*python, "pytest", "-n", "2", "--dist", "loadgroup"]
    return {
        "tests" if spark else "tests without Spark": [
            *tests,
            *([] if spark else ["-m", "not spark"]),
        ],
        "mutants": [*python, "tests.mutation", "--jobs", "2", "--write"],
        "dependencies": [*python, "tests.dependencies"],
    }


def climb(commands, file):
    """Run every command, also after one has failed; the exit codes by name."""
    env = {**os.environ, LADDER: str(file)}
    codes = {}
    for name, command in commands.items():
        print(f"--- {name}", flush=True)
        codes[name] = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
    return codes


def read(file):
    """What the rungs told."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def table(told, codes, *, seconds):
    """The table as lines of Markdown, its last line the verdict."""
    number = Counter()
    for line in told:
        number[line["what"]] += line["number"]
    remarks = [f"{line['what']}: {line['test']}" for line in told if line["what"] == "remark"]
    when = datetime.now(UTC).strftime("%Y-%m-%d")
    minutes = max(1, round(seconds / 60))
    return [
        "| what | number |",
        "|---|---|",
        *(f"| {kind} | {number[kind]:,} |" for kind in KINDS),
        "",
        f"Slogan {slogan.__version__}, {when}, {minutes} minutes, Python {sys.version.split()[0]}.",
        *(remark.removeprefix("remark: ") for remark in remarks),
        "",
        *verdict(told, codes),
    ]


def verdict(told, codes):
    """ "lost: 0, leaked: 0", or what failed."""
    failed = sorted({line["test"] for line in told if line["what"] == "failed"})
    lost = [test for test in failed if test.startswith(LOST)]
    leaked = [test for test in failed if test.startswith(LEAKED)]
    others = [test for test in failed if test not in lost + leaked]
    ended = [f"the rung `{name}` ended with code {code}" for name, code in codes.items() if code]
    lines = [f"**lost: {len(lost)}, leaked: {len(leaked)}**"]
    if failed or ended:
        lines += [""]
        lines += [f"- lost: `{test}`" for test in lost] + [f"- leaked: `{test}`" for test in leaked]
        lines += [f"- failed: `{test}`" for test in others] + [f"- {what}" for what in ended]
    return lines


def written(page, lines):
    """A page with the lines between its two marks."""
    block = "\n".join([BEGIN, "", *lines, "", END])
    found, times = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: block, page, flags=re.S
    )
    if times != 1:
        raise SystemExit(f"{PAGE} needs {BEGIN} and {END} once")
    return found


def main():
    """Climb, print, write; the exit code of the whole."""
    begin = time.monotonic()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ladder.jsonl"
        codes = climb(rungs(), file)
        lines = table(read(file), codes, seconds=time.monotonic() - begin)
    print("\n".join(lines))
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main())
