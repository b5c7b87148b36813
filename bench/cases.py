"""The cases of the quality benchmark: a seeded log, a budget and an objective, written as files."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

import slogan
from bench.problem import Problem
from slogan import engines, objectives
from slogan.constraints import PrivacyConstraints, privacy_constraints
from slogan.histogram import PairHistogram
from slogan.objectives import Largest
from slogan.privacy import PrivacyBudget
from slogan.program import Program
from slogan.solvers._highs import Model, model

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
        """The utility problem; `largest` is asked for λ by frequent_pairs only."""
        return objectives.load(self.objective)().program(self.constraints, largest=largest)


@cache
def _histogram(seed: int) -> PairHistogram:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.parquet")
        slogan.generate(log, users=USERS, seed=seed)
        host = engines.load("duckdb")(memory_limit=None)
        try:
            return host.count(slogan.read(log)).hist
        finally:
            host.close()


def problem(program: Program) -> Problem:
    """What the foreign solvers are given: no pair of which not one click fits, no idle row."""
    kept = np.flatnonzero(program.upper > 0).astype(np.int64)
    asked = _binding(model(program, kept=kept, upper=program.upper[kept].astype(np.float64)))
    return Problem(
        rows=asked.rows,
        row_lower=asked.row_lower,
        row_upper=asked.row_upper,
        cost=asked.cost,
        upper=asked.upper,
        integers=asked.pairs,
        constant=asked.constant,
        sign=1.0 if program.minimises else -1.0,
        kept=kept,
        pairs=program.pairs,
        start=_start(program, asked, kept),
    )


def _binding(asked: Model) -> Model:
    """Without the rows that hold even with every count at its bound."""
    most = asked.rows.maximum(0) @ np.minimum(asked.upper, 1e100)
    # A row that misses its limit by rounding only is kept: no peer is given more than is allowed.
    idle = np.isneginf(asked.row_lower) & (most <= asked.row_upper * (1 - 1e-12))
    rows = np.flatnonzero(~idle)
    return replace(
        asked,
        rows=asked.rows[rows],
        row_lower=asked.row_lower[rows],
        row_upper=asked.row_upper[rows],
    )


def _start(program: Program, asked: Model, kept: np.ndarray) -> np.ndarray:
    if program.targets is None:
        return np.zeros(0)
    x = program.targets.start[kept].astype(np.float64)
    extra = len(asked.cost) - asked.pairs
    # The last 2·extra rows are x − y ≤ ideal and x + y ≥ ideal, one pair of them for each distance.
    above = asked.rows[-2 * extra : -extra, : asked.pairs] @ x
    return np.concatenate([x, np.abs(above - asked.row_upper[-2 * extra : -extra])])
