"""Attacks on the paper's sampling: who is released, given the counts, and what counts reveal.

Three canaries join the log: one whose pairs no other user has, one who dominates the pair that most
users hold, and a duplicate of the user with most pairs. Every other user is watched as well.
Counts are compared if planning twice gives the same; if the time limit stopped a solver, a row
states that they were not. The paper's noisy counts are replayed, on both optima.
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.auditor import ALPHA, CERTAIN, NOTHING, Attack, Claim, Found, distinguished, joined
from slogan.budget import exact
from slogan.errors import NothingLeftError
from slogan.histogram import PairHistogram, Remainder
from slogan.modes import LaplaceCounts
from slogan.planning.laplace import with_noise
from slogan.planning.planner import Planned, Solved
from slogan.planning.sampling import sample_users
from slogan.progress import Steps
from slogan.randomness import Randomness

Plans = Callable[[PairHistogram], Planned]
"""Plans the counts of a log without unique pairs."""
Solves = Callable[[PairHistogram], Solved]
"""The same before the noise."""

_OWN_PAIRS = 5
_FINE, _TINY = 2**20, 1e-300
"""Scores are integers in units of 1/_FINE; smaller probabilities are treated as _TINY."""
_NAMES = ("only user of 5 pairs", "dominates a pair", "duplicate of a user")


def on_sampling(
    hist: PairHistogram, plans: Plans, claim: Claim, *, trials: int, rng: Randomness, steps: Steps
) -> list[Attack]:
    """Test whether a user is released more often than δ allows, given the counts of the log.

    The first half of the outputs selects the user to watch, the second half judges.
    """
    crowded, half = _joined(hist), trials // 2
    with steps.step("plan"):
        shared = _shared(crowded)
        planned = plans(shared.hist)
    users = shared.users[planned.left.users]
    shown = np.zeros((2, crowded.users), dtype=np.int64)  # in each half, by user
    with steps.step("draw"):
        for n in range(trials):
            drawn = sample_users(planned.constraints.hist, planned.plan, rng)
            shown[int(n >= half), users[np.unique(drawn.user)]] += 1
            if n % 100 == 0:
                steps.note(f"{n:,} of {trials:,} outputs")
    watched = [*_canaries(hist), ("most often released", int(shown[0].argmax()))]
    return [
        Attack.by_hits("who is shown", name, int(shown[1, user]), trials - half, claim)
        for name, user in watched
    ]


def on_planned_counts(hist: PairHistogram, plans: Plans) -> list[Attack]:
    """Test whether the counts of a log reveal a canary."""

    def clicks(log: PairHistogram) -> Ints:
        shared = _shared(log)
        planned, all_pairs = plans(shared.hist), np.zeros(log.pairs, dtype=np.int64)
        all_pairs[shared.pairs[planned.left.pairs]] = planned.plan.counts
        return all_pairs

    crowded = _joined(hist)
    known = clicks(crowded)
    if (clicks(crowded) != known).any():
        return [_counts("not compared: stopped by the time limit", 0, NOTHING)]
    return [
        _counts(name, 1, CERTAIN if (clicks(crowded.without_user(k)) != known).any() else NOTHING)
        for name, k in _canaries(hist)
    ]


def on_noisy_counts(
    hist: PairHistogram, solve: Solves, mode: LaplaceCounts, *, trials: int, rng: Randomness
) -> list[Attack]:
    """Bound what noisy counts reveal of a canary: ε at δ = 0, and δ at the ε of their noise."""

    def optimum(log: PairHistogram) -> Floats:
        shared = _shared(log)
        best = np.zeros(log.pairs)
        with suppress(NothingLeftError):  # then all of its counts are 0
            solved = solve(shared.hist)
            best[shared.pairs[solved.left.pairs]] = solved.solution.x
        return best

    crowded = _joined(hist)
    known, attacks = optimum(crowded), list[Attack]()
    for name, user in _canaries(hist):
        rest = optimum(crowded.without_user(user))
        attacks.append(_counts(name, trials, _replayed(known, rest, mode, trials, rng)))
    return attacks


def on_unique_pairs(counted: PairHistogram, claim: Claim) -> Attack:
    """Test whether `sanitize` counts a pair of only one user.

    Only that user can have made its clicks, so one released click reveals the user with certainty.
    """
    kept = int((counted.holders == 1).sum())
    return Attack(
        target="pairs that may be released",
        canary="only user of a pair",
        trials=counted.pairs,
        found=CERTAIN if kept else NOTHING,
        claim=claim,
    )


def _joined(hist: PairHistogram) -> PairHistogram:
    """The log and three canaries, whose numbers come last."""
    most_held = int(hist.holders.argmax())
    busiest = hist.user == int(np.bincount(hist.user, minlength=hist.users).argmax())
    own = hist.pairs + np.arange(_OWN_PAIRS)
    new = (
        (own, np.ones(_OWN_PAIRS, dtype=np.int64)),
        (np.array([most_held]), hist.pair_total[[most_held]]),
        (hist.pair[busiest], hist.count[busiest]),
    )
    rows = [(np.full(len(pair), hist.users + n), pair, held) for n, (pair, held) in enumerate(new)]
    return joined(hist, rows, users=len(new), pairs=_OWN_PAIRS)


def _canaries(hist: PairHistogram) -> list[tuple[str, int]]:
    """The names and numbers of the canaries that join a log."""
    return [(name, hist.users + n) for n, name in enumerate(_NAMES)]


def _shared(hist: PairHistogram) -> Remainder:
    """Without unique pairs, as `sanitize` counts a log."""
    return hist.without_users(np.zeros(0, dtype=np.int64))


def _replayed(
    with_user: Floats, without: Floats, mode: LaplaceCounts, trials: int, rng: Randomness
) -> Found:
    """Bounds from the likelihood ratio of noisy counts under both optima."""
    changed, scale = np.flatnonzero(with_user != without), float(mode.scale)
    scores: list[Ints] = []
    for optimum in (with_user, without):
        noisy = with_noise(np.tile(optimum[changed], trials), mode, rng)
        noisy = noisy.reshape(trials, len(changed))
        one, other = (_likelihood(noisy, x[changed], scale) for x in (with_user, without))
        scores.append(np.rint(_FINE * (one - other).sum(axis=1)).astype(np.int64))
    claim = Claim(epsilon=float(exact(mode.epsilon)), delta=0.0)
    return distinguished(scores[0], scores[1], claim, ALPHA)


def _likelihood(noisy: Ints, x: Floats, scale: float) -> Floats:
    """The logarithm of the probability that x + Lap(scale) lies between a count and the next."""
    low, high = (noisy - x) / scale, (noisy + 1 - x) / scale
    # use the tail that is not close to 1
    low, high = np.where(low > 0, -high, low), np.where(low > 0, -low, high)
    mass = _below(high) - _below(low)
    return np.log(np.maximum(mass, _TINY))


def _below(t: Floats) -> Floats:
    """The distribution function of Lap(1)."""
    half = np.exp(-np.abs(t)) / 2
    return np.where(t < 0, half, 1 - half)


def _counts(canary: str, trials: int, found: Found) -> Attack:
    """An attack on the counts, about which nothing is claimed."""
    return Attack(target="planned counts", canary=canary, trials=trials, found=found, claim=None)
