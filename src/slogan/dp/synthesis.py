"""Synthetic users: a mixture of classes of users, and the assignment of released clicks to them.

Everything here is computed from private statistics, so floating point is safe.
Proof: docs/proofs/synthesis.md.
"""

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.grouping import INDEPENDENT
from slogan.dp.sums import Association, Sizes
from slogan.histogram import Output
from slogan.randomness import Randomness

MOST_CLASSES = 48
_ROUNDS = 200
_TINY = 1e-12
_VISIBLE = 0.1
_SWAPS = 5
_PARTNERS = 3


def fit_mixture(
    association: Association | None, counts: Ints, generator: np.random.Generator
) -> Floats:
    """The most likely classes of users: row i has the chance of each class for a click on pair i.

    There is a single class if the association is unknown or not distinguishable from noise.
    """
    if association is None or association.kind == INDEPENDENT:
        return np.ones((len(counts), 1))
    grouping = association.grouping
    seen = _seen(grouping.category, grouping.categories, counts)
    share, profile = _expectation_maximisation(
        association.together, seen, min(MOST_CLASSES, 2 * association.rank), generator
    )
    joint = share * profile.T + _TINY
    of_category = joint / joint.sum(axis=1, keepdims=True)
    of_pair = np.tile(share, (len(counts), 1))
    known = grouping.category >= 0
    of_pair[known] = of_category[grouping.category[known]]
    return of_pair


def _seen(category: Ints, categories: int, counts: Ints) -> Floats:
    """The visible share of co-holdings: a pair is never held together with itself.

    Within a category that share is 1 − Σp², p being the shares of its pairs.
    """
    known = category >= 0
    weight = counts[known] + 1.0
    total = np.bincount(category[known], weight, minlength=categories)
    square = np.bincount(category[known], weight**2, minlength=categories)
    seen = np.ones((categories, categories))
    seen[np.diag_indices(categories)] = 1 - square / np.maximum(total**2, _TINY)
    return seen


def _expectation_maximisation(
    together: Floats, seen: Floats, classes: int, generator: np.random.Generator
) -> tuple[Floats, Floats]:
    """Shares s_z and profiles θ_z with together ≈ Σ_z s_z θ_z θ_zᵀ, where it is visible."""
    visible = seen > _VISIBLE
    whole = np.where(visible, together / np.maximum(seen, _VISIBLE), 0.0)
    start = whole.sum(axis=1) + _TINY
    profile = (start / start.sum()) * generator.uniform(0.5, 1.5, size=(classes, len(whole)))
    profile /= profile.sum(axis=1, keepdims=True)
    share = np.full(classes, 1 / classes)
    for _ in range(_ROUNDS):
        model = (profile.T * share) @ profile + _TINY
        scale = whole.sum() / model[visible].sum()
        filled = np.where(visible, whole, model * scale)
        held = (share[:, None] * profile) * (profile @ (filled / model))
        share = held.sum(axis=1) / held.sum()
        profile = held / (held.sum(axis=1, keepdims=True) + _TINY)
    return share, profile


def generator_of(rng: Randomness) -> np.random.Generator:
    """A generator for computations on private statistics, seeded from the run's own source."""
    return np.random.Generator(np.random.PCG64DXSM(rng.words(4).tolist()))


def deal(counts: Ints, mixture: Floats, sizes: Sizes, generator: np.random.Generator) -> Output:
    """Draw the users of each pair from q(user | pair), and divide its clicks among them.

    This is the multinomial step of [Hong12, Algorithm 1] with a private table q: a user has a class
    and a size, is drawn for a pair with the probability of its class, and for as many pairs as its
    size. The clicks of each pair sum exactly to its count.
    """
    if not sizes.users:
        return _merged(*np.zeros((3, 0), dtype=np.int64))
    size = generator.permutation(np.repeat(np.arange(1, len(sizes.held) + 1), sizes.held))
    visits = _visits(counts, int(size.sum()))
    of_class = generator.multinomial(visits, mixture)
    # visits: a row for each, in the order of their classes, at random within a class
    classes: int = mixture.shape[1]
    kind = np.tile(np.arange(classes), len(counts))
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
    """The number of users of each pair; their sum is about the number of holdings."""
    each = max(1.0, float(counts.sum()) / max(1, held))
    return np.clip(np.rint(counts / each).astype(np.int64), np.minimum(counts, 1), counts)


def _divided(counts: Ints, visits: Ints, generator: np.random.Generator) -> Ints:
    """One click for each visit; the others are assigned to visits of their pair at random."""
    more = counts - visits
    first = np.cumsum(visits) - visits
    chance = generator.random(int(more.sum()))
    place = np.floor(chance * np.repeat(visits, more)).astype(np.int64) + np.repeat(first, more)
    return 1 + np.bincount(place, minlength=int(visits.sum()))


def _moved(user: Ints, visit: Ints, kind: Ints, generator: np.random.Generator) -> Ints:
    """A reordering with fewer repeated pairs: visits of a repeated pair swap within their class."""
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
