"""A histogram that stays in its engine: whatever the engine proposes, the gate decides here."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import slogan
from slogan import engines, errors
from slogan.engines import Packed, Packer, Shared
from slogan.engines.duckdb import DuckDBEngine
from slogan.generate import generate
from slogan.histogram import Remainder
from slogan.sampling import Output, sample_users

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

    def draw(self, pairs, counts, rng):
        planned = np.zeros(self.whole.pairs, dtype=np.int64)
        planned[pairs] = counts
        return sample_users(self.whole, SimpleNamespace(counts=planned, size=planned.sum()), rng)


@pytest.fixture
def log(tmp_path):
    generate(tmp_path / "clicks.tsv", users=300, seed=1)
    return tmp_path / "clicks.tsv"


def sanitized(log, monkeypatch, **kept):
    monkeypatch.setattr(engines, "start", lambda *_, **__: Engine())
    Engine = type("Engine", (Keeping,), kept)  # noqa: N806
    assert isinstance(Engine(), Packer)
    return slogan.sanitize(log, BUDGET, solver="distributed", time_limit=2)


@pytest.mark.parametrize("proposed", [1_000_000, 1, None])
def test_a_release_is_private_whatever_the_engine_proposes(log, tmp_path, monkeypatch, proposed):
    release = sanitized(log, monkeypatch, proposed=proposed)
    summary = release.save(tmp_path / "out")
    drawn = release.drawn()
    whole = release.engine.whole
    release.close()

    assert slogan.verify(log, tmp_path / "out").ok
    assert set(release.output.pair) <= set(range(2, whole.pairs, 3))
    assert release.plan.size == summary["clicks_out"] > 0
    assert summary["shared"] == {
        "users": whole.users,
        "pairs": whole.pairs,
        "clicks": whole.clicks,
    }
    assert summary["bound"] == np.floor(whole.users * BUDGET.per_user)  # less than was claimed
    assert summary["convergence"] == ((20, 1.0, 2.0),)
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


def one_click_more(drawn, whole):
    return replace(drawn, count=drawn.count + (np.arange(len(drawn.count)) == 0))


def somebody_else(drawn, whole):
    """The first click is shown with a user who does not hold its pair."""
    holders = whole.user[whole.pair == drawn.pair[0]]
    stranger = np.setdiff1d(whole.user, holders)[0]
    return replace(drawn, user=np.where(np.arange(len(drawn.user)) == 0, stranger, drawn.user))


def another_pair(drawn, whole):
    return replace(drawn, pair=drawn.pair - (np.arange(len(drawn.pair)) == 0))


def less_and_more(drawn, whole):
    """The sums are right, and one count is negative."""
    more = {name: np.repeat(getattr(drawn, name)[:1], 2) for name in ("user", "pair")}
    counts = np.array([-1, 1])
    return Output(
        user=np.append(drawn.user, more["user"]),
        pair=np.append(drawn.pair, more["pair"]),
        count=np.append(drawn.count, counts),
    )


@pytest.mark.parametrize("lie", [one_click_more, somebody_else, another_pair, less_and_more])
def test_an_engine_that_draws_otherwise_is_caught(log, monkeypatch, lie):
    def draw(self, pairs, counts, rng):
        return lie(Keeping.draw(self, pairs, counts, rng), self.whole)

    with pytest.raises(errors.SloganError, match="other clicks than were planned"):
        sanitized(log, monkeypatch, draw=draw)
