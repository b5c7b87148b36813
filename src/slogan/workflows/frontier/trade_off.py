"""What keeping more of one objective costs another, under one budget."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from slogan.budget import Number, PrivacyBudget
from slogan.errors import OptionError
from slogan.logs.words import worded
from slogan.planning import objectives
from slogan.planning.mixture import Mixture, Part
from slogan.planning.objectives.joint import Joint, require_parts
from slogan.planning.pareto import Compromise
from slogan.report.charts import Chart, Line, trade_off_chart
from slogan.workflows.frontier.result import Study, cell

_SHOWN = 10_000
"""Shares are shown in such steps, rounded down, so that a floor of the shown share is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffPoint:
    """One output: what it keeps of each objective, and the command's option that asks for it."""

    values: tuple[float, float]
    shares: tuple[float, float]
    """Of the best found for each objective alone."""
    bound: float
    """Proven: no output with as much of the second objective has more of the first."""
    clicks: int
    at_least: str
    """What to give to `--at-least` for an output that keeps as much of the second."""


@dataclass(frozen=True, kw_only=True, repr=False)
class TradeOff(Study):
    """Outputs under one budget, none with more of both objectives than another."""

    epsilon: float
    delta: float
    objectives: tuple[str, str]
    utilities: tuple[str, str]
    optima: tuple[float, float]
    """The best found for each objective alone."""
    bounds: tuple[float, float]
    """Proven: no output has more of it."""
    points: tuple[TradeOffPoint, ...]

    @property
    def title(self) -> str:
        return f"What one costs the other: {self.utilities[0]} and {self.utilities[1]}"

    @property
    def caption(self) -> str:
        return (
            "One row for each output found that no other exceeds in both. Give its last column to "
            "sanitize --objective joint to get such an output."
        )

    def __repr__(self) -> str:
        first, second = self.objectives
        return f"<TradeOff of {first} and {second}: {len(self.points)} outputs>"

    def table(self) -> tuple[list[str], list[list[str]]]:
        first, second = (worded(utility, self.items) for utility in self.utilities)
        headings = [first, "share", "best possible", second, "share", "--at-least"]
        rows = [
            [
                cell("value", point.values[0]),
                f"{point.shares[0]:.1%}",
                cell("bound", point.bound),
                cell("value", point.values[1]),
                f"{point.shares[1]:.1%}",
                point.at_least,
            ]
            for point in self.points
        ]
        return headings, rows

    def chart(self) -> Chart:
        """The outputs found, and the most of the first objective for each value of the second."""
        first, second = (worded(utility, self.items) for utility in self.utilities)
        found = sorted((point.values[1], point.values[0]) for point in self.points)
        bounds = sorted((point.values[1], point.bound) for point in self.points)
        # A bound holds up to the next output: the line falls in steps.
        most = [*bounds[:1]]
        for (at, bound), (_, before) in zip(bounds[1:], bounds, strict=False):
            most += [(at, before), (at, bound)]
        return trade_off_chart(
            Line(name="found", points=found),
            Line(name="best possible", points=most),
            x_title=second,
            y_title=first,
        )

    def facts(self) -> list[str]:
        first, second = self.utilities
        best = " and ".join(
            f"{cell('value', value)} {utility}"
            for value, utility in zip(self.optima, self.utilities, strict=True)
        )
        facts = [
            self._size(shared=True),
            f"Budget: ε = {cell('epsilon', self.epsilon)}, δ = {cell('delta', self.delta)}.",
            f"Alone, the best found are {best}. Shares are of these.",
            f"“Best possible” is proven: no output with as many {second} has more {first}.",
        ]
        return [worded(fact, self.items) for fact in facts]


def pair_of(given: Sequence[str] | Joint, min_support: Number | None = None) -> Joint:
    """The two objectives to compare, as a joint one."""
    joint = given
    if not isinstance(joint, Joint):
        if isinstance(joint, str) or len({*joint}) != len(joint):
            raise OptionError(
                "--objectives needs two different objectives",
                hint="such as --objectives output_size,diversity",
            )
        require_parts("objectives", dict.fromkeys(joint))
        joint = Joint(weights=dict.fromkeys(joint, 1), min_support=min_support)
    if len(joint.weights) != 2 or joint.at_least:
        raise OptionError(
            "--objectives compares two objectives, without floors",
            hint="such as --objectives output_size,diversity",
        )
    return joint


def one_budget(budgets: Sequence[PrivacyBudget]) -> PrivacyBudget:
    """The budget under which two objectives are compared."""
    if len(budgets) != 1:
        raise OptionError(
            f"--objectives compares under one budget, and the grid has {len(budgets)}",
            hint="give one ε and one δ, such as --exp-epsilons 2 --deltas 0.5",
        )
    return budgets[0]


def points_of(mixture: Mixture, compromises: Sequence[Compromise]) -> tuple[TradeOffPoint, ...]:
    """The outputs found, with the most of the first objective first."""
    second = mixture.parts[1].name
    return tuple(
        TradeOffPoint(
            values=(float(found.values[0]), float(found.values[1])),
            shares=(float(found.shares[0]), float(found.shares[1])),
            bound=found.bound,
            clicks=int(found.counts.sum()),
            at_least=f"{second}={math.floor(found.shares[1] * _SHOWN) / _SHOWN:g}",
        )
        for found in reversed(compromises)
    )


def utility_of(part: Part) -> str:
    """The unit of a part's value, in words."""
    return "kept supports" if part.of_supports else objectives.load(part.name).utility
