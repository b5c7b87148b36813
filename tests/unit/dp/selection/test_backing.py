"""Backing: a pair needs a user who stands for it, by a random number that no user knows."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2
from tests.unit.dp.selection.test_selection import LOOSE, everything, random_log

from slogan.dp.selection import pooled
from slogan.dp.selection._look import FEW, MANY
from slogan.dp.selection._weights import CLOSED, UNIT, caps, spread
from slogan.randomness import SeededRandomness, SystemRandomness

DRAWS = 200_000


def unlikely(drawn, rate):
    """The chance of such numbers if Pr[G ≥ x] = e^(−rate·x), in twenty classes alike."""
    edges = -np.log1p(-np.arange(20) / 20) / rate * UNIT
    inside = [np.exp(-rate * np.ceil([a, b]) / UNIT) for a, b in pairwise([*edges, np.inf])]
    chance = np.array([a - b for a, b in inside])
    seen = np.histogram(drawn, [*np.ceil(edges), np.inf])[0]
    return chi2.sf(((seen - DRAWS * chance) ** 2 / (DRAWS * chance)).sum(), 19)


@pytest.mark.parametrize("rate", ["1/64", "1573/1024", "37"])
def test_the_numbers_have_their_law(rate):
    drawn = pooled.backing(DRAWS, SystemRandomness(), rate=Fraction(rate))

    assert drawn.min() >= 0
    assert unlikely(drawn, float(Fraction(rate))) > 1e-7
    assert unlikely(drawn, float(Fraction(rate)) * 1.04) < 1e-7
    assert unlikely(drawn, float(Fraction(rate)) / 1.04) < 1e-7


def test_no_user_stands_for_less_than_it_weighs():
    """For any attention; a weight that is a hundredth larger would exceed what it stands for."""
    rng, exceeded, neighbours = np.random.default_rng(3), False, 0
    for seed in range(250):
        hist = random_log(rng, users=rng.integers(2, 14), pairs=rng.integers(1, 30), density=0.4)
        heaviest = pooled.schedule(LOOSE, (FEW, MANY)[seed % 2]).heaviest
        halvings = rng.integers(0, CLOSED + 1, hist.pairs).astype(np.int8)
        whole = caps(everything(hist), heaviest)
        for user in range(hist.users):
            less = everything(hist.without_user(user))
            stood = whole - caps(less, heaviest)
            mine = hist.pair[hist.user == user]
            assert stood[mine].tolist() == [heaviest[len(mine)]] * len(mine)
            assert stood.sum() == heaviest[len(mine)] * len(mine)
            moved = spread(everything(hist), halvings, heaviest) - spread(less, halvings, heaviest)
            assert (moved <= stood).all()
            exceeded |= bool((moved * 101 > stood * 100).any())
            neighbours += 1
    assert neighbours >= 1_500
    assert exceeded


def rounds_of(monkeypatch, hist, number, listed=None):
    """Attention and caps round by round, and the pairs selected, if each draws this number."""
    seen = []

    def noted(contributions, halvings, heaviest):
        seen.append((halvings.tolist(), caps(contributions, heaviest).tolist()))
        return spread(contributions, halvings, heaviest)

    monkeypatch.setattr(pooled, "spread", noted)
    monkeypatch.setattr(pooled, "backing", lambda n, *_, **__: np.full(n, number))
    return seen, pooled.select(hist, LOOSE, SeededRandomness(5), listed=listed).pairs.tolist()


def test_attention_does_not_depend_on_backing(monkeypatch):
    hist = random_log(np.random.default_rng(4), users=60, pairs=12, density=0.5)
    before, every = rounds_of(monkeypatch, hist, 0)
    after, none = rounds_of(monkeypatch, hist, max(before[0][1]))

    assert before == after
    assert len(every) > 1
    assert none == []


def test_a_pair_is_backed_by_more_than_its_number(monkeypatch):
    hist = random_log(np.random.default_rng(4), users=60, pairs=12, density=0.5)
    seen, every = rounds_of(monkeypatch, hist, 0)
    stood = np.array(seen[0][1])
    number = int(np.sort(stood[every])[len(every) // 2])
    _, some = rounds_of(monkeypatch, hist, number)

    assert some == [pair for pair in every if stood[pair] > number]


def test_public_pairs_need_no_backing(monkeypatch):
    hist = random_log(np.random.default_rng(4), users=60, pairs=12, density=0.5)
    _, every = rounds_of(monkeypatch, hist, 0, listed=np.array([1, 5]))
    _, listed = rounds_of(monkeypatch, hist, 1 << 60, listed=np.array([1, 5]))

    assert listed == [pair for pair in every if pair in (1, 5)] != []
