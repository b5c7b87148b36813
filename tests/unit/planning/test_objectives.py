"""Objectives: what each asks for, and that a new one is one file."""

import sys

import numpy as np
import pytest
from tests.strategies import histogram

import slogan
from slogan.budget import PrivacyBudget
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives import program_of
from slogan.planning.plan import plan

CONSTRAINTS = privacy_constraints(
    histogram([[1, 1, 1]] * 6, [0, 0, 1]), PrivacyBudget(exp_epsilon=2, delta="0.5")
)


def never(_program, **_limits):
    raise AssertionError("the largest output is not needed")


@pytest.mark.parametrize("name", objectives.names())
def test_an_objective_has_the_name_of_its_file_and_a_unit(name):
    kind = objectives.load(name)

    assert kind.name == kind().name == name
    assert kind.utility
    assert issubclass(kind, objectives.PackingObjective) == kind.is_packing


@pytest.mark.parametrize(
    ("name", "most", "at_most_one"),
    [("output_size", None, None), ("diversity", 1, None), ("query_diversity", 1, [0, 0, 1])],
)
def test_packing_objectives_have_their_own_limits(name, most, at_most_one):
    program = program_of(objectives.load(name)(), CONSTRAINTS, never)

    assert program.most == most
    assert program.targets is None
    assert (None if program.at_most_one is None else program.at_most_one.tolist()) == at_most_one


def test_a_target_is_given_the_largest_output():
    largest = plan(np.array([1.0, 1.0, 1.0]), CONSTRAINTS)
    goal = objectives.load("frequent_pairs")()
    program = program_of(goal, CONSTRAINTS, lambda _program, **_limits: (largest, 4.0))

    assert program.minimises
    assert program.targets.output_size == max(1, largest.size // 2)


TOY = '''
from dataclasses import dataclass
from slogan.planning.objectives import PackingObjective

@dataclass(frozen=True)
class Twice(PackingObjective):
    """At most two clicks of a pair."""

    name = "twice"
    utility = "clicks, two of a pair"
    most = 2

    def expected_clicks(self, pairs):
        return pairs.cap * pairs.counts

OBJECTIVE = Twice
'''


@pytest.fixture
def twice(tmp_path, monkeypatch):
    folder = tmp_path / "toys"
    folder.mkdir()
    (folder / "twice.py").write_text(TOY)
    monkeypatch.setattr(objectives, "__path__", [*objectives.__path__, str(folder)])
    yield objectives.load("twice")()
    sys.modules.pop("slogan.planning.objectives.twice")


def test_a_new_objective_is_one_file(tmp_path, twice):
    log = tmp_path / "clicks.tsv"
    rows = [(u, f"q{n}", f"www.{n}.com", 1) for u in range(30) for n in range(3)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    log.write_text("".join(f"{line}\n" for line in lines))
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")
    release = slogan.sanitize(log, budget, objective=twice, solver="exact")
    try:
        release.save(tmp_path / "release")
    finally:
        release.close()
    frontier = slogan.frontier(
        log, on_log=True, objective=twice, solver="exact", exp_epsilons=["2"], deltas=["0.1", "0.5"]
    )

    assert "twice" in objectives.names()
    assert release.plan.counts.tolist() == [2, 2, 2]
    assert slogan.verify(log, tmp_path / "release").ok
    assert "Twice" in (tmp_path / "release/curator/report.html").read_text()
    assert frontier.utility == "clicks, two of a pair"
    assert frontier.chart().headings[-1] == "size limit"
