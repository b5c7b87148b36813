"""Sampling: totals kept, only owners shown, no floats."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import histogram, shared_histograms

from slogan.planning.plan import Plan
from slogan.planning.sampling import sample_users
from slogan.randomness import SeededRandomness, SystemRandomness


@given(hist=shared_histograms(), data=st.data())
def test_every_released_click_gets_one_user_who_holds_its_pair(hist, data):
    # pairs that are not released, also before and between those that are
    clicks = st.one_of(st.just(0), st.integers(0, 30))
    counts = data.draw(arrays(np.int64, hist.pairs, elements=clicks, fill=st.nothing()))

    output = sample_users(hist, Plan(counts), SystemRandomness())

    shown = np.zeros(hist.pairs, dtype=np.int64)
    np.add.at(shown, output.pair, output.count)
    assert (shown == counts).all()
    holders = set(zip(hist.user.tolist(), hist.pair.tolist(), strict=True))
    assert set(zip(output.user.tolist(), output.pair.tolist(), strict=True)) <= holders


def test_the_same_seed_gives_the_same_output_and_another_seed_another():
    hist = histogram([[5, 1], [1, 7], [3, 3]])
    planned = Plan(np.array([50, 50]))
    first, again, other = (
        sample_users(hist, planned, SeededRandomness(seed)).count.tolist() for seed in (1, 1, 2)
    )

    assert first == again != other


def test_more_draws_than_one_batch(monkeypatch):
    monkeypatch.setattr("slogan.planning.sampling._DRAWS_AT_ONCE", 7)
    hist = histogram([[2, 3], [4, 1]])

    output = sample_users(hist, Plan(np.array([20, 33])), SeededRandomness(0))

    assert output.clicks == 53
