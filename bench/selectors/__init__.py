"""Selectors of the literature, as baselines beside those of `slogan.dp.selection`.

Each file is one selector with the same interface, `select(hist, budget, rng)`. The names here
include the selectors of the product, so that a benchmark or a test runs over all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType

from slogan.dp import selection
from slogan.dp.selection import SelectionBudget, Selector
from slogan.registry import load_module, module_names


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetWithEpsilon(SelectionBudget):
    """What a selection may spend if it is charged as (ε, δ), as `laplace_histogram` is."""

    epsilon: Fraction


def names() -> tuple[str, ...]:
    """The baselines and the selectors of the product."""
    return tuple(sorted((*selection.names(), *module_names(__name__))))


def module(name: str) -> ModuleType:
    """The file of the selector of that name."""
    package = selection.__name__ if name in selection.names() else __name__
    return load_module(package, name)


def load(name: str = selection.DEFAULT) -> Selector:
    """The selector of that name."""
    return module(name).select


def fewest(name: str) -> int:
    """The selector of that name never selects pairs of fewer users: a public constant."""
    return getattr(module(name), "FIRST", 1)
