"""How much of a log a release keeps: each file here is one measure, registered by its name.

Every measure depends on the log: its figures are for the curator alone. It looks at integers
only, never at a text of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from slogan.measures._comparison import (
    Comparison,
    Reference,
    Totals,
    queries_of,
    random_sample,
)
from slogan.measures._cooccurrence import CoOccurrence, hit_rate
from slogan.registry import load_module, module_names

R = TypeVar("R")


@dataclass(frozen=True)
class Headline(Generic[R]):
    """A figure that a person reads first, how it is written, and which way is better."""

    label: str
    value: Callable[[R], float | None]
    """Reads the figure from the measure's result."""
    form: str
    """Of `format()`."""
    better: Literal["more", "less", "neither"] = "neither"

    def text(self, result: R) -> str:
        """The figure as a person reads it."""
        value = self.value(result)
        return "–" if value is None else format(value, self.form)

    def favours(self, result: R, other: R) -> bool:
        """Whether the first result is better than the other."""
        mine, theirs = self.value(result), self.value(other)
        if mine is None or theirs is None or self.better == "neither":
            return False
        return mine > theirs if self.better == "more" else mine < theirs


@dataclass(frozen=True, kw_only=True)
class Measure(Generic[R]):
    """One idea of what a release keeps, with a typed result R."""

    name: str
    """The name of its file."""
    order: int
    """Its place in tables and JSON: the paper's measures come first."""
    take: Callable[[Comparison], R]
    headlines: tuple[Headline[R], ...] = ()
    fields: Callable[[R], dict[str, Any]] | None = None
    """Its top-level fields in `evaluate --json`; by default one, named as the measure."""

    def to_dict(self, result: R) -> dict[str, Any]:
        """The fields of a result, ready for JSON."""
        if self.fields is not None:
            return self.fields(result)
        return {self.name: asdict(cast("Any", result))}


def names() -> tuple[str, ...]:
    """The measures there are, in the order of tables."""
    return tuple(measure.name for measure in _all())


def load(name: str) -> Measure[Any]:
    """The measure of that name."""
    return load_module(__name__, name).MEASURE


def _all() -> list[Measure[Any]]:
    measures = [load(name) for name in module_names(__name__)]
    return sorted(measures, key=lambda measure: (measure.order, measure.name))


@dataclass(frozen=True, repr=False)
class Results:
    """The results of all measures of one output: `results[lift.MEASURE].correlation`."""

    by_name: Mapping[str, object]

    @classmethod
    def of(cls, comparison: Comparison) -> Results:
        """Take every measure."""
        return cls({measure.name: measure.take(comparison) for measure in _all()})

    def __getitem__(self, measure: Measure[R]) -> R:
        """The result of one measure."""
        return cast("R", self.by_name[measure.name])

    def __repr__(self) -> str:
        return f"<Results of {len(self.by_name)} measures>"

    def to_dict(self) -> dict[str, Any]:
        """The fields of all measures, ready for JSON."""
        fields: dict[str, Any] = {}
        for measure in _all():
            fields |= measure.to_dict(self[measure])
        return fields


@dataclass(frozen=True, slots=True)
class Row:
    """One headline of a release beside that of a random sample."""

    label: str
    release: str
    sample: str
    release_is_better: bool
    sample_is_better: bool


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """A release and a random sample of the same size, measured alike."""

    release: Results
    yardstick: Results

    def headlines(self) -> list[Row]:
        """The figures a person reads first."""
        return [
            Row(
                line.label,
                line.text(self.release[measure]),
                line.text(self.yardstick[measure]),
                line.favours(self.release[measure], self.yardstick[measure]),
                line.favours(self.yardstick[measure], self.release[measure]),
            )
            for measure in _all()
            for line in measure.headlines
        ]


__all__ = [
    "CoOccurrence",
    "Comparison",
    "Headline",
    "Measure",
    "Reference",
    "Results",
    "Row",
    "SideBySide",
    "Totals",
    "hit_rate",
    "load",
    "names",
    "queries_of",
    "random_sample",
]
