"""The quality benchmark: its logs, what peers are given, and its figures."""

import numpy as np
import pytest
from bench.cases import Case
from bench.harness import Question
from bench.logs import LOGS, SHAPES, has_several_pairs_of_a_query, histogram
from bench.store import Store
from bench.tables import key, primal_integral, proven_at

from bench import harness, quality

SMALL = ("tiny", "hub", "ring", "planes", "hotels", "dense")


@pytest.mark.parametrize("log", SMALL)
def test_the_logs_hold_shared_pairs_only_and_are_the_same_every_time(log):
    hist, again = histogram(log), LOGS[log]()

    assert np.bincount(hist.pair, minlength=hist.pairs).min() >= 2
    assert all(
        np.array_equal(getattr(hist, name), getattr(again, name))
        for name in ("user", "pair", "count", "query")
    )


def test_queries_differ_from_pairs_where_they_should():
    assert has_several_pairs_of_a_query("hotels")
    assert not has_several_pairs_of_a_query("ring")
    assert set(SMALL) < set(SHAPES)


@pytest.mark.parametrize("log", ["tiny", "hub"])
def test_presolve_leaves_the_optimum_to_every_peer(log):
    case = Case("output_size", log, "2", "0.5")
    question = Question(case=case, program=case.program(lambda: pytest.fail("needs no λ")))
    found = {
        peer: harness.ask(question, peer, "plain", 10.0)["plain"] for peer in ("highs", "highs+")
    }

    assert all(record["proven"] for record in found.values())
    assert found["highs"]["value"] == found["highs+"]["value"] > 0


def test_the_primal_integral_is_the_mean_distance_from_the_best():
    record = {"trace": [(2.0, 50.0), (6.0, 100.0)]}

    assert primal_integral(record, 100.0, 10.0) == pytest.approx((2 * 1 + 4 * 0.5) / 10)
    assert primal_integral({"trace": [(12.0, 100.0)]}, 100.0, 10.0) == 1.0


@pytest.fixture
def known(tmp_path, monkeypatch):
    """A store that says what the two peers that every budget gets have found."""
    monkeypatch.setattr("bench.store.RESULTS", tmp_path)
    case, store = Case("output_size", "tiny", "2", "0.5"), Store("shapes")

    def remember(mine: dict, other: dict) -> tuple[Case, Store]:
        for peer, variant, record in (("packing", "slogan", mine), ("highs", "plain", other)):
            store.keep(key(case, peer, variant, 20.0), record | {"code": harness.code(peer)})
        return case, store

    return remember


@pytest.mark.parametrize(
    ("mine", "other", "useful"),
    [
        ((5, True, 3.3), (5, True, 2.0), 2.0),  # faster than (3.3 − 0.3) / 1.5 would be too fast
        ((5, True, 0.2), (5, True, 2.0), 0.0),
        ((5, True, 3.3), (5, False, 20.0), np.inf),
        ((4, True, 3.3), (5, True, 2.0), np.inf),  # one of the two is wrong: everybody is asked
    ],
)
def test_a_proven_shape_is_asked_only_who_could_be_faster(known, mine, other, useful):
    names = ("value", "proven", "seconds")
    case, store = known(dict(zip(names, mine)), dict(zip(names, other)))
    options = quality._options(["--shapes"])

    assert max(0.0, quality._useful(case, "scip", store, options)) == pytest.approx(useful)
    assert quality._useful(case, "highs", store, options) == np.inf


def test_of_the_shapes_one_budget_has_all_peers():
    options = quality._options(["--shapes", "--long-seconds", "0"])
    asked = {
        budget: [peer for peer, _ in quality._asked(Case("diversity", "tiny", *budget), options)]
        for budget in (("2", "0.5"), ("1.4", "0.2"))
    }

    assert asked["2", "0.5"] == list(quality.PEERS)
    assert asked["1.4", "0.2"] == ["packing", "highs", "relaxed"]


def test_a_proof_counts_when_it_is_complete_even_if_the_solver_goes_on():
    """After the proof packing still makes an F-UMP output more precise, which no peer does."""
    assert proven_at({"seconds": 20.0, "proven_at": 0.4}) == 0.4
    assert proven_at({"seconds": 20.0, "proven_at": None}) == 20.0
    assert proven_at({"seconds": 20.0}) == 20.0
