"""Attacks on the private modes: on planted users, noisy sums, and the release.

Canaries are the worst cases for privacy, on separate pairs. Groups that share nothing with each
other or with the log are independent, so each is one trial and one run of a mechanism gives
thousands.

Noisy sums are attacked before rounding, as the proof allows an adversary to see them. The sums of
a stage are recorded once with a canary in the log and once without, with the noise of the run.
That noise is drawn for every replay, and the noisy sums are compared.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from slogan.arrays import Ints
from slogan.auditor import Attack, Claim, joined
from slogan.budget import exact
from slogan.dp.accounting import Account, Gaussian
from slogan.dp.grouping import Grouping
from slogan.dp.private_rows import FULL, capped_sample
from slogan.dp.selection import SelectionBudget, Selector
from slogan.dp.statistics import Spending
from slogan.dp.sums import (
    clipped_counts,
    coverage_sums,
    noisy_counts,
    noisy_sums,
    size_sums,
    together_sums,
)
from slogan.histogram import Output, PairHistogram
from slogan.randomness import Randomness

_ALONE = (1, 10, 100, 2_000)
"""Pairs of a user; the last is far more than a user may contribute."""
_CLICKS, _ALL_CLICKS = 1_000, 1_000_000
"""Far more than others have, and more than any cap of clicks."""
_HELD = 12
"""Few enough pairs to compare all the sums they change."""
_SEEN, _DROWNED = Fraction(1, 4), Fraction(1, 100)
"""A δ that few trials can detect, and a μ² at which weights are negligible against the noise."""
_MOST_ROWS = 400_000
_FEWEST = 20
_VISIBLE = Fraction(1, 2)
"""ε is compared at this part of the δ for ε = 0: a small δ would need too many trials."""


# --- Canaries ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Joiner:
    """Groups of users with the same pairs, some with the canary and some without."""

    name: str
    holders: int
    with_user: Ints
    without: Ints
    canaries: Ints
    """The canaries, by the numbers of the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A log with canaries in it."""

    hist: PairHistogram
    loners: tuple[Ints, ...]
    """Pairs that cannot be selected without their user: row n has the pairs of the n-th loner."""
    joiners: tuple[Joiner, ...]

    def flags(self, pairs: Ints) -> Ints:
        """1 for each of these pairs, and 0 for all others."""
        flags = np.zeros(self.hist.pairs, dtype=np.int64)
        flags[pairs] = 1
        return flags


class _Garden:
    """Adds users and pairs to a log, numbered after those it has."""

    def __init__(self, hist: PairHistogram) -> None:
        self._hist = hist
        self._rows: list[tuple[Ints, Ints, Ints]] = []
        self._users = self._pairs = 0

    def pairs(self, groups: int, each: int) -> Ints:
        """New pairs: a row for each group."""
        first = self._hist.pairs + self._pairs
        self._pairs += groups * each
        return np.arange(first, first + groups * each).reshape(groups, each)

    def users(self, pairs: Ints, each: int, clicks: int) -> Ints:
        """Add `each` users for every row of pairs, who click all of them; return their numbers."""
        first, new = self._hist.users + self._users, len(pairs) * each
        numbers = np.arange(first, first + new)
        user: Ints = np.repeat(numbers, int(pairs.shape[1]))
        pair: Ints = np.repeat(pairs, each, axis=0).ravel()
        self._rows.append((user, pair, np.full(len(user), clicks, dtype=np.int64)))
        self._users += new
        return numbers

    def joiner(self, name: str, groups: int, held: int, *, holders: int, clicks: int) -> Joiner:
        """Groups of users with the same pairs; one more user joins half of the groups."""
        with_user, without = (self.pairs(groups, held) for _ in range(2))
        for pairs in (with_user, without):
            self.users(pairs, holders, 1)
        return Joiner(
            name=f"{name} of {holders}",
            holders=holders,
            with_user=with_user,
            without=without,
            canaries=self.users(with_user, 1, clicks),
        )

    def grown(self) -> PairHistogram:
        return joined(self._hist, self._rows, users=self._users, pairs=self._pairs)


def planted(hist: PairHistogram, *, trials: int, weight: float) -> Planted:
    """Plant canaries of every kind.

    Args:
        hist: The log.
        trials: Groups of each kind; fewer where that would be millions of rows, and none where
            too few would remain.
        weight: The approximate weight that selects a pair, where one more user changes most.
    """
    garden = _Garden(hist)
    loners = [garden.pairs(min(trials, _MOST_ROWS // held), held) for held in _ALONE]
    for pairs in loners:
        garden.users(pairs, 1, 1)
    joiners: list[Joiner] = []
    for share in (0.7, 1.0):
        for name, held, clicks in (("duplicate of others", 3, 1), ("dominates a pair", 1, _CLICKS)):
            holders = math.ceil(share * weight * math.sqrt(held))
            groups = min(trials, _MOST_ROWS // (2 * held * (holders + 1)))
            if groups >= _FEWEST:
                joiners.append(garden.joiner(name, groups, held, holders=holders, clicks=clicks))
    return Planted(hist=garden.grown(), loners=tuple(loners), joiners=tuple(joiners))


# --- Selection and release of planted pairs ---


def on_selection(planted: Planted, selected: Ints, alone: Claim, joining: Claim) -> list[Attack]:
    """Test whether the selection reveals that a user holds some pairs.

    The claim for pairs that only the canary holds is smaller than for pairs it joins.
    """
    flags = planted.flags(selected)
    attacks = [
        Attack.by_hits(
            "selection",
            f"only user of {pairs.shape[1]} pairs",
            int(flags[pairs].any(axis=1).sum()),
            len(pairs),
            alone,
            delta=alone.delta,
        )
        for pairs in planted.loners
    ]
    return [*attacks, *_on_joiners("selection", planted, flags, joining)]


def on_novel_pairs(
    select: Selector, mu_squared: Fraction, epsilon: float, trials: int, rng: Randomness
) -> list[Attack]:
    """Test whether one of t pairs of only one user is selected more often than δ = 1/4 allows.

    At a δ that trials can detect, and with noise far above all weights: a threshold that holds for
    one pair, and not for t of them, fails here for any budget.
    """
    budget = SelectionBudget(mu_squared=min(mu_squared, _DROWNED), delta=_SEEN)
    claim, attacks = Claim(epsilon=epsilon, delta=float(_SEEN)), list[Attack]()
    for held in _ALONE:
        groups = min(trials, _MOST_ROWS // held)
        hist = PairHistogram(
            user=np.repeat(np.arange(groups), held),
            pair=np.arange(groups * held),
            count=np.ones(groups * held, dtype=np.int64),
            users=groups,
            pairs=groups * held,
            query=np.arange(groups * held),
        )
        shown = len(np.unique(select(hist, budget, rng).pairs // held))
        whose = f"only user of {held} pairs, δ = {_SEEN}"
        attacks.append(Attack.by_hits("selection", whose, shown, groups, claim, delta=claim.delta))
    return attacks


def on_released(planted: Planted, output: Output, claim: Claim) -> list[Attack]:
    """Test whether released clicks reveal that one more user holds their pairs."""
    clicks = np.zeros(planted.hist.pairs, dtype=np.int64)
    np.add.at(clicks, output.pair, output.count)
    return _on_joiners("released counts", planted, clicks, claim)


def _on_joiners(target: str, planted: Planted, scores: Ints, claim: Claim) -> list[Attack]:
    """Compare groups with and without the canary, by the sum of their scores."""
    return [
        Attack.by_scores(
            target,
            joiner.name,
            scores[joiner.with_user].sum(axis=1),
            scores[joiner.without].sum(axis=1),
            claim,
        )
        for joiner in planted.joiners
    ]


def on_drawn_rows(planted: Planted, selected: Ints, shown: Ints, claim: Claim) -> list[Attack]:
    """Test whether rows of canaries with a selected pair are drawn more often than allowed."""
    flags = planted.flags(selected).astype(bool)
    canaries = [joiner.canaries[flags[joiner.with_user].any(axis=1)] for joiner in planted.joiners]
    held = np.concatenate([np.zeros(0, dtype=np.int64), *canaries])
    hits = int(np.isin(held, shown).sum())
    whose = "holds a released pair"
    return [Attack.by_hits("drawn rows", whose, hits, len(held), claim)] if len(held) else []


def on_capped_sampling(division: Spending, claim: Claim, trials: int, rng: Randomness) -> Attack:
    """Test whether rows of users with clicks far above the cap are drawn too often."""
    hist = PairHistogram(
        user=np.arange(trials),
        pair=np.zeros(trials, dtype=np.int64),
        count=np.full(trials, _CLICKS),
        users=trials,
        pairs=1,
        query=np.zeros(1, dtype=np.int64),
    )
    cap = exact(division.sampling.cap)
    drawn = capped_sample(hist, np.array([0]), np.array([FULL]), cap=cap, rng=rng)
    return Attack.by_hits("drawn rows", "1,000 clicks on a pair", drawn.users, trials, claim)


# --- Noisy sums ---


def on_counts(mu_squared: Fraction, trials: int, rng: Randomness) -> list[Attack]:
    """Test whether a count, or its last bits, reveal more of a canary than the claim.

    Every canary is the only user of two pairs; equally many pairs have no user.
    """
    hist = PairHistogram.of_rows(
        user=np.repeat(np.arange(trials), 2),
        pair=np.arange(2 * trials),
        count=np.tile(np.array([_CLICKS, 7]), trials),
        users=trials,
        query=np.arange(4 * trials),
    )
    noisy = noisy_counts(hist, np.arange(4 * trials), mu_squared=mu_squared, rng=rng)
    runs, claim = (noisy.steps[: 2 * trials : 2], noisy.steps[2 * trials :: 2]), _spent(mu_squared)
    # The largest power of two that divides each detects noise that is coarser than the sums.
    bits = (runs[0] & -runs[0], runs[1] & -runs[1])
    return [
        Attack.by_scores("noisy counts", "its clicks", *runs, claim),
        Attack.by_scores("noisy counts", "last bits of its clicks", *bits, claim),
    ]


def visible(account: Account) -> Claim:
    """The claim of stages, at a δ that trials can detect."""
    aside = account.cost.delta
    delta = aside + (account.delta(0) - aside) * _VISIBLE
    return Claim(epsilon=float(account.epsilon(delta)), delta=float(delta))


def _spent(mu_squared: Fraction) -> Claim:
    """The claim of noisy sums that spend this μ²."""
    return visible(Account((Gaussian(name="claimed", norm_squared=1, variance=1 / mu_squared),)))


def sums(grouping: Grouping | None) -> dict[str, Callable[[PairHistogram, Ints], Ints]]:
    """The functions that compute each stage's sums, by stage name."""
    known = {"counts": clipped_counts, "sizes": size_sums, "coverage": coverage_sums}
    together = {"association": partial(together_sums, grouping=grouping)} if grouping else {}
    return {**known, **together}


def on_sums(
    hist: PairHistogram,
    pairs: Ints,
    account: Account,
    parts: Mapping[str, Fraction],
    grouping: Grouping | None,
    trials: int,
    rng: Randomness,
) -> list[Attack]:
    """Test whether noisy sums reveal a user with a million clicks on some released pairs.

    The account has each stage as it was run, and the parts are the μ² that each may spend.
    """
    held = pairs[:_HELD]
    canary = np.full(len(held), hist.users), held, np.full(len(held), _ALL_CLICKS)
    crowded, attacks = joined(hist, [canary], users=1), list[Attack]()
    stages = {stage.name: stage for stage in account.stages if isinstance(stage, Gaussian)}
    for name, add_up in sums(grouping).items():
        if name not in stages:
            continue
        with_user, without = (add_up(log, pairs) for log in (crowded, hist))
        changed = np.flatnonzero(with_user != without)
        if not len(changed):
            continue
        before, after = without[changed], with_user[changed]
        toward, scores = (after - before) / np.linalg.norm(after - before), list[Ints]()
        for recorded in (after, before):
            noisy = noisy_sums(
                np.tile(recorded, trials),
                name=name,
                norm_squared=int(exact(stages[name].norm_squared)),
                mu_squared=stages[name].cost.mu_squared,
                rng=rng,
            )
            # The most powerful test of normal noise is the projection on this direction.
            far = (noisy.steps.reshape(trials, -1) - before) @ toward
            scores.append(np.rint(far).astype(np.int64))
        whose, claim = f"{len(held)} released pairs", _spent(parts[name])
        attacks.append(Attack.by_scores(f"sums for {name}", whose, scores[0], scores[1], claim))
    return attacks
