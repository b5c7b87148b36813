"""The weights that users give, against the page of proofs in Python's integers and rationals."""

from fractions import Fraction
from math import floor, isqrt
from types import SimpleNamespace

import numpy as np
import pytest
from bench.selectors import adaptive_degree, policy_gaussian
from hypothesis import example, given
from hypothesis import strategies as st

from slogan.dp.selection import SelectionBudget
from slogan.dp.selection._weights import (
    BITS,
    CLOSED,
    GRID,
    HALVINGS,
    MOST,
    UNIT,
    Contributions,
    _root,
    spread,
)
from slogan.dp.selection.pooled import EASED
from slogan.errors import OptionError
from slogan.randomness import SeededRandomness

ONE = 2**20
FINE = 2**40


def spoken(sets, pairs, most=MOST):
    """Users that contribute these sets of pairs."""
    return Contributions(
        start=np.cumsum([0, *map(len, sets)]),
        pair=np.array([pair for chosen in sets for pair in sorted(chosen)], dtype=np.int64),
        pairs=pairs,
        most=most,
    )


def any_sets(pairs):
    return st.lists(st.sets(st.integers(0, pairs - 1)), min_size=1, max_size=5)


# --- one unit of norm, spread over pairs ---


def spread_exactly(sets, halvings, heaviest):
    total = [0] * len(halvings)
    for chosen in sets:
        shares = {i: Fraction(1, 2 ** halvings[i]) for i in chosen if halvings[i] < CLOSED}
        square = sum(share**2 for share in shares.values())
        for i, share in shares.items():
            total[i] += min(isqrt(floor(share**2 * ONE**2 / square)), heaviest[len(chosen)])
    return total


ROUNDED = [2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6]
"""Of the last three ⌈4^20/Σg²⌉ is a square and ⌊4^20/Σg²⌋ is not."""


@given(
    st.lists(st.integers(0, CLOSED), min_size=1, max_size=14).flatmap(
        lambda halvings: st.tuples(st.just(halvings), any_sets(len(halvings)))
    ),
    st.lists(st.integers(0, ONE), min_size=15, max_size=15),
)
@example((ROUNDED, [set(range(13))]), [ONE] * 15)
@example(([HALVINGS], [set(), {0}]), [0, ONE])  # a user with nothing, one with the least attention
@example(([CLOSED, 0], [{0}, {0, 1}, {1}]), [0, ONE - 1, ONE // 2])
def test_weights_are_rounded_towards_zero_and_capped(log, heaviest):
    halvings, sets = log
    found = spread(
        spoken(sets, len(halvings)), np.array(halvings, dtype=np.int8), np.array(heaviest)
    )

    assert found.tolist() == spread_exactly(sets, halvings, heaviest)
    assert found.dtype == np.int64


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_without_a_cap_a_user_gives_all_it_may(number):
    """For the largest number of contributed pairs, and for one."""
    sets = [set(range(number)), {0}]
    found = spread(spoken(sets, number, most=number), np.zeros(number, dtype=np.int8))

    assert found.tolist() == spread_exactly(sets, [0] * number, [ONE] * (number + 1))


def test_a_histogram_elsewhere_spreads_by_itself():
    asked = []

    def there(halvings, heaviest):
        asked.append((halvings.tolist(), heaviest.tolist()))
        return "sums"

    elsewhere = SimpleNamespace(most=2, spread=there)
    halvings = np.zeros(1, dtype=np.int8)

    assert spread(elsewhere, halvings) == spread(elsewhere, halvings, np.array([5])) == "sums"
    assert asked == [([0], [ONE] * 3), ([0], [5])]


@given(st.integers(0, 2**53 - 1), st.integers(1, isqrt(2**53 - 1)))
@example(0, 2**26 + 1)  # the float's root of one less is 2^26 + 1
@example(2**53 - 1, isqrt(2**53 - 1))
def test_roots_below_2_to_the_53_are_exact(number, base):
    for square in (number, base * base, base * base - 1):
        assert _root(np.int64(square)) == isqrt(square)


def test_a_weight_of_one_is_a_unit_of_the_grid_and_its_root_a_float():
    assert UNIT * GRID == 1
    assert ONE == UNIT == 1 << BITS
    assert 4 ** (BITS + HALVINGS) < 2**53
    assert EASED <= HALVINGS < CLOSED


# --- policy_gaussian: towards the cutoff by one ---


def steps_of_each(sets, pairs, order, cutoff):
    """For each user in turn what its pairs lacked before, and what it gave to every pair."""
    chosen = spoken(sets, pairs)
    states = [
        policy_gaussian.filled(chosen, np.array(order[:n], dtype=np.int64), cutoff).tolist()
        for n in range(len(order) + 1)
    ]
    assert states[0] == [0] * pairs
    for user, before, after in zip(order, states[:-1], states[1:], strict=True):
        lacked = {i: cutoff - before[i] for i in sets[user]}
        yield lacked, {i: after[i] - before[i] for i in range(pairs)}


@given(
    any_sets(4).flatmap(lambda sets: st.tuples(st.just(sets), st.permutations(range(len(sets))))),
    st.one_of(st.integers(1, 9 * FINE), st.integers(-3, 3).map(lambda n: FINE + n)),
)
@example(([{0}], [0]), FINE + 1)
@example(([{0}], [0]), FINE - 1)
@example(([{0}], [0]), FINE)
@example(([{0}, {0}], [1, 0]), 2 * FINE)
@example(([{0, 1}], [0]), FINE)
def test_a_user_moves_its_pairs_towards_the_cutoff_by_one(log, cutoff):
    sets, order = log
    for lacked, given_ in steps_of_each(sets, 4, order, cutoff):
        square = sum(lack**2 for lack in lacked.values())
        assert all(given_[i] == 0 for i in range(4) if i not in lacked)
        assert sum(step**2 for step in given_.values()) <= FINE**2
        for i, lack in lacked.items():
            if square < FINE**2:
                assert given_[i] == lack
            else:  # rounded towards zero, short of the real step by less than 2
                assert given_[i] >= 0
                assert given_[i] ** 2 * square <= (lack * FINE) ** 2
                assert (given_[i] + 2) ** 2 * square > (lack * FINE) ** 2


def test_rounding_up_is_charged():
    """Users who each move two states apart by 4·√L0 steps at most."""
    apart = policy_gaussian._MOST_USERS * 4 * isqrt(MOST) * policy_gaussian._FINE_GRID

    assert apart <= policy_gaussian._STRAY == Fraction(1, 2**10)
    assert isqrt(MOST) ** 2 == MOST
    # what one ratio is short by reaches the others of a pair, up to 2^14 of them
    assert (
        6 * Fraction(1, 7) * Fraction(2**14, 2**24) <= adaptive_degree._STRAY == Fraction(1, 2**10)
    )


class Crowd:
    """A histogram of so many users that is never brought here."""

    class BroughtError(Exception):
        pass

    def __init__(self, users):
        self.users = users

    def brought(self):
        raise self.BroughtError


@pytest.mark.parametrize("module", [policy_gaussian, adaptive_degree])
def test_more_users_than_the_integers_are_made_for_are_refused(module):
    budget = SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 10))
    with pytest.raises(OptionError, match="16777216 users"):
        module.select(Crowd(2**24 + 1), budget, SeededRandomness(0))
    with pytest.raises(Crowd.BroughtError):
        module.select(Crowd(2**24), budget, SeededRandomness(0))


# --- adaptive_degree: what is above the cutoff goes back to its givers ---


def adapted_exactly(sets, pairs, cutoff):
    light = [chosen for chosen in sets if 0 < len(chosen) <= 6]
    whole = [sum(Fraction(i in chosen, len(chosen)) for chosen in light) for i in range(pairs)]
    above = [max(whole[i] - cutoff, 0) for i in range(pairs)]
    known = [min(whole[i], 2**14) for i in range(pairs)]
    ratio = [
        Fraction(floor(max(w - cutoff, 0) / w * 2**24), 2**24) if w else Fraction(0) for w in known
    ]
    even = spread_exactly(sets, [0] * pairs, [ONE] * (MOST + 1))
    weight = [Fraction(even[i], ONE) - above[i] for i in range(pairs)]
    for chosen in light:
        back = Fraction(1, 7) * sum(ratio[i] for i in chosen) / len(chosen) ** 2
        for i in chosen:
            weight[i] += back
    return weight


def adapted(sets, pairs, cutoff):
    found = adaptive_degree.adapted(spoken(sets, pairs), int(cutoff * adaptive_degree._WHOLE))
    assert found.dtype == np.int64
    return [Fraction(weight, adaptive_degree._UNITS) for weight in found.tolist()]


cutoffs = st.integers(1, 300).map(lambda n: Fraction(n, 60))


@given(st.lists(st.sets(st.integers(0, 8)), min_size=1, max_size=12), cutoffs)
@example([{0, 1, 2, 3, 4, 5}] * 9 + [{0, 1, 2, 3, 4, 5, 6}], Fraction(1))
@example([{0, 1, 2, 3, 4}] * 7, Fraction(7, 5))  # as much as the cutoff, and no more
@example([{0, 1, 2, 3}] * 3 + [{0}, {1}, set()], Fraction(61, 60))
def test_the_weights_of_adaptive_degree_are_those_of_the_page_of_proofs(sets, cutoff):
    assert adapted(sets, 9, cutoff) == adapted_exactly(sets, 9, cutoff)


@pytest.mark.parametrize("users", [2**14 - 1, 2**14 + 1, 17_000])
def test_a_ratio_stops_growing_where_its_rounding_would_matter(users):
    """Users with the same one pair: they get back the ratio of 2^14 users, at most."""
    cutoff, known = 3, min(users, 2**14)
    ratio = Fraction((known - cutoff) * 2**24 // known, 2**24)

    assert adapted([{0}] * users, 1, cutoff) == [cutoff + users * ratio / 7]


def test_returned_weight_keeps_a_users_norm_at_one_and_fits_in_64_bits():
    """2α(√n + 1) ≤ 1 for every n up to the largest degree."""
    back, most = adaptive_degree.BACK, adaptive_degree._MOST_USERS

    assert (1 / (2 * back) - 1) ** 2 >= adaptive_degree.DEGREE
    assert most * (1 + back) * adaptive_degree._UNITS < 2**63
