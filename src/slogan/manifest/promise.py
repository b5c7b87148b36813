"""The promise of a release and its limits, in plain words that manifest and reports quote.

The words are in `promises.toml`, by kind of release. This module fills in the numbers of a budget.
A claim never rounds in its own favour: e^ε, ε and δ are rounded up, and 1/δ down.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.resources import files
from typing import Any

from slogan.budget import Number, PrivacyBudget, at_most, exact
from slogan.logs.words import ITEMS, PAIRS, worded
from slogan.modes import ReleaseKind

_WORDS = tomllib.loads(files("slogan.manifest").joinpath("promises.toml").read_text("utf-8"))
TEST_RUN: str = _WORDS["shared"]["test_run"]
KEPT_IDS: str = _WORDS["shared"]["kept_ids"]
BUDGET_FROM_LOG: str = _WORDS["shared"]["budget_from_log"]
ACCEPTED = "accept_weak_privacy"
"""The parameter of a manifest that records an overridden refusal."""
PLAN_FROM_LOG: str = _WORDS["shared"]["plan_from_log"]
REQUIRE = "require"
"""The parameter of a manifest with a required utility; alone, the budget is the least for it."""
MINIMIZE = "minimize"
"""The parameter of a manifest that says what was minimised for it under a given budget."""
LARGEST_EPSILON, WEAK_EPSILON, LARGEST_DELTA = 10, 3, Fraction(1, 1000)
_PEOPLE_PER_DELTA = 10
_FEWEST_FOR_POWER = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The guarantee of one kind of release: its name, what it covers and what it does not."""

    name: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The sentences of the reports for one kind of release."""

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
    """The steps of the method, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """Why a budget protects little, and whether it is refused by default."""

    text: str
    refused: bool


def weaknesses(
    kind: ReleaseKind, budget: PrivacyBudget, users: int | None = None
) -> tuple[Weakness, ...]:
    """Weaknesses of a budget that should hold end to end.

    For rows of real users δ is the chance that a given user is shown. Pages state it first; it does
    not count as a weakness here.

    Args:
        kind: The kind of release.
        budget: ε and δ.
        users: The number of users that the release publishes, with noise.
    """
    if not kind.end_to_end:
        return ()
    found: list[tuple[str, bool]] = []
    epsilon, delta = budget.epsilon_at_most, exact(budget.delta)
    if epsilon > WEAK_EPSILON:
        found.append(("epsilon", epsilon > LARGEST_EPSILON))
    if kind is ReleaseKind.SYNTHETIC_USERS:
        if delta > LARGEST_DELTA:
            found.append(("delta", True))
        elif users is not None and delta * _PEOPLE_PER_DELTA * users > 1:
            found.append(("delta_of_users", False))
    numbers = {"users": f"{users:,}" if users else "", **_numbers(budget)}
    return tuple(
        Weakness(
            text=_WORDS["weak"][
                f"{name}_refused" if name == "epsilon" and refused else name
            ].format_map(numbers),
            refused=refused,
        )
        for name, refused in found
    )


def promise_of(
    kind: ReleaseKind,
    parameters: Mapping[str, object],
    budget: PrivacyBudget,
    *,
    pseudonyms: str = "fresh",
) -> Promise:
    """The promise of a kind of release under a budget."""
    filled = _fill(_WORDS[kind]["promise"], budget, parameters)
    weak = tuple(weakness.text for weakness in weaknesses(kind, budget))
    kept = (KEPT_IDS,) if pseudonyms == "keep" else ()
    chosen = (BUDGET_FROM_LOG,) if REQUIRE in parameters else ()
    chosen = (PLAN_FROM_LOG,) if MINIMIZE in parameters else chosen
    chosen += _rests_on(parameters)
    not_guaranteed = (*weak, *kept, *chosen, *filled.pop("not_guaranteed"))
    return Promise(**filled, not_guaranteed=not_guaranteed)


def _rests_on(parameters: Mapping[str, object]) -> tuple[str, ...]:
    """What was declared to be public, if anything was."""
    shared: dict[str, str] = _WORDS["shared"]
    sources = [
        shared[f"from_{name}"].format_map(parameters)
        for name in ("vocabulary", "hints")
        if name in parameters
    ]
    values = {**parameters, "sources": " and ".join(sources)}
    return (shared["public_pairs"].format_map(values),) if sources else ()


def wording_of(
    kind: ReleaseKind, budget: PrivacyBudget, parameters: Mapping[str, object] | None = None
) -> Wording:
    """The sentences of the reports for a kind of release under a budget."""
    return Wording(**_fill(_WORDS[kind]["wording"], budget, parameters or {}))


def one_in(probability: Number) -> str:
    """A probability in words, rounded up: 1 in 2, 65 in 100, 1 in 1,000,000."""
    chance = Fraction(str(probability))
    if chance <= 0:
        return "never"
    if chance > Fraction(1, 10) and chance.numerator > 1:
        return f"{math.ceil(100 * chance)} in 100"
    if (whole := math.floor(1 / chance)) < _FEWEST_FOR_POWER:
        return f"1 in {whole:,}"
    return f"1 in 10^{len(str(whole)) - 1}"


def _numbers(budget: PrivacyBudget) -> dict[str, str]:
    """The numbers of a budget, each rounded to the side that promises less."""
    return {
        "ratio": at_most(budget.ratio_at_most),
        "chance": one_in(exact(budget.delta)),
        "epsilon": at_most(budget.epsilon_at_most),
        "delta": at_most(exact(budget.delta), 6),
    }


_OF_PUBLIC_PAIRS = ("public_pairs", "from_vocabulary", "from_hints")
"""Sentences about parameters that few releases have."""
NOT_PUBLIC = ", and that was not declared public,"


def _fill(
    texts: dict[str, str | list[str]], budget: PrivacyBudget, parameters: Mapping[str, object]
) -> dict[str, Any]:
    numbers = _numbers(budget)
    plain = {n: text for n, text in _WORDS["shared"].items() if n not in _OF_PUBLIC_PAIRS}
    shared = {name: text.format_map(numbers) for name, text in plain.items()}
    shared["not_public"] = NOT_PUBLIC if "public_pairs" in parameters else ""
    values = {**parameters, **shared, **numbers}
    items = str(parameters.get(ITEMS, PAIRS))
    return {
        name: worded(text.format_map(values), items)
        if isinstance(text, str)
        else tuple(worded(line.format_map(values), items) for line in text)
        for name, text in texts.items()
    }
