"""How many clicks of the log lie on pairs that are released: head, torso and tail."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.measures import Comparison, Headline, Measure

_THIRDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The pairs that hold one third of the log's clicks, most clicked first."""

    pairs: int
    clicks_covered: float | None
    """Share of the part's clicks that lie on released pairs."""
    share_of_release: float | None
    """Share of the released clicks that fall into the part; a third would be faithful."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickCoverage:
    """Pairs of D that begin in the first, second and last third of its clicks, and all of them."""

    head: Part
    torso: Part
    tail: Part
    all: Part


def click_coverage(before: Ints, after: Ints) -> ClickCoverage:
    """How much of each part is released."""
    third = _third(before)

    def part(inside: Flags) -> Part:
        released = int(before[inside & (after > 0)].sum())
        return Part(
            pairs=int(np.count_nonzero(inside)),
            clicks_covered=_share(released, int(before[inside].sum())),
            share_of_release=_share(int(after[inside].sum()), int(after.sum())),
        )

    return ClickCoverage(
        head=part(third == 0), torso=part(third == 1), tail=part(third == 2), all=part(before > 0)
    )


def _third(before: Ints) -> Ints:
    """0, 1 or 2 for each pair by the third of the clicks in which it begins; −1 without clicks."""
    order = np.argsort(-before, kind="stable")
    earlier = np.cumsum(before[order]) - before[order]
    third = np.empty(len(before), dtype=np.int64)
    third[order] = earlier * _THIRDS // max(1, int(before.sum()))
    return np.where(before > 0, third, -1)


def _share(some: int, whole: int) -> float | None:
    return some / whole if whole else None


def _take(comparison: Comparison) -> ClickCoverage:
    return click_coverage(comparison.log.pair_total, comparison.output.pair_total)


MEASURE = Measure[ClickCoverage](
    name="click_coverage",
    order=50,
    take=_take,
    headlines=(
        Headline("Clicks covered: head", lambda r: r.head.clicks_covered, ".1%", "more"),
        Headline("Clicks covered: torso", lambda r: r.torso.clicks_covered, ".1%", "more"),
        Headline("Clicks covered: tail", lambda r: r.tail.clicks_covered, ".1%", "more"),
    ),
)
