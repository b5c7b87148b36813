"""Trials alone catch mechanisms broken on purpose; test_zoo.py has all kinds of evidence."""

from contextlib import ExitStack
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from tests.unit.auditor.attacked import END_TO_END, attacked, caught

import slogan
from slogan.auditor import private, sampling
from slogan.dp import accounting, private_rows, selection, statistics, sums
from slogan.dp.private_rows import FULL, weighted_clicks
from slogan.dp.selection import pooled, weighted_gaussian
from slogan.dp.selection._weights import capped as contributions
from slogan.engines.duckdb.engine import DuckDBEngine
from slogan.histogram import Output, PairHistogram
from slogan.planning.planner import Planner
from slogan.registry import load_module
from slogan.workflows import sanitize_private

pytestmark = pytest.mark.usefixtures("trials_alone")

STAGES = ("counts", "sizes", "coverage", "association")

# --- the paper's sampling, and noisy sums ---


@pytest.mark.parametrize("mode", ["exact", "laplace"])
def test_twice_the_budget_is_caught_in_the_counts_of_real_users(log, mode):
    twice = slogan.PrivacyBudget(exp_epsilon="4", delta="0.75")
    real = getattr(Planner, mode)

    def generous(self, *given, **noise):
        return real(replace(self, budget=twice), *given, **noise)

    with patch.object(Planner, mode, generous):
        assert "who is shown" in caught(attacked(log, mode))


@pytest.mark.long  # the zoo has it too
@pytest.mark.parametrize("mode", ["private", "synthetic"])
def test_half_the_noise_is_caught(log, mode):
    real = sums.floored_gaussian

    def weaker(n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patch.object(sums, "floored_gaussian", weaker):
        broken = caught(attacked(log, mode))
    assert {"noisy counts", "sums for counts", "sums for sizes"} <= broken
    assert mode == "private" or {"sums for coverage", "sums for association"} <= broken


@pytest.mark.long  # the zoo has it too
@pytest.mark.parametrize(
    ("name", "module", "what", "broken"),
    [
        ("counts", sums, "roots", lambda square, real=sums.roots: 2 * real(square)),
        ("coverage", sums, "quotients", lambda above, below, bits: above << bits),
        ("association", sums, "roots", lambda square: np.full_like(square, 1 << 20)),
    ],
)
def test_users_who_are_not_clipped_are_caught(log, name, module, what, broken):
    with patch.object(module, what, broken):
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
    real = sampling.sample_users

    def with_one_more(hist, plan, rng):
        drawn = real(hist, plan, rng)
        return replace(drawn, user=np.append(drawn.user, hist.users - 1))

    with patch.object(sampling, "sample_users", with_one_more):
        assert "who is shown" in caught(attacked(log, "exact"))


def test_a_selection_without_a_threshold_is_caught(log):
    def everything(hist, budget, rng):
        return replace(real(hist, budget, rng), pairs=np.arange(hist.pairs))

    real = pooled.select
    with patch.object(pooled, "select", everything):
        assert "selection" in caught(attacked(log, "synthetic"))


def test_denominators_of_another_log_are_caught(log):
    """Each pair is taken to have the clicks of ten more users, so everybody seems to weigh less."""
    real = Planner.exact

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

    with patch.object(Planner, "exact", mistaken):
        assert "who is shown" in caught(attacked(log, "exact"))


@pytest.mark.long  # the zoo has it too
def test_noise_redrawn_on_a_retry_is_caught(log):
    real = pooled.floored_gaussian

    def better_of_two(n, rng, **law):
        return np.maximum(real(n, rng, **law), real(n, rng, **law))

    with patch.object(pooled, "floored_gaussian", better_of_two):
        assert "selection" in caught(attacked(log, "synthetic", 4_000))


@pytest.mark.parametrize(("kind", "epsilon"), [(np.float16, "4"), (np.float32, "1")])
def test_floating_point_noise_is_caught(log, kind, epsilon):
    """Its last bits are zeros, so those of the sum show through."""
    real = sums.floored_gaussian

    def rough(n, rng, *, variance, grid):
        noise = real(n, rng, variance=variance, grid=grid) * float(grid)
        return (noise.astype(kind).astype(float) / float(grid)).astype(np.int64)

    budget = slogan.PrivacyBudget(epsilon=epsilon, delta="0.1")
    with patch.object(sums, "floored_gaussian", rough):
        found = slogan.audit(log, budget, slogan.SyntheticUsers(), trials=2_000, seed=1)
    assert "last bits of its clicks" in {a.canary for a in found.attacks if not a.ok}


@pytest.mark.long  # the zoo has it too
def test_rows_drawn_without_a_cap_are_caught(log):
    """Each click is drawn at its own rate, however many a user has."""

    def uncapped(hist, pairs, weight, *, cap, rng):
        held = hist.only(pairs)
        rate = weighted_clicks(held, weight) / FULL * float(cap)
        clicks = np.random.default_rng(1).poisson(np.minimum(rate, 1e6))
        shown = np.flatnonzero(clicks)
        return Output(user=held.user[shown], pair=pairs[held.pair[shown]], count=clicks[shown])

    with patch.object(sanitize_private, "capped_sample", uncapped):
        assert "drawn rows" in caught(attacked(log, "private"))


@pytest.mark.long  # the zoo has it too
@pytest.mark.parametrize("where", [sanitize_private, private])
def test_a_cap_three_times_as_high_is_caught(log, where):
    real = where.capped_sample

    with patch.object(
        where, "capped_sample", lambda *given, cap, rng: real(*given, cap=3 * cap, rng=rng)
    ):
        assert "drawn rows" in caught(attacked(log, "private"))


# --- accounts, and noise that is not what they say ---


@pytest.mark.long  # the zoo has it too
@pytest.mark.parametrize("mode", ["private", "synthetic"])
def test_a_budget_that_is_doubled_is_caught(log, mode):
    """Every reader of the budget doubles it, so that no check of the budget fails."""
    real = accounting.spendable

    def doubled(budget):
        epsilon, delta = real(budget)
        return 2 * epsilon, 2 * delta

    readers = (accounting, statistics, private_rows, private_rows)
    with ExitStack() as patches:
        for reader in readers:
            patches.enter_context(patch.object(reader, "spendable", doubled))
        assert "all stages together" in caught(attacked(log, mode))


@pytest.mark.long  # the zoo has it too
@pytest.mark.parametrize(
    ("where", "name", "mode"),
    [
        *((statistics, name, "synthetic") for name in STAGES),
        *((private_rows, name, "private") for name in STAGES[:2]),
    ],
)
def test_a_stage_that_spends_more_than_its_part_is_caught(log, where, name, mode):
    real = getattr(where, f"noisy_{name}")

    def generous(*given, mu_squared, **rest):
        return real(*given, mu_squared=4 * mu_squared, **rest)

    # the pipeline itself would refuse it
    unchecked = patch.object(accounting.Account, "require", lambda *_: None)
    with unchecked, patch.object(where, f"noisy_{name}", generous):
        assert {"all stages together", f"sums for {name}"} <= caught(attacked(log, mode))


# --- selectors ---


def choosing(log, selector):
    kind = slogan.SyntheticUsers(selector=selector)
    return slogan.audit(log, END_TO_END, kind, trials=2_000, seed=1)


@pytest.mark.parametrize("selector", selection.names())
def test_an_honest_selector_passes(log, selector):
    assert caught(choosing(log, selector)) == set()


@pytest.mark.long  # the zoo has it too
def test_half_the_noise_of_a_selection_is_caught(log):
    real = pooled.floored_gaussian

    def weaker(n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patch.object(pooled, "floored_gaussian", weaker):
        assert "selection" in caught(choosing(log, "pooled"))


@pytest.mark.parametrize("selector", ["pooled", "weighted_gaussian"])
def test_unbounded_contributions_are_caught(log, selector):
    def uncapped(hist, rng, most=None):
        return contributions(hist, rng, hist.pairs)

    def longer(what):
        """What pooled allows one pair of a user at the cap, it then allows beyond it."""
        real = getattr(pooled, what)
        return patch.object(
            pooled, what, lambda *given: real(*given[:-1], np.pad(given[-1], (0, 2_000), "edge"))
        )

    module = load_module(selection.__name__, selector)
    with patch.object(module, "capped", uncapped), longer("spread"), longer("caps"):
        assert "selection" in caught(choosing(log, selector))


@pytest.mark.parametrize(
    ("where", "what", "selector"),
    [
        (pooled, "_threshold", "pooled"),
        (weighted_gaussian, "threshold", "weighted_gaussian"),
    ],
)
def test_a_lower_threshold_is_caught(log, where, what, selector):
    real = getattr(where, what)
    pooled.schedule.cache_clear()
    try:
        with patch.object(where, what, lambda *given, **law: real(*given, **law) * 4 // 5):
            assert "selection" in caught(choosing(log, selector))
    finally:
        pooled.schedule.cache_clear()
