"""What "useful" means: each file here is one utility-maximizing problem, named as its option."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints
from slogan.plan import Plan
from slogan.program import Program
from slogan.registry import load_module, module_names

Largest = Callable[[], tuple[Plan, float]]
"""Solves O-UMP when asked: the plan of size λ, and the proven bound on λ."""


class Objective(Protocol):
    """A utility-maximizing problem: constraints in, program out."""

    name: str

    def program(self, constraints: PrivacyConstraints, *, largest: Largest) -> Program:
        """Ask for the counts with the best utility under these constraints."""
        ...

    def on_private_counts(self, counts: Ints, query: Ints) -> Ints:
        """The best counts where no user is charged: private counts as they are, or changed a bit.

        Args:
            counts: Private counts, rounded, of the pairs that may be released.
            query: The query of each pair, as a number.
        """
        ...


def names() -> tuple[str, ...]:
    """The objectives there are."""
    return module_names(sys.modules[__name__])


def load(name: str) -> type[Objective]:
    """The objective of that name."""
    return load_module(sys.modules[__name__], name).OBJECTIVE
