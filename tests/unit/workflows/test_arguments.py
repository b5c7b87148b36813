"""What one would guess works; anything else gets our own error, in the words of Python."""

import inspect

import pytest

import slogan
from slogan.errors import OptionError, in_python
from slogan.modes import ExactCounts, LaplaceCounts, PrivateCounts
from slogan.planning import objectives
from slogan.planning.solvers import Solver
from slogan.workflows import arguments
from slogan.workflows.arguments import budget_from, counts_from, objective_from, solver_from

BUDGET = slogan.PrivacyBudget(epsilon=1, delta="1e-6")


def test_a_budget_is_an_object_or_two_numbers():
    assert budget_from(BUDGET, None, None, None) is BUDGET
    for delta in ("1e-6", 1e-6, "1/1000000"):
        numbers = budget_from(None, 1, None, delta)
        assert numbers.allowance == BUDGET.allowance
    assert budget_from(None, None, 2, 0.5).exp_epsilon == 2


@pytest.mark.parametrize(
    "wrong",
    [
        (None, None, None, None),
        (None, 1, None, None),
        (1, None, None, 0.5),
        (BUDGET, 1, None, None),
    ],
)
def test_half_a_budget_or_two_are_refused(wrong):
    with pytest.raises(OptionError, match="budget") as refused:
        budget_from(*wrong)
    assert "epsilon=" in str(refused.value)


@pytest.mark.parametrize("name", objectives.names())
def test_an_objective_is_an_object_a_class_or_a_name(name):
    kind = objectives.load(name)
    assert objective_from(name) == objective_from(kind) == objective_from(kind()) == kind()


@pytest.mark.parametrize("wrong", ["size", 3, object()])
def test_other_objectives_are_refused(wrong):
    with pytest.raises(OptionError, match="objective") as refused:
        objective_from(wrong)
    assert "output_size" in str(refused.value)
    assert "--" not in str(refused.value)


def test_counts_are_an_object_or_a_name():
    assert counts_from(None) == counts_from("exact") == ExactCounts()
    assert counts_from("private") == PrivateCounts()
    laplace = LaplaceCounts(bound=2, epsilon=1)
    assert counts_from(laplace) is laplace


@pytest.mark.parametrize("wrong", ["laplace", "noisy", 7])
def test_other_counts_are_refused(wrong):
    with pytest.raises(OptionError) as refused:
        counts_from(wrong)
    assert "LaplaceCounts(bound=2, epsilon=1)" in str(refused.value)


def test_a_solver_is_an_object_or_a_name_with_limits():
    assert solver_from(None) == Solver()
    assert solver_from("exact", 5, 0.1) == Solver("exact", time_limit=5, gap=0.1)
    assert solver_from(Solver("spe")) == Solver("spe")
    assert solver_from(None, default=Solver(time_limit=10)).time_limit == 10


@pytest.mark.parametrize(
    "wrong",
    [("cplex", None), (3, None), (Solver("exact"), 5), ("exact", -1), ("exact", float("nan"))],
)
def test_other_solvers_are_refused(wrong):
    with pytest.raises(OptionError):
        solver_from(*wrong)


@pytest.mark.parametrize(
    ("on_the_command_line", "here"),
    [
        ("give --epsilon 0.69 or --exp-epsilon 2", "give epsilon=0.69 or exp_epsilon=2"),
        ("leave --solver out, or --counts", "leave solver= out, or counts="),
        ("use --engine duckdb", 'use engine="duckdb"'),
        ("give --force to replace it", "give force=True to replace it"),
        ("choose another -o", "choose another output="),
        ("raise --time-limit", "raise solver=Solver(time_limit=…)"),
        (
            "for example --laplace-bound 2 --laplace-epsilon 1",
            "for example counts=LaplaceCounts(bound=2, epsilon=1)",
        ),
        ("nothing of the kind - or so", "nothing of the kind - or so"),
    ],
)
def test_options_are_arguments_in_python(on_the_command_line, here):
    error = OptionError("a problem", hint=on_the_command_line)

    assert in_python(on_the_command_line) == here
    assert str(error) == f"a problem\n  hint: {here}"
    assert error.hint == on_the_command_line


@pytest.mark.parametrize(
    ("verb", "options", "own"),
    [
        (slogan.sanitize, arguments.SanitizeOptions, {"log", "budget", "counts"}),
        (slogan.frontier, arguments.FrontierOptions, {"log", "mode", "objectives"}),
    ],
)
def test_type_checkers_know_every_keyword_with_its_type(verb, options, own):
    parameters = inspect.signature(verb).parameters
    annotations = {n: p.annotation for n, p in parameters.items() if n not in own}

    assert annotations == options.__annotations__
