"""What is measured about time, rank and session: stages, their shares, and which are left out.

A stage that the noise would drown is left out, by the noisy sizes and the budget alone, and its
share goes to the counts. Proof: docs/proofs/columns.md.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp import sums
from slogan.dp.accounting import Gaussian
from slogan.dp.fields import sums as tables
from slogan.dp.fields.sums import NORM, Shown
from slogan.dp.sums import NoisySums, Sizes
from slogan.histogram import Events
from slogan.randomness import Randomness

SHARES = {
    "hours": Fraction("0.005"),
    "days": Fraction("0.004"),
    "ranks": Fraction("0.014"),
    "sessions": Fraction("0.007"),
    "lengths": Fraction("0.007"),
    "searches": Fraction("0.004"),
    "steps": Fraction("0.009"),
}
"""Each stage's share of μ²: public constants."""
COARSE = {
    "hours": 8,
    "days": 8,
    "ranks": 4,
    "sessions": 4,
    "lengths": 4,
    "searches": 2,
    "steps": 4,
}
"""About how many numbers the coarsest useful result of a stage has."""
DROWNED = 0.25
"""A stage is left out if the noise of these is expected to exceed this part of what users add."""
CLEAR = 2.0
"""A column is filled, and searches without a click are made up, if the sum of what was measured
exceeds its noise by this factor."""
MOST_NOISE = 1000.0
"""A larger part is stated as this one."""
ALL_USERS = ("hours", "days")
"""Stages to which every user adds; only users with a released pair add to the others."""

OWN_RANKS, MOST_OWN_RANKS = 16, 1000
"""A pair has a separate class if its private count exceeds this many deviations of the noise."""
OWN_SEARCHES, MOST_OWN_SEARCHES = 8, 100
"""The same for a query, and its searches without a click."""
OWN_STEPS, MOST_OWN_STEPS = 8, 12
"""The same, and the steps from and to it."""
PLACES = 3
"""Other pairs have the class of their place among the released pairs of their query, up to this."""


def stages_of(*, time: bool, rank: bool, session: bool, searches: bool) -> tuple[str, ...]:
    """The stages for the columns that are asked for.

    Args:
        time: Whether times are.
        rank: Whether ranks are.
        session: Whether the log's own sessions are.
        searches: Whether a row of the log may be a search without a click.
    """
    needed = {
        "hours": time,
        "days": time,
        "ranks": rank,
        "sessions": time or session,
        "lengths": time or session,
        "searches": (time or session) and searches,
        "steps": time,
    }
    return tuple(name for name, wanted in needed.items() if wanted)


def drowned(parts: Mapping[str, Fraction], sizes: Sizes) -> dict[str, float]:
    """The stages to leave out, each with its noise as a part of what users add, as expected.

    A user with a row adds 1 or more, so these users are at least the sum of a table.
    """
    everyone = max(float(sizes.bins.sum()), 0.0)
    left_out = dict[str, float]()
    for name in SHARES:
        if name not in parts:
            continue
        adding = everyone if name in ALL_USERS else float(sizes.users)
        noise = NORM * math.sqrt(COARSE[name] / parts[name])
        if noise > DROWNED * adding:
            left_out[name] = min(noise / adding, MOST_NOISE) if adding else MOST_NOISE
    return left_out


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """Classes of pairs or queries: heavy ones have their own, the others share a few."""

    kind: Ints
    """The class of each: separate ones come first."""
    parent: Ints
    """For each class the shared one that it would be in."""
    shared: int
    """How many shared classes there are: the last ones."""

    @property
    def number(self) -> int:
        """How many classes there are."""
        return len(self.parent)

    @classmethod
    def of(cls, weight: Floats, group: Ints, groups: int, *, least: float, most: int) -> "Kinds":
        """Give a separate class to all of at least this private weight; else that of a group."""
        heaviest = np.argsort(-weight, kind="stable")[:most]
        own = np.sort(heaviest[weight[heaviest] >= least])
        kind = len(own) + group
        kind[own] = np.arange(len(own))
        parent = np.concatenate([group[own], np.arange(groups)]) + len(own)
        return cls(kind=kind, parent=parent, shared=groups)


def places_in_query(counts: Floats, query: Ints) -> Ints:
    """The place of each pair among those of its query, by private counts, from 0."""
    order = np.lexsort((-counts, query))
    first = np.diff(query[order], prepend=query[order[:1]] - 1) != 0
    place = np.empty(len(query), dtype=np.int64)
    number = np.arange(len(query))
    place[order] = number - np.maximum.accumulate(np.where(first, number, 0))
    return place


@dataclass(frozen=True, kw_only=True, repr=False)
class FieldStatistics:
    """Everything measured about time, rank and session; all of it is private."""

    days: int
    """The declared period, and the weekday of its first day, from Monday on."""
    weekday: int
    noisy: dict[str, NoisySums]
    """The sums of each stage that was measured."""
    dropped: dict[str, float]
    """The stages that the noise would drown, with its expected part of the sums."""
    query: Ints
    """For each released pair the place of its query among these, sorted."""
    rank_kinds: Kinds
    """Classes of the released pairs."""
    search_kinds: Kinds
    """Classes of their queries, as are those of the steps."""
    step_kinds: Kinds
    stages: tuple[Gaussian, ...] = field(default=())

    def values(self, name: str) -> Floats | None:
        """The noisy sums of a stage; None if it was not measured."""
        found = self.noisy.get(name)
        return None if found is None else found.values

    def shows(self, *names: str) -> bool:
        """Whether these stages were measured and have more than noise: rows that can be read."""
        return all(
            (values := self.values(name)) is not None
            and values.sum() > CLEAR * self.deviation(name) * values.size**0.5
            for name in names
        )

    def deviation(self, name: str) -> float:
        """The standard deviation of the noise of each sum."""
        return math.sqrt(float(self.noisy[name].stage.variance))


def measure_fields(
    events: Events,
    pairs: Ints,
    query: Ints,
    counts: NoisySums,
    parts: Mapping[str, Fraction],
    dropped: Mapping[str, float],
    *,
    rng: Randomness,
) -> FieldStatistics:
    """Measure the stages that have a part of the budget and are not left out, one by one.

    Args:
        events: The rows of the log.
        pairs: The released pairs, sorted.
        query: The query of each.
        counts: Their private counts.
        parts: μ² of each stage.
        dropped: The stages to leave out.
        rng: The source of noise.
    """
    names = [name for name in SHARES if name in parts and name not in dropped]
    shown, weight = Shown.of(pairs, query), np.maximum(counts.values, 0.0)
    of_query = np.searchsorted(shown.queries, query)
    heavy = np.bincount(of_query, weight, len(shown.queries)).astype(np.float64)

    def noise(name: str) -> float:
        return NORM / math.sqrt(parts[name]) if name in names else math.inf

    places = np.minimum(places_in_query(counts.values, query), PLACES - 1)
    together = np.zeros(len(heavy), dtype=np.int64)
    ranks = Kinds.of(weight, places, PLACES, least=OWN_RANKS * noise("ranks"), most=MOST_OWN_RANKS)
    searches, steps = (
        Kinds.of(heavy, together, 1, least=own * noise(name), most=most)
        for name, own, most in (
            ("searches", OWN_SEARCHES, MOST_OWN_SEARCHES),
            ("steps", OWN_STEPS, MOST_OWN_STEPS),
        )
    )
    recipes: dict[str, Callable[[], Ints]] = {
        "hours": lambda: tables.hour_sums(events),
        "days": lambda: tables.day_sums(events),
        "ranks": lambda: tables.rank_sums(events, shown, ranks.kind, ranks.number),
        "sessions": lambda: tables.session_sums(events, shown),
        "lengths": lambda: tables.length_sums(events, shown),
        "searches": lambda: tables.search_sums(events, shown, searches.kind, searches.number),
        "steps": lambda: tables.step_sums(events, shown, steps.kind, steps.number),
    }
    noisy = {
        name: sums.noisy_sums(
            recipes[name](),
            name=name,
            norm_squared=NORM**2,
            mu_squared=parts[name],
            rng=rng,
        )
        for name in names
    }
    return FieldStatistics(
        days=events.days,
        weekday=events.weekday,
        noisy=noisy,
        dropped=dict(dropped),
        query=of_query,
        rank_kinds=ranks,
        search_kinds=searches,
        step_kinds=steps,
        stages=tuple(each.stage for each in noisy.values()),
    )
