"""Limits of the whole process: sizes as people write them, threads, and memory that runs out."""

import json
import subprocess
import sys

import pytest

from slogan.errors import OptionError
from slogan.storage.limits import in_bytes, limit_threads

SMALL = """
import sys
from slogan.storage import limits
limits._OWN_NEED = 1_000_000
from slogan.__main__ import main
main()
"""
THREADS = """
import json, os, sys
from slogan.storage import limits
limits.limit_threads(1)
import numpy as np
from slogan.planning.solvers import Effort
from slogan.planning.solvers._highs import Model, _ready
from slogan.storage.database import connected
import scipy.sparse as sp
one = np.ones(1)
rows = dict(rows=sp.csr_array([[1.0]]), row_lower=-one, row_upper=one)
asked = Model(**rows, cost=-one, upper=one, pairs=1)
print(json.dumps([
    connected().execute("SELECT current_setting('threads')").fetchone()[0],
    _ready(asked, Effort(), integer=True).getOptionValue("threads")[1],
    os.environ["OMP_NUM_THREADS"],
    limits.threads(2),
]))
"""


@pytest.mark.parametrize(
    ("text", "size"),
    [("4GB", 4 * 10**9), ("500 mb", 5 * 10**8), ("1.5GiB", 3 * 2**29), ("64k", 64_000)],
)
def test_sizes_are_read_as_people_write_them(text, size):
    assert in_bytes(text) == size


@pytest.mark.parametrize("text", ["much", "", "-1GB", "0", "nan", "inf", "4 apples"])
def test_what_is_not_a_size_is_refused(text):
    with pytest.raises(OptionError, match="memory limit"):
        in_bytes(text)


def test_no_threads_at_all_are_refused():
    with pytest.raises(OptionError, match="at least 1"):
        limit_threads(0)


def test_threads_are_limited_in_the_database_the_solver_and_below_numpy():
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True
    )

    assert json.loads(done.stdout) == [1, 1, "1", 1]


def test_a_process_that_takes_too_much_memory_ends_in_order(tmp_path):
    """Python alone takes more than 5 MB."""
    log = tmp_path / "clicks.tsv"
    log.write_text("user\tquery\turl\n1\tq\tu\n2\tq\tu\n")
    words = ("inspect", str(log), "--memory-limit", "5MB", "--json")
    done = subprocess.run(
        [sys.executable, "-c", SMALL, *words], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stdout)

    assert done.returncode == told["exit_code"] == 1, done.stderr
    assert told["error"] == "the process took more memory than 5 MB"
    assert "raise --memory-limit" in done.stderr
