"""The promises every objective and every solver keeps, run over the two folders."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import budgets, histogram, shared_histograms, starts

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError, UnsupportedProgramError
from slogan.planning import objectives, solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.solvers import Effort

EFFORT = Effort(time_limit=20, gap=0.0)
SMALL = {"users": (2, 4), "pairs": (1, 4), "clicks": 5}

every_objective = pytest.mark.parametrize("objective", objectives.names())
every_solver = pytest.mark.parametrize("solver", solvers.names())


def asked(objective, constraints, solver="exact"):
    """The program of an objective, or None where nothing can be released."""

    def solve(program, **_limits):
        answer = solvers.load(solver)(program, EFFORT)
        return plan(answer.x, constraints), answer.bound

    try:
        return objectives.program_of(objectives.load(objective)(), constraints, solve)
    except EmptyPlanError:
        return None


def answered(program, solver, effort=EFFORT):
    """The solution and its plan, or None where the solver says it does not do such programs."""
    try:
        solution = solvers.load(solver)(program, effort)
    except UnsupportedProgramError:
        return None
    return solution, plan(solution.x, program.constraints)


def every_allowed(program):
    """All counts a program allows, by brute force."""
    for x in itertools.product(*(range(int(u) + 1) for u in program.upper)):
        counts = np.array(x, dtype=np.int64)
        if program.targets is not None and counts.sum() != program.targets.output_size:
            continue
        if program.at_most_one is not None:
            labels = program.at_most_one[counts > 0]
            if counts.max(initial=0) > 1 or len(set(labels.tolist())) < len(labels):
                continue
        if program.constraints.allows(counts):
            yield counts


@every_objective
@pytest.mark.parametrize("solver", ["exact", "packing"])
@settings(max_examples=60)
@given(hist=shared_histograms(**SMALL), budget=budgets.filter(lambda b: b.allowance <= 4))
def test_integer_solvers_equal_brute_force(objective, solver, hist, budget):
    program = asked(objective, privacy_constraints(hist, budget))
    if program is None:
        return
    solution, planned = answered(program, solver)
    values = [program.value(counts) for counts in every_allowed(program)]
    best = min(values) if program.minimises else max(values)

    assert program.value(planned.counts) == pytest.approx(best, abs=1e-9)
    assert solution.bound == pytest.approx(best, abs=1e-6)
    assert solution.status == "optimal"


@every_objective
@every_solver
@settings(max_examples=40)
@given(hist=shared_histograms(), budget=budgets)
def test_bounds_hold_and_answers_obey_the_program(objective, solver, hist, budget):
    constraints = privacy_constraints(hist, budget)
    program = asked(objective, constraints, solver)
    found = program and answered(program, solver)
    if not found:
        return
    obeys(program, *found)


def obeys(program, solution, planned):
    assert (planned.counts <= program.upper).all()
    if program.at_most_one is not None:
        labels = program.at_most_one[planned.counts > 0].tolist()
        assert len(labels) == len(set(labels))
    if not program.minimises:
        assert program.value(planned.counts) <= solution.bound
    elif planned.size == program.targets.output_size:
        assert program.value(planned.counts) >= solution.bound - 1e-9


@every_objective
@every_solver
@settings(max_examples=10)
@given(hist=shared_histograms(), budget=budgets, data=st.data())
def test_a_start_is_used_or_ignored_and_never_harms(objective, solver, hist, budget, data):
    program = asked(objective, privacy_constraints(hist, budget))
    alone = program and answered(program, solver)
    if not alone:
        return
    start = data.draw(starts(program))
    assert program.allows(start)
    solution, planned = answered(program, solver, replace(EFFORT, start=start.copy()))

    obeys(program, solution, planned)
    if solver != "packing":
        assert np.array_equal(solution.x, alone[0].x)
    elif not program.minimises:
        assert program.value(planned.counts) >= program.value(start)


@every_objective
@settings(max_examples=10)
@given(hist=shared_histograms(**SMALL), budget=budgets.filter(lambda b: b.allowance <= 4))
def test_a_program_knows_what_it_allows(objective, hist, budget):
    program = asked(objective, privacy_constraints(hist, budget))
    if program is None:
        return
    allowed = {tuple(counts.tolist()) for counts in every_allowed(program)}
    for x in itertools.product(*(range(-1, min(int(u), 2) + 2) for u in program.upper)):
        inside = all(n <= u for n, u in zip(x, program.upper, strict=True))
        assert program.allows(np.array(x, dtype=np.int64)) == (inside and x in allowed)


@every_objective
@settings(max_examples=40)
@given(hist=shared_histograms(**SMALL), budget=budgets)
def test_renumbering_users_and_pairs_does_not_change_the_value(objective, hist, budget):
    table = np.zeros((hist.users, hist.pairs), dtype=np.int64)
    table[hist.user, hist.pair] = hist.count
    turned = histogram(table[::-1, ::-1].tolist(), hist.query[::-1].tolist())
    values = []
    for one in (hist, turned):
        program = asked(objective, privacy_constraints(one, budget))
        values.append(program and program.value(answered(program, "exact")[1].counts))

    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize(
    "objective", [n for n in objectives.names() if objectives.load(n).is_packing]
)
@settings(max_examples=40)
@given(hist=shared_histograms())
def test_a_larger_budget_never_lowers_the_value(objective, hist):
    values = []
    for ratio in ("1.1", "1.5", "2", "4"):
        budget = PrivacyBudget(exp_epsilon=ratio, delta="0.9")
        program = asked(objective, privacy_constraints(hist, budget))
        values.append(program.value(answered(program, "exact")[1].counts))

    assert values == sorted(values)


@every_objective
def test_what_cannot_be_released_gives_an_empty_plan_or_says_so(objective):
    constraints = privacy_constraints(
        histogram([[1], [1]]), PrivacyBudget(exp_epsilon="1.1", delta="0.1")
    )
    program = asked(objective, constraints)

    assert program is None or answered(program, "exact")[1].size == 0


def papers_loop(hist, constraints):
    """Algorithm 2 word for word, in O(n²)."""
    y = np.ones(hist.pairs, dtype=np.int64)
    share = hist.count / hist.pair_total[hist.pair]
    while y.any():
        left = np.where(y[hist.pair] > 0, share, -1.0)
        y[hist.pair[int(np.argmax(left))]] = 0
        if all(constraints.allows_user(user, y) for user in range(hist.users)):
            break
    return y


@given(hist=shared_histograms(), budget=budgets)
def test_spe_is_never_worse_than_the_papers_loop(hist, budget):
    constraints = privacy_constraints(hist, budget)
    program = asked("diversity", constraints)

    assert answered(program, "spe")[1].pairs >= papers_loop(hist, constraints).sum()
