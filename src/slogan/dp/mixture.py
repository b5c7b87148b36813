"""A mixture of classes of users, fitted to how often kinds of pairs are held together.

Everything here is computed from private statistics, so floating point does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.association import INDEPENDENT, Association

MOST_CLASSES = 48
_ROUNDS = 200
_TINY = 1e-12
_VISIBLE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Classes of users: row i is how likely a click on pair i is one of each class."""

    of_pair: Floats

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self.of_pair.shape[1]


def fit_mixture(found: Association | None, counts: Ints, generator: np.random.Generator) -> Mixture:
    """The most likely mixture, or a single class if the association is unknown or lost in noise."""
    if found is None or found.kind == INDEPENDENT:
        return Mixture(of_pair=np.ones((len(counts), 1)))
    grouping = found.grouping
    seen = _seen(grouping.category, grouping.categories, counts)
    share, profile = _expectation_maximisation(
        found.together, seen, min(MOST_CLASSES, 2 * found.rank), generator
    )
    joint = share * profile.T + _TINY
    of_category = joint / joint.sum(axis=1, keepdims=True)
    of_pair = np.tile(share, (len(counts), 1))
    known = grouping.category >= 0
    of_pair[known] = of_category[grouping.category[known]]
    return Mixture(of_pair=of_pair)


def _seen(category: Ints, categories: int, counts: Ints) -> Floats:
    """Which part of what is held together shows up: a pair is never held together with itself.

    Within a category that part is 1 − Σp², p being the shares of its pairs.
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
    """Shares s_z and profiles θ_z with together ≈ Σ_z s_z θ_z θ_zᵀ, where it can be seen."""
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
