"""Synthetic users: exact totals, sizes as measured, kinds of pairs held together."""

import socket
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram

from slogan.dp import grouping
from slogan.dp.accounting import Gaussian
from slogan.dp.grouping import (
    HEAD,
    Grouping,
    Kinds,
    by_domain,
    by_pair,
    by_taxonomy,
    host_of,
    read_taxonomy,
    registrable,
)
from slogan.dp.sums import Association, Sizes, together_sums
from slogan.dp.swaps import CROWD, UNIT, dealt, dice_of, swapped, together
from slogan.dp.synthesis import deal
from slogan.errors import OptionError
from slogan.planning.objectives import PrivatePairs, load, names
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.randomness import SeededRandomness

STAGE = Gaussian(name="any", norm_squared=1, variance=1)


def sizes(*bins):
    return Sizes(bins=np.array([0.0, *bins]), stage=STAGE)


def total(output, pairs):
    return np.bincount(output.pair, output.count, minlength=pairs).astype(int).tolist()


def measured(table, deviation, categories, category=None):
    """A table as if measured with noise of this deviation."""
    kind = np.arange(categories) if category is None else category
    stage = Gaussian(name="association", norm_squared=1, variance=Fraction(deviation) ** 2)
    grouping = Grouping(name="pairs", category=kind, categories=categories)
    return Association(grouping=grouping, together=table, stage=stage)


@given(
    st.lists(st.integers(0, 200), min_size=1, max_size=12),
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_totals_are_exact(counts, bins, follows, seed):
    draw = np.random.default_rng(seed)
    noise = np.triu(draw.normal(0, 50, (len(counts), len(counts))))
    table = noise + np.triu(noise, 1).T
    known = measured(table, 1, len(counts)) if follows else None
    made = deal(np.array(counts), sizes(*bins), known, SeededRandomness(seed))
    found = made.output
    rows = list(zip(found.user.tolist(), found.pair.tolist(), strict=True))

    assert total(found, len(counts)) == counts
    assert len(set(rows)) == len(rows)
    assert rows == sorted(rows)
    assert (found.count > 0).all()
    assert found.user.max(initial=0) < sum(bins)
    assert 0 <= made.kept <= 1


def test_without_users_no_clicks_are_assigned():
    found = deal(np.array([3, 4]), sizes(-5), None, SeededRandomness(0)).output

    assert (found.clicks, found.users) == (0, 0)


def test_users_hold_exactly_as_many_pairs_as_was_measured():
    found = deal(np.full(300, 40), sizes(500, 300, 200, 100), None, SeededRandomness(1)).output
    held = np.bincount(np.bincount(found.user, minlength=1100))[1:]

    # 2,100 holdings of 300 pairs: seven holders each
    assert held.tolist() == [500, 300, 200, 100]
    assert np.bincount(found.pair).tolist() == [7] * 300


@given(st.integers(0, 2**32))
def test_any_possible_sizes_and_holders_are_dealt_exactly(seed):
    draw = np.random.default_rng(seed)
    held = draw.random((draw.integers(1, 30), draw.integers(1, 10))) < draw.random()
    size, visits = held.sum(axis=1), held.sum(axis=0)
    users = dealt(size, visits, dice_of(SeededRandomness(seed)))
    swapped(
        users,
        np.zeros(len(visits), dtype=np.int64),
        np.zeros((1, 1), dtype=np.int64),
        100,
        dice_of(SeededRandomness(seed)),
    )

    assert np.diff(users.start).tolist() == size.tolist()
    assert np.bincount(users.pair, minlength=len(visits)).tolist() == visits.tolist()
    for first, last in zip(users.start[:-1], users.start[1:], strict=True):
        assert len(np.unique(users.pair[first:last])) == last - first


def test_swaps_have_the_law_of_their_energy():
    """Two users of two pairs each among four pairs: every arrangement, enumerated."""
    energy = np.zeros((5, 5), dtype=np.int64)
    energy[0, 1] = energy[1, 0] = UNIT
    dice, runs = dice_of(SeededRandomness(0)), 20_000
    users = dealt(np.array([2, 2]), np.array([1, 1, 1, 1]), dice)
    together_of_01 = 0
    for _ in range(runs):
        swapped(users, np.arange(4), energy, 4, dice)
        first = set(users.pair[:2].tolist())
        together_of_01 += first in ({0, 1}, {2, 3})
    likely = np.e / (np.e + 2)  # of three ways to part four pairs, one has the energy

    assert abs(together_of_01 / runs - likely) < 0.03


def test_energies_count_less_for_users_of_many_pairs():
    """Two users of three and one pairs among four: which of them is alone, enumerated."""
    energy = np.zeros((5, 5), dtype=np.int64)
    energy[0, 1] = energy[1, 0] = 2 * UNIT
    dice, runs = dice_of(SeededRandomness(1)), 20_000
    users = dealt(np.array([3, 1]), np.array([1, 1, 1, 1]), dice)
    together_of_01 = 0
    for _ in range(runs):
        swapped(users, np.arange(4), energy, 4, dice)
        together_of_01 += {0, 1} <= set(users.pair[:3].tolist())
    odds = np.exp(2 * (2 / 3) ** CROWD)
    likely = odds / (odds + 1)  # of four arrangements, two have 0 and 1 together

    assert abs(together_of_01 / runs - likely) < 0.02


def test_made_up_users_are_counted_as_real_ones_are():
    draw = np.random.default_rng(0)
    held = draw.random((200, 12)) < 0.4
    users = dealt(held.sum(axis=1), held.sum(axis=0), dice_of(SeededRandomness(0)))
    kind = np.array([0, 0, 1, 1, 1, 2, 3, 4, -1, -1, 5, 5])
    user = np.repeat(np.arange(200), np.diff(users.start))
    rows = np.zeros((200, 12), dtype=np.int64)
    rows[user, users.pair] = 1
    grouping = Grouping(name="taxonomy", category=kind, categories=6)
    expected = together_sums(histogram(rows.tolist()), np.arange(12), grouping)

    assert together(users, kind, 6)[np.triu_indices(6)].tolist() == expected.tolist()


def groups_of_users():
    """1,000 users of four pairs each: half of them of the first eight pairs, half of the others."""
    draw, rows = np.random.default_rng(3), np.zeros((1_000, 16), dtype=np.int64)
    for user in range(1_000):
        rows[user, 8 * (user % 2) + draw.permutation(8)[:4]] = 1
    hist = histogram(rows.tolist())
    grouping = Grouping(name="pairs", category=np.arange(16), categories=16)
    upper = np.zeros((16, 16))
    upper[np.triu_indices(16)] = together_sums(hist, np.arange(16), grouping) / 2**20
    return hist, upper + np.triu(upper, 1).T


@pytest.mark.parametrize("deviation", [0.1, 5])
def test_users_follow_a_table_that_is_clear_of_the_noise(deviation):
    hist, table = groups_of_users()
    noise = np.triu(np.random.default_rng(0).normal(0, deviation, (16, 16)))
    known = measured(table + noise + np.triu(noise, 1).T, Fraction(str(deviation)), 16)
    made = deal(hist.pair_total, sizes(0, 0, 0, 1_000), known, SeededRandomness(5))
    of_group = np.zeros((1_000, 2))
    np.add.at(of_group, (made.output.user, made.output.pair // 8), 1)

    # at random, 1 of 14 has all four pairs of one group
    assert (of_group.max(axis=1) == 4).mean() > 0.6
    assert made.kept > 0.7


def test_users_do_not_follow_noise():
    draw = np.random.default_rng(1)
    counts, bins = draw.integers(50, 400, 30), sizes(200, 300, 200)
    alone = deal(counts, bins, None, SeededRandomness(1)).output
    rows = np.zeros((700, 30), dtype=np.int64)
    rows[alone.user, alone.pair] = 1
    upper = np.zeros((30, 30))
    grouping = Grouping(name="pairs", category=np.arange(30), categories=30)
    sums = together_sums(histogram(rows.tolist()), np.arange(30), grouping)
    upper[np.triu_indices(30)] = sums / 2**20 + draw.normal(0, 3, 465)
    made = deal(counts, bins, measured(upper + np.triu(upper, 1).T, 3, 30), SeededRandomness(2))

    assert made.kept == 0


def test_one_seed_makes_the_same_users():
    hist, table = groups_of_users()
    counts, bins, known = hist.pair_total, sizes(100, 100, 100, 500), measured(table, 2, 16)
    made = [deal(counts, bins, known, SeededRandomness(seed)) for seed in (7, 7, 8)]

    for name in ("user", "pair", "count"):
        one, same, other = (getattr(each.output, name).tolist() for each in made)
        assert one == same
        assert name == "user" or one != other
    assert made[0].kept == made[1].kept


# --- kinds of pairs ---


@pytest.mark.parametrize(
    ("url", "host", "domain"),
    [
        ("http://www.Example.org/a?b", "www.example.org", "example.org"),
        ("www.shop.co.uk", "www.shop.co.uk", "shop.co.uk"),
        ("https://user@news.bbc.co.uk:8080/x", "news.bbc.co.uk", "bbc.co.uk"),
        ("a.b.example.com.", "a.b.example.com", "example.com"),
        ("co.uk", "co.uk", "co.uk"),
        ("192.168.0.1/x", "192.168.0.1", "192.168.0.1"),
        ("localhost", "localhost", "localhost"),
        ("maps.google.de", "maps.google.de", "google.de"),
        ("lincoln.k12.ca.us/a", "lincoln.k12.ca.us", "lincoln.k12.ca.us"),
        ("www.city.kawasaki.jp", "www.city.kawasaki.jp", "city.kawasaki.jp"),
        ("www.m\u00fcller.de", "www.m\u00fcller.de", "m\u00fcller.de"),
        ("one.github.io", "one.github.io", "github.io"),  # a hosting firm, not a registry
        ("a.b.unheard-of", "a.b.unheard-of", "b.unheard-of"),
        ("a..example.com", "a..example.com", "a..example.com"),
        ("", "", ""),
    ],
)
def test_hosts_and_registrable_domains(url, host, domain):
    assert host_of(url) == host
    assert registrable(host) == domain


def test_the_list_of_suffixes_is_read_from_the_disk(monkeypatch):
    def refused(*address):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refused)
    grouping._public_suffixes.cache_clear()

    assert registrable("www.shop.co.uk") == "shop.co.uk"


@given(st.text(max_size=30))
def test_any_text_has_a_host(url):
    assert registrable(host_of(url)) in host_of(url)


def test_the_head_is_chosen_by_private_counts():
    counts = np.arange(HEAD + 5, dtype=float)
    found = by_pair(counts)

    assert found.categories == HEAD
    assert found.category[:5].tolist() == [-1] * 5
    assert (found.category[5:] >= 0).all()


def test_pairs_of_one_domain_are_of_one_kind():
    found = by_domain(["www.a.com", "a.com/x", "b.org"], np.array([1.0, 1.0, 5.0]))

    assert found.category.tolist() == [1, 1, 0]


def test_a_taxonomy_names_hosts_or_their_parents(tmp_path):
    file = tmp_path / "kinds.tsv"
    file.write_text("a.com\tnews\nsport.a.com\tsports\n\nB.org\tnews\n")
    found = by_taxonomy(
        ["www.a.com", "live.sport.a.com", "b.org/x", "c.net"], np.ones(4), read_taxonomy(file)[0]
    )

    assert found.category[0] == found.category[2] != found.category[1]
    assert found.category[3] == -1
    assert found.categories == 2


@pytest.mark.parametrize("text", ["", "a.com news\n", "a.com\t\n", "\tnews\n", "u\tq\ta.com\t1\n"])
def test_an_invalid_taxonomy_is_refused(tmp_path, text):
    file = tmp_path / "kinds.tsv"
    file.write_text(text)
    with pytest.raises(OptionError, match="taxonomy"):
        read_taxonomy(file)


def test_a_taxonomy_and_its_file_go_together(tmp_path):
    file = tmp_path / "kinds.tsv"
    file.write_text("a.com\tnews\n")

    assert Kinds.from_options(None, file).name == "taxonomy"
    assert "taxonomy_sha256" in Kinds.from_options(None, file).parameters()
    for name, given_file in (("taxonomy", None), ("domains", file), ("nonsense", None)):
        with pytest.raises(OptionError):
            Kinds.from_options(name, given_file)


# --- objectives on private counts ---


@pytest.mark.parametrize("name", [name for name in names() if not load(name).exact_only])
def test_an_objective_keeps_private_counts_or_fills_gaps(name):
    counts, query = np.array([5, 0, 0, 2]), np.array([0, 0, 1, 2])
    found = load(name)().on_private_counts(PrivatePairs(counts=counts, query=query))

    assert (found >= counts).all()
    assert found.sum() <= counts.sum() + 2


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=20).filter(any), st.integers(1, 10**9))
def test_a_given_size_is_met_exactly_with_the_same_supports(counts, size):
    pairs = PrivatePairs(counts=np.array(counts), query=np.zeros(len(counts), dtype=np.int64))
    found = FrequentPairs(output_size=size).on_private_counts(pairs)

    assert found.sum() == size
    for x, count in zip(found.tolist(), counts, strict=True):
        assert abs(x - Fraction(count * size, sum(counts))) < 1
