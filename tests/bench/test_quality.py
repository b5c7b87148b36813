"""The quality benchmark: its logs, what peers are given, and its figures."""

import numpy as np
import pytest
from bench.cases import Case
from bench.harness import Question
from bench.logs import LOGS, SHAPES, has_several_pairs_of_a_query, histogram
from bench.tables import primal_integral

from bench import harness

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
