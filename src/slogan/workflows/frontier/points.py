"""The points of a frontier: what one budget buys, by verb."""

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """What one budget buys."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizedPoint(FrontierPoint):
    """What sanitize() gives under one budget; None where F-UMP's output size is out of reach."""

    budget_per_user: float
    size_bound: float
    """m·b: no output is larger."""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    status: str | None = None
    carried: bool = False
    clicks: int = 0
    pairs: int = 0
    recall: float | None = None
    precision: float | None = None
    sum_support_distance: float | None = None
    exposed_users_expected: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizedPoint(FrontierPoint):
    """What synthesize() would give, on average; None where nothing is frequent."""

    value: float
    """Different released pairs: of all values that never fall as a budget grows, the nearest."""
    average: float
    """Different released pairs, as the dry runs of this budget alone had them."""
    pairs_least: int
    pairs_most: int
    clicks: float
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


Point = SanitizedPoint | SynthesizedPoint


def running_maximum(points: Sequence[SynthesizedPoint]) -> tuple[SynthesizedPoint, ...]:
    """The points with the best average that this budget or a smaller one reaches as their value.

    A release under a smaller budget also satisfies a larger one, so it can always be chosen.
    """

    def best(point: SynthesizedPoint) -> float:
        smaller = (p for p in points if p.epsilon <= point.epsilon and p.delta <= point.delta)
        return max(p.average for p in smaller)

    return tuple(replace(point, value=best(point)) for point in points)
