"""Release: a sanitized log with the plan it was drawn from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.constraints import PrivacyConstraints
from slogan.plan import Plan
from slogan.program import Program, Solution, Status, gap, status
from slogan.publication import Publication
from slogan.report.figures import budget_use, clicks_by_fate, figures


@dataclass(frozen=True, kw_only=True)
class Release(Publication):
    """A sanitized log, ready to be looked at and saved. Close it to forget the log."""

    objective: str
    constraints: PrivacyConstraints
    program: Program
    solution: Solution
    plan: Plan

    @property
    def value(self) -> float:
        """The utility reached, in the objective's own unit."""
        return self.program.value(self.plan.counts)

    @property
    def bound(self) -> float:
        """Proven: no integer solution is better.

        The solver's bound on support distances speaks of outputs of size |O|. If fewer clicks are
        released, because counts were rounded down, all that is proven is that none is negative.
        """
        targets = self.program.targets
        fell_short = targets is not None and self.plan.size < targets.output_size
        return 0.0 if fell_short else float(self.solution.bound)

    @property
    def status(self) -> Status:
        """What was proven of the released counts, whatever the solver said of its own."""
        allowed = float(self.parameters["gap"] or 0)
        return status(value=self.value, bound=self.bound, allowed=allowed)

    def summary(self) -> dict[str, Any]:
        hist = self.counted.hist
        return {
            "objective": self.objective,
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "budget_per_user": self.budget.per_user,
            "users": self.counted.users,
            "pairs": self.counted.pairs,
            "clicks_in": self.counted.clicks,
            "shared": {"users": hist.users, "pairs": hist.pairs, "clicks": hist.clicks},
            "users_unconstrained": self.counted.users - hist.users,
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "clicks_out": self.output.clicks,
            "pairs_out": self.output.pairs,
            "users_out": self.output.users,
            "value": self.value,
            "bound": self.bound,
            "gap": gap(value=self.value, bound=self.bound),
            "status": str(self.status),
            "solver": self.solution.solver,
            "size_bound": self.constraints.size_bound,
            "exposed_users_expected": self.constraints.expected_exposed(self.plan.counts),
            "test_run": self.seed is not None,
            "seconds": self.stages.rounded(),
        }

    def write_curators_tables(self, curator: Path) -> None:
        """Who is behind which pseudonym."""
        if self.pseudonyms is not None:
            table = curator / "pseudonyms.parquet"
            self.engine.write_pseudonyms(self.output, self.pseudonyms, table)

    def drawn(self) -> dict[str, Any]:
        before, after = self.counted.hist.pair_total, self.plan.counts
        upper, whole = self.constraints.upper, self.counted.clicks
        return {
            "figures": asdict(figures(before, after)),
            "clicks_by_fate": clicks_by_fate(before, after, upper, whole=whole),
            "budget_use": budget_use(self.constraints.charge(after), self.constraints.limit),
        }

    @property
    def method(self) -> str:
        return "sanitize"

    def claims(self) -> dict[str, Any]:
        names = "keep" if self.pseudonyms is None else "fresh"
        return {"counts": "exact", "pseudonyms": names}
