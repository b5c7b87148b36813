"""Synthetic users: the released clicks of each pair, dealt to users who never lived.

Everything here is computed from private statistics, so floating point does no harm.
Proof: docs/proofs/synthesis.md.
"""

from __future__ import annotations

import numpy as np

from slogan.arrays import Ints
from slogan.dp.mixture import Mixture
from slogan.dp.sizes import LARGEST, Sizes
from slogan.randomness import Randomness
from slogan.sampling import Output

_SWAPS = 5
_PARTNERS = 3


def generator_of(rng: Randomness) -> np.random.Generator:
    """Draws for what is private already, started from the run's own source."""
    return np.random.Generator(np.random.PCG64DXSM(rng.words(4).tolist()))


def deal(counts: Ints, mixture: Mixture, sizes: Sizes, generator: np.random.Generator) -> Output:
    """Draw the users of each pair from q(user | pair), and divide its clicks among them.

    This is the multinomial step of [Hong12, Algorithm 1] with a private table q: a user has a class
    and a size, is drawn for a pair by how likely the class holds it, and for as many pairs as the
    size says. The clicks of each pair sum exactly to its count.
    """
    size = 1 + generator.choice(LARGEST, size=sizes.users, p=sizes.shape)
    visits = _visits(counts, int(size.sum()))
    of_class = generator.multinomial(visits, mixture.of_pair)
    # visits: a row for each, in the order of their classes, at random within a class
    kind = np.tile(np.arange(mixture.classes), len(counts))
    kind = np.repeat(kind, of_class.ravel())
    order = np.lexsort((generator.random(len(kind)), kind))
    kind, visit = kind[order], np.repeat(np.arange(len(counts)), visits)[order]
    clicks = _divided(counts, visits, generator)[order]
    place = np.arange(len(kind)) * int(size.sum()) // max(1, len(kind))
    user = np.searchsorted(np.cumsum(size), place, side="right")
    for _ in range(_SWAPS):
        moved = _moved(user, visit, kind, generator)
        visit, clicks = visit[moved], clicks[moved]
    return _merged(user, visit, clicks)


def _visits(counts: Ints, held: int) -> Ints:
    """How many users each pair is dealt to: all together about as many as there are holdings."""
    each = max(1.0, float(counts.sum()) / max(1, held))
    return np.clip(np.rint(counts / each).astype(np.int64), np.minimum(counts, 1), counts)


def _divided(counts: Ints, visits: Ints, generator: np.random.Generator) -> Ints:
    """One click for each visit, and the others at random among the visits of their pair."""
    more = counts - visits
    first = np.cumsum(visits) - visits
    chance = generator.random(int(more.sum()))
    place = np.floor(chance * np.repeat(visits, more)).astype(np.int64) + np.repeat(first, more)
    return 1 + np.bincount(place, minlength=int(visits.sum()))


def _moved(user: Ints, visit: Ints, kind: Ints, generator: np.random.Generator) -> Ints:
    """An order in which fewer users get a pair twice: these swap with others of their class."""
    order = np.lexsort((visit, user))
    again = (np.diff(user[order]) == 0) & (np.diff(visit[order]) == 0)
    twice = order[1:][again]
    others = generator.integers(len(user), size=_PARTNERS * len(twice)) if len(twice) else twice
    swapped = np.unique(np.concatenate([twice, others]))
    shuffled = swapped[np.lexsort((generator.random(len(swapped)), kind[swapped]))]
    moved = np.arange(len(user))
    moved[swapped] = shuffled
    return moved


def _merged(user: Ints, pair: Ints, clicks: Ints) -> Output:
    order = np.lexsort((pair, user))
    user, pair, clicks = user[order], pair[order], clicks[order]
    new = np.flatnonzero(np.diff(user, prepend=-1) | np.diff(pair, prepend=-1))
    total = np.add.reduceat(clicks, new) if len(new) else clicks
    return Output(user=user[new], pair=pair[new], count=total)
