"""Solvers that only the benchmark runs: programs as files, and answers from other processes."""

import numpy as np
from bench.cases import Case
from bench.harness import Question
from bench.peers.own import Own, load_program, save_program
from hypothesis import given
from tests.strategies import budgets, histogram, shared_histograms

from bench import harness
from slogan.budget import PrivacyBudget
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan

CASE = Case("diversity", "search-0", "2", "0.5")


@given(hist=shared_histograms(), budget=budgets)
def test_a_program_comes_back_as_it_was(tmp_path_factory, hist, budget):
    folder = tmp_path_factory.mktemp("program")
    constraints = privacy_constraints(hist, budget)
    for name in ("output_size", "diversity", "query_diversity"):
        program = objectives.load(name)().program(constraints)
        save_program(program, folder)
        again = load_program(folder)

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
    objective = objectives.load("frequent_pairs")(min_support="1/10", output_size=2)
    program = objective.program(constraints, largest, 4.0)
    save_program(program, tmp_path)
    again = load_program(tmp_path)

    assert again.minimises
    assert again.targets.output_size == 2
    assert (again.targets.support == program.targets.support).all()


def test_our_own_solver_reports_when_the_proof_of_f_ump_was_complete(tmp_path):
    constraints = privacy_constraints(
        histogram([[1, 1]] * 6), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    largest = plan(np.array([1.0, 1.0]), constraints)
    objective = objectives.load("frequent_pairs")(min_support="1/10", output_size=2)
    save_program(objective.program(constraints, largest, 4.0), tmp_path)
    answer = Own("packing").solve(tmp_path, "slogan", 5.0)

    assert answer.proven
    assert answer.proven_at is not None
    assert answer.proven_at <= answer.seconds


def test_every_installed_solver_answers_the_same_question():
    constraints = privacy_constraints(
        histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]] * 3),
        PrivacyBudget(exp_epsilon=2, delta="0.5"),
    )
    program = objectives.load("diversity")().program(constraints)
    question = Question(case=CASE, program=program)
    records = {
        (peer, variant): record
        for peer in ("packing", "exact", "spe", "highs", "pump")
        for variant, record in harness.ask(question, peer, "all", 20.0).items()
    }

    assert all("failure" not in record for record in records.values())
    assert "unsupported" in records.pop(("highs", "unary"))
    assert {record["value"] for record in records.values()} == {3.0}


def test_the_code_of_a_solver_is_that_of_its_definitions(tmp_path, monkeypatch):
    """Comments, docstrings, imports and order leave a record valid; a changed number does not."""
    folder = tmp_path / "slogan" / "planning" / "solvers"
    folder.mkdir(parents=True)
    monkeypatch.setattr(harness, "_SOURCE", tmp_path)

    def code(toy, near):
        (folder / "toy.py").write_text(f"from slogan.planning.solvers import _near\n{toy}")
        (folder / "_near.py").write_text(near)
        return harness.code("toy")

    before = code("def f():\n    return 1\nx = 2\n", "y = 3\n")

    assert (
        code('"""Toy."""\nx = 2\ndef f():\n    "One."\n    return 1  # one\n', "y = 3\n") == before
    )
    assert code("def f():\n    return 2\nx = 2\n", "y = 3\n") != before
    assert code("def f():\n    return 1\nx = 2\n", "y = 4\n") != before
