"""What the curator's charts are drawn from: a few hundred integers, whatever the log's size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints

_CURVE = 60
_POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Drawn from the raw log: for the curator alone."""

    frequency_before: list[tuple[int, int]]
    """Rank and clicks of shared pairs, at ranks evenly spread on a logarithmic axis."""
    frequency_after: list[tuple[int, int]]
    supports: list[tuple[float, float]]
    """c_ij/|D| and κ·x_ij/|O| of the most clicked pairs of D."""


def figures(before: Ints, after: Ints, *, coverage: float = 1.0) -> Figures:
    """Draw c_ij and x_ij side by side; a coverage κ makes supports those of the whole log."""
    top = np.argsort(-before, kind="stable")[:_POINTS]
    top = top[before[top] > 0]
    share_before = before[top] / max(1, int(before.sum()))
    share_after = after[top] / max(1, int(after.sum())) * coverage
    return Figures(
        frequency_before=_curve(before),
        frequency_after=_curve(after),
        supports=list(zip(share_before.tolist(), share_after.tolist(), strict=True)),
    )


def _curve(clicks: Ints) -> list[tuple[int, int]]:
    falling = -np.sort(-clicks[clicks > 0])
    if not len(falling):
        return []
    ranks = np.unique(np.geomspace(1, len(falling), _CURVE).round().astype(np.int64))
    return list(zip(ranks.tolist(), falling[ranks - 1].tolist(), strict=True))


def budget_use(charge: Floats, limit: float) -> list[int]:
    """Users who were charged nothing, up to a tenth of the limit, up to two tenths, and so on."""
    tenth = np.ceil(charge / limit * 10 - 1e-9).astype(np.int64)
    return np.bincount(np.clip(tenth, 0, 10), minlength=11).tolist()


def clicks_by_selection(before: Ints, after: Ints) -> dict[str, int]:
    """How many of the log's clicks lie on pairs that are released, and how many do not."""
    released = int(before[after > 0].sum())
    return {"not_selected": int(before.sum()) - released, "represented": released}


def clicks_by_draw(before: Ints, after: Ints, selected: Ints) -> dict[str, int]:
    """How many of the log's clicks could not be drawn, were not drawn, and were.

    Args:
        before: Clicks of every pair.
        after: Their released clicks.
        selected: The pairs that could be drawn.
    """
    possible, kept = int(before[selected].sum()), int(np.minimum(before, after).sum())
    return {
        "not_selected": int(before.sum()) - possible,
        "not_drawn": possible - kept,
        "kept": kept,
    }


def clicks_by_fate(before: Ints, after: Ints, upper: Ints) -> dict[str, int]:
    """Where the clicks of pairs that may be released went, by reason.

    Args:
        before: Clicks of shared pairs.
        after: Their released clicks.
        upper: The most clicks of each that any output can release.
    """
    released = after > 0
    return {
        "too_dear": int(before[(upper == 0) & ~released].sum()),
        "not_chosen": int(before[(upper > 0) & ~released].sum()),
        "thinned": int(np.maximum(before - after, 0)[released].sum()),
        "kept": int(np.minimum(before, after)[released].sum()),
    }
