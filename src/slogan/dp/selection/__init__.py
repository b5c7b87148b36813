"""Selection of the query-url pairs to release: each file here is one selector."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from slogan.arrays import Ints
from slogan.dp.accounting import Stage
from slogan.registry import load_module, module_names

DEFAULT = "pooled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionBudget:
    """The budget of selection: μ², and the probability that a pair of only one user is released."""

    mu_squared: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The pairs that may be released, by their numbers in the histogram, and the stages spent.

    The numbers depend on the order of the log's texts, so they are not published:
    the release is sorted by its own IDs.
    """

    pairs: Ints
    stages: tuple[Stage, ...]
    most: int = 0
    """The largest number of pairs that a user contributed, where the selector chose one."""


Selector = Callable[..., Selected]
"""`select(hist, budget, rng)`: selects pairs of a whole log, unique pairs included.

The default takes `listed` too: the numbers of pairs that are public knowledge."""


def names() -> tuple[str, ...]:
    """The selectors there are."""
    return module_names(__name__)


def load(name: str = DEFAULT) -> Selector:
    """The selector of that name."""
    return load_module(__name__, name).select
