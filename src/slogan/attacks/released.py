"""Attacks on what is released of planted pairs: pairs of one user alone, and one holder more."""

from __future__ import annotations

import numpy as np

from slogan.arrays import Ints
from slogan.attacks.canaries import Planted
from slogan.attacks.confidence import Claim, shown_at_least, told_apart
from slogan.attacks.findings import ALPHA, Attack


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


def on_joiners(planted: Planted, clicks: Ints, claim: Claim) -> list[Attack]:
    """Whether released clicks tell that one user more holds their pairs.

    Args:
        planted: The log with its canaries.
        clicks: Released clicks of every pair.
        claim: Of the whole release.
    """
    found: list[Attack] = []
    for joiner in planted.joiners:
        with_user, without = clicks[joiner.with_user], clicks[joiner.without]
        found.append(
            Attack(
                target="released counts",
                canary=f"{joiner.name} of {joiner.holders}",
                trials=len(joiner.with_user),
                found=told_apart(with_user.sum(axis=1), without.sum(axis=1), claim, ALPHA),
                claim=claim,
            )
        )
    return found
