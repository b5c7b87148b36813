"""The distributed solver: what it proves holds, what it proposes passes the gate, runs go on."""

import stat

import numpy as np
import pytest

import slogan
from slogan import engines, errors, objectives
from slogan.constraints import privacy_constraints
from slogan.engines import Question
from slogan.generate import generate
from slogan.plan import plan
from slogan.searchlog import read
from slogan.solvers import Effort, load
from slogan.solvers._presolve import packing
from slogan.solvers._relaxation import Relaxation

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
EFFORT = Effort(time_limit=600)
PACKED = [name for name in objectives.names() if name != "frequent_pairs"]


class Killed(BaseException):
    """Stands for the end of a process."""


def counted(log):
    host = engines.start("duckdb", read(log))
    try:
        return host.count(read(log))
    finally:
        host.close()


def program(hist, objective="output_size", budget=BUDGET):
    return objectives.load(objective)().program(privacy_constraints(hist, budget), largest=None)


def small(folder, seed):
    """A log of 24 users that is hard for its size: many pairs of few holders each."""
    rng = np.random.default_rng(seed)
    rows = {(int(u), int(p)) for u, p in rng.integers(0, (24, 40), size=(140, 2))}
    lines = [f"{u}\tq{p // 3}\tw{p}\t{1 + (u * p) % 3}" for u, p in sorted(rows)]
    file = folder / f"small{seed}.tsv"
    file.write_text("\n".join(["user\tquery\turl\tcount", *lines, ""]))
    return file


def packed(spark, log, asked, *, folder=None, effort=EFFORT):
    """What Spark says to a program, all of it solved there."""
    host = engines.start(spark, read(log))
    try:
        host.count_in_place(read(log), forced=True)
        question = Question(
            limit=asked.constraints.limit,
            most=asked.most,
            one_of_query=asked.at_most_one is not None,
            forced=True,
            folder=folder,
        )
        return host.pack(question, effort)
    finally:
        host.close()


@pytest.fixture
def crowded(monkeypatch):
    """No room for the pairs in play, so that whole counts come from rounds."""
    answers = iter([False])
    monkeypatch.setattr("slogan.engines.spark.room.Room.fits", lambda *_, **__: next(answers, True))


@pytest.fixture
def fewer_steps(monkeypatch):
    monkeypatch.setattr("slogan.engines.spark.packing.STEPS_AT_ONCE", 5)


def assert_close_to_the_relaxation(asked, trace):
    relaxed = Relaxation(packing(asked))
    relaxed.solve(lambda: False)
    _, value, bound = trace[-1]

    assert 0.97 * relaxed.bound <= bound <= 1.03 * relaxed.bound
    assert 0.97 * relaxed.bound <= value <= bound


def test_a_release_is_solved_in_spark_and_verifies(spark, tmp_path):
    log, said = tmp_path / "clicks.tsv", []
    generate(log, users=300, seed=0)
    release = slogan.sanitize(
        log,
        BUDGET,
        solver="distributed",
        engine=spark,
        time_limit=240,
        checkpoints=tmp_path / "kept",
        watcher=lambda *words: said.append(words),
    )
    summary = release.save(tmp_path / "out")
    drawn = release.drawn()
    release.close()
    whole = counted(log)

    assert slogan.verify(log, tmp_path / "out").ok
    assert_close_to_the_relaxation(program(whole.hist), summary["convergence"])
    assert summary["solver"] == "distributed"
    assert summary["shared"]["clicks"] == whole.hist.clicks
    assert summary["shared"]["users"] == whole.hist.users
    assert sum(drawn["clicks_by_fate"].values()) == whole.clicks
    assert sum(drawn["budget_use"]) == whole.hist.users
    best = load("packing")(program(whole.hist), Effort(time_limit=10))
    assert 0.97 * best.x.sum() <= release.value <= best.bound <= release.bound
    assert any("gap" in note for stage, note in said if stage == "solve")
    assert any("MB" in note for stage, note in said if stage == "solve")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("objective", PACKED)
def test_rounds_obey_the_program_and_the_bound_holds(
    spark, tmp_path, crowded, fewer_steps, objective
):
    log = small(tmp_path, seed=len(objective))
    asked = program(counted(log).hist, objective)
    found = packed(spark, log, asked)
    best = load("exact")(asked, EFFORT)
    counts = np.zeros(asked.pairs, dtype=np.int64)
    counts[found.left.pairs] = found.x

    assert best.status == "optimal"
    assert found.bound >= best.bound - 1e-6
    assert (plan(counts, asked.constraints).counts == counts).all()
    assert (counts <= asked.upper).all()
    if asked.at_most_one is not None:
        assert len(set(asked.at_most_one[counts > 0])) == counts.sum()
    assert 0.5 * best.bound <= counts.sum() <= best.bound + 1e-6
    for pair in np.flatnonzero(counts < asked.upper):  # nothing more fits
        more = counts.copy()
        more[pair] += 1
        taken = asked.at_most_one is not None and (
            counts[asked.at_most_one == asked.at_most_one[pair]].any()
        )
        assert taken or not asked.constraints.allows(more)


def test_a_killed_run_goes_on_and_ends_the_same(spark, tmp_path, monkeypatch, fewer_steps):
    monkeypatch.setattr("slogan.engines.spark.packing._NEAR", 1e-3)
    log, folder = small(tmp_path, seed=1), tmp_path / "kept"
    asked, reports = program(counted(log).hist), []

    def kill(value, bound):
        reports.append((value, bound))
        if len(reports) == 2:
            raise Killed

    whole = packed(spark, log, asked)
    with pytest.raises(Killed):
        packed(spark, log, asked, folder=folder, effort=Effort(time_limit=600, report=kill))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    after, reports[2:] = packed(spark, log, asked, folder=folder), []

    assert [entry[1:] for entry in whole.trace[:2]] == reports
    assert after.trace == whole.trace
    assert len(whole.trace) > 2
    assert after.left.hist.digest() == whole.left.hist.digest()
    assert not folder.exists()


def test_what_another_problem_left_is_removed(spark, tmp_path, fewer_steps):
    log, folder, seen = small(tmp_path, seed=2), tmp_path / "kept", set()

    def names():
        return {place.name for place in folder.iterdir()}

    (folder / "another" / "step-000010").mkdir(parents=True)
    asked = program(counted(log).hist)

    with pytest.raises(errors.SloganError, match="other things"):
        packed(spark, log, asked, folder=folder)
    (folder / "slogan.checkpoints").touch()
    packed(spark, log, asked, folder=folder, effort=Effort(report=lambda *_: seen.update(names())))

    assert len(seen) == 3
    assert "another" not in seen
    assert not folder.exists()


def test_auto_prunes_in_spark_what_does_not_fit_the_driver(spark, tmp_path):
    rows = [(u, p) for p in range(300) for u in (p % 40, (p + 7) % 40)]
    lines = [f"{u}\tq{p}\tw{p}\t{9 if p % 10 and u == p % 40 else 1}" for u, p in rows]
    log = tmp_path / "log.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *lines, ""]))
    releases = [
        slogan.sanitize(log, BUDGET, seed=1, **options)
        for options in ({}, {"engine": spark, "memory_limit": "20KB"})
    ]
    for release in releases:
        release.close()
    one, other = releases

    assert other.solution.solver == one.solution.solver == "packing"
    assert other.counted.hist.pairs == 30
    assert other.value == one.value
    assert other.bound == one.bound
    assert other.counted.shared.clicks == one.counted.hist.clicks
    assert other.output.pair.max() > other.counted.hist.pairs  # numbers of the engine


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "duckdb"}, "where Spark counts"),
        ({"objective": slogan.FrequentPairs()}, "frequent_pairs is no packing problem"),
        ({"counts": slogan.Laplace(bound="1", epsilon="1")}, "of the kind laplace"),
    ],
)
def test_what_is_not_distributed_is_refused(spark, tmp_path, options, words):
    log = small(tmp_path, seed=0)

    with pytest.raises(errors.OptionError, match=words):
        slogan.sanitize(log, BUDGET, solver="distributed", **{"engine": spark, **options})


def test_nothing_that_fits_is_said_with_the_number(spark, tmp_path):
    log = small(tmp_path, seed=0)
    mean = slogan.PrivacyBudget(epsilon="0.001", delta="0.001")

    with pytest.raises(errors.EmptyPlanError) as raised:
        slogan.sanitize(log, mean, solver="distributed", engine=spark)
    hist = counted(log).hist
    constraints = privacy_constraints(hist, mean)
    cheapest = constraints.cost_of_rows(constraints.dearest).min()
    assert raised.value.cheapest == pytest.approx(float(cheapest))
