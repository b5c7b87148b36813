"""The cases of the quality benchmark: a seeded log, a budget and an objective."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import slogan
from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning import objectives
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives import Largest
from slogan.planning.program import Program

USERS = 2_500


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One row of a table."""

    objective: str
    seed: int
    exp_epsilon: str
    delta: str

    @property
    def key(self) -> str:
        """How the case is called in the results."""
        return f"{self.objective} seed={self.seed} budget={self.exp_epsilon},{self.delta}"

    @property
    def minimises(self) -> bool:
        """Whether a smaller value is better."""
        return self.objective == "frequent_pairs"

    @property
    def constraints(self) -> PrivacyConstraints:
        """The rows of this log under this budget."""
        budget = PrivacyBudget(exp_epsilon=self.exp_epsilon, delta=self.delta)
        return privacy_constraints(_histogram(self.seed), budget)

    def program(self, largest: Largest) -> Program:
        """The utility problem; `largest` gives λ to frequent_pairs only."""
        return objectives.program_of(objectives.load(self.objective)(), self.constraints, largest)


@cache
def _histogram(seed: int) -> PairHistogram:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.parquet")
        slogan.generate(log, users=USERS, seed=seed)
        host = engines.resolve("duckdb").start()
        try:
            return host.count(slogan.read(log)).hist
        finally:
            host.close()
