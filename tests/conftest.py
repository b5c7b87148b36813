"""Settings for every test: no deadlines, because machines are shared and noisy; and the ladder."""

import json
import os
import re
from pathlib import Path

import duckdb
import pytest
from hypothesis import Phase, settings

settings.register_profile("shared", deadline=None, print_blob=True)
# A mutant is to be noticed, not explained.
settings.register_profile(
    "mutation",
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shared"))

LADDER = "SLOGAN_LADDER"
KINDS = ("cases tried", "faults injected", "bytes fuzzed", "mutants killed", "attacks run")


def record(what, number, test):
    """Append one line to the file that SLOGAN_LADDER names; many processes may do so at once."""
    if path := os.environ.get(LADDER):
        line = json.dumps({"what": what, "number": number, "test": test}) + "\n"
        with Path(path).open("a", buffering=1, encoding="utf-8") as file:
            file.write(line)


class Ladder:
    """What tests tell about themselves, for the table of `make test-all`."""

    def count(self, what, number=1):
        """Add this many cases tried, faults injected, bytes fuzzed, mutants killed, attacks run."""
        assert what in KINDS, f"{what} is none of {KINDS}"
        record(what, number, os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0])


@pytest.fixture(scope="session")
def ladder():
    """For the whole session, so that properties may use it too."""
    return Ladder()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """A test is a case, a property as many cases as Hypothesis had examples of it."""
    report = yield
    if report.when == "call" and report.passed:
        told = getattr(item, "hypothesis_statistics", "1 passing")
        examples = re.findall(r"(\d+) (?:passing|failing)", told)
        record("cases tried", sum(map(int, examples)), item.nodeid)
    return report


def pytest_runtest_logreport(report):
    """Where several processes run tests, only the first reports a worker that died."""
    if report.failed:
        record("failed", 1, report.nodeid)


@pytest.fixture
def sql():
    """A database of the test's own, in memory."""
    with duckdb.connect() as connection:
        yield connection
