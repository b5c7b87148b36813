"""Effort.start: packing begins with it wherever presolve left it, and without one as ever."""

import hashlib
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import budgets, histogram, shared_histograms, starts

from slogan.budget import PrivacyBudget
from slogan.planning.constraints import privacy_constraints
from slogan.planning.program import Program
from slogan.planning.solvers import Effort, packing
from slogan.planning.solvers.packing import search
from slogan.planning.solvers.packing.presolve import packing as reduced
from slogan.planning.solvers.packing.race import Search
from slogan.planning.solvers.packing.relaxation import Relaxation

BUDGET = PrivacyBudget(exp_epsilon=3, delta="0.7")


def crowd(users=60, pairs=50, seed=5):
    """A log with overlapping groups, large enough for the search to have work."""
    rng = np.random.default_rng(seed)
    table = np.zeros((users, pairs), dtype=np.int64)
    for pair in range(pairs):
        holders = rng.choice(users, size=2 + rng.geometric(0.4), replace=False)
        table[holders, pair] = rng.integers(1, 3, len(holders))
    return histogram(table.tolist(), (np.arange(pairs) // 2).tolist()).without_unique_pairs()


def asked(hist, budget, kind="output_size"):
    return Program(
        constraints=privacy_constraints(hist, budget),
        most=None if kind == "output_size" else 1,
        at_most_one=hist.query if kind == "query_diversity" else None,
    )


def problem(**sizes):
    return reduced(asked(crowd(**sizes), BUDGET))


def prices(problem):
    """What a relaxation tells a search, here the same on every machine."""
    n = problem.pairs
    return SimpleNamespace(price=0.5 + np.arange(n) * 7 % n / n, x=np.zeros(n))


def searched(problem):
    """Counts after some rounds, better than the first."""
    search = Search(problem, prices(problem))
    for _ in range(4):
        search.round()
    return search.x


kinds = st.sampled_from(["output_size", "diversity", "query_diversity"])
programs = st.builds(asked, shared_histograms(users=(2, 8), pairs=(1, 8)), budgets, kinds)


# --- without a start ---


@pytest.mark.parametrize("large", [20_000, 1])
def test_without_a_start_the_search_begins_with_what_is_cheap_and_nothing_else(monkeypatch, large):
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", large)
    whole = problem()
    told = prices(whole)
    matrix = whole.matrix._replace(price=told.price)
    state = search.fresh_state(np.zeros(whole.pairs, np.int64), matrix)
    cheap = np.argsort(told.price, kind="stable")
    search.fill(cheap[told.price[cheap] < 1.45] if large == 1 else cheap, matrix, state)

    assert np.array_equal(Search(whole, told).x, state.x)


@pytest.mark.parametrize(
    ("large", "digest"),
    [
        (20_000, "e5e2b04d5580fb2463d12a690042b5cb938cc38573e18b6309d8ae785857997d"),
        (1, "151d9300c92d8952da9e82dffec0164e75885152ea1394cf47dbd2630134bbb7"),
    ],
    ids=["one searcher", "two searchers"],
)
def test_without_a_start_the_search_gives_its_former_result(monkeypatch, large, digest):
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", large)
    whole = problem(users=400, pairs=600)
    search = Search(whole, prices(whole))
    for _ in range(12):
        search.round()

    assert hashlib.sha256(search.x.tobytes()).hexdigest() == digest


@pytest.mark.parametrize("large", [20_000, 1])
def test_an_empty_start_changes_nothing(monkeypatch, large):
    monkeypatch.setattr("slogan.planning.solvers.packing.race._LARGE", large)
    whole = problem()
    nothing = np.zeros(whole.pairs, np.int64)
    one, other = Search(whole, prices(whole)), Search(whole, prices(whole), nothing)
    for _ in range(6):
        assert np.array_equal(one.x, other.x)
        one.round()
        other.round()


# --- with a start ---


@given(program=programs, data=st.data())
def test_every_part_of_the_log_gets_what_presolve_left_of_the_start(program, data):
    """A race that answers with its start shows where every count went."""
    start, small = data.draw(starts(program)), data.draw(st.sampled_from([0, 2, 500]))

    def echo(part, effort, start):
        assert (start <= part.upper).all()
        return start, int(part.upper.sum())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "run_race", echo)
        patch.setattr(packing, "_SMALL", small)
        counts, _ = packing._packed(program, Effort(start=start))
    kept = reduced(program).kept

    assert np.array_equal(counts[kept], start[kept])
    assert counts.sum() == start[kept].sum()


@settings(max_examples=50)
@given(program=programs, data=st.data(), large=st.sampled_from([20_000, 1]))
def test_a_search_begins_no_lower_than_its_start_nor_than_without(program, data, large):
    whole = reduced(program)
    if whole.pairs == 0:
        return
    start = data.draw(starts(program))[whole.kept]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slogan.planning.solvers.packing.race._LARGE", large)
        search, again = (Search(whole, Relaxation(whole), start) for _ in range(2))
        alone = Search(whole, Relaxation(whole))
    first = search.size
    assert first >= max(start.sum(), alone.size)
    search.round()
    again.round()

    assert search.size >= first
    assert np.array_equal(search.x, again.x)
    assert program.allows(whole.expand(search.x, program.pairs))


@settings(max_examples=50)
@given(program=programs, data=st.data())
def test_an_infeasible_start_is_repaired(program, data):
    start = data.draw(arrays(np.int64, program.pairs, elements=st.integers(0, 2**40)))
    solution = packing.solve(program, Effort(time_limit=20, gap=0.0, start=start))

    assert program.allows(solution.x.astype(np.int64))
    assert solution.x.sum() <= solution.bound


@pytest.mark.parametrize("kind", ["output_size", "diversity", "query_diversity"])
def test_the_start_is_kept_before_the_first_round(kind):
    program = asked(crowd(), BUDGET, kind)
    whole = reduced(program)
    found = searched(whole)

    assert Search(whole, prices(whole)).size < found.sum()
    assert Search(whole, prices(whole), found).size >= found.sum()


def test_pairs_that_presolve_removes_are_replaced():
    """Both users hold both pairs and one click fits: the second pair is dominated by the first."""
    program = asked(histogram([[2, 2], [2, 2]]), PrivacyBudget(exp_epsilon=2, delta="0.5"))
    start = np.array([0, 1])
    assert reduced(program).kept.tolist() == [0]

    assert packing.solve(program, Effort(start=start)).x.tolist() == [1, 0]


def test_a_start_that_the_search_does_not_reach_is_the_answer(monkeypatch):
    program = asked(crowd(), BUDGET)
    whole = reduced(program)
    found = whole.expand(searched(whole), program.pairs)

    def lazy(part, effort, start):
        return np.zeros(part.pairs, np.int64), int(part.upper.sum())

    monkeypatch.setattr(packing, "run_race", lazy)
    assert packing.solve(program, Effort()).x.sum() == 0
    assert np.array_equal(packing.solve(program, Effort(start=found)).x, found)


def test_efforts_are_compared_without_their_start():
    assert Effort(start=np.array([1, 2])) == Effort(start=np.array([3, 4]))
