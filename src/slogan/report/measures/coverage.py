"""How many clicks of the log lie on pairs that are released: head, torso and tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints

PARTS = ("head", "torso", "tail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The pairs that hold one third of the log's clicks, most clicked first."""

    pairs: int
    clicks_covered: float | None
    """Share of the part's clicks that lie on released pairs."""
    share_of_release: float | None
    """Share of the released clicks that fall into the part; a third would be faithful."""


def click_coverage(before: Ints, after: Ints) -> dict[str, Part]:
    """Head, torso and tail, and all of it."""
    part = _parts(before)
    chosen = {name: part == number for number, name in enumerate(PARTS)}
    chosen["all"] = before > 0
    size = int(after.sum())
    return {
        name: Part(
            pairs=int(np.count_nonzero(inside)),
            clicks_covered=_share(
                int(before[inside & (after > 0)].sum()), int(before[inside].sum())
            ),
            share_of_release=_share(int(after[inside].sum()), size),
        )
        for name, inside in chosen.items()
    }


def _parts(before: Ints) -> Ints:
    """0, 1 or 2 for each pair by the third of the clicks in which it begins; −1 without clicks."""
    order = np.argsort(-before, kind="stable")
    earlier = np.cumsum(before[order]) - before[order]
    part = np.empty(len(before), dtype=np.int64)
    part[order] = earlier * len(PARTS) // max(1, int(before.sum()))
    return np.where(before > 0, part, -1)


def _share(some: int, whole: int) -> float | None:
    return some / whole if whole else None
