"""Whole files, cut, bent or of absurd types: an error of ours, soon, in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzz.files import MAKERS

HERE = Path(__file__).parent
MOST_SECONDS = 20.0  # of processors, for one file
PATIENCE = 900  # seconds for a process that reads a hundred, on a machine that is shared and noisy
MOST_MEGABYTES = 2_000


def seeds(first, number):
    asked = os.environ.get("SLOGAN_FUZZ")
    return (first, number) if asked is None else (int(asked), 1)


def survive(kind, first, number):
    """Read this many files in another process; returns what it reported of each."""
    first, number = seeds(first, number)
    words = [sys.executable, str(HERE / "files.py"), kind, str(first), str(number)]
    path = os.pathsep.join(sys.path)
    try:
        done = subprocess.run(
            words,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        out, err, code = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as stuck:
        out, err, code = (stuck.stdout or b"").decode(), "no answer in time", -1
    told = [json.loads(line) for line in out.splitlines()]
    slow = [one for one in told if one[3] > MOST_SECONDS or one[4] > MOST_MEGABYTES]
    if code or len(told) != number or slow:
        seed = slow[0][0] if slow else first + len(told)
        pytest.fail(
            f"exit code {code}, {err[-2_000:]} {slow}\nrepeat: python {words[1]} {kind} {seed} 1"
        )
    return told


@pytest.mark.parametrize("kind", ["tsv", "jsonl.zst", "parquet"])
def test_a_broken_file_is_read_or_refused_in_our_words(ladder, kind):
    told = survive(kind, 0, 20)
    ladder.count("cases tried", len(told))
    ladder.count("bytes fuzzed", sum(size for _, size, *_ in told))


@pytest.mark.long
@pytest.mark.timeout(2 * PATIENCE)
@pytest.mark.parametrize("first", range(1_000, 1_500, 100))
@pytest.mark.parametrize("kind", MAKERS)
def test_broken_files_are_read_or_refused_in_our_words(ladder, kind, first):
    told = survive(kind, first, 100)
    ladder.count("cases tried", len(told))
    ladder.count("bytes fuzzed", sum(size for _, size, *_ in told))
    outcomes = {found for _, _, found, *_ in told}
    # not everything is refused, and not everything taken
    assert "SLOGAN_FUZZ" in os.environ or {"counted"} < outcomes
