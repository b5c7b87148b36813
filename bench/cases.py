"""The cases of the quality benchmark: a seeded log, a budget and an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bench.logs import histogram
from slogan.budget import PrivacyBudget
from slogan.planning import objectives
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.plan import Plan
from slogan.planning.program import Program


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One row of a table."""

    objective: str
    log: str
    exp_epsilon: str
    delta: str

    @property
    def key(self) -> str:
        """How the case is called in the results."""
        return f"{self.objective} log={self.log} budget={self.budget}"

    @property
    def budget(self) -> str:
        """e^ε and δ, as they are typed."""
        return f"{self.exp_epsilon},{self.delta}"

    @property
    def minimises(self) -> bool:
        """Whether a smaller value is better."""
        return self.objective == "frequent_pairs"

    @property
    def constraints(self) -> PrivacyConstraints:
        """The rows of this log under this budget."""
        budget = PrivacyBudget(exp_epsilon=self.exp_epsilon, delta=self.delta)
        return privacy_constraints(histogram(self.log), budget)

    def program(self, largest: Callable[[], tuple[Plan, float]]) -> Program:
        """The utility problem; `largest` gives λ to frequent_pairs only."""
        goal = objectives.load(self.objective)()
        return objectives.program_of(goal, self.constraints, lambda *_, **_limits: largest())
