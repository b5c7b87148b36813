"""The distributed solver: what it proves holds, what it proposes passes the gate, runs go on."""

import stat
from dataclasses import replace

import numpy as np
import pytest

import slogan
from slogan import engines, errors
from slogan.engines.engine import Question
from slogan.engines.spark.distributed import checkpoints
from slogan.engines.spark.distributed.checkpoints import Checkpoints
from slogan.generation.generate import generate
from slogan.logs.searchlog import read
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.solvers import Effort, load
from slogan.planning.solvers.packing.presolve import packing
from slogan.planning.solvers.packing.relaxation import Relaxation
from slogan.storage import folders

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
EFFORT = Effort(time_limit=600)
PACKED = [name for name in objectives.names() if objectives.load(name).is_packing]


class Killed(BaseException):
    """Stands for the end of a process."""


def counted(log):
    host = engines.resolve("duckdb", read(log)).start()
    try:
        return host.count(read(log))
    finally:
        host.close()


def program(hist, objective="output_size", budget=BUDGET):
    return objectives.load(objective)().program(privacy_constraints(hist, budget))


def question(asked, folder=None):
    return Question(
        limit=asked.constraints.limit,
        most=asked.most,
        one_of_query=asked.at_most_one is not None,
        forced=True,
        folder=folder,
    )


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A log of 24 users that is hard for its size: many pairs of few holders each."""
    rng = np.random.default_rng(1)
    rows = {(int(u), int(p)) for u, p in rng.integers(0, (24, 40), size=(140, 2))}
    lines = [f"{u}\tq{p // 3}\tw{p}\t{1 + (u * p) % 3}" for u, p in sorted(rows)]
    file = tmp_path_factory.mktemp("small") / "clicks.tsv"
    file.write_text("\n".join(["user\tquery\turl\tcount", *lines, ""]))
    return file


@pytest.fixture(scope="module")
def host(spark, small):
    """Spark, which has counted the small log and kept what it counted."""
    host = engines.resolve(spark, read(small)).start()
    told = host.count_in_place(read(small), forced=True)
    assert told.hist.pairs == 0
    assert told.shared.clicks == counted(small).hist.clicks
    yield host
    host.close()


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr("slogan.engines.spark.distributed.solver.STEPS_AT_ONCE", 3)
    monkeypatch.setattr("slogan.engines.spark.distributed.solver._MOST_STEPS", 18)


@pytest.fixture
def crowded(monkeypatch):
    """No room for the pairs in play, so that whole counts come from rounds."""
    answers = iter([False])
    monkeypatch.setattr(
        "slogan.engines.spark.sql.Arrivals.fit", lambda *_, **__: next(answers, True)
    )


@pytest.mark.long
def test_a_small_release_is_solved_in_spark_and_verifies(
    spark, small, tmp_path, few_steps, monkeypatch
):
    """After any number of steps the bound holds."""
    monkeypatch.setattr("slogan.engines.spark.distributed.solver._MOST_STEPS", 3)
    options = {"solver": "distributed", "engine": spark, "output": tmp_path / "out"}
    release = slogan.sanitize(small, BUDGET, time_limit=900, **options)
    summary = release.save().to_dict()
    release.close()
    whole = counted(small).hist
    best = load("exact")(program(whole), EFFORT)

    assert slogan.verify(small, tmp_path / "out").ok
    assert summary["solver"] == "distributed"
    assert summary["shared"]["clicks"] == whole.clicks
    assert best.status == "optimal"
    assert 0 < release.value <= best.bound <= release.bound
    held = {*zip(whole.user.tolist(), whole.pair.tolist(), strict=True)}
    output = release.output
    assert {*zip(output.user.tolist(), output.pair.tolist(), strict=True)} <= held
    assert not folders.place(tmp_path / "out").exists()


@pytest.mark.long
def test_a_release_is_solved_in_spark_and_verifies(spark, tmp_path):
    log, said = tmp_path / "clicks.tsv", []
    generate(log, users=300, seed=0)
    release = slogan.sanitize(
        log,
        BUDGET,
        solver="distributed",
        engine=spark,
        time_limit=900,
        gap=0.1,
        output=tmp_path / "out",
        progress=lambda step, note="", share=None: said.append((step, note)),
    )
    summary = release.save().to_dict()
    drawn = release.chart_data()
    release.close()
    whole = counted(log)
    asked = program(whole.hist)
    relaxed = Relaxation(packing(asked))
    relaxed.solve(lambda: False)
    best = load("packing")(asked, Effort(time_limit=10))
    _, value, bound = summary["convergence"][-1]

    assert slogan.verify(log, tmp_path / "out").ok
    assert 0.97 * relaxed.bound <= value <= bound <= 1.03 * relaxed.bound
    assert 0.9 * best.x.sum() <= release.value <= best.bound <= release.bound <= bound
    assert summary["solver"] == "distributed"
    assert summary["shared"]["clicks"] == whole.hist.clicks
    assert summary["shared"]["users"] == whole.hist.users
    assert sum(drawn["clicks_by_fate"].values()) == whole.clicks
    assert sum(drawn["budget_use"]) == whole.hist.users
    assert any("gap" in note for stage, note in said if stage == "solve")
    assert any("MB" in note for stage, note in said if stage == "solve")
    assert [line.split(":")[0] for line in summary["arrived"]] == ["solve"]
    pairs, output = release.counted.hist.pairs, release.output
    shown = np.bincount(output.pair, output.count, minlength=whole.hist.pairs)
    assert shown[shown > 0].tolist() == [n for n in release.plan.counts.tolist() if n > 0]
    assert pairs < whole.hist.pairs, "only a part came here"
    held = {*zip(whole.hist.user.tolist(), whole.hist.pair.tolist(), strict=True)}
    assert {*zip(output.user.tolist(), output.pair.tolist(), strict=True)} <= held
    assert not folders.place(tmp_path / "out").exists()


@pytest.mark.long
@pytest.mark.parametrize("objective", PACKED)
def test_rounds_fill_the_program_and_the_bound_holds(host, small, crowded, few_steps, objective):
    asked = program(counted(small).hist, objective)
    found = host.pack(question(asked), EFFORT)
    best = load("exact")(asked, EFFORT)
    counts = np.zeros(asked.pairs, dtype=np.int64)
    counts[found.left.pairs] = found.x

    assert best.status == "optimal"
    assert found.bound >= best.bound
    assert (plan(counts, asked.constraints).counts == counts).all()
    assert (counts <= asked.upper).all()
    assert counts.sum() <= best.bound
    for pair in np.flatnonzero(counts < asked.upper):  # nothing more fits
        more = counts.copy()
        more[pair] += 1
        taken = asked.at_most_one is not None and (
            counts[asked.at_most_one == asked.at_most_one[pair]].any()
        )
        assert taken or not asked.constraints.allows(more)
    if asked.at_most_one is not None:
        assert len(set(asked.at_most_one[counts > 0])) == counts.sum()


@pytest.mark.long
def test_a_killed_run_goes_on_and_ends_the_same(host, small, tmp_path, few_steps):
    folder, asked, reports = tmp_path / "kept", program(counted(small).hist), []

    def kill(value, bound):
        reports.append((value, bound))
        if len(reports) == 2:
            raise Killed

    def look(value, bound):
        assert not (folder / "another").exists()
        reports.append((value, bound))

    whole = host.pack(question(asked), EFFORT)
    with pytest.raises(Killed):
        host.pack(question(asked, folder), Effort(time_limit=600, report=kill))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "another" / "step-000010").mkdir(parents=True)  # what another problem left
    after = host.pack(question(asked, folder), Effort(time_limit=600, report=look))

    assert len(whole.trace) == 3
    assert after.trace == whole.trace
    assert reports == [(value, bound) for _, value, bound in whole.trace]
    assert after.left.hist.digest() == whole.left.hist.digest()
    assert not folder.exists()


def test_a_folder_of_others_is_not_emptied(host, small, tmp_path):
    (tmp_path / "mine").touch()

    with pytest.raises(errors.SloganError, match="other things"):
        host.pack(question(program(counted(small).hist), tmp_path), EFFORT)
    assert (tmp_path / "mine").exists()


def test_if_nothing_fits_the_cheapest_pair_is_named(host, small):
    mean = slogan.PrivacyBudget(epsilon="0.001", delta="0.001")
    asked = program(counted(small).hist, budget=mean)
    found = host.pack(question(asked), EFFORT)

    cheapest = asked.constraints.cost_of_rows(asked.constraints.costliest).min()
    assert found.left.hist.pairs == 0
    assert found.cheapest == pytest.approx(float(cheapest))
    assert found.too_dear == counted(small).hist.clicks


def test_auto_prunes_in_spark_what_does_not_fit_the_driver(spark, tmp_path):
    rows = [(u, p) for p in range(300) for u in (p % 40, (p + 7) % 40)]
    lines = [f"{u}\tq{p}\tw{p}\t{9 if p % 10 and u == p % 40 else 1}" for u, p in rows]
    log = tmp_path / "log.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *lines, ""]))
    releases = [
        slogan.sanitize(log, BUDGET, seed=1, **options)
        for options in ({}, {"engine": replace(spark, memory_limit="20KB")})
    ]
    for release in releases:
        release.close()
    one, other = releases

    assert other.solution.solver == one.solution.solver == "packing"
    assert other.counted.hist.pairs == 30
    assert other.value == one.value
    assert other.bound == one.bound
    assert other.counted.shared.clicks == one.counted.hist.clicks
    assert (one.constraints.upper[other.output.pair] > 0).all()  # the numbers of the engine


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "duckdb"}, "where Spark counts"),
        ({"objective": slogan.FrequentPairs()}, "frequent_pairs is not a packing problem"),
        ({"counts": slogan.LaplaceCounts(bound="1", epsilon="1")}, "of the kind laplace"),
    ],
)
def test_what_is_not_distributed_is_refused(spark, small, options, words):
    with pytest.raises(errors.OptionError, match=words):
        slogan.sanitize(small, BUDGET, solver="distributed", **{"engine": spark, **options})


def test_a_note_is_on_disk_before_and_after_it_gets_its_name(tmp_path, monkeypatch):
    kept, synced = Checkpoints(None, tmp_path / "kept"), []
    monkeypatch.setattr(checkpoints, "sync", lambda path: synced.append((path.name, path.exists())))
    kept.note("trace", [(20, 1.0, 2.0)])

    assert kept.noted("trace") == [[20, 1.0, 2.0]]
    assert synced == [("trace.partial", True), ("kept", True)]


@pytest.mark.parametrize("left", [b"", b"[[20, 1.0", b"\0" * 20, b"\xff"])
def test_a_note_that_cannot_be_read_counts_as_none(tmp_path, left):
    kept = Checkpoints(None, tmp_path / "kept")
    kept.note("trace", [(20, 1.0, 2.0)])
    (tmp_path / "kept/trace.json").write_bytes(left)

    assert kept.noted("trace") is None
    assert kept.noted("other") is None
