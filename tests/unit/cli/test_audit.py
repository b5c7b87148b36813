"""slogan audit: its findings, its words, and wrong usage."""

import json

import pytest
from tests.helpers import write
from tests.unit.cli.commands import slogan


@pytest.fixture
def log(tmp_path):
    """Users who share what they click with a few others."""
    rows = [
        (u, f"query {(u + n * n) % 40}", "a.com", 1 + (u * n) % 3)
        for u in range(90)
        for n in range(3)
    ]
    return write(tmp_path / "log.tsv", dict.fromkeys(rows))


def test_the_verb_prints_found_beside_claimed(tmp_path, log):
    done = slogan(
        "audit", log, "--epsilon", "2", "--delta", "0.01", "--trials", "200", "--json", cwd=tmp_path
    )
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert found["ok"]
    assert found["mode"] == "synthetic"
    assert {a["evidence"] for a in found["attacks"]} == {"replay", "noise", "statistics", "account"}
    by_trials = (a for a in found["attacks"] if a["evidence"] == "statistics")
    assert {a["target"] for a in by_trials} == {
        "selection",
        "noisy counts",
        "released counts",
        *(f"sums for {name}" for name in ("counts", "sizes", "coverage", "association")),
    }


@pytest.mark.parametrize(
    "counts", [(), ("--counts", "laplace", "--laplace-bound", "5", "--laplace-epsilon", "1")]
)
def test_the_verb_tells_a_person_that_it_is_not_a_proof(tmp_path, log, counts):
    given = "--mode sanitize --exp-epsilon 2 --delta 0.5 --trials 200 --time-limit 2"
    done = slogan("audit", log, *given.split(), *counts, cwd=tmp_path)

    assert done.returncode == 0
    assert "not a proof" in done.stdout
    assert "query" not in done.stdout


@pytest.mark.parametrize(
    "given",
    [
        ("--trials", "3"),
        ("--counts", "private"),
        ("--engine", "abacus"),
        ("--association", "taxonomy"),
        ("--mode", "sanitize", "--association", "domains"),
    ],
)
def test_wrong_usage_is_refused(tmp_path, log, given):
    done = slogan("audit", log, "--epsilon", "2", "--delta", "0.01", *given, cwd=tmp_path)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
