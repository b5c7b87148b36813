"""Noise: every decision is the one that real numbers would take, and nothing is a float."""

import ast
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slogan.dp import noise
from slogan.dp.intervals import exp_enclosure
from slogan.dp.noise import (
    FALL_ERROR,
    STRIPS,
    Decay,
    Inversion,
    Strips,
    _edges,
    poisson_window,
)
from slogan.errors import NoiseError
from slogan.randomness import SeededRandomness, SystemRandomness

WORD = 2**64
words = st.integers(0, WORD - 1)
rationals = st.fractions(min_value=Fraction(1, 50), max_value=1_000, max_denominator=10**6)

LAWS = {
    "floored_gaussian": lambda n, rng, size: noise.floored_gaussian(n, rng, variance=size),
    "discrete_laplace": lambda n, rng, size: noise.discrete_laplace(n, rng, scale=size),
    "poisson": lambda n, rng, size: noise.poisson(n, rng, rate=size),
}
DECAYS = {
    "line": Decay(linear=Fraction(1, 130)),
    "steep line": Decay(linear=Fraction(10, 3)),
    "square": Decay(square=Fraction(1, 40_000)),
    "steep square": Decay(square=Fraction(3, 14)),
    "nothing but 0": Decay(square=Fraction(2**90)),
}


class Scripted:
    """A random source that returns given words, then zeros."""

    seed = 0

    def __init__(self, *script):
        self.left = [np.atleast_1d(np.array(part, dtype=np.uint64)) for part in script]

    def words(self, n):
        part = self.left.pop(0) if self.left else np.zeros(n, dtype=np.uint64)
        assert len(part) == n
        return part


def decimal(number):
    number = Fraction(number)
    return Decimal(number.numerator) / Decimal(number.denominator)


def exp_minus(power, digits=90):
    """e^−power to about 90 decimals: the oracle, which shares no code with ours."""
    with localcontext() as context:
        context.prec = digits + 30
        return Fraction((-decimal(power)).exp())


# --- enclosures ---


@given(power=st.fractions(0, 5_000, max_denominator=10**9), bits=st.integers(1, 200))
def test_an_enclosure_of_exp_holds_it_and_little_else(power, bits):
    low, high = exp_enclosure(power, bits)
    true = exp_minus(power) * 2**bits

    assert low <= true <= high <= low + 2


@given(power=st.fractions(0, 50, max_denominator=10**9), bits=st.integers(1, 200))
def test_without_guard_digits_an_enclosure_is_wider_and_still_holds(power, bits):
    """Guard digits hide a bound that is a few units too tight; here they hide nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("slogan.dp.intervals._GUARD", 0)
        low, high = exp_enclosure(power, bits)

    assert low <= exp_minus(power) * 2**bits <= high


def test_exp_of_zero_is_known_exactly():
    assert exp_enclosure(Fraction(0), 70) == (2**70, 2**70)


def test_exp_of_a_huge_negative_power_is_almost_zero():
    assert exp_enclosure(Fraction(2**95), 64) == (0, 1)


@pytest.mark.parametrize(
    "steepest", [Decay(linear=Fraction(1, 2**7)), Decay(square=Fraction(1, 2**15))]
)
@given(share=st.fractions(Fraction(1, 8), 1), strip=st.integers(0, STRIPS - 1), fraction=words)
def test_the_fall_in_64_bits_is_short_by_less_than_its_error(steepest, share, strip, fraction):
    decay = Decay(linear=steepest.linear * share, square=steepest.square * share)
    fall = int(decay.fall(np.array([strip]), np.array([fraction], dtype=np.uint64))[0])
    nearest = 2**32 * decay.power(strip, Fraction(fraction, WORD))
    farthest = 2**32 * decay.power(strip, Fraction(fraction + 1, WORD))

    assert fall <= nearest < farthest < fall + FALL_ERROR


def test_the_fall_fits_in_64_bits_at_its_very_largest():
    decay = Decay(linear=Fraction(1, 2**7), square=Fraction(1, 2**15))
    fall = decay.fall(np.array([STRIPS - 1]), np.array([WORD - 1], dtype=np.uint64))
    true = 2**32 * decay.power(STRIPS - 1, Fraction(1))

    assert int(fall[0]) <= true < int(fall[0]) + FALL_ERROR


# --- inversion ---


def exact_edges(masses):
    """F(0), F(1), … from masses that leave out less than 10^−60."""
    total = sum(masses)
    edges, so_far = [], Fraction(0)
    for mass in masses:
        so_far += mass
        edges.append(so_far / total)
    return edges


def decay_masses(decay):
    masses = [Fraction(1)]
    while masses[-1] > Fraction(1, 10**64):
        k = len(masses)
        masses.append(exp_minus(decay.linear * k + decay.square * k * k, 70))
    return masses


def poisson_masses(rate):
    masses = [Fraction(1)]
    while len(masses) < rate + 1 or masses[-1] * 10**64 > max(masses):
        masses.append(masses[-1] * rate / len(masses))
    return masses


TABLES = [
    *[(decay.window, decay_masses(decay)) for decay in list(DECAYS.values())[1:]],
    *[
        (partial(poisson_window, rate), poisson_masses(rate))
        for rate in (Fraction(1, 100), Fraction(1, 3), Fraction(7), Fraction(301, 2))
    ],
]


@pytest.mark.parametrize(("law", "masses"), TABLES)
@pytest.mark.parametrize("bits", [1, 40, 63])
def test_windows_enclose_every_mass_inside_and_outside(law, masses, bits):
    window = law(bits)
    last = window.first + len(window.low)
    mode = masses.index(max(masses))
    unit = window.low[mode - window.first] / masses[mode]

    assert window.low[mode - window.first] == window.high[mode - window.first]
    assert sum(masses[: window.first]) * unit <= window.before
    assert sum(masses[last:]) * unit <= window.after
    for low, mass, high in zip(window.low, masses[window.first : last], window.high, strict=True):
        assert low <= mass * unit <= high


@pytest.mark.parametrize(("law", "masses"), TABLES)
@pytest.mark.parametrize("digits", [63, 127])
def test_edges_enclose_the_distribution_function_to_the_last_digit(law, masses, digits):
    before, low, high = _edges(law, digits)
    true = {k: 2**digits * edge for k, edge in enumerate(exact_edges(masses))}

    assert len(low) == len(high) > 1
    for i in range(len(low)):
        edge = true.get(before + i, 0 if before + i < 0 else 2**digits)
        assert low[i] - Fraction(1, 10**9) <= edge <= high[i] + 1, "1: the last cell is cut off"
        assert high[i] - low[i] <= 4


@pytest.mark.parametrize(("law", "masses"), [t for t in TABLES if t[1][1]])
def test_a_point_next_to_an_edge_is_decided_by_further_digits(law, masses):
    """Feed the words of U = F(k) ± a little; at 63 digits such a point is in doubt."""
    inversion = Inversion(law)
    asked = 0
    for k, edge in enumerate(exact_edges(masses)[:40]):
        for shift, expected in ((-1, k), (1, k + 1)):
            point = int(edge * 2**127) + shift * 2**20
            if 2**127 * min(masses[k : k + 2]) < 2**22 * sum(masses):
                continue  # the next edge is as near
            rng = Scripted([point % WORD])
            word = np.array([(point >> 64) * 2], dtype=np.uint64)
            assert inversion.draw(word, rng).tolist() == [expected]
            asked += not rng.left
    assert asked


@pytest.mark.parametrize("decay", DECAYS.values(), ids=DECAYS)
def test_a_word_of_ones_asks_for_more_and_finds_the_far_tail(decay):
    far = Inversion(decay.window).draw(
        np.array([WORD - 1], dtype=np.uint64), Scripted([WORD - 1], [WORD // 2])
    )
    mass = decay.power(0, Fraction(int(far[0])))

    # U = 1 − 2^−128, roughly: about 89 units of E away from 0
    assert far[0] == 0 if decay is DECAYS["nothing but 0"] else 70 < mass < 110


# --- strips ---


SLOPES = [
    Decay(linear=Fraction(1, 2**7)),
    Decay(linear=Fraction(1, 211)),
    Decay(square=Fraction(1, 2**15)),
    Decay(square=Fraction(3, 2**18 - 1)),
]
STRIPED = [Strips(decay=d, shift=20, lattice=lattice) for d in SLOPES for lattice in (True, False)]


@given(
    strips=st.sampled_from(STRIPED),
    strip=st.integers(0, 3_000),
    fraction=words,
    chance=words,
    near=st.integers(-3, 3) | st.none(),
    more=st.tuples(words, words),
)
@settings(max_examples=400)
def test_a_proposal_is_kept_exactly_if_u_is_below_the_ratio_of_densities(
    strips, strip, fraction, chance, near, more
):
    """The rule in real numbers, with the oracle's exp; U often within 3·2^−64 of the edge."""
    place = int(strips._places(np.array([fraction], dtype=np.uint64))[0])
    x = Fraction(place, WORD) if strips.lattice else Fraction(place * WORD + more[1], WORD**2)
    ratio = exp_minus(strips.decay.power(strip, x))
    if near is not None:
        chance = min(max(int(ratio * WORD) + near, 0), WORD - 1)
    source = Scripted(list(more))

    kept = strips._kept(
        np.array([strip]), np.array([place], np.uint64), np.array([chance], np.uint64), source
    )

    assert kept.tolist() == [Fraction(chance * WORD + more[0], WORD**2) < ratio]


def test_unknown_digits_of_the_place_are_allowed_for():
    """U and x both end in ones: x at the far end of its 64 digits tips the scale."""
    strips = Strips(decay=SLOPES[2], shift=20, lattice=False)
    strip, tipped = 3_000, 0
    for place in range(2**63, 2**63 + 100):
        at_place, true = (
            WORD * exp_minus(strips.decay.power(strip, Fraction(x, WORD**2)))
            for x in (place * WORD, place * WORD + WORD - 1)
        )
        chance = int(at_place) - 1
        expected = Fraction(chance * WORD + WORD - 1, WORD) < true
        kept = strips._kept(
            np.array([strip]),
            np.array([place], np.uint64),
            np.array([chance], np.uint64),
            Scripted([WORD - 1, WORD - 1]),
        )
        assert kept.tolist() == [expected]
        tipped += not expected
    assert tipped


def measured_chance(strips, strip, place):
    """The acceptance probability of the code itself, by bisection over U's first 64 digits."""
    low, high = np.zeros(len(strip), dtype=object), np.full(len(strip), WORD, dtype=object)
    for _ in range(64):
        middle = (low + high) // 2
        kept = strips._kept(strip, place, middle.astype(np.uint64), SystemRandomness())
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return high


def on_integers(strips):
    return Strips(decay=strips.decay, shift=strips.shift, lattice=True)


@pytest.mark.parametrize(
    ("strips", "power"),
    [
        (on_integers(noise._gaussian(Fraction(700**2))), lambda k: Fraction(k * k, 2 * 700**2)),
        (noise._laplace(Fraction(701, 2)), lambda k: Fraction(2 * k, 701)),
    ],
    ids=["gaussian", "laplace"],
)
def test_the_decision_tree_gives_the_probabilities_of_the_formula(strips, power):
    """P(strip) · P(place) · P(kept), all read off the code, against e^−power, to 1 in 10^16."""
    _, low, _ = _edges(strips.decay.window, 63)
    per_strip = 2**strips.shift
    assert per_strip > 1
    k = np.array([*range(24), 333, 700, 1_001, 1_500])
    strip, place = k // per_strip, (k % per_strip).astype(np.uint64) << np.uint64(64 - strips.shift)
    chance = measured_chance(strips, strip, place)
    share = [low[s + 1] - low[s] for s in strip.tolist()]
    tree = [Fraction(a * int(b)) for a, b in zip(share, chance, strict=True)]

    for n, weight in zip(k.tolist(), tree, strict=True):
        assert abs(weight / tree[0] / exp_minus(power(n)) - 1) < Fraction(1, 10**16) * 1_000


@given(word=words, fraction=words, chance=words, strips=st.sampled_from(STRIPED))
def test_the_lowest_bit_of_the_first_word_is_the_sign_and_nothing_else(
    word, fraction, chance, strips
):
    plus, minus = (strips.trial(1, Scripted(w, fraction, chance)) for w in (word & ~1, word | 1))

    assert (plus[0], plus[2]) == (minus[0], minus[2])
    assert (plus[1].tolist(), minus[1].tolist()) == ([False], [True])


def test_noise_beyond_64_bits_stops_instead_of_wrapping_around():
    strips = noise._gaussian(Fraction(2**96))

    with pytest.raises(OverflowError):
        strips._kept(
            np.array([2**20]), np.zeros(1, np.uint64), np.zeros(1, np.uint64), SystemRandomness()
        )


def test_doubt_is_rare(monkeypatch):
    """Speed rests on it: fewer than one draw in 10^4 leaves the vectors."""
    asked = []
    settled = Strips._settled
    monkeypatch.setattr(Strips, "_settled", lambda *a: asked.append(1) or settled(*a))
    noise.floored_gaussian(200_000, SeededRandomness(0), variance=2**40)
    noise.discrete_laplace(200_000, SeededRandomness(0), scale=2**20)

    assert 0 < len(asked) < 40


# --- the four laws ---


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@given(size=rationals, n=st.integers(0, 50), seed=st.integers(0, 2**70))
def test_the_same_seed_gives_the_same_integers(law, size, n, seed):
    first, again = (law(n, SeededRandomness(seed), size) for _ in range(2))

    assert first.dtype == np.int64
    assert first.shape == (n,)
    assert first.tolist() == again.tolist()


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_another_seed_gives_other_integers_and_so_does_the_operating_system(law):
    runs = [
        law(100, rng, 1_000).tolist()
        for rng in (SeededRandomness(1), SeededRandomness(2), SystemRandomness())
    ]

    assert runs[0] != runs[1] != runs[2] != runs[0]


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_an_int_is_the_fraction_it_equals(law):
    assert (law(9, SeededRandomness(3), 7) == law(9, SeededRandomness(3), Fraction(7))).all()


@given(rate=rationals, seed=st.integers(0, 2**30))
def test_poisson_is_never_negative(rate, seed):
    assert (noise.poisson(20, SeededRandomness(seed), rate=rate) >= 0).all()


@given(variance=rationals, halvings=st.integers(0, 30), seed=st.integers(0, 2**30))
def test_a_grid_is_a_change_of_unit(variance, halvings, seed):
    grid = Fraction(1, 2**halvings)
    on_grid = noise.floored_gaussian(9, SeededRandomness(seed), variance=variance, grid=grid)
    scaled = noise.floored_gaussian(9, SeededRandomness(seed), variance=variance / grid**2)

    assert (on_grid == scaled).all()


@given(variance=rationals, seed=st.integers(0, 2**30))
def test_a_finer_grid_rounds_the_same_gaussian_later(variance, seed):
    """⌊⌊16·N⌋ / 16⌋ = ⌊N⌋: the same words stand for the same real number on every grid."""
    coarse, fine = (
        noise.floored_gaussian(99, SeededRandomness(seed), variance=variance, grid=grid)
        for grid in (1, Fraction(1, 16))
    )

    assert (coarse == fine >> 4).all()


def test_almost_no_noise_is_still_drawn():
    rng = SeededRandomness(0)
    least = Fraction(1, 2**96)

    assert set(noise.floored_gaussian(99, rng, variance=least).tolist()) == {-1, 0}
    assert set(noise.discrete_laplace(99, rng, scale=Fraction(1, 2**48)).tolist()) == {0}
    assert set(noise.poisson(99, rng, rate=Fraction(1, 10**30)).tolist()) == {0}


def test_the_largest_noise_fits():
    rng = SeededRandomness(0)

    assert 2**46 < abs(noise.floored_gaussian(99, rng, variance=2**96)).max() < 2**52
    assert 2**46 < abs(noise.discrete_laplace(99, rng, scale=2**48)).max() < 2**54


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    "size",
    [
        0,  # no noise
        -1,
        Fraction(-1, 3),
        0.5,  # a float is not the number that was accounted for
        float("nan"),
        np.float64(2),
        "1/3",
        None,
        2**97,  # too wide for 64 bits, or for a table
    ],
)
def test_impossible_parameters_are_refused(law, size):
    with pytest.raises(NoiseError) as caught:
        law(1, SystemRandomness(), size)

    assert caught.value.hint
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("grid", [0, -1, 0.5, 2**60, Fraction(1, 2**60)])
def test_impossible_grids_are_refused(grid):
    with pytest.raises(NoiseError):
        noise.floored_gaussian(1, SystemRandomness(), variance=1, grid=grid)


# --- no float decides ---

FLOATS = {"float", "float64", "float32", "Floats", "math", "exp", "log", "sqrt", "random", "erf"}


def floats_in(source):
    """Float literals, and names that stand for floats, outside the text of a message."""
    tree = ast.parse(source)
    text = {id(n) for f in ast.walk(tree) if isinstance(f, ast.JoinedStr) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if id(node) in text:
            continue
        name = getattr(node, "id", getattr(node, "attr", getattr(node, "name", "")))
        if name in FLOATS or (isinstance(node, ast.Constant) and isinstance(node.value, float)):
            yield ast.unparse(node)


def test_the_code_of_noise_holds_no_float():
    assert list(floats_in(Path(noise.__file__).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "wrong", ["import math", "x = 0.5", "y = np.exp(x)", "z = words.astype(float)", "f(np.float64)"]
)
def test_the_search_for_floats_finds_floats(wrong):
    assert list(floats_in(wrong))
