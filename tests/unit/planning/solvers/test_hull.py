"""Cuts of one user's row: what whole counts obey, checked against all of them."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from slogan.planning.solvers.packing.hull import hull_cuts
from slogan.planning.solvers.packing.presolve import Packing
from slogan.planning.solvers.packing.relaxation import Relaxation, clicks

shares = st.integers(20, 100).map(lambda n: n / 100)


def one_user(costs, limit=1.0):
    """The packing problem of one user; as many clicks of a pair as fit."""
    costs = np.array(costs)
    upper = np.floor(limit / costs + 1e-9).astype(np.int64)
    columns = sp.csc_array(costs[None, :])
    return Packing(
        kept=np.arange(len(costs)), columns=columns, limit=np.array([limit]), upper=upper
    )


def every_fit(problem):
    for x in itertools.product(*(range(int(u) + 1) for u in problem.upper)):
        if (problem.rows @ np.array(x) <= problem.limit * (1 + 1e-12)).all():
            yield np.array(x)


def cuts_of(problem, z):
    split = clicks(problem)
    first = np.append(np.flatnonzero(split.rank == 1), split.count)
    return sp.vstack([*hull_cuts(split.of_counts, first, z)], format="csr")


def variables_of(split, x):
    return np.clip(x[split.pair] - split.rank + 1, 0, split.upper)


@settings(max_examples=50)
@given(data=st.data(), costs=st.lists(shares, min_size=2, max_size=5))
def test_all_whole_counts_obey_a_cut(data, costs):
    problem = one_user(costs)
    split = clicks(problem)
    z = data.draw(arrays(np.float64, split.count, elements=st.floats(0, 1))) * split.upper
    cuts = cuts_of(problem, z)
    for x in every_fit(problem):
        assert (cuts @ variables_of(split, x) <= 1 + 1e-12).all()


@settings(max_examples=50)
@given(data=st.data(), costs=st.lists(shares, min_size=2, max_size=5))
def test_a_mixture_of_whole_counts_is_never_cut_off(data, costs):
    problem = one_user(costs)
    points = np.array([variables_of(clicks(problem), x) for x in every_fit(problem)])
    parts = data.draw(arrays(np.float64, len(points), elements=st.floats(0, 1)))
    if parts.sum() > 0.1:
        assert cuts_of(problem, parts @ points / parts.sum()).shape[0] == 0


@pytest.mark.parametrize("seed", range(6))
def test_of_one_user_nothing_is_left_between_bound_and_optimum(seed):
    rng = np.random.default_rng(seed)
    problem = one_user(np.round(rng.uniform(0.15, 0.7, 7), 3))
    best = max(x.sum() for x in every_fit(problem))
    found = Relaxation(problem)
    found.tighten_on(lambda: False)

    assert best <= found.bound < best + 0.1


def test_a_pair_outside_the_part_is_lifted():
    """Of three clicks that take 0.4 each two fit; so does a fourth in place of any of them."""
    problem = one_user([0.4, 0.4, 0.4, 0.36])
    split = clicks(problem)
    z = np.where(split.pair < 3, 0.8, 0.0) * (split.rank == 1)
    (cut,) = cuts_of(problem, z).toarray()

    assert cut[(split.pair == 3) & (split.rank == 1)] > 0
    assert cut @ z > 1


def test_ties_at_the_limit_fit():
    """Two clicks that take exactly the limit are allowed, so nothing is cut off."""
    problem = one_user([np.log(1.5), np.log(4 / 3), np.log(2)], limit=np.log(2))
    split = clicks(problem)
    assert cuts_of(problem, variables_of(split, np.array([1, 1, 0])).astype(float)).shape[0] == 0
