"""isotonic(): never falling, nearest of all that never fall, and nothing where nothing falls."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, minimize

from slogan.isotonic import isotonic

epsilons, deltas = st.integers(1, 4).map(float), st.integers(1, 3).map(float)
points = st.lists(
    st.tuples(st.tuples(epsilons, deltas), st.floats(-100, 100)), min_size=1, max_size=10
)


def at_least(one, other):
    return one[0] >= other[0] and one[1] >= other[1]


def under_and_over(places):
    return [
        (a, b)
        for (a, one), (b, other) in itertools.permutations(enumerate(places), 2)
        if at_least(other, one)
    ]


@given(points=st.lists(st.tuples(st.tuples(st.floats(0, 9), st.floats(0, 1)), st.floats(0, 1e6))))
def test_a_larger_budget_never_has_less(points):
    places, values = [p for p, _ in points], [v for _, v in points]
    found = isotonic(places, values)

    assert all(found[a] <= found[b] for a, b in under_and_over(places))


@given(points=points)
def test_what_never_falls_stays_as_it_is(points):
    places = [place for place, _ in points]
    highest = [max(v for p, v in points if at_least(place, p)) for place in places]

    assert isotonic(places, highest) == highest


@given(points=points)
def test_what_is_monotone_is_left_alone_the_second_time(points):
    places = [place for place, _ in points]
    once = isotonic(places, [value for _, value in points])

    assert isotonic(places, once) == once


@given(points=points)
def test_it_says_no_more_than_some_smaller_budget_and_no_less_than_some_larger(points):
    """So a curator who may do what a smaller budget does is never promised too much."""
    found = isotonic(*zip(*points, strict=True))

    for (place, _), value in zip(points, found, strict=True):
        assert value <= max(v for p, v in points if at_least(place, p))
        assert value >= min(v for p, v in points if at_least(p, place))


@given(points=points)
def test_nothing_is_gained_in_total(points):
    """An upward push, as the largest of noisy averages would give, shows in the sum."""
    values = [value for _, value in points]

    assert sum(isotonic(*zip(*points, strict=True))) == pytest.approx(sum(values), abs=1e-9)


@given(points=points)
def test_it_is_the_nearest_of_all_that_never_fall(points):
    """The conditions of a projection on a cone: ⟨y − g, g⟩ = 0 and ⟨y − g, z⟩ ≤ 0 for every z of
    the cone, which the indicators of upper sets span, with the constants of either sign.
    """
    places, values = zip(*points, strict=True)
    found = isotonic(places, values)
    left = [Fraction(y) - Fraction(g) for y, g in zip(values, found, strict=True)]

    assert abs(sum(r * Fraction(g) for r, g in zip(left, found, strict=True))) <= 1e-6
    for corners in itertools.combinations_with_replacement(sorted(set(places)), 3):
        upper = [n for n, p in enumerate(places) if any(at_least(p, c) for c in corners)]
        assert sum(left[n] for n in upper) <= 1e-6


@settings(max_examples=15)
@given(points=points)
def test_a_general_solver_finds_nothing_nearer(points):
    places, values = zip(*points, strict=True)
    y = np.array(values)
    order = under_and_over(places)
    rule = {"type": "ineq", "fun": lambda g: np.array([0.0, *(g[b] - g[a] for a, b in order)])}
    found = np.array(isotonic(places, values))
    other = minimize(
        lambda g: ((g - y) ** 2).sum(),
        np.full(len(y), y.mean()),
        jac=lambda g: 2 * (g - y),
        constraints=[rule],
        method="SLSQP",
    )

    assert ((found - y) ** 2).sum() <= other.fun + 1e-3 * (1 + other.fun)


@given(values=st.lists(st.integers(0, 50).map(float), min_size=1, max_size=12))
def test_along_a_line_it_is_the_known_algorithm(values):
    places = [(float(n), 1e-6) for n in range(len(values))]

    assert isotonic(places, values) == pytest.approx(isotonic_regression(values).x.tolist())


def test_equal_budgets_have_one_value():
    assert isotonic([(1.0, 0.1), (1.0, 0.1), (2.0, 0.1)], [3.0, 1.0, 5.0]) == [2.0, 2.0, 5.0]


def test_budgets_of_which_neither_is_larger_are_left_alone():
    assert isotonic([(1.0, 0.2), (2.0, 0.1)], [7.0, 3.0]) == [7.0, 3.0]
