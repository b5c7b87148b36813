"""running_maximum(): the value of a budget is the best average that it or a smaller one reaches."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from slogan.workflows.dry_runs import SynthesizedPoint, running_maximum


def point(epsilon, delta, average):
    return SynthesizedPoint(
        epsilon=epsilon,
        delta=delta,
        value=average,
        average=average,
        pairs_least=0,
        pairs_most=9,
        clicks=1.0,
        coverage=0.5,
        recall=None,
        precision=None,
        sum_support_distance=0.0,
    )


points = st.lists(
    st.builds(
        point,
        st.integers(1, 4).map(float),
        st.integers(1, 3).map(float),
        st.integers(0, 50).map(float),
    ),
    max_size=10,
)


def values(*given):
    return [found.value for found in running_maximum([point(*one) for one in given])]


@given(points)
def test_a_larger_budget_never_has_less(points):
    found = running_maximum(points)

    for one, other in itertools.permutations(found, 2):
        if one.epsilon <= other.epsilon and one.delta <= other.delta:
            assert one.value <= other.value


@given(points)
def test_a_value_is_an_average_of_this_or_a_smaller_budget(points):
    for found, tried in zip(running_maximum(points), points, strict=True):
        assert found.value >= found.average == tried.average
        assert any(
            other.average == found.value
            and other.epsilon <= found.epsilon
            and other.delta <= found.delta
            for other in points
        )


def test_averages_that_never_fall_are_values():
    assert values((1, 0.1, 2.0), (1, 0.2, 2.0), (2, 0.1, 5.0), (2, 0.2, 6.0)) == [2, 2, 5, 6]


def test_a_fall_is_filled_up_whatever_the_order_of_budgets():
    assert values((2, 0.1, 3.0), (1, 0.1, 7.0), (3, 0.1, 5.0)) == [7, 7, 7]


def test_equal_budgets_have_one_value():
    assert values((1, 0.1, 3.0), (1, 0.1, 1.0)) == [3, 3]


def test_budgets_of_which_neither_is_larger_are_left_alone():
    assert values((1, 0.2, 7.0), (2, 0.1, 3.0)) == [7, 3]
