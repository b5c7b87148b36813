"""attack(): honest mechanisms pass, and each of a set of broken ones is caught."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slogan
from slogan.attacks import confidence, sampled
from slogan.attacks.canaries import planted
from slogan.attacks.confidence import Claim, shown_at_least, told_apart
from slogan.dp import association, capped_sampling, counts, coverage, sums
from slogan.dp.selection import pooled
from slogan.engines.duckdb import DuckDBEngine
from slogan.histogram import PairHistogram
from slogan.planning import Planning

CONDITIONAL = slogan.PrivacyBudget(exp_epsilon="2", delta="0.5")
END_TO_END = slogan.PrivacyBudget(epsilon="4", delta="0.1")
MODES = {
    "exact": (slogan.Exact(), CONDITIONAL),
    "laplace": (slogan.Laplace(bound="5", epsilon="1"), CONDITIONAL),
    "private": (slogan.Private(), END_TO_END),
    "synthetic": (slogan.Synthetic(), END_TO_END),
}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Users who share what they click with a few others, so that constraints are tight."""
    file = tmp_path_factory.mktemp("attacked") / "log.tsv"
    rows = [
        (u, f"query {(u + n * n) % 40}", "a.com", 1 + (u * n) % 3)
        for u in range(90)
        for n in range(3)
    ]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in dict.fromkeys(rows))]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.fixture(autouse=True)
def _on_the_ladder(monkeypatch, ladder):
    real = slogan.attack

    def attack(*asked, **options):
        found = real(*asked, **options)
        ladder.count("attacks run", len(found.attacks))
        return found

    monkeypatch.setattr(slogan, "attack", attack)


def attacked(log, mode, trials=2_000, *, time_limit=2, **options):
    kind, budget = MODES[mode]
    return slogan.attack(log, budget, kind, trials=trials, time_limit=time_limit, seed=1, **options)


def caught(found):
    return {a.target for a in found.attacks if not a.ok}


# --- honest mechanisms ---


@pytest.mark.parametrize("mode", MODES)
def test_an_honest_mode_passes(log, mode):
    found = attacked(log, mode)

    assert found.ok
    assert caught(found) == set()


def test_a_large_delta_beside_a_small_epsilon_is_no_false_alarm(log):
    """A pair of one user alone may be selected with probability δ, however small ε is."""
    budget = slogan.PrivacyBudget(epsilon="0.1", delta="0.5")
    found = slogan.attack(log, budget, slogan.Synthetic(), trials=1_000, seed=1)

    own = [a.found for a in found.attacks if a.target == "selection"]
    assert max(a.delta for a in own) > 0.1
    assert found.ok


@pytest.mark.parametrize("association", [None, "spectral", "independent"])
def test_every_stage_of_the_steward_is_attacked(log, association):
    kind = slogan.Synthetic(association=association)
    found = slogan.attack(log, END_TO_END, kind, trials=100, seed=1)

    stages = ["counts", "sizes", "coverage", "association"][: 3 if association else None]
    stages += ["association"] * (association == "spectral")
    assert [a.target for a in found.attacks if a.target.startswith("sums")] == [
        f"sums for {name}" for name in stages
    ]


def test_the_solver_is_told_what_the_steward_would_tell_it(log):
    told, real = [], Planning.exact

    def planned(self, hist):
        told.append((self.solver, self.effort.time_limit, self.effort.gap))
        return real(self, hist)

    with patch.object(Planning, "exact", planned):
        attacked(log, "exact", 100, time_limit=3, gap=0.5, solver="relaxed")
    assert set(told) == {("relaxed", 3, 0.5)}


def test_exact_counts_are_shown_to_tell_users_apart(log):
    """What is not claimed is attacked too: the counts of a log show who is in it."""
    # solved to the end, not to the clock, so that the same log has the same counts
    found = attacked(log, "exact", 200, solver="exact", time_limit=120)
    counts = [a for a in found.attacks if a.target == "planned counts"]

    assert {a.canary: a.found.delta for a in counts} == {
        "5 pairs of its own": 0.0,
        "dominates a pair": 1.0,
        "duplicate of a user": 1.0,
    }
    assert all(a.claim is None and a.ok for a in counts)


# --- broken mechanisms ---


@pytest.mark.parametrize("mode", ["exact", "laplace"])
def test_twice_the_budget_is_caught_in_the_counts_of_real_users(log, mode):
    twice = slogan.PrivacyBudget(exp_epsilon="4", delta="0.75")
    real = getattr(Planning, mode)

    def generous(self, *given):
        return real(replace(self, budget=twice), *given)

    with patch.object(Planning, mode, generous):
        assert "who is shown" in caught(attacked(log, mode))


@pytest.mark.parametrize("mode", ["private", "synthetic"])
def test_half_the_noise_is_caught(log, mode):
    real = sums.floored_gaussian

    def weaker(n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patch.object(sums, "floored_gaussian", weaker):
        broken = caught(attacked(log, mode))
    assert {"noisy counts", "sums for counts", "sums for sizes"} <= broken
    assert mode == "private" or {"sums for coverage", "sums for association"} <= broken


@pytest.mark.parametrize(
    ("stage", "what", "broken"),
    [
        (counts, "roots", lambda square: 2 * sums.roots(square)),
        (coverage, "quotients", lambda above, below, bits: above << bits),
        (association, "roots", lambda square: np.full_like(square, 1 << 20)),
    ],
)
def test_users_who_are_not_clipped_are_caught(log, stage, what, broken):
    with patch.object(stage, what, broken):
        name = stage.__name__.rpartition(".")[2]
        assert f"sums for {name}" in caught(attacked(log, "synthetic"))


@pytest.mark.parametrize("mode", ["exact", "laplace"])
def test_unique_pairs_that_are_kept_are_caught(tmp_path, mode):
    """By the engine, which is who should drop them."""
    rows = [f"{u}\tshared\ta.com\t1\n" for u in range(9)] + ["3\talone\tb.com\t2\n"]
    log = tmp_path / "log.tsv"
    log.write_text("user\tquery\turl\tcount\n" + "".join(rows))
    real = DuckDBEngine.count

    assert caught(attacked(log, mode, 100)) == set()
    with patch.object(
        DuckDBEngine, "count", lambda self, log, **_: real(self, log, unique_pairs=True)
    ):
        assert "pairs that may be released" in caught(attacked(log, mode, 100))


def test_a_user_who_is_always_shown_is_caught(log):
    real = sampled.sample_users

    def with_one_more(hist, plan, rng):
        drawn = real(hist, plan, rng)
        return replace(drawn, user=np.append(drawn.user, hist.users - 1))

    with patch.object(sampled, "sample_users", with_one_more):
        assert "who is shown" in caught(attacked(log, "exact"))


def test_a_selection_without_a_threshold_is_caught(log):
    def everything(hist, budget, rng):
        return replace(real(hist, budget, rng), pairs=np.arange(hist.pairs))

    real = pooled.select
    with patch.object(pooled, "select", everything):
        assert "selection" in caught(attacked(log, "synthetic"))


def test_denominators_of_another_log_are_caught(log):
    """Each pair is taken to have the clicks of ten more users, so everybody seems to weigh less."""
    real = Planning.exact

    def mistaken(self, hist):
        others = 10 * hist.pairs
        more = PairHistogram.of_rows(
            user=np.concatenate([hist.user, hist.users + np.arange(others)]),
            pair=np.concatenate([hist.pair, np.arange(others) // 10]),
            count=np.concatenate([hist.count, np.full(others, 2)]),
            users=hist.users + others,
            query=hist.query,
        )
        return replace(real(self, hist), plan=real(self, more).plan)

    with patch.object(Planning, "exact", mistaken):
        assert "who is shown" in caught(attacked(log, "exact"))


def test_noise_redrawn_on_a_retry_is_caught(log):
    real = pooled.floored_gaussian

    def better_of_two(n, rng, **law):
        return np.maximum(real(n, rng, **law), real(n, rng, **law))

    with patch.object(pooled, "floored_gaussian", better_of_two):
        assert "selection" in caught(attacked(log, "synthetic", 4_000))


def test_floating_point_noise_is_caught(log):
    """In half precision its last bits are zeros, so those of the sum show through."""
    real = sums.floored_gaussian

    def half(n, rng, *, variance, grid):
        noise = real(n, rng, variance=variance, grid=grid) * float(grid)
        return (noise.astype(np.float16).astype(float) / float(grid)).astype(np.int64)

    with patch.object(sums, "floored_gaussian", half):
        broken = {a.canary for a in attacked(log, "synthetic").attacks if not a.ok}
    assert "last bits of its clicks" in broken


def test_a_missing_cap_is_caught(log):
    """Whoever clicks more is drawn more often, where everybody should have Poisson(B) points."""
    real = capped_sampling.poisson

    with patch.object(
        capped_sampling, "poisson", lambda n, rng, *, rate: real(n, rng, rate=3 * rate)
    ):
        assert "drawn rows" in caught(attacked(log, "private"))


# --- bounds ---


@given(hits=st.integers(0, 400), trials=st.integers(400, 500))
def test_bounds_enclose_the_rate(hits, trials):
    low, high = (
        float(bound(np.array(hits), trials, 0.01))
        for bound in (confidence.at_least, confidence.at_most)
    )

    assert 0 <= low <= hits / trials <= high <= 1


def test_bounds_are_those_of_clopper_and_pearson():
    """At the lower bound, that many hits or more have probability alpha exactly."""
    low = float(confidence.at_least(np.array(3), 10, 0.05))
    tail = sum(math.comb(10, k) * low**k * (1 - low) ** (10 - k) for k in range(3, 11))
    high = float(confidence.at_most(np.array(3), 10, 0.05))
    head = sum(math.comb(10, k) * high**k * (1 - high) ** (10 - k) for k in range(4))

    assert math.isclose(tail, 0.05, rel_tol=1e-9)
    assert math.isclose(head, 0.05, rel_tol=1e-9)


def test_equal_scores_prove_nothing_and_different_ones_do():
    rng = np.random.default_rng(5)
    claim = Claim(epsilon=1.0, delta=0.01)
    scores = [np.floor(rng.normal(shift, 1, 4_000)).astype(int) for shift in (0, 0, 3)]

    assert told_apart(scores[0], scores[1], claim, 0.001).within(claim)
    for one, other in ((0, 2), (2, 0)):
        assert not told_apart(scores[one], scores[other], claim, 0.001).within(claim)


def test_false_alarms_are_as_rare_as_told():
    """Randomized response at its own ε: the bound exceeds it seldom."""
    rng, claim = np.random.default_rng(7), Claim(epsilon=1.0, delta=0.0)
    truth = math.e / (1 + math.e)
    alarms = sum(
        not told_apart(
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


def test_canaries_share_nothing_with_the_log(log):
    hist = PairHistogram.of_rows(
        user=np.array([0, 1]),
        pair=np.array([0, 0]),
        count=np.array([1, 2]),
        users=2,
        query=np.array([0]),
    )
    garden = planted(hist, trials=50, weight=4.0)

    assert garden.hist.holders[0] == 2
    assert (garden.hist.user[: len(hist.user)] == hist.user).all()
    for loner in garden.loners:
        assert (garden.hist.holders[loner.pairs] == 1).all()
    for joiner in garden.joiners:
        assert (garden.hist.holders[joiner.with_user] == joiner.holders + 1).all()
        assert (garden.hist.holders[joiner.without] == joiner.holders).all()


def test_canaries_do_not_fill_the_memory():
    """At a tiny budget a group takes millions of users, and is left out."""
    hist = PairHistogram.of_rows(
        user=np.array([0, 1]),
        pair=np.array([0, 0]),
        count=np.array([1, 2]),
        users=2,
        query=np.array([0]),
    )
    garden = planted(hist, trials=2_000, weight=1e8)

    assert len(garden.hist.user) < 2_000_000
    assert len(garden.loners) == 3
    assert garden.joiners == ()


# --- the verb ---


def audit(*given):
    return subprocess.run(
        [sys.executable, "-m", "slogan", "audit", *map(str, given)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_verb_prints_found_beside_claimed(log):
    done = audit(log, "--epsilon", "2", "--delta", "0.01", "--trials", "200", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert found["ok"]
    assert found["mode"] == "synthetic"
    assert {a["target"] for a in found["attacks"]} == {
        "selection",
        "noisy counts",
        "released counts",
        *(f"sums for {name}" for name in ("counts", "sizes", "coverage", "association")),
    }


@pytest.mark.parametrize(
    "counts", [(), ("--counts", "laplace", "--laplace-bound", "5", "--laplace-epsilon", "1")]
)
def test_the_verb_tells_a_person_that_it_is_no_proof(log, counts):
    given = "--mode sanitize --exp-epsilon 2 --delta 0.5 --trials 200 --time-limit 2"
    done = audit(log, *given.split(), *counts)

    assert done.returncode == 0
    assert "not a proof" in done.stderr
    assert "query" not in done.stderr


@pytest.mark.parametrize(
    "given",
    [
        ("--trials", "3"),
        ("--counts", "private"),
        ("--engine", "abacus"),
        ("--association", "taxonomy"),
        ("--mode", "sanitize", "--association", "domains"),
    ],
)
def test_wrong_usage_is_refused(log, given):
    done = audit(log, "--epsilon", "2", "--delta", "0.01", *given)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
