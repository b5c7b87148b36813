"""Attacks on noisy counts before they are rounded, as the proof lets an adversary see them.

Record and replay: sums over a log and over its neighbour, under noise that is drawn anew.

What a stage adds up is recorded once with a canary in the log and once without, and so is the
noise that it had in the run. That noise is drawn for every replay, and the noisy sums are compared,
as the proof lets an adversary see them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

import numpy as np

from slogan.arrays import Ints
from slogan.auditor.bounds import ALPHA, Attack, Claim, told_apart
from slogan.budget import exact
from slogan.dp.accounting import Account
from slogan.dp.association import together_sums
from slogan.dp.grouping import Grouping
from slogan.dp.mechanisms import Gaussian
from slogan.dp.sums import clipped_counts, coverage_sums, noisy_counts, noisy_sums, size_sums
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

_VISIBLE = Fraction(1, 2)
"""ε is compared at this part of the δ for ε = 0: at small δ it would take too many trials."""


def on_counts(mu_squared: Fraction, trials: int, rng: Randomness) -> list[Attack]:
    """Whether a count, or its last bits, tell more of a canary than the noise should let through.

    Every canary holds two pairs of its own; as many pairs are held by nobody.
    """
    user = np.repeat(np.arange(trials), 2)
    hist = PairHistogram.of_rows(
        user=user,
        pair=np.arange(2 * trials),
        count=np.tile(np.array([1_000, 7]), trials),
        users=trials,
        query=np.arange(4 * trials),
    )
    noisy = noisy_counts(hist, np.arange(4 * trials), mu_squared=mu_squared, rng=rng)
    with_user, without = noisy.steps[0 : 2 * trials : 2], noisy.steps[2 * trials :: 2]
    claim = visible(Account((spending(mu_squared),)))
    seen = {
        "its clicks": (with_user, without),
        "last bits of its clicks": (_last_bit(with_user), _last_bit(without)),
    }
    return [
        Attack(
            target="noisy counts",
            canary=canary,
            trials=trials,
            found=told_apart(*scores, claim, ALPHA),
            claim=claim,
        )
        for canary, scores in seen.items()
    ]


def spending(mu_squared: Fraction) -> Gaussian:
    """A stage of noisy sums that spends so much."""
    return Gaussian(name="claimed", norm_squared=1, variance=1 / mu_squared)


def visible(account: Account) -> Claim:
    """What stages may show, at a δ that can be seen."""
    aside = account.cost.delta
    delta = aside + (account.delta(0) - aside) * _VISIBLE
    return Claim(epsilon=float(account.epsilon(delta)), delta=float(delta))


def _last_bit(steps: Ints) -> Ints:
    """The largest power of two that divides each: noise that is coarser than the sums shows."""
    return steps & -steps


_HELD, _CLICKS = 12, 1_000_000
"""So few pairs that all the sums they change can be looked at, and more than any cap of clicks."""

Sums = Callable[[PairHistogram, Ints], Ints]


def on_neighbours(
    hist: PairHistogram,
    pairs: Ints,
    stages: Mapping[str, tuple[Gaussian, Fraction]],
    grouping: Grouping | None,
    *,
    trials: int,
    rng: Randomness,
) -> list[Attack]:
    """Whether noisy sums tell that a user joined who clicks some released pairs all the time.

    Args:
        hist: The log.
        pairs: The released pairs.
        stages: Each stage as it was run, and the μ² that it may spend.
        grouping: Of the pairs, if their association is a stage.
        trials: Replays on each side.
        rng: Where the noise comes from.
    """
    held, known = pairs[:_HELD], _sums(grouping)
    crowded = _joined(hist, held)
    found: list[Attack] = []
    for name, (stage, mu_squared) in stages.items():
        with_user, without = (known[name](log, pairs) for log in (crowded, hist))
        changed = np.flatnonzero(with_user != without)
        if not len(changed):
            continue
        before, after = without[changed], with_user[changed]
        toward = (after - before) / np.linalg.norm(after - before)
        claim, scores = visible(Account((spending(mu_squared),))), list[Ints]()
        for recorded in (after, before):
            noisy = noisy_sums(
                np.tile(recorded, trials),
                name=name,
                norm_squared=int(exact(stage.norm_squared)),
                mu_squared=stage.cost.mu_squared,
                rng=rng,
            )
            # Of all tests of normal noise, none is sharper than how far it lies in this direction.
            far = (noisy.steps.reshape(trials, -1) - before) @ toward
            scores.append(np.rint(far).astype(np.int64))
        found.append(
            Attack(
                target=f"sums for {name}",
                canary=f"{len(held)} released pairs",
                trials=trials,
                found=told_apart(scores[0], scores[1], claim, ALPHA),
                claim=claim,
            )
        )
    return found


def _joined(hist: PairHistogram, pairs: Ints) -> PairHistogram:
    """The log and a canary, whose number comes last."""
    return PairHistogram.of_rows(
        user=np.append(hist.user, np.full(len(pairs), hist.users)),
        pair=np.append(hist.pair, pairs),
        count=np.append(hist.count, np.full(len(pairs), _CLICKS)),
        users=hist.users + 1,
        query=hist.query,
    )


def _sums(grouping: Grouping | None) -> dict[str, Sums]:
    """What each stage adds up."""
    known: dict[str, Sums] = {
        "counts": clipped_counts,
        "sizes": size_sums,
        "coverage": coverage_sums,
    }
    if grouping is not None:
        known["association"] = partial(together_sums, grouping=grouping)
    return known
