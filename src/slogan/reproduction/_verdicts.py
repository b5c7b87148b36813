"""Verdicts: whether a published value can be reached on any log, or holds on this one, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What can be said of a published value or sentence."""

    UNREACHABLE = "not reachable"
    """A proof excludes it for every log of the published size."""
    POSSIBLE = "not excluded"
    """No proof here excludes it."""
    HOLDS = "holds here"
    """It is so on the log of this reproduction."""
    FAILS = "does not hold here"
    """It is not so on the log of this reproduction."""
    CONTRADICTORY = "contradicts itself"
    """Published numbers exclude each other, whatever the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A kind, and one plain sentence that says why."""

    kind: Kind
    why: str


def against_bound(cells: Iterable[tuple[float, float]], *, what: str, why: str) -> Verdict:
    """Published values beside bounds that none can pass.

    Args:
        cells: Each published value with its bound.
        what: What a cell is, such as "cells of Table 4"; in the singular if there is one.
        why: The reason for the bound, to follow "because".
    """
    pairs = list(cells)
    over = [published / bound for published, bound in pairs if published > bound]
    if not over:
        return Verdict(
            kind=Kind.POSSIBLE,
            why=f"No proof here excludes the {what}: all {len(pairs)} are within the bound.",
        )
    factors = " to ".join(dict.fromkeys([_factor(min(over)), _factor(max(over))]))
    many = f"{len(over)} of {len(pairs)} {what} exceed" if len(pairs) > 1 else f"The {what} exceeds"
    return Verdict(
        kind=Kind.UNREACHABLE, why=f"{many} the bound, by a factor of {factors}, because {why}."
    )


def _factor(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.1f}"


def observed(*, holds: bool, what: str, seen: str) -> Verdict:
    """A sentence of the paper held against this log."""
    return Verdict(kind=Kind.HOLDS if holds else Kind.FAILS, why=f"{what}: {seen}.")


def optima_over_fewer_pairs(rows: Sequence[Sequence[float]], *, what: str) -> Verdict:
    """Whether optimal values fall where fewer pairs are summed over, as they must.

    For every x the sum of distances over more pairs is at least that over fewer of them, so the
    smallest sum is so too. Rows come with rising minimum support: fewer and fewer pairs.
    """
    steps = [
        (column, row)
        for row in range(len(rows) - 1)
        for column in range(len(rows[row]))
        if rows[row][column] < rows[row + 1][column]
    ]
    columns = len({column for column, _ in steps})
    every = sum(len(row) for row in rows[:-1])
    if not steps:
        return Verdict(
            kind=Kind.POSSIBLE,
            why=f"{what} never rise with the minimum support, as optima must not.",
        )
    return Verdict(
        kind=Kind.CONTRADICTORY,
        why=f"{what} rise with the minimum support in {len(steps)} of {every} steps, in {columns} "
        f"of {len(rows[0])} columns, but the smallest sum over fewer pairs cannot be larger: "
        "these are not all optima of one problem.",
    )
