"""Programs as files, and solvers in processes of their own."""

import numpy as np
import pytest
from hypothesis import given

from slogan import objectives, outside
from slogan.constraints import privacy_constraints
from slogan.errors import SolverError
from slogan.plan import plan
from slogan.privacy import PrivacyBudget
from strategies import budgets, histogram, shared_histograms

PUMP = next(peer for peer in outside.PEERS if peer.name == "pump")
ABSENT = outside.Peer(name="scip", variant="default", library="no_such_library")


@given(hist=shared_histograms(), budget=budgets)
def test_a_program_comes_back_as_it_was(tmp_path_factory, hist, budget):
    file = tmp_path_factory.mktemp("program") / outside.PROGRAM
    constraints = privacy_constraints(hist, budget)
    for name in ("output_size", "diversity", "query_diversity"):
        program = objectives.load(name)().program(constraints, largest=None)
        outside.save_program(program, file)
        again = outside.load_program(file)

        assert again.constraints.allowance == budget.allowance
        assert again.constraints.limit == constraints.limit
        assert (again.upper == program.upper).all()
        assert (again.constraints.cost != constraints.cost).nnz == 0
        assert (again.at_most_one is None) == (program.at_most_one is None)


def test_the_targets_of_f_ump_come_back_too(tmp_path):
    constraints = privacy_constraints(
        histogram([[1, 1]] * 6), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    largest = plan(np.array([1.0, 1.0]), constraints)
    asked = objectives.load("frequent_pairs")(min_support="1/10", output_size=2)
    program = asked.program(constraints, largest=lambda: (largest, 4.0))
    outside.save_program(program, tmp_path / outside.PROGRAM)
    again = outside.load_program(tmp_path / outside.PROGRAM)

    assert again.minimises
    assert again.targets.output_size == 2
    assert (again.targets.support == program.targets.support).all()


def test_a_peer_without_its_library_says_how_to_get_it():
    assert "pip install 'slogan[bench]'" in ABSENT.missing
    assert PUMP.missing is None


def test_a_peer_answers_from_its_own_process():
    constraints = privacy_constraints(
        histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]),
        PrivacyBudget(exp_epsilon=2, delta="0.5"),
    )
    program = objectives.load("diversity")().program(constraints, largest=None)
    answer = outside.ask(PUMP, program, 2.0)

    assert plan(np.floor(answer.x + 1e-6), constraints).pairs >= 1
    assert answer.seconds >= 0


def test_a_peer_that_fails_is_an_error_with_its_last_word(monkeypatch):
    monkeypatch.setattr(outside, "save_program", lambda program, path: None)
    constraints = privacy_constraints(
        histogram([[1, 1], [1, 1], [1, 1]]), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    program = objectives.load("diversity")().program(constraints, largest=None)

    with pytest.raises(SolverError, match=r"bench\.peers\._prepare .* failed"):
        outside.ask(PUMP, program, 1.0)
