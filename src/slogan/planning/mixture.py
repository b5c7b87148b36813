"""Mixture: a weighted mean of several objectives, each as a share of what is possible alone."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.errors import FloorError


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One objective of several: what it counts, its weight, and what is known of its optimum."""

    name: str
    weight: Fraction = Fraction(1)
    """Of all weights together, which sum to 1; 0 if it only has a floor."""
    at_least: Fraction = Fraction(0)
    """The share of its optimum that every output must reach."""
    most: int | None = None
    """Clicks of one pair beyond this do not count."""
    of_queries: bool = False
    """Whether released queries count, and not clicks."""
    of_supports: bool = False
    """Whether kept supports of frequent pairs count: the gain of `Mixture`."""
    optimum: Fraction = Fraction(1)
    """The best value found for this part alone: shares are relative to it."""
    bound: float = math.inf
    """Proven: no output has more of it."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Mixture:
    """Maximise Σ weight · value / optimum over the parts, each at least its floor.

    The gain of kept supports is Σ_f s_f·X − |x_f − s_f·X| over the frequent pairs f, with X = Σ x
    and s_f the support of f in the log. It is X times the sum of supports less F-UMP's distance,
    so it is linear where F-UMP's own distance divides by X.
    """

    parts: tuple[Part, ...]
    query: Ints
    """The query of each pair."""
    frequent: Ints
    """The numbers of the frequent pairs."""
    clicks: Ints
    """Their clicks in the log."""
    size: int
    """|D|: all clicks of the log on shared pairs."""
    starts: tuple[Ints, ...] = ()
    """Counts that passed the gate, such as the best of each part alone."""

    def value(self, counts: Ints) -> Fraction:
        """The weighted mean of the shares, exactly."""
        weighted = [part for part in self.parts if part.weight]
        return sum((p.weight * self.share(p, counts) for p in weighted), start=Fraction(0))

    def share(self, part: Part, counts: Ints) -> Fraction:
        """The value of a part relative to the best found for it alone."""
        return self.amount(part, counts) / part.optimum

    def amount(self, part: Part, counts: Ints) -> Fraction:
        """The value of a part in its own unit, exactly."""
        if part.of_supports:
            return Fraction(self._gain(counts), self.size)
        if part.of_queries:
            return Fraction(len(np.unique(self.query[counts > 0])))
        counted = counts if part.most is None else np.minimum(counts, part.most)
        return Fraction(int(counted.sum()))

    def _gain(self, counts: Ints) -> int:
        """The gain of kept supports times |D|, in integers of any size."""
        released, total = counts[self.frequent].tolist(), int(counts.sum())
        gain = 0
        for x, clicks in zip(released, self.clicks.tolist(), strict=True):
            gain += min(x * self.size, 2 * clicks * total - x * self.size)
        return gain

    def most_gain(self, upper: Ints, size: int) -> Fraction:
        """No counts up to these bounds, of at most `size` clicks, have a larger gain.

        x clicks of a frequent pair gain min(x, 2·s·X − x), which grows with X. With X = size the
        best whole x is s·X rounded down or up.
        """
        most = 0
        for u, clicks in zip(upper[self.frequent].tolist(), self.clicks.tolist(), strict=True):
            ideal = clicks * size // self.size
            gains = [min(u, ideal) * self.size]
            if ideal < u:
                gains.append(2 * clicks * size - (ideal + 1) * self.size)
            most += max(gains)
        return Fraction(most, self.size)

    @property
    def step(self) -> Fraction:
        """The largest number of which every value is a multiple."""
        weighted = [part for part in self.parts if part.weight]
        units = [p.weight / p.optimum / (self.size if p.of_supports else 1) for p in weighted]
        below = math.lcm(*(unit.denominator for unit in units))
        return Fraction(math.gcd(*(int(unit * below) for unit in units)), below)

    def least(self, part: Part) -> Fraction:
        """The smallest possible value of a part that reaches its floor."""
        unit = self.size if part.of_supports else 1
        return Fraction(math.ceil(part.at_least * part.optimum * unit), unit)

    def missed(self, counts: Ints) -> tuple[Part, ...]:
        """The parts whose floor these counts do not reach."""
        floors = [part for part in self.parts if part.at_least]
        return tuple(p for p in floors if self.amount(p, counts) < self.least(p))

    def meets(self, counts: Ints) -> bool:
        """Whether every floor is reached, decided exactly."""
        return not self.missed(counts)

    def floor_error(self, known: Iterable[Ints], *, impossible: bool) -> FloorError:
        """The error for floors that were not reached, with what the nearest known counts keep."""
        floors = [part for part in self.parts if part.at_least]

        def nearness(counts: Ints) -> Fraction:
            return min(self.share(part, counts) / part.at_least for part in floors)

        nearest = max(known, key=nearness)
        return FloorError(
            {part.name: float(part.at_least) for part in floors},
            {p.name: float(min(p.at_least, self.share(p, nearest))) for p in floors},
            impossible=impossible,
        )

    @property
    def bound(self) -> float:
        """What the bounds of the parts prove about the weighted mean."""
        weighted = [part for part in self.parts if part.weight]
        if any(math.isinf(part.bound) for part in weighted):
            return math.inf
        return float(sum(p.weight * Fraction(p.bound) / p.optimum for p in weighted))

    def with_optima(self, starts: tuple[Ints, ...], bounds: tuple[float, ...]) -> "Mixture":
        """The mixture relative to the best that any of these counts has of each part."""
        parts = tuple(
            replace(part, optimum=max(self.amount(part, counts) for counts in starts), bound=bound)
            for part, bound in zip(self.parts, bounds, strict=True)
        )
        return replace(self, parts=parts, starts=starts)
