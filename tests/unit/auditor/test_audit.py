"""attack(): honest mechanisms pass; test_broken_mechanisms.py has the others."""

import math
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.auditor.attacked import CONDITIONAL, END_TO_END, MODES, attacked, caught

import slogan
from slogan.auditor import MOST_ATTACKS, Claim, at_least, at_most, distinguished, shown_at_least
from slogan.auditor.private import planted
from slogan.histogram import PairHistogram
from slogan.planning.planner import Planner

# --- honest mechanisms ---


@pytest.mark.usefixtures("trials_alone")
@pytest.mark.parametrize("mode", MODES)
def test_an_honest_mode_passes(log, mode):
    found = attacked(log, mode)

    assert found.ok
    assert caught(found) == set()


@pytest.mark.usefixtures("trials_alone")
def test_a_large_delta_with_a_small_epsilon_gives_no_false_alarm(log):
    """A pair of one user alone may be selected with probability δ, however small ε is."""
    budget = slogan.PrivacyBudget(epsilon="0.1", delta="0.5")
    found = slogan.audit(log, budget, slogan.SyntheticUsers(), trials=1_000, seed=1)

    own = [a.found for a in found.attacks if a.target == "selection"]
    assert max(a.delta for a in own) > 0.1
    assert found.ok


@pytest.mark.usefixtures("trials_alone")
@pytest.mark.parametrize("association", [None, "pairs", "independent"])
def test_every_stage_of_the_steward_is_attacked(log, association):
    kind = slogan.SyntheticUsers(association=association)
    found = slogan.audit(log, END_TO_END, kind, trials=100, seed=1)

    stages = ["counts", "sizes", "coverage", "association"][: 3 if association else None]
    stages += ["association"] * (association == "pairs")
    assert [a.target for a in found.attacks if a.target.startswith("sums")] == [
        f"sums for {name}" for name in stages
    ]


@pytest.mark.usefixtures("trials_alone")
def test_the_table_has_the_stated_confidence(log):
    for mode in MODES:
        found = attacked(log, mode, 100, solver="packing")
        assert sum(a.evidence == "statistics" for a in found.attacks) <= MOST_ATTACKS


def test_noisy_counts_of_the_paper_reveal_users(log):
    """Little noise: a user who changes the optimum is detected; nothing is claimed here."""
    kind = slogan.LaplaceCounts(bound="5", epsilon="100")
    found = slogan.audit(log, CONDITIONAL, kind, trials=2_000, time_limit=2, seed=1)
    counts = {a.canary: a.found.epsilon for a in found.attacks if a.target == "planned counts"}

    assert counts["only user of 5 pairs"] == 0.0
    assert counts["duplicate of a user"] > 0.2
    assert found.ok


def test_counts_that_were_not_compared_are_reported(log):
    real, times = Planner.exact, []

    def moody(self, hist):
        times.append(hist)
        planned = real(self, hist)
        if len(times) % 2:
            return planned
        return replace(planned, plan=replace(planned.plan, counts=planned.plan.counts * 0))

    with patch.object(Planner, "exact", moody):
        counts = [a for a in attacked(log, "exact", 100).attacks if a.target == "planned counts"]
    assert [a.canary for a in counts] == ["not compared: stopped by the time limit"]


def test_the_solver_gets_the_stewards_options(log):
    told, real = [], Planner.exact

    def planned(self, hist):
        told.append((self.solver.name, self.effort.time_limit, self.effort.gap))
        return real(self, hist)

    with patch.object(Planner, "exact", planned):
        attacked(log, "exact", 100, time_limit=3, gap=0.5, solver="relaxed")
    assert set(told) == {("relaxed", 3, 0.5)}


@pytest.mark.long
def test_exact_counts_reveal_users(log):
    """What is not claimed is attacked too: the counts of a log show who is in it."""
    # solved to the end, not to the clock, so that the same log has the same counts
    found = attacked(log, "exact", 200, solver="exact", time_limit=120)
    counts = [a for a in found.attacks if a.target == "planned counts"]

    assert {a.canary: a.found.delta for a in counts} == {
        "only user of 5 pairs": 0.0,
        "dominates a pair": 1.0,
        "duplicate of a user": 1.0,
    }
    assert all(a.claim is None and a.ok for a in counts)


# --- bounds ---


@given(hits=st.integers(0, 400), trials=st.integers(400, 500))
def test_bounds_enclose_the_rate(hits, trials):
    low, high = (float(bound(np.array(hits), trials, 0.01)) for bound in (at_least, at_most))

    assert 0 <= low <= hits / trials <= high <= 1


def test_bounds_are_those_of_clopper_and_pearson():
    """At the lower bound, that many hits or more have probability alpha exactly."""
    low = float(at_least(np.array(3), 10, 0.05))
    tail = sum(math.comb(10, k) * low**k * (1 - low) ** (10 - k) for k in range(3, 11))
    high = float(at_most(np.array(3), 10, 0.05))
    head = sum(math.comb(10, k) * high**k * (1 - high) ** (10 - k) for k in range(4))

    assert math.isclose(tail, 0.05, rel_tol=1e-9)
    assert math.isclose(head, 0.05, rel_tol=1e-9)


def test_equal_scores_prove_nothing_and_different_ones_do():
    rng = np.random.default_rng(5)
    claim = Claim(epsilon=1.0, delta=0.01)
    scores = [np.floor(rng.normal(shift, 1, 4_000)).astype(int) for shift in (0, 0, 3)]

    assert distinguished(scores[0], scores[1], claim, 0.001).within(claim)
    for one, other in ((0, 2), (2, 0)):
        assert not distinguished(scores[one], scores[other], claim, 0.001).within(claim)


def test_false_alarms_are_as_rare_as_stated():
    """Randomized response at its own ε: the bound exceeds it seldom."""
    rng, claim = np.random.default_rng(7), Claim(epsilon=1.0, delta=0.0)
    truth = math.e / (1 + math.e)
    alarms = sum(
        not distinguished(
            (rng.random(400) < truth).astype(int),
            (rng.random(400) > truth).astype(int),
            claim,
            0.05,
        ).within(claim)
        for _ in range(400)
    )

    assert alarms <= 40  # 20 are expected at most; 40 or more have a probability below 1e-4


def test_shown_in_every_run_proves_almost_everything():
    found = shown_at_least(1_000, 1_000, 0.001)

    assert found.delta > 0.99
    assert found.epsilon > 4


@given(hits=st.integers(0, 99), delta=st.floats(0, 0.99))
def test_a_granted_delta_lowers_epsilon_and_nothing_else(hits, delta):
    """P(not shown) is 1 without the user, so 1 ≤ e^ε·(1 − p) + δ."""
    plain = shown_at_least(hits, 100, 0.001)
    granted = shown_at_least(hits, 100, 0.001, delta=delta)

    assert granted.delta == plain.delta
    least = (1 - delta) / (1 - plain.delta)
    assert math.isclose(granted.epsilon, max(0.0, math.log(least)), rel_tol=1e-9, abs_tol=1e-12)


# --- canaries ---

TWO_USERS = PairHistogram.of_rows(
    user=np.array([0, 1]),
    pair=np.array([0, 0]),
    count=np.array([1, 2]),
    users=2,
    query=np.array([0]),
)


def test_canaries_share_nothing_with_the_log():
    garden = planted(TWO_USERS, trials=50, weight=4.0)

    assert garden.hist.holders[0] == 2
    assert (garden.hist.user[: len(TWO_USERS.user)] == TWO_USERS.user).all()
    for pairs in garden.loners:
        assert (garden.hist.holders[pairs] == 1).all()
    for joiner in garden.joiners:
        assert (garden.hist.holders[joiner.with_user] == joiner.holders + 1).all()
        assert (garden.hist.holders[joiner.without] == joiner.holders).all()


def test_canaries_do_not_fill_the_memory():
    """At a tiny budget a group takes millions of users, and is left out."""
    garden = planted(TWO_USERS, trials=2_000, weight=1e8)

    assert len(garden.hist.user) < 2_000_000
    assert len(garden.loners) == 4
    assert garden.joiners == ()
