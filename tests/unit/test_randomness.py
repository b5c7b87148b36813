"""Random words, and integers below a bound drawn from them without any bias."""

import numpy as np
import pytest

from slogan.randomness import SeededRandomness, SystemRandomness, randomness, uniform_below


class Words:
    """Words that were chosen beforehand."""

    seed = 0

    def __init__(self, *words):
        self.left = list(words)

    def words(self, n):
        return np.array([self.left.pop(0) for _ in range(n)], dtype=np.uint64)


def drawn(bounds, *words):
    """What is drawn from these words, all of which must be needed."""
    rng = Words(*words)
    found = uniform_below(np.array(bounds), rng)
    assert found.dtype == np.int64
    assert rng.left == []
    return found.tolist()


@pytest.mark.parametrize("n", [3, 5, 6, 7, 10, 2**31 - 1, 2**53 + 1, 3 * 2**61, 2**63 - 1])
def test_the_last_multiple_of_the_bound_is_the_edge(n):
    edge = 2**64 // n * n

    assert drawn([n], edge - 1) == [n - 1]
    assert drawn([n], edge, 4) == [4 % n]
    assert drawn([n], 2**64 - 1, edge, 5) == [5 % n]


@pytest.mark.parametrize("n", [1, 2, 2**40, 2**62])
def test_a_power_of_two_keeps_every_word(n):
    assert drawn([n] * 3, 0, n, 2**64 - 1) == [0, 0, n - 1]


def test_only_those_are_drawn_again_that_were_refused_and_they_stay_in_place():
    beyond = 2**64 - 1

    assert drawn([7, 3, 10, 3], 8, beyond, 25, beyond, beyond, 5, 4) == [1, 1, 5, 2]
    assert drawn([]) == []


def test_a_seed_gives_the_same_words_everywhere():
    """What the seeds of old test runs stand for does not change."""
    words = SeededRandomness(1).words(3)

    assert words.dtype == np.uint64
    assert words.tolist() == [
        10094460274070323068,
        3504030782257114008,
        4886458583789953518,
    ]


def test_a_seeded_source_goes_on_and_tells_its_seed():
    rng = SeededRandomness(7)

    assert rng.seed == 7
    assert rng.words(2).tolist() + rng.words(0).tolist() + rng.words(1).tolist() == (
        SeededRandomness(7).words(3).tolist()
    )


def test_the_systems_words_are_as_many_as_asked_and_never_the_same():
    """Eight bytes a word; that two of 128 are equal has a chance of 2⁻⁵¹."""
    rng = SystemRandomness()
    words = [*rng.words(64).tolist(), *rng.words(64).tolist()]

    assert rng.seed is None
    assert len({*words}) == 128
    assert max(words) >= 2**62


def test_only_a_seed_makes_a_test_run():
    assert isinstance(randomness(None), SystemRandomness)
    assert randomness(0).seed == 0
