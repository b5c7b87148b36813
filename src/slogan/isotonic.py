"""isotonic(): of all values that never fall as the budget grows, those nearest to noisy ones."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from operator import itemgetter

Place = tuple[float, float]
"""ε and δ. One budget is at least another if both are."""


def isotonic(places: Sequence[Place], values: Sequence[float]) -> list[float]:
    """Least squares under the order of the places: isotonic regression in two dimensions.

    Solved exactly, by division (Maxwell and Muckstadt 1985; Spouge, Wan and Wilbur 2003). Of the
    sets that hold with every place all larger ones, take that whose values exceed the mean of all
    by most in total: the answer is at least the mean there and at most the mean elsewhere, so both
    are solved apart. If no set exceeds it, the answer is the mean everywhere.
    """
    known = [Fraction(value) for value in values]
    found = [Fraction(0)] * len(known)
    blocks = [list(range(len(known)))] if known else []
    while blocks:
        block = blocks.pop()
        mean = sum((known[n] for n in block), Fraction(0)) / len(block)
        upper = _upper_set([(places[n], known[n] - mean, n) for n in block])
        if upper:
            blocks += [sorted(upper), [n for n in block if n not in upper]]
        else:
            for n in block:
                found[n] = mean
    return [float(value) for value in found]


def _upper_set(block: Sequence[tuple[Place, Fraction, int]]) -> set[int]:
    """Of the sets that hold with every place all larger ones, that of largest sum, if above 0.

    Such a set is a staircase: at each ε it holds all from some δ on, and at a larger ε no fewer.
    """
    cells: dict[Place, list[tuple[Fraction, int]]] = defaultdict(list)
    for place, excess, n in block:
        cells[place].append((excess, n))
    steps = [math.inf, *sorted({delta for _, delta in cells}, reverse=True)]
    # The best set among the ε seen so far for each step at the last of them.
    best: list[tuple[Fraction, list[int]]] = [(Fraction(0), []) for _ in steps]
    for epsilon in sorted({epsilon for epsilon, _ in cells}):
        before, gain, taken = best[0], Fraction(0), list[int]()
        for at, step in enumerate(steps):
            before = max(before, best[at], key=itemgetter(0))
            here = cells.get((epsilon, step), [])
            gain += sum((excess for excess, _ in here), Fraction(0))
            taken = taken + [n for _, n in here]
            best[at] = (before[0] + gain, before[1] + taken)
    gain, upper = max(best, key=itemgetter(0))
    return set(upper) if gain > 0 else set()
