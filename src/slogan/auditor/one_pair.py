"""Attacks on releases of one pair of each user: replay of the one draw, its law, and trials.

A pair that has lost a user gets noise that is larger by 1 in a replay. Its reach allows that,
because recorded noise is at most the reach less one.
"""

# ruff: noqa: ARG002 - a replacement has the signature of the function it replaces

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from slogan.arrays import Flags, Floats, Ints
from slogan.auditor import Attack, Claim
from slogan.auditor.noise import Drawn, has_law
from slogan.auditor.replay import Places, Recording, Replay
from slogan.auditor.transcript import Coins, PartedError, Transcript, kept, without
from slogan.budget import PrivacyBudget, exact
from slogan.dp import one_pair
from slogan.dp.accounting import Approximate, Stage
from slogan.dp.one_pair import TruncatedGeometric, divide
from slogan.dp.selection import _weights
from slogan.dp.sums import AnyHistogram, brought
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, Words
from slogan.workflows import synthetic_users

_RARE = 1e-9
_SEEN = "1/4"
"""A δ that few trials can detect."""
_ALONE, _CLICKS = (1, 10, 100), 1_000
"""Pairs of a user who shares none, and clicks on each."""
_DRAWS, _FAR = 4_000, 1 << 40
_FEWEST, _MOST_USERS = 20, 400_000


def _nothing() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(kw_only=True)
class OneDraw(Transcript):
    """The draw of a run: users by pair, the reach and noise of held pairs, the number of users."""

    speakers: Ints = field(default_factory=_nothing)
    draw: TruncatedGeometric | None = None
    reach: Ints = field(default_factory=_nothing)
    reach_coins: Words = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    raw: Ints = field(default_factory=_nothing)
    """The noise as drawn; `noise` is shifted."""
    noise: Ints = field(default_factory=_nothing)
    noise_rate: Fraction = Fraction(0)
    users: int = 0
    published_users: int = 0
    users_stage: Approximate | None = None

    @property
    def held(self) -> Ints:
        """The pairs that a user contributes to."""
        return np.flatnonzero(self.speakers)

    def accounted(self, stage: Stage) -> bool:
        """Whether a stage of the account is what was drawn."""
        if isinstance(stage, TruncatedGeometric):
            return stage == self.draw and self.noise_rate == exact(stage.epsilon)
        return stage == self.users_stage


class RecordingOne(Recording):
    """Records the draw of a run; pairs of two lasting users are published, as noise allows it."""

    def __init__(self, attacked: Ints, crowd: Ints, source: Randomness | None) -> None:
        super().__init__(attacked, crowd, source)
        self.seen: OneDraw = OneDraw()

    def _places(self, selecting: ModuleType) -> Places:
        return [
            (synthetic_users, "measure_one", self.measure),
            (_weights, "capped", self.capped),
            (one_pair, "reaches", self.reaches),
            (one_pair, "truncated_geometric", self.noise),
            (one_pair, "noisy_users", self.users),
        ]

    def measure(self, real: Any, hist: AnyHistogram, *given: Any) -> Any:
        if self.seen.read is not None:  # a second draw could be used to pick the better one
            raise PartedError("selection")
        self.seen.read = brought(hist)
        return real(hist, *given)

    def capped(self, real: Any, hist: AnyHistogram, rng: Randomness, *most: int) -> Any:
        chosen = super().capped(real, hist, rng, *most)
        self.seen.speakers = np.asarray(chosen.speakers)
        return chosen

    def reaches(self, real: Any, n: int, draw: TruncatedGeometric, rng: Randomness) -> Ints:
        coins = Coins(self._source or rng)
        self.seen.draw, self.seen.reach = draw, real(n, draw, coins)
        self.seen.reach_coins = coins.all
        return self.seen.reach

    def noise(self, real: Any, reach: Ints, rng: Randomness, *, epsilon: Fraction) -> Ints:
        seen, held = self.seen, self.seen.held
        seen.raw, seen.noise_rate = real(reach, self._source or rng, epsilon=epsilon), epsilon
        if len(held) != len(reach) or seen.spoken is None:
            raise PartedError("selection")
        if self._source is None:
            return seen.raw
        attacked = seen.spoken.pair[np.isin(seen.spoken.user, self._attacked)]
        lasting = seen.speakers - np.bincount(attacked, minlength=seen.spoken.pairs)
        # the most that does not publish a pair to which only attacked users may contribute
        hidden = np.maximum(np.minimum(reach - 1, reach - seen.speakers[held]), -reach)
        seen.noise = np.where(lasting[held] > 1, reach - 1, hidden)
        return seen.noise

    def users(self, real: Any, users: int, stage: Approximate, rng: Randomness) -> int:
        self.seen.users, self.seen.users_stage = users, stage
        self.seen.published_users = real(users, stage, self._source or rng)
        return self.seen.published_users


class ReplayOne(Replay, RecordingOne):
    """Runs a verb without one user, so that all numbers stay as they were recorded."""

    def __init__(self, past: OneDraw, gone: int | None) -> None:
        super().__init__(past, gone)
        self.seen = OneDraw()
        self._before = past

    def measure(self, real: Any, hist: AnyHistogram, *given: Any) -> Any:
        before = self._before.read
        if before is None or brought(hist).digest() != without(before, self._gone).digest():
            raise PartedError("rows read")
        return real(hist, *given)

    def capped(self, real: Any, hist: AnyHistogram, rng: Randomness, *most: int) -> Any:
        chosen = Replay.capped(self, real, hist, rng, *most)
        self.seen.speakers = np.asarray(chosen.speakers)
        return chosen

    def reaches(self, real: Any, n: int, draw: TruncatedGeometric, rng: Randomness) -> Ints:
        before, held = self._before, self.seen.held
        if draw != before.draw or n != len(held):
            raise PartedError("selection")
        place = np.searchsorted(before.held, self._remaining()[held])
        if not np.isin(self._remaining()[held], before.held).all() or len(before.reach_coins) < len(
            place
        ):
            raise PartedError("selection")
        self.seen.reach = real(n, draw, Coins(None, before.reach_coins[place]))
        if not np.array_equal(self.seen.reach, before.reach[place]):
            self.differs.add("selection")
        return self.seen.reach

    def noise(self, real: Any, reach: Ints, rng: Randomness, *, epsilon: Fraction) -> Ints:
        before, left, held = self._before, self._remaining(), self.seen.held
        if epsilon != before.noise_rate or not np.array_equal(reach, self.seen.reach):
            raise PartedError("noise for draw")
        less = before.speakers.copy()
        less[left] -= self.seen.speakers
        hist = before.spoken
        own = () if hist is None else hist.pair[hist.user == self._gone]
        if less.min(initial=0) < 0 or less.sum() > 1 or np.delete(less, own).any():
            self.differs.add("numbers of users")
        noise = np.zeros(len(before.speakers), dtype=np.int64)
        noise[before.held] = before.noise
        noise = (noise + less)[left[held]]
        if (np.abs(noise) > reach).any():
            self.differs.add("noise for draw")
        return noise

    def _remaining(self) -> Ints:
        """The remaining pairs, by their old numbers."""
        if self._before.spoken is None:
            raise PartedError("selection")
        return kept(self._before.spoken, self._gone)

    def users(self, real: Any, users: int, stage: Approximate, rng: Randomness) -> int:
        before = self._before
        if stage != before.users_stage:
            raise PartedError("noise for users")
        if before.users - users not in (0, 1):
            self.differs.add("numbers of users")
        return before.published_users


# --- the law of the noise ---


def on_noise(runs: Sequence[OneDraw], claim: Claim, rng: Randomness) -> Iterator[Attack]:
    """Test the noise of two runs, further draws of their reach, and the noise on all users."""
    one, other = runs
    if one.draw is None or one.users_stage is None:
        raise PartedError("selection")
    draw, rate = one.draw, float(exact(one.draw.epsilon))
    first = np.arange(min(len(one.raw), len(other.raw)))
    by_pair = np.intersect1d(one.held, other.held, return_indices=True)[1:]
    again = any(
        _repeats(one.raw[a] == other.raw[b], _alike(rate, draw.reach))
        for a, b in ((first, first), by_pair)
    )
    values = len(one.raw) + len(other.raw)
    yield Attack.by_noise("all noise", "drawn twice", values, claim, ok=not again)
    reach = np.repeat(np.arange(draw.reach - 1, draw.reach + 1), _DRAWS)
    fresh = one_pair.truncated_geometric(reach, rng, epsilon=exact(draw.epsilon))
    draws = [(run.raw, run.reach) for run in runs] + [(fresh, reach)]
    fits = all(_lawful(noise, rate, of, rng) for noise, of in draws if len(noise))
    values = sum(len(noise) for noise, _ in draws)
    yield Attack.by_noise("noise for draw", "its law", values, claim, ok=fits)
    stage = one.users_stage
    added = np.array([one_pair.noisy_users(0, stage, rng) for _ in range(_DRAWS // 10)])
    fits = _lawful(added, float(exact(stage.epsilon)), np.full_like(added, _FAR), rng)
    yield Attack.by_noise("noise for users", "its law", len(added), claim, ok=fits)


def _repeats(equal: Flags, chance: float) -> bool:
    """Whether more draws are equal than by chance."""
    times = int(equal.sum())
    return times > 0 and float(binom.sf(times - 1, len(equal), chance)) < _RARE


def _lawful(noise: Ints, rate: float, reach: Ints, rng: Randomness) -> bool:
    """Whether noise has the law of its reach: its quantile, drawn within its step, is uniform."""
    if (np.abs(noise) > reach).any():
        return False
    low, high = _below(noise - 1, rate, reach), _below(noise, rate, reach)
    within = (rng.words(len(noise)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    scores = ndtri(np.clip(low + within * (high - low), 1e-15, 1 - 1e-15))
    return has_law(Drawn(name="", values=np.asarray(scores), step=0.0, pairs=None))


def _below(noise: Ints, rate: float, reach: Ints) -> Floats:
    """The distribution function of truncated geometric noise."""
    r = math.exp(-rate)
    far = -np.abs(noise + 0.5) - 0.5  # the same distance on the other side of 0
    tail = r**-far * (1 - r ** np.maximum(reach + far + 1, 0)) / (1 + r - 2 * r ** (reach + 1.0))
    return np.where(noise < 0, tail, 1 - tail)


def _alike(rate: float, reach: int) -> float:
    """The chance that two draws are equal, at most, over this reach and the next smaller one."""
    mass = np.exp(-rate * np.abs(np.arange(-max(reach - 1, 0), max(reach, 1))))
    return float(((mass / mass.sum()) ** 2).sum())


# --- trials ---


def on_novel_pairs(epsilon: float, trials: int, rng: Randomness) -> list[Attack]:
    """Test whether a pair of one user is published more often than δ = 1/4 allows."""
    budget = PrivacyBudget(epsilon=str(epsilon), delta=_SEEN)
    spending, claim = divide(budget), Claim(epsilon=epsilon, delta=float(budget.delta_value))
    attacks: list[Attack] = []
    for held in _ALONE:
        pair = np.arange(trials * held)
        hist = PairHistogram(
            user=pair // held,
            pair=pair,
            count=np.full_like(pair, _CLICKS),
            users=trials,
            pairs=len(pair),
            query=pair,
        )
        published = synthetic_users.measure_one(hist, spending, rng).pairs
        shown, whose = len(np.unique(published // held)), f"only user of {held} pairs, δ = {_SEEN}"
        attacks.append(Attack.by_hits("selection", whose, shown, trials, claim, delta=claim.delta))
    return attacks


def on_numbers(budget: PrivacyBudget, trials: int, rng: Randomness) -> list[Attack]:
    """Test whether the published number of a pair reveals that one more user holds it."""
    spending = divide(budget)
    claim, attacks = Claim(epsilon=budget.epsilon_value, delta=budget.delta_value), list[Attack]()
    reach = spending.draw.reach
    for holders in sorted({max(1, reach // 2), reach, 2 * reach + 1}):
        groups = max(_FEWEST, min(trials, _MOST_USERS // (holders + 1)))
        scores: list[Ints] = []
        for more in (1, 0):
            pair = np.repeat(np.arange(groups), holders + more)
            hist = PairHistogram(
                user=np.arange(len(pair)),
                pair=pair,
                count=np.ones_like(pair),
                users=len(pair),
                pairs=groups,
                query=np.arange(groups),
            )
            found = synthetic_users.measure_one(hist, spending, rng)
            score = np.zeros(groups, dtype=np.int64)
            score[found.pairs] = found.clicks
            scores.append(score)
        whose = f"one more user than {holders}"
        attacks.append(Attack.by_scores("numbers of users", whose, scores[0], scores[1], claim))
    return attacks
