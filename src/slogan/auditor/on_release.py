"""Attacks on what is released of planted pairs: pairs of one user alone, and one holder more.

An attack on capped sampling: users whose clicks would take up far more than the cap.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.auditor.bounds import ALPHA, Attack, Claim, shown_at_least, told_apart
from slogan.auditor.canaries import Joiner, Planted
from slogan.dp.private_rows import FULL, capped_sample
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness


def on_loners(planted: Planted, chosen: Ints, claim: Claim) -> list[Attack]:
    """Whether pairs that a canary alone holds are selected more often than δ allows.

    Args:
        planted: The log with its canaries.
        chosen: The pairs that may be released.
        claim: Of the selection.
    """
    found: list[Attack] = []
    for loner in planted.loners:
        hits = int(np.isin(loner.pairs, chosen).any(axis=1).sum())
        found.append(
            Attack(
                target="selection",
                canary=loner.name,
                trials=len(loner.pairs),
                found=shown_at_least(hits, len(loner.pairs), ALPHA, delta=claim.delta),
                claim=claim,
            )
        )
    return found


def on_choices(planted: Planted, chosen: Ints, claim: Claim) -> list[Attack]:
    """Whether it tells that one user more holds pairs, that they may be released.

    Args:
        planted: The log with its canaries.
        chosen: The pairs that may be released.
        claim: Of the selection, at a δ that can be seen.
    """
    flags = _flags(planted, chosen)
    return [_joined("selection", joiner, _of(joiner), flags, claim) for joiner in planted.joiners]


def on_joiners(planted: Planted, clicks: Ints, claim: Claim) -> list[Attack]:
    """Whether released clicks tell that one user more holds their pairs.

    Args:
        planted: The log with its canaries.
        clicks: Released clicks of every pair.
        claim: Of the whole release.
    """
    return [
        _joined("released counts", joiner, _of(joiner), clicks, claim) for joiner in planted.joiners
    ]


def on_shown(planted: Planted, chosen: Ints, shown: Ints, claim: Claim) -> Attack | None:
    """Whether rows of canaries who hold a released pair are drawn more often than the cap allows.

    Args:
        planted: The log with its canaries.
        chosen: The pairs that may be released.
        shown: The users of whom a row is drawn.
        claim: Of the sampling.
    """
    flags = _flags(planted, chosen).astype(bool)
    canaries = [joiner.canaries[flags[joiner.with_user].any(axis=1)] for joiner in planted.joiners]
    held = np.concatenate([np.zeros(0, dtype=np.int64), *canaries])
    if not len(held):
        return None
    hits = int(np.isin(held, shown).sum())
    return Attack(
        target="drawn rows",
        canary="holds a released pair",
        trials=len(held),
        found=shown_at_least(hits, len(held), ALPHA),
        claim=claim,
    )


def _joined(target: str, joiner: Joiner, canary: str, scores: Ints, claim: Claim) -> Attack:
    """By the scores of all pairs of a group together."""
    with_user, without = scores[joiner.with_user], scores[joiner.without]
    return Attack(
        target=target,
        canary=canary,
        trials=len(joiner.with_user),
        found=told_apart(with_user.sum(axis=1), without.sum(axis=1), claim, ALPHA),
        claim=claim,
    )


def _of(joiner: Joiner) -> str:
    return f"{joiner.name} of {joiner.holders}"


def _flags(planted: Planted, chosen: Ints) -> Ints:
    """1 for every pair that may be released, and 0 for the others."""
    flags = np.zeros(planted.hist.pairs, dtype=np.int64)
    flags[chosen] = 1
    return flags


def on_capped_sampling(cap: Fraction, claim: Claim, trials: int, rng: Randomness) -> Attack:
    """Whether a row of a user is drawn more often than with probability 1 − e^−B.

    Args:
        cap: B, as the run has it.
        claim: Of the sampling, by the budget.
        trials: Users.
        rng: Where the draws come from.
    """
    hist = PairHistogram(
        user=np.arange(trials),
        pair=np.zeros(trials, dtype=np.int64),
        count=np.full(trials, 1_000),
        users=trials,
        pairs=1,
        query=np.zeros(1, dtype=np.int64),
    )
    drawn = capped_sample(hist, np.array([0]), np.array([FULL]), cap=cap, rng=rng)
    return Attack(
        target="drawn rows",
        canary="1,000 clicks on a pair",
        trials=trials,
        found=shown_at_least(drawn.users, trials, ALPHA),
        claim=claim,
    )
