"""Measures of how much of a log a release keeps: their inputs, their results, and their registry.

Every `Measure` that a file of this folder defines is registered by its name. Its figures depend on
the log and are for the curator only. A measure reads integers, never a text of the log.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar, cast

import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import PairHistogram
from slogan.manifest.uses import Use, Uses
from slogan.measures.cooccurrence import CoOccurrence
from slogan.measures.events import ComparedEvents
from slogan.measures.headlines import GROUPS, Row
from slogan.measures.headlines import Headline as Headline
from slogan.measures.headlines import Task as Task
from slogan.measures.sampling import random_sample as random_sample
from slogan.registry import load_module, module_names

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Clicks of each pair in D and in O. A pair without a click in D is not a pair of D."""

    before: Ints
    """c_ij."""
    after: Ints
    """x_ij."""
    query: Ints
    coverage: Fraction = Fraction(1)
    """κ: the published share of the log's clicks that fall on released pairs; else 1."""

    @classmethod
    def of(
        cls, original: PairHistogram, released: PairHistogram, coverage: Fraction | None
    ) -> "Totals":
        """The paper's D has no unique pair; with a published coverage D is the whole log."""
        ignored = (original.holders == 1) & (coverage is None)
        return cls(
            before=np.where(ignored, 0, original.pair_total),
            after=np.where(ignored, 0, released.pair_total),
            query=original.query,
            coverage=Fraction(1) if coverage is None else coverage,
        )

    @property
    def size_before(self) -> int:
        """|D|."""
        return int(self.before.sum())

    @property
    def size_after(self) -> int:
        """|O|."""
        return int(self.after.sum())

    @property
    def supports_before(self) -> Floats:
        """c_ij / |D|."""
        return self.before / max(1, self.size_before)

    @property
    def supports_after(self) -> Floats:
        """x_ij / |O|, times κ."""
        return self.after / max(1, self.size_after) * float(self.coverage)

    def frequent_before(self, min_support: Fraction) -> Flags:
        """S₀: the pairs of D with c_ij / |D| ≥ s."""
        return self.before >= _least_clicks(min_support * self.size_before)

    def frequent_after(self, min_support: Fraction) -> Flags:
        """S: the pairs of O with κ·x_ij / |O| ≥ s."""
        if not self.coverage:
            return np.zeros(len(self.after), dtype=np.bool_)
        return self.after >= _least_clicks(min_support * self.size_after / self.coverage)


def _least_clicks(clicks: Fraction) -> int:
    """The fewest clicks that reach a support; at least one."""
    return max(1, math.ceil(clicks))


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The log D, with models that are computed once for all outputs compared with it."""

    log: PairHistogram
    """The whole log, unique pairs included."""
    pairs: CoOccurrence
    queries: CoOccurrence

    @classmethod
    def of(cls, log: PairHistogram) -> "Reference":
        """Count which pairs and queries the users of a log hold together."""
        pairs, queries = CoOccurrence.learn(log), CoOccurrence.learn(queries_of(log))
        return cls(log=log, pairs=pairs, queries=queries)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The input of every measure: one output and the log, with the same numbering."""

    reference: Reference
    output: PairHistogram
    """The release or the yardstick, with the log's numbering."""
    supports: tuple[Fraction, ...]
    """Minimum supports; the first is that of the headlines and of the triplets."""
    coverage: Fraction | None
    """The published κ, if the release has one: supports are then of the whole log."""
    same_users: bool
    """Whether a user number means the same person in both."""
    samples: Iterable[PairHistogram] | None
    """Outputs whose triplets are compared, for one reading; None if none can be."""
    events: ComparedEvents | None = None
    """The rows in time, rank and session, where both logs have such columns."""

    @property
    def log(self) -> PairHistogram:
        """D, the whole log."""
        return self.reference.log

    @cached_property
    def totals(self) -> Totals:
        """c_ij and x_ij as the paper's measures define them."""
        return Totals.of(self.log, self.output, self.coverage)

    @cached_property
    def pairs(self) -> CoOccurrence:
        """Which pairs users of the output hold together."""
        return CoOccurrence.learn(self.output)

    @cached_property
    def queries(self) -> CoOccurrence:
        """Which queries users of the output hold together."""
        return CoOccurrence.learn(queries_of(self.output))


def queries_of(hist: PairHistogram) -> PairHistogram:
    """The same clicks counted by query instead of by pair."""
    queries = int(hist.query.max(initial=-1)) + 1
    return PairHistogram.of_rows(
        user=hist.user,
        pair=hist.query[hist.pair],
        count=hist.count,
        users=hist.users,
        query=np.arange(queries, dtype=np.int64),
    )


@dataclass(frozen=True, kw_only=True)
class Measure(Generic[R]):
    """One aspect of what a release keeps, with a typed result R."""

    name: str
    order: int
    """Its position in JSON and within a group of tables: the paper's measures come first."""
    take: Callable[[Comparison], R]
    headlines: tuple[Headline[R], ...] = ()
    fields: Callable[[R], dict[str, Any]] | None = None
    """Its top-level fields in `evaluate --json`; by default one, named as the measure."""

    def to_dict(self, result: R) -> dict[str, Any]:
        """The fields of a result, ready for JSON; none of what a log does not have."""
        if result is None and not self.fields:
            return {}
        return self.fields(result) if self.fields else {self.name: asdict(cast("Any", result))}


def all_measures() -> list[Measure[Any]]:
    """Every measure that a file of this folder defines, in the order of tables."""
    modules = [load_module(__name__, name) for name in module_names(__name__)]
    values = (value for module in modules for value in vars(module).values())
    measures = [cast("Measure[Any]", value) for value in values if isinstance(value, Measure)]
    return sorted(measures, key=lambda measure: (measure.order, measure.name))


@dataclass(frozen=True, repr=False)
class Results:
    """The results of all measures of one output: `results[association.LIFT].correlation`."""

    by_name: Mapping[str, object]

    @classmethod
    def of(cls, comparison: Comparison) -> "Results":
        """Take every measure."""
        return cls({measure.name: measure.take(comparison) for measure in all_measures()})

    def __getitem__(self, measure: Measure[R]) -> R:
        """The result of one measure."""
        return cast("R", self.by_name[measure.name])

    def __repr__(self) -> str:
        taken = sum(result is not None for result in self.by_name.values())
        return f"<Results of {taken} measures>"

    def to_dict(self) -> dict[str, Any]:
        """The fields of all measures, ready for JSON."""
        dicts = [measure.to_dict(self[measure]) for measure in all_measures()]
        return {name: value for fields in dicts for name, value in fields.items()}


@dataclass(frozen=True, kw_only=True)
class SideBySide:
    """A release and a random sample of the same size, measured in the same way."""

    release: Results
    yardstick: Results

    @property
    def has_urls(self) -> bool:
        """Whether the log has urls; without them fewer figures say something."""
        return True

    def _lines(self) -> list[tuple[Measure[Any], Headline[Any]]]:
        return [
            (measure, line)
            for measure in all_measures()
            for line in measure.headlines
            if (self.has_urls or not line.of_urls) and self.release[measure] is not None
        ]

    def headlines(self) -> list[Row]:
        """The figures that people read, by group."""
        rows = [
            Row(
                label=line.label,
                group=line.group,
                better=line.better,
                release=line.text(self.release[measure]),
                sample=line.text(self.yardstick[measure]),
                release_is_better=line.favours(self.release[measure], self.yardstick[measure]),
                sample_is_better=line.favours(self.yardstick[measure], self.release[measure]),
                value=line.value(self.release[measure]),
                sample_value=line.value(self.yardstick[measure]),
            )
            for measure, line in self._lines()
        ]
        return sorted(rows, key=lambda row: GROUPS.index(row.group))

    @property
    def uses(self) -> Uses:
        """What the release is good for and what not, decided by its measures."""
        groups: dict[str, list[Use]] = {"good_for": [], "partly": [], "not_for": []}
        for measure, line in self._lines():
            result = self.release[measure]
            if line.task and (fitness := line.task.fitness(result)) is not None:
                groups[fitness].append(line.task.use(result))
        return Uses(**{name: tuple(uses) for name, uses in groups.items()})
