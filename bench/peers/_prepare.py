"""Write the problem that foreign solvers read: `python -m bench.peers._prepare FOLDER`.

In a process of its own, because it needs slogan, and slogan must not meet foreign solvers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from bench.cases import problem
from bench.peers import PROBLEM
from slogan.outside import PROGRAM, load_program

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    problem(load_program(folder / PROGRAM)).save(folder / PROBLEM)
