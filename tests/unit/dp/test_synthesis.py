"""Synthetic users: exact totals, sizes as measured, kinds of pairs held together."""

import socket
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from slogan.dp.sums import LARGEST, Association, Sizes
from slogan.dp.synthesis import deal, fit_mixture
from slogan.errors import OptionError
from slogan.planning.objectives import PrivatePairs, load, names
from slogan.planning.objectives.frequent_pairs import FrequentPairs

STAGE = Gaussian(name="any", norm_squared=1, variance=1)


def sizes(*bins):
    whole = np.zeros(LARGEST + 1)
    whole[1 : 1 + len(bins)] = bins
    return Sizes(bins=whole, stage=STAGE)


def one_class(pairs):
    return np.ones((pairs, 1))


def total(output, pairs):
    return np.bincount(output.pair, output.count, minlength=pairs).astype(int).tolist()


@given(
    st.lists(st.integers(0, 200), min_size=1, max_size=12),
    st.lists(st.integers(0, 30), min_size=1, max_size=6).filter(any),
    st.integers(1, 4),
    st.integers(0, 2**32),
)
def test_totals_are_exact(counts, bins, classes, seed):
    draw = np.random.default_rng(seed)
    table = draw.dirichlet(np.ones(classes), size=len(counts))
    found = deal(np.array(counts), table, sizes(*bins), draw)
    rows = list(zip(found.user.tolist(), found.pair.tolist(), strict=True))

    assert total(found, len(counts)) == counts
    assert len(set(rows)) == len(rows)
    assert rows == sorted(rows)
    assert (found.count > 0).all()
    assert found.user.max(initial=0) < sum(bins)


def test_without_users_no_clicks_are_assigned():
    found = deal(np.array([3, 4]), one_class(2), sizes(-5), np.random.default_rng(0))

    assert (found.clicks, found.users) == (0, 0)


def test_users_hold_as_many_pairs_as_was_measured():
    counts = np.full(300, 40)
    found = deal(counts, one_class(300), sizes(500, 300, 200, 100), np.random.default_rng(1))
    held = np.bincount(np.bincount(found.user, minlength=1100))[1:]

    assert found.users > 1090
    assert held.tolist() == pytest.approx([500, 300, 200, 100], abs=60)


def test_users_of_a_class_hold_its_pairs():
    table = np.kron(np.eye(2), np.ones((10, 1)))  # ten pairs of each of two classes
    draw = np.random.default_rng(2)
    found = deal(np.full(20, 100), table, sizes(0, 0, 400), draw)
    of_class = np.zeros((400, 2))
    np.add.at(of_class, (found.user, found.pair // 10), 1)

    # at most one user straddles the border between the classes
    assert (of_class.min(axis=1) > 0).sum() <= 1


def association(together, rank, grouping):
    return Association(
        grouping=grouping, together=np.array(together, dtype=float), rank=rank, stage=STAGE
    )


def test_a_mixture_separates_blocks():
    kind = np.repeat(np.arange(6), 5)
    grouping = Grouping(name="taxonomy", category=kind, categories=6)
    blocks = np.kron(np.eye(2), np.ones((3, 3))) * 50 + 1
    found = fit_mixture(association(blocks, 2, grouping), np.ones(30), np.random.default_rng(0))
    alike = found @ found.T

    assert alike[0, 5:15].min() > 3 * alike[0, 15:].max()


def test_an_association_below_the_noise_gives_one_class():
    grouping = Grouping(name="spectral", category=np.arange(3), categories=3, least_rank=8)
    found = association(np.ones((3, 3)), 7, grouping)

    assert found.kind == "independent"
    assert fit_mixture(found, np.ones(3), np.random.default_rng(0)).shape == (3, 1)
    assert fit_mixture(None, np.ones(3), np.random.default_rng(0)).shape == (3, 1)


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
