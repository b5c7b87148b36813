"""The parts of the packing solver, each against what it must not change or exceed."""

import itertools
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort, packing
from slogan.planning.solvers.packing import presolve, search
from slogan.planning.solvers.packing.presolve import Packing, components
from slogan.planning.solvers.packing.presolve import packing as reduced
from slogan.planning.solvers.packing.race import Search, _Race, best_of_both
from slogan.planning.solvers.packing.relaxation import Relaxation, clicks, violated

SMALL = {"users": (2, 5), "pairs": (1, 5), "clicks": 5}
few = budgets.filter(lambda b: b.allowance <= 4)


def programs(**sizes):
    return st.builds(
        lambda hist, budget, most: Program(
            constraints=privacy_constraints(hist, budget), most=most
        ),
        shared_histograms(**(sizes or SMALL)),
        few,
        st.sampled_from([None, 1]),
    )


def feasible(problem, x):
    return bool((problem.rows @ x <= problem.limit * (1 + 1e-9)).all())


def largest(problem):
    """The optimum by brute force."""
    return max(
        sum(x)
        for x in itertools.product(*(range(int(u) + 1) for u in problem.upper))
        if feasible(problem, np.array(x))
    )


def optimum(program):
    ranges = [range(int(u) + 1) for u in program.upper]
    every = (np.array(x, dtype=np.int64) for x in itertools.product(*ranges))
    return max(int(x.sum()) for x in every if program.constraints.allows(x))


@given(program=programs())
def test_presolve_keeps_the_optimum(program):
    assert largest(reduced(program)) == optimum(program)


@given(program=programs())
def test_parts_add_up_to_the_whole(program):
    whole = reduced(program)
    for small, most in itertools.product((0, 2, 100), (1, 3, 100)):
        parts = components(whole, small=small, most=most)
        assert len(parts) <= most + 1
        assert sorted(j for part in parts for j in part.kept.tolist()) == list(range(whole.pairs))
        assert sum(largest(part) for part in parts) == optimum(program)


def test_parts_that_end_late_leave_the_others_their_share_of_the_time(monkeypatch):
    """Three logs without a common user, the last twice as large; the first is proven at once."""
    taken = []

    def race(part, effort, _start):
        taken.append(effort.time_limit)
        if len(taken) > 1:
            time.sleep(effort.time_limit)
        return np.zeros(part.pairs, dtype=np.int64), int(part.upper.sum())

    monkeypatch.setattr(packing, "run_race", race)
    user, pair, before = list[np.ndarray](), list[np.ndarray](), 0
    for users in (150, 150, 300):
        here = np.arange(users)
        user += [before + here, before + (here + 1) % users]
        pair += [before + here, before + here]
        before += users
    user, pair = np.concatenate(user), np.concatenate(pair)
    hist = PairHistogram.of_rows(
        user=user, pair=pair, count=np.ones_like(user), users=before, query=np.arange(before)
    )
    program = Program(
        constraints=privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )

    packing.solve(program, Effort(time_limit=4.0))

    assert [round(seconds / sum(taken[1:]), 1) for seconds in taken[1:]] == [0.3, 0.7]
    assert taken[0] == pytest.approx(1.0, rel=0.1)
    assert sum(taken[1:]) <= 4.0


def relaxed(problem):
    """The relaxation, converged on its first rows."""
    found = Relaxation(problem)
    found.solve(never)
    return found


def never():
    return False


@given(program=programs())
def test_the_relaxation_never_bounds_below_the_optimum(program):
    """Stopped at once, converged, or tightened: any prices prove a bound."""
    problem = reduced(program)
    best = largest(problem)
    found = Relaxation(problem)
    assert found.bound >= best
    found.solve(lambda: True)
    assert found.bound >= best
    for _ in range(4):
        found.solve(never)
        assert found.bound >= best
        if not found.tighten(never):
            break


@given(program=programs(users=(2, 6), pairs=(2, 6), clicks=4), data=st.data())
def test_no_whole_counts_break_a_cut(program, data):
    problem = reduced(program)
    split = clicks(problem)
    z = data.draw(arrays(np.float64, split.count, elements=st.floats(0.3, 1)))
    found = violated(split, z * split.upper, np.arange(split.count), never)
    cuts = sp.vstack([found, split.exclusive()])
    for x in itertools.product(*(range(int(u) + 1) for u in problem.upper)):
        if feasible(problem, np.array(x)):
            whole = np.clip(np.array(x)[split.pair] - split.rank + 1, 0, split.upper)
            assert split.of_pairs(whole).tolist() == list(x)
            assert (cuts @ whole <= 1 + 1e-9).all()
            assert (split.ordered() @ whole <= 1e-9).all()


def test_a_cut_over_several_users_is_found():
    """Any two of three users share a pair, so one click fits; each user alone lets 1.5 pass."""
    hist = histogram([[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    found = relaxed(reduced(Program(constraints=constraints)))
    assert found.bound == pytest.approx(1.5, rel=1e-3)

    assert found.tighten(never)
    found.solve(never)
    assert found.bound == pytest.approx(1.0, rel=1e-3)


def test_the_second_click_of_a_pair_is_known_to_exclude_more_than_the_first():
    """One click of each pair fits, two of either exclude the other; x/upper would let 2⅓ pass."""
    problem = Packing(
        kept=np.arange(2),
        columns=sp.csc_array(np.array([[0.4, 0.55]])),
        limit=np.ones(1),
        upper=np.array([2, 1]),
    )
    found = relaxed(problem)
    while found.tighten(never):
        found.solve(never)

    assert found.bound == pytest.approx(2.0, rel=1e-3)
    assert largest(problem) == 2


@given(
    program=programs(users=(2, 8), pairs=(1, 8), clicks=6),
    seed=st.integers(0, 2**31),
    losses=st.sampled_from([0.0, 0.5]),
)
def test_a_search_keeps_its_state_consistent(program, seed, losses):
    """After any moves the state says what a fresh one would say of the same counts."""
    problem = reduced(program)
    if problem.pairs == 0:
        return
    matrix = problem.matrix._replace(price=relaxed(problem).price)
    state = search.fresh_state(np.zeros(problem.pairs, np.int64), matrix)
    search.fill(np.arange(problem.pairs), matrix, state)
    before, best = state.x.sum(), state.x.copy()
    search.search(matrix, state, np.arange(problem.pairs), 500, seed, losses, best)
    fresh = search.fresh_state(state.x, matrix)

    for name in ("slack", "fits", "blocked"):
        assert np.array_equal(getattr(state, name), getattr(fresh, name)), name
    assert feasible(problem, state.x)
    assert (state.x <= problem.upper).all()
    assert best.sum() >= max(before, state.x.sum())
    assert losses or state.x.sum() >= before
    assert feasible(problem, best)


@given(program=programs(users=(3, 8), pairs=(2, 8), clicks=4), data=st.data())
def test_the_best_of_two_solutions_is_a_solution_and_no_smaller_than_either(program, data):
    problem = reduced(program)
    if problem.pairs == 0:
        return
    matrix = problem.matrix._replace(price=np.ones(problem.pairs))
    both = []
    for _ in range(2):
        order = np.array(data.draw(st.permutations(range(problem.pairs))))
        state = search.fresh_state(np.zeros(problem.pairs, np.int64), matrix)
        search.fill(order, matrix, state)
        both.append(state.x)
    joined = best_of_both(problem, *both)

    assert feasible(problem, joined)
    assert joined.sum() >= max(x.sum() for x in both)


@given(
    rows=arrays(np.int64, (4, 5), elements=st.integers(0, 3)),
)
def test_dominated_rows_are_implied_by_another_that_stays(rows):
    matrix, columns = sp.csr_array(rows), sp.csc_array(rows)
    matrix.sort_indices()
    dropped = presolve.implied_rows(
        *(a.astype(np.int64) for a in (matrix.indptr, matrix.indices, matrix.data)),
        *(a.astype(np.int64) for a in (columns.indptr, columns.indices)),
    )
    for k in np.flatnonzero(dropped):
        assert any((rows[k] <= rows[other]).all() for other in np.flatnonzero(~dropped))


@given(
    rows=arrays(np.int64, (4, 6), elements=st.integers(0, 4)),
    upper=arrays(np.int64, 6, elements=st.integers(1, 2)),
)
def test_a_dominated_pair_can_be_replaced_by_one_that_stays(rows, upper):
    rows[0] = np.maximum(rows[0], 1)
    columns, limit = sp.csc_array(rows.astype(np.float64)), np.full(4, 4.0)
    problem = Packing(kept=np.arange(6), columns=columns, limit=limit, upper=upper)
    dominated = presolve.dominated_pairs(problem.matrix)

    for j in np.flatnonzero(dominated):
        assert any(
            (rows[:, i] <= rows[:, j]).all() and (rows[:, i] + rows[:, j] > 4).any()
            for i in np.flatnonzero(~dominated)
        )


def test_of_pairs_that_cost_the_same_the_first_stays_if_there_is_room_for_one_only():
    def dominated(limit):
        columns = sp.csc_array(np.array([[1.0, 1.0], [2.0, 2.0]]))
        upper = np.ones(2, np.int64)
        problem = Packing(kept=np.arange(2), columns=columns, limit=limit, upper=upper)
        return presolve.dominated_pairs(problem.matrix).tolist()

    assert dominated(np.array([2.0, 3.0])) == [False, True]
    assert dominated(np.array([2.0, 4.0])) == [False, False]


def crowd(users=60, pairs=50, seed=5):
    """A log with overlapping groups, large enough for the search to have work."""
    rng = np.random.default_rng(seed)
    table = np.zeros((users, pairs), dtype=np.int64)
    for pair in range(pairs):
        holders = rng.choice(users, size=2 + rng.geometric(0.4), replace=False)
        table[holders, pair] = rng.integers(1, 3, len(holders))
    return histogram(table.tolist()).without_unique_pairs()


sizes = pytest.mark.parametrize(
    "size", [(40, 34), pytest.param((60, 50), marks=pytest.mark.long)], ids="{0[0]} users".format
)
# A search uses up its time unless it proves its answer.
time_limits = pytest.mark.parametrize("seconds", [0.4, pytest.param(2, marks=pytest.mark.long)])


@sizes
@pytest.mark.parametrize("most", [None, 1])
def test_the_same_value_every_time_and_on_easy_logs_the_same_counts(most, size):
    """Where search and HiGHS race, either may be the first to find one of several optima."""
    program = Program(
        constraints=privacy_constraints(crowd(*size), PrivacyBudget(exp_epsilon=2, delta="0.5")),
        most=most,
    )
    first, again = (packing.solve(program, Effort(time_limit=120)) for _ in range(2))

    assert first.x.sum() == again.x.sum() == first.bound == again.bound
    assert size == (60, 50) or np.array_equal(first.x, again.x)


def test_two_searchers_give_the_same_answer_in_any_order(monkeypatch):
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", 1)
    program = Program(
        constraints=privacy_constraints(crowd(), PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )
    problem = reduced(program)
    prices = relaxed(problem)
    answers = []
    for _ in range(2):
        search = Search(problem, prices)
        for _ in range(3):
            search.round()
        answers.append(search.x)
        assert feasible(problem, search.x)

    assert np.array_equal(*answers)


@time_limits
@settings(max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_a_proposal_passes_the_gate_unchanged(seconds, seed):
    constraints = privacy_constraints(
        crowd(users=40, pairs=30, seed=seed), PrivacyBudget(exp_epsilon="2.25", delta="0.8")
    )
    solution = packing.solve(Program(constraints=constraints), Effort(time_limit=seconds))

    assert np.array_equal(plan(solution.x, constraints).counts, solution.x)
    assert solution.x.sum() <= solution.bound


def test_a_goal_stops_the_search():
    constraints = privacy_constraints(crowd(), PrivacyBudget(exp_epsilon=2, delta="0.5"))
    told = []
    effort = Effort(time_limit=60, goal=1, report=lambda value, bound: told.append(value))
    packing.solve(Program(constraints=constraints), effort)

    assert not any(told)  # the first answer was enough


def solved(hist, budget, seconds, most=None):
    program = Program(constraints=privacy_constraints(hist, budget), most=most)
    solution = packing.solve(program, Effort(time_limit=seconds, gap=0.0))
    return int(solution.x.sum()), solution.bound


@time_limits
@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), data=st.data())
def test_renumbering_users_and_pairs_changes_nothing(seconds, seed, data):
    hist = crowd(users=30, pairs=24, seed=seed)
    users = np.array(data.draw(st.permutations(range(hist.users))))
    pairs = np.array(data.draw(st.permutations(range(hist.pairs))))
    query = np.empty_like(hist.query)
    query[pairs] = hist.query
    other = PairHistogram.of_rows(
        user=users[hist.user],
        pair=pairs[hist.pair],
        count=hist.count,
        users=hist.users,
        query=query,
    )
    budget = PrivacyBudget(exp_epsilon="2.25", delta="0.8")

    (value, bound), (same, limit) = (solved(each, budget, seconds) for each in (hist, other))
    assert value <= limit
    assert same <= bound
    assert value == same or max(bound, limit) > max(value, same)  # equal wherever it is proven


@time_limits
@settings(max_examples=5)
@given(seed=st.integers(0, 10_000), most=st.sampled_from([None, 1]))
def test_more_budget_never_lowers_the_value_by_more_than_the_gap(seconds, seed, most):
    hist = crowd(users=40, pairs=40, seed=seed)
    before = 0
    for exp_epsilon in ("1.3", "1.6", "2", "2.5", "3"):
        budget = PrivacyBudget(exp_epsilon=exp_epsilon, delta="0.7")
        value, bound = solved(hist, budget, seconds, most)
        assert before - value <= bound - value
        before = value


def test_a_large_log_is_cooled_until_the_time_is_over(monkeypatch):
    """The same shares of the time give the same counts; fewer and fewer losses are kept."""
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", 1)
    program = Program(
        constraints=privacy_constraints(crowd(), PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )
    problem, original, losses = reduced(program), search.search, []
    prices = relaxed(problem)

    def watched(*args):
        losses.append(args[5])
        return original(*args)

    monkeypatch.setattr(search, "search", watched)
    answers = []
    for _ in range(2):
        losses.clear()
        found = Search(problem, prices)
        sizes = [found.size]
        for n in range(20):
            found.round((n + 1) / 20)
            sizes.append(found.size)
        assert sizes == sorted(sizes)
        assert feasible(problem, found.x)
        kept = [loss for loss in losses if loss > 0]
        assert len(kept) > 10
        assert kept == sorted(kept, reverse=True)
        assert kept[-1] < 0.2 * kept[0]
        answers.append(found.x)

    assert np.array_equal(*answers)


def test_branch_and_bound_behind_the_relaxation_is_stopped():
    """After two fifths of the time, on a log that it cannot finish; the search goes on alone."""
    rng = np.random.default_rng(7)
    table = (rng.random((150, 400)) < 0.03).astype(int)
    constraints = privacy_constraints(
        histogram(table.tolist()).without_unique_pairs(), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    problem, stopped = reduced(Program(constraints=constraints)), []

    class Hopeless:
        """Branch and bound that never proves anything."""

        bound, finished, optimal, cancelled = 10**9, False, False, False
        counts = np.zeros(problem.pairs, np.int64)

        def offer(self, x):
            """Ignored."""

        def cancel(self):
            self.cancelled = True
            stopped.append(self)

        def stop(self):
            return self.counts, self.bound

    race = _Race(problem, Effort(time_limit=2), [Hopeless()])
    x, bound = race.run()

    assert len(stopped) == 1
    assert feasible(problem, x)
    assert x.sum() <= bound < 10**9


def test_an_error_in_the_thread_is_raised(monkeypatch):
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", 1)
    constraints = privacy_constraints(crowd(), PrivacyBudget(exp_epsilon=2, delta="0.5"))

    def broken(self, late):
        raise MemoryError

    monkeypatch.setattr(Relaxation, "tighten_on", broken)
    with pytest.raises(MemoryError):
        packing.solve(Program(constraints=constraints), Effort(time_limit=5))


@sizes
def test_a_large_problem_is_bounded_while_it_is_searched(monkeypatch, size):
    """Two searchers and the thread that tightens, on a log small enough to know the optimum."""
    program = Program(
        constraints=privacy_constraints(crowd(*size), PrivacyBudget(exp_epsilon=2, delta="0.5"))
    )
    known = packing.solve(program, Effort(time_limit=60, gap=0.0))
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", 1)
    found = packing.solve(program, Effort(time_limit=2, gap=0.0))

    assert found.x.sum() <= known.bound
    assert known.x.sum() <= found.bound
    assert found.x.sum() >= 0.95 * known.x.sum()
