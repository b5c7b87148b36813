"""The paper's section 6 on a log: each public file here is one table or figure."""

from __future__ import annotations

import sys
from typing import Protocol

from slogan.registry import load_module, module_names
from slogan.reproduction._laboratory import Laboratory
from slogan.reproduction._pages import Page


class Experiment(Protocol):
    """What a file of this folder defines."""

    SECTION: str
    """Where the paper has it."""
    TITLE: str

    def page(self, lab: Laboratory) -> Page:
        """Compute what is not known yet, and hold it against the paper."""
        ...


def load(name: str) -> Experiment:
    """The table or figure of that name, such as "table4"."""
    module: Experiment = load_module(sys.modules[__name__], name)  # pyright: ignore[reportAssignmentType]
    return module


def names() -> tuple[str, ...]:
    """The tables and figures there are, in the paper's order."""
    known = module_names(sys.modules[__name__])
    # Within a section tables and figures are told in the order of their numbers.
    return tuple(sorted(known, key=lambda name: (load(name).SECTION, name[-1], name)))
