"""What a release promises and what it does not, in plain words; manifest and reports quote it.

The words are in `promises.toml`, by kind of release. Here they get the numbers of a budget.
"""

import math
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from slogan.budget import PrivacyBudget
from slogan.modes import ReleaseKind

_WORDS = tomllib.loads(files("slogan.manifest").joinpath("promises.toml").read_text("utf-8"))
TEST_RUN: str = _WORDS["shared"]["test_run"]
_RAREST = sys.float_info.min
"""The inverse of a smaller probability may be too large for a float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The guarantee of one mode, with the name it honestly deserves."""

    name: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What reports say of one kind of release."""

    heading: str
    opening: str
    """What it is, in a few sentences."""
    verdict: str
    """The promise in one line."""
    counts: str
    """What the numbers of clicks are."""
    neighbours: str
    epsilon: str
    delta: str
    steps: tuple[str, ...]
    """How the method goes, in order."""


def promise_of(
    kind: ReleaseKind, parameters: Mapping[str, object], budget: PrivacyBudget
) -> Promise:
    """The promise of a kind of release under a budget."""
    return Promise(**_fill(_WORDS[kind]["promise"], budget, parameters))


def wording_of(kind: ReleaseKind, budget: PrivacyBudget) -> Wording:
    """What reports say of a kind of release under a budget."""
    return Wording(**_fill(_WORDS[kind]["wording"], budget, {}))


def one_in(probability: float) -> str:
    """A probability as people say it: 1 in 2, 1 in 1,000,000."""
    if probability <= 0:
        return "never"
    around = 1 / max(probability, _RAREST)
    exact = abs(around - round(around)) < 0.05
    return f"{'' if exact else 'about '}1 in {around:,.0f}"


def _fill(
    texts: dict[str, str | list[str]], budget: PrivacyBudget, parameters: Mapping[str, object]
) -> dict[str, Any]:
    epsilon, delta = budget.epsilon_value, budget.delta_value
    numbers = {
        "ratio": math.exp(epsilon),
        "chance": one_in(delta),
        "epsilon": epsilon,
        "delta": delta,
    }
    shared = {name: text.format_map(numbers) for name, text in _WORDS["shared"].items()}
    values = {**parameters, **shared, **numbers}
    return {
        name: text.format_map(values)
        if isinstance(text, str)
        else tuple(line.format_map(values) for line in text)
        for name, text in texts.items()
    }
