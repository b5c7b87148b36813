"""Headlines: the figures of a measure that people read, and the tasks that they decide."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, get_args

from slogan.manifest.uses import Use

R = TypeVar("R")
Better = Literal["higher", "lower", ""]
"""Which direction is better; empty if neither is."""
Group = Literal[
    "How much is kept",
    "Popular searches",
    "Rare searches",
    "Shares of clicks",
    "What goes together",
    "Users",
    "Time, ranks and sessions",
]
GROUPS: tuple[Group, ...] = get_args(Group)
"""In the order of tables."""


@dataclass(frozen=True, kw_only=True)
class Task(Generic[R]):
    """Something people do with a log, and the values that make a release fit for it.

    A value of `good` or better is good; one worse than `poor` is not. If `good` is below `poor`,
    lower values are better.
    """

    name: str
    good: float
    poor: float
    evidence: str
    """What the value means, as a format such as "{:.0%} of the top 100 are kept"."""
    value: Callable[[R], float | None]

    def fitness(self, result: R) -> Literal["good_for", "partly", "not_for"] | None:
        """Where the task belongs; None if the figure says nothing."""
        value = self.value(result)
        if value is None:
            return None
        sign = 1 if self.good > self.poor else -1
        if sign * value >= sign * self.good:
            return "good_for"
        return "partly" if sign * value >= sign * self.poor else "not_for"

    def use(self, result: R) -> Use:
        """The task with its evidence."""
        return Use(self.name, self.evidence.format(self.value(result)))


@dataclass(frozen=True)
class Headline(Generic[R]):
    """A figure of a measure in plain words, its format, and which direction is better."""

    label: str
    value: Callable[[R], float | None]
    """Reads the figure from the measure's result."""
    form: str
    """Of `format()`."""
    better: Better = ""
    group: Group = "How much is kept"
    task: Task[R] | None = None
    """What the figure decides, if it decides anything."""
    of_urls: bool = False
    """Whether it says something new of a log with urls only; of queries alone it is left out."""

    def text(self, result: R) -> str:
        """The figure as a person reads it."""
        return self.written(self.value(result))

    def written(self, value: float | None) -> str:
        """A value of this figure as a person reads it."""
        return "–" if value is None else format(value, self.form)

    def favours(self, result: R, other: R) -> bool:
        """Whether the first result is better than the other."""
        mine, theirs = self.value(result), self.value(other)
        if mine is None or theirs is None or not self.better:
            return False
        return mine > theirs if self.better == "higher" else mine < theirs


@dataclass(frozen=True, slots=True)
class Row:
    """One headline of a release beside that of a random sample."""

    label: str
    group: Group
    better: Better
    release: str
    sample: str
    release_is_better: bool
    sample_is_better: bool
    value: float | None
    sample_value: float | None

    def to_dict(self) -> dict[str, Any]:
        """The fields of one of the `headlines` of `evaluate --json`."""
        return {
            "label": self.label,
            "group": self.group,
            "better": self.better or None,
            "release": self.value,
            "yardstick": self.sample_value,
        }
