"""A histogram that stays in its engine: whatever the engine proposes, the gate decides here."""

from dataclasses import replace

import numpy as np
import pytest

import slogan
from slogan.engines.duckdb.engine import DuckDBEngine
from slogan.engines.engine import Packed, Packer, Shared
from slogan.generation.generate import generate
from slogan.histogram import Remainder

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")


class Keeping(DuckDBEngine):
    """Hands over every third pair with all its holders, and proposes far too much of each."""

    proposed: int | None = 1_000_000
    bound: float | None = 1e9

    def count_in_place(self, log, *, forced):
        assert forced
        counted = self.count(log)
        self.whole = hist = counted.hist
        shared = Shared(users=hist.users, pairs=hist.pairs, clicks=hist.clicks)
        return replace(counted, rows=hist.only(np.zeros(0, dtype=np.int64)), stayed=shared)

    def pack(self, asked, effort):
        del effort
        pairs = np.arange(2, self.whole.pairs, 3)
        part = self.whole.only(pairs)
        users, user = np.unique(part.user, return_inverse=True)
        left = Remainder(hist=replace(part, user=user, users=len(users)), users=users, pairs=pairs)
        x = None if self.proposed is None else np.full(len(pairs), self.proposed)
        assert asked.forced
        return Packed(left=left, x=x, bound=self.bound, trace=((20, 1.0, 2.0),), too_dear=7)


@pytest.fixture
def log(tmp_path):
    generate(tmp_path / "clicks.tsv", users=300, seed=1)
    return tmp_path / "clicks.tsv"


def sanitized(log, monkeypatch, **kept):
    host = type("Engine", (Keeping,), kept)(slogan.DuckDB())
    assert isinstance(host, Packer)
    monkeypatch.setattr(slogan.DuckDB, "start", lambda *_: host)
    return slogan.sanitize(log, BUDGET, solver="distributed", time_limit=2)


@pytest.mark.parametrize("proposed", [1_000_000, 1, None])
def test_a_release_is_private_whatever_the_engine_proposes(log, tmp_path, monkeypatch, proposed):
    release = sanitized(log, monkeypatch, proposed=proposed)
    summary = release.save(tmp_path / "out").to_dict()
    drawn = release.chart_data()
    whole = release.job.engine.whole
    release.close()

    assert slogan.verify(log, tmp_path / "out").ok
    shown = np.bincount(release.output.pair, release.output.count, minlength=whole.pairs)
    assert shown[2::3].tolist() == release.plan.counts.tolist()
    assert shown.sum() == release.plan.size
    held = {*zip(whole.user.tolist(), whole.pair.tolist(), strict=True)}
    assert {*zip(release.output.user.tolist(), release.output.pair.tolist(), strict=True)} <= held
    assert release.plan.size == summary["clicks_out"] > 0
    assert summary["shared"] == {
        "users": whole.users,
        "pairs": whole.pairs,
        "clicks": whole.clicks,
    }
    assert summary["bound"] == np.floor(whole.users * BUDGET.per_user)  # less than was claimed
    assert summary["convergence"] == [[20, 1.0, 2.0]]
    assert sum(drawn["clicks_by_fate"].values()) == release.counted.clicks
    assert sum(drawn["budget_use"]) == whole.users
    assert "figures" not in drawn


def test_a_bound_of_the_engine_is_rounded_down_to_whole_clicks(log, monkeypatch):
    release = sanitized(log, monkeypatch, bound=99.7)
    release.close()

    assert release.bound == 99
    assert release.solution.solver == "distributed"


def test_without_a_bound_what_was_handed_over_is_all_there_is(log, monkeypatch):
    release = sanitized(log, monkeypatch, proposed=None, bound=None)
    release.close()

    assert release.solution.solver == "packing"
    assert release.value <= release.bound
