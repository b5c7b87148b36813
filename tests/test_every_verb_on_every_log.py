"""Every verb on every kind of log: what is released can be verified and measured."""

from contextlib import closing

import pytest
from tests.kinds_of_logs import FORMS, QUERIES, USERS

import slogan
from slogan.auditor.neighbours import on_disk, planted
from slogan.engines.duckdb import DuckDB
from slogan.logs.searchlog import read

MODES = {
    "exact": {"exp_epsilon": 2, "delta": 0.5, "solver": "exact"},
    "laplace": {
        "exp_epsilon": 2,
        "delta": 0.5,
        "solver": "relaxed",
        "counts": slogan.LaplaceCounts(bound=1000, epsilon=1),
    },
    "private": {
        "epsilon": 40,
        "delta": 0.9,
        "counts": slogan.PrivateCounts(sampling_share=0.9),
        "accept_weak_privacy": True,
    },
    "synthetic users": {"epsilon": 8, "delta": "1e-3", "accept_weak_privacy": True},
}
"""Budgets that release something of a log so small."""


@pytest.fixture(scope="module", params=FORMS.values(), ids=FORMS)
def log(request, tmp_path_factory):
    """The source as it is typed, and the log as it is described."""
    folder = tmp_path_factory.mktemp("log")
    request.param.write(folder)
    source = f"{folder}/{request.param.name}"
    return source, read(source, **request.param.told)


# How counts are chosen does not depend on the form of a log.
CASES = [
    pytest.param(
        form,
        mode,
        id=f"{name}-{mode}",
        marks=[] if mode == "exact" or form.name.endswith(".tsv") else pytest.mark.long,
    )
    for mode in MODES
    for name, form in FORMS.items()
    if mode not in ("laplace", "private") or form.name.endswith((".tsv", ".jsonl"))
]


@pytest.mark.parametrize(("log", "mode"), CASES, indirect=["log"])
def test_a_release_of_any_log_is_verified_and_measured(log, mode, tmp_path):
    """Verify and evaluate are given the source alone: the manifest says how to read it."""
    source, described = log
    verb = slogan.synthesize if mode == "synthetic users" else slogan.sanitize
    with verb(described, **MODES[mode]) as release:
        release.save(tmp_path / "out")

    verdict = slogan.verify(source, tmp_path / "out")
    assert verdict.ok, [(check.name, check.detail) for check in verdict.checks if not check.ok]
    assert slogan.verify_public(tmp_path / "out/public").ok
    assert slogan.evaluate(source, tmp_path / "out").size_ratio > 0

    found = slogan.review(tmp_path / "out").queries
    if len(found) > 1:
        rest = slogan.review(tmp_path / "out", withhold=[found[0].query]).queries
        assert {one.query for one in rest} == {one.query for one in found[1:]}
        assert slogan.verify(source, tmp_path / "out").ok


def test_any_log_is_inspected_and_planned(log):
    _, described = log
    found = slogan.inspect(described)
    assert (found.whole.users, found.whole.queries) == (USERS, len(QUERIES))
    assert slogan.frontier(described, exp_epsilons=[2], deltas=["0.5"]).points[0].value > 0


def test_planted_users_are_rows_of_the_log(log, tmp_path):
    """Each is there once, and the log without it is the log without its rows."""
    _, described = log
    settings = DuckDB()
    with closing(settings.start()) as host:
        hist = host.count(described, unique_pairs=True).hist
        files = on_disk(described, tmp_path)
        experiment = planted(files, host, hist, tmp_path)
    canary, heavy = experiment.neighbours[1], experiment.neighbours[-1]
    without = [tmp_path / "canary", tmp_path / "heavy"]
    for folder in without:
        folder.mkdir()
    logs = (files, experiment.log, canary.log(without[0]), heavy.log(without[1]))
    users = []
    for one in logs:
        with closing(settings.start()) as host:
            counted = host.count(one, unique_pairs=True)
        assert not counted.bad_rows
        users.append(counted.users)
    assert users[0] == hist.users
    assert users[1] == users[0] + len(experiment.crowd) + len(experiment.neighbours) - 1
    assert users[2] == users[3] == users[1] - 1


@pytest.mark.long
@pytest.mark.parametrize("mode", ["private", None])
def test_any_log_is_attacked(log, mode):
    found = slogan.audit(log[1], mode=mode, epsilon=8, delta="1e-3", trials=100, seed=1)
    assert found.ok
    assert {attack.evidence for attack in found.attacks} >= {"replay", "noise", "account"}
