"""Foreign solvers in separate processes."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.errors import SolverError
from slogan.planning import objectives
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.reproduction import solvers
from slogan.reproduction.peers import Problem

PUMP = next(peer for peer in solvers.PEERS if peer.name == "pump")


def small_program(objective="diversity"):
    constraints = privacy_constraints(
        histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 1, 1]]),
        PrivacyBudget(exp_epsilon=2, delta="0.5"),
    )
    return objectives.load(objective)().program(constraints)


@given(hist=shared_histograms(), budget=budgets)
def test_a_problem_comes_back_as_it_was(tmp_path_factory, hist, budget):
    folder = tmp_path_factory.mktemp("problem")
    constraints = privacy_constraints(hist, budget)
    for name in ("output_size", "diversity", "query_diversity"):
        problem = solvers.problem_of(objectives.load(name)().program(constraints))
        problem.save(folder)
        again = Problem.load(folder)

        assert (again.rows != problem.rows).nnz == 0
        for field, value in vars(problem).items():
            if field != "rows":
                assert np.array_equal(getattr(again, field), value), field


def test_a_peer_without_its_library_says_how_to_get_it():
    absent = solvers.Peer(name="scip", variant="default", library="no_such_library")

    assert "pip install 'slogan[bench]'" in absent.missing
    assert PUMP.missing is None


def test_a_peer_answers_from_its_own_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numpy.py").write_text("raise ImportError('a file of the working folder')")
    program = small_program()
    proposal = solvers.ask(PUMP, program, 2.0)

    assert plan(np.floor(proposal.x + 1e-6), program.constraints).pairs >= 1
    assert proposal.seconds >= 0


def test_a_peer_that_fails_is_an_error_with_its_last_word(monkeypatch):
    monkeypatch.setattr(Problem, "save", lambda problem, folder: None)

    with pytest.raises(SolverError, match=r"pump failed: FileNotFoundError: .*problem\.npz"):
        solvers.ask(PUMP, small_program(), 1.0)


def test_a_peer_that_never_ends_is_not_waited_for():
    assert solvers.run(["timeit", "-n1", "-r1", "while 1: pass"], patience=0.5) == (
        "still running after 0.5 s"
    )


def test_a_problem_that_a_peer_cannot_solve_is_an_error():
    constraints = privacy_constraints(
        histogram([[1, 1]] * 6), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    objective = objectives.load("frequent_pairs")(min_support="1/10", output_size=2)
    largest = plan(np.array([1.0, 1.0]), constraints)
    program = objective.program(constraints, largest, 4.0)

    with pytest.raises(SolverError, match="pump: an equation on the size"):
        solvers.ask(PUMP, program, 1.0)


def test_a_peer_loads_no_solver_but_its_own():
    """OR-Tools cannot be loaded beside highspy, nor SCIP of OR-Tools beside that of pyscipopt."""
    code = (
        "import runpy, sys\n"
        "sys.argv = ['peers']\n"
        "try: runpy.run_module('slogan.reproduction.peers', run_name='__main__')\n"
        "except ValueError: pass\n"  # no words to unpack: everything before that was imported
        "print(*sorted(m for m in sys.modules if m.startswith('slogan')))\n"
        "print(*({'highspy', 'scipy.optimize', 'duckdb', 'numba'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines() == ["slogan slogan.reproduction slogan.reproduction.peers", ""]
