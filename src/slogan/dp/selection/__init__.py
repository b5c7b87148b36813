"""Which query-url pairs may be released: each file here is one selector, named as its option."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from slogan.arrays import Ints
from slogan.dp.accounting import Stage
from slogan.dp.sums import AnyHistogram
from slogan.randomness import Randomness
from slogan.registry import load_module, module_names

DEFAULT = "pooled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionBudget:
    """What selection may spend: μ², and a probability that a pair of one user alone is released."""

    mu_squared: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The pairs that may be released, by their numbers in the histogram, and what that cost.

    The numbers follow the order of the log's texts, so they are for this run only:
    what is published is the set, in an order of its own.
    """

    pairs: Ints
    stages: tuple[Stage, ...]


Selector = Callable[[AnyHistogram, SelectionBudget, Randomness], Selected]
"""Selects pairs of a whole log, unique pairs included."""


def names() -> tuple[str, ...]:
    """The selectors there are."""
    return module_names(__name__)


def load(name: str = DEFAULT) -> Selector:
    """The selector of that name."""
    return load_module(__name__, name).select
