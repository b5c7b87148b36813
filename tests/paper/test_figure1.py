"""The example of the paper's Figure 1 and section 3.2: five pairs, three users."""

from fractions import Fraction

import numpy as np
from tests.strategies import histogram

from slogan.planning.plan import Plan
from slogan.planning.sampling import sample_users
from slogan.randomness import SeededRandomness

# Users 081, 082, 083; "google, google.com" is the third pair, "car price, kbb.com" the fifth.
CLICKS = [
    [2, 3, 15, 0, 0],
    [0, 0, 7, 0, 2],
    [0, 1, 17, 1, 5],
]
RELEASED = np.array([0, 3, 20, 0, 4])


def test_input_supports():
    hist = histogram(CLICKS)

    supports = [Fraction(int(n), hist.clicks) for n in hist.pair_total]

    assert hist.clicks == 53
    assert supports == [Fraction(n, 53) for n in (2, 4, 39, 1, 7)]


def test_output_supports():
    output = sample_users(histogram(CLICKS), Plan(RELEASED), SeededRandomness(0))
    total = np.zeros(5, dtype=np.int64)
    np.add.at(total, output.pair, output.count)

    supports = [Fraction(int(n), output.clicks) for n in total]

    assert supports == [Fraction(n, 27) for n in (0, 3, 20, 0, 4)]


def test_unique_pairs_are_the_first_and_the_fourth():
    hist = histogram(CLICKS)

    assert np.flatnonzero(hist.holders == 1).tolist() == [0, 3]
    assert hist.without_unique_pairs().pair_total.tolist() == [4, 39, 7]


def test_expected_counts_of_triplets():
    """E[x_ijk] = x_ij · c_ijk / c_ij: the mean of many samples comes within 5 standard errors."""
    hist = histogram(CLICKS)
    expected = np.array(CLICKS) * RELEASED / hist.pair_total
    samples = 4_000
    shown = np.zeros_like(expected)
    rng = SeededRandomness(81)
    for _ in range(samples):
        output = sample_users(hist, Plan(RELEASED), rng)
        np.add.at(shown, (output.user, output.pair), output.count)
    share = np.array(CLICKS) / hist.pair_total
    error = np.sqrt(RELEASED * share * (1 - share) / samples)

    assert expected[1, 4] == 4 * 2 / 7  # user 082 and "car price", as the text has it
    assert (np.abs(shown / samples - expected) <= 5 * error + 1e-12).all()
