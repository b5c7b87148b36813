"""Runs the command line in a process of its own, on a small log."""

import os
import subprocess
import sys

ROWS = [(u, f"query {n}", f"www.s{n}.com", 1) for u in range(1, 9) for n in range(3)]
SECRET = (1, "my secret illness", "www.doc.com", 2)
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "5")


def slogan(*words, cwd, **env):
    return subprocess.run(
        [sys.executable, "-m", "slogan", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
