"""Attacks on the paper's sampling: who is shown, given the counts, and what the counts give away.

Three canaries join the log: one whose pairs nobody else has, one who dominates the pair that most
users hold, and a duplicate of the user with most pairs. Every other user is watched as well.
Counts are compared where planning twice gives the same; a solver stopped by the clock, or noise,
does not, and then nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.attacks.confidence import Claim, Found, shown_at_least
from slogan.attacks.findings import ALPHA, Attack
from slogan.histogram import PairHistogram
from slogan.planning import Planned
from slogan.randomness import Randomness
from slogan.sampling import sample_users
from slogan.stages import Stages

Plans = Callable[[PairHistogram], Planned]
"""Plans the counts of a log without unique pairs."""

_OWN_PAIRS = 5
_NAMES = ("5 pairs of its own", "dominates a pair", "duplicate of a user")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Watched:
    """A planned log whose users have the numbers they had before unique pairs went."""

    planned: Planned
    users: Ints
    pairs: Ints


def on_sampling(
    hist: PairHistogram, plans: Plans, claim: Claim, *, trials: int, rng: Randomness, stages: Stages
) -> list[Attack]:
    """Whether somebody is shown more often than δ allows, and whether the counts tell users apart.

    Args:
        hist: The whole log.
        plans: How counts are planned.
        claim: Given the counts.
        trials: Outputs that are drawn.
        rng: Where the draws come from.
        stages: Told how far it is.
    """
    crowded = _joined(hist)
    with stages.stage("plan"):
        watched = _planned(crowded, plans)
    with stages.stage("draw"):
        shown = _times_shown(watched, crowded.users, trials, rng, stages)
    canaries = range(hist.users, crowded.users)
    found = [
        _exposure(name, shown[:, user], trials, claim)
        for name, user in zip(_NAMES, canaries, strict=True)
    ]
    most = shown[:, int(shown[0].argmax())]
    found.append(_exposure("whoever is shown most", most, trials, claim))
    with stages.stage("plan again"):
        clicks = _clicks(watched, crowded.pairs)
        if (_clicks(_planned(crowded, plans), crowded.pairs) == clicks).all():
            for name, user in zip(_NAMES, canaries, strict=True):
                rest = _planned(crowded.without_user(user), plans)
                found.append(_on_planned_counts(name, clicks, _clicks(rest, crowded.pairs)))
    return found


def on_unique_pairs(counted: PairHistogram, claim: Claim) -> Attack:
    """Whether a pair of a single user is left in the log as `sanitize` counts it.

    Nobody but that user can be its author, so a click of it shows the user for certain.
    """
    kept = int((counted.holders == 1).sum())
    return Attack(
        target="pairs that may be released",
        canary="whoever has a pair alone",
        trials=counted.pairs,
        found=Found(epsilon=float("inf"), delta=1.0) if kept else Found(epsilon=0.0, delta=0.0),
        claim=claim,
    )


def _joined(hist: PairHistogram) -> PairHistogram:
    """The log and three canaries, whose numbers come last."""
    held = np.bincount(hist.user, minlength=hist.users)
    most_held, busiest = int(hist.holders.argmax()), hist.user == int(held.argmax())
    own = hist.pairs + np.arange(_OWN_PAIRS)
    new = (
        (own, np.ones(_OWN_PAIRS, dtype=np.int64)),
        (np.array([most_held]), hist.pair_total[[most_held]]),
        (hist.pair[busiest], hist.count[busiest]),
    )
    user = [np.full(len(pair), hist.users + n) for n, (pair, _) in enumerate(new)]
    queries = hist.query.max(initial=-1) + 1 + np.arange(_OWN_PAIRS)
    return PairHistogram.of_rows(
        user=np.concatenate([hist.user, *user]),
        pair=np.concatenate([hist.pair, *(pair for pair, _ in new)]),
        count=np.concatenate([hist.count, *(count for _, count in new)]),
        users=hist.users + len(new),
        query=np.concatenate([hist.query, queries]),
    )


def _planned(hist: PairHistogram, plans: Plans) -> _Watched:
    shared = hist.without_users(np.zeros(0, dtype=np.int64))
    planned = plans(shared.hist)
    return _Watched(
        planned=planned,
        users=shared.users[planned.left.users],
        pairs=shared.pairs[planned.left.pairs],
    )


def _times_shown(
    watched: _Watched, users: int, trials: int, rng: Randomness, stages: Stages
) -> Ints:
    """In how many outputs each user is shown: of the first half, and of the second."""
    shown = np.zeros((2, users), dtype=np.int64)
    hist, planned = watched.planned.constraints.hist, watched.planned.plan
    for n in range(trials):
        drawn = sample_users(hist, planned, rng)
        shown[int(n >= trials // 2), watched.users[np.unique(drawn.user)]] += 1
        if n % 100 == 0:
            stages.note(f"{n:,} of {trials:,} outputs")
    return shown


def _exposure(canary: str, shown: Ints, trials: int, claim: Claim) -> Attack:
    """By the second half of the outputs; the first has chosen whom to look at."""
    judged = trials - trials // 2
    return Attack(
        target="who is shown",
        canary=canary,
        trials=judged,
        found=shown_at_least(int(shown[1]), judged, ALPHA),
        claim=claim,
    )


def _on_planned_counts(canary: str, clicks: Ints, without: Ints) -> Attack:
    """The counts are computed from the log as it is: whoever knows the others sees the change."""
    certain = Found(epsilon=float("inf"), delta=1.0)
    return Attack(
        target="planned counts",
        canary=canary,
        trials=1,
        found=certain if (clicks != without).any() else Found(epsilon=0.0, delta=0.0),
        claim=None,
    )


def _clicks(watched: _Watched, pairs: int) -> Ints:
    clicks = np.zeros(pairs, dtype=np.int64)
    clicks[watched.pairs] = watched.planned.plan.counts
    return clicks
