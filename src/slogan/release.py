"""Release: a sanitized log with the plan it was drawn from."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints
from slogan.modes import Exact, Laplace
from slogan.plan import Plan
from slogan.program import Program, Solution, Status, gap, status
from slogan.publication import Publication
from slogan.report.figures import budget_use, clicks_by_fate, figures


@dataclass(frozen=True, kw_only=True)
class Release(Publication):
    """A sanitized log, ready to be looked at and saved. Close it to forget the log."""

    objective: str
    mode: Exact | Laplace
    removed: Ints
    """Users removed beforehand, by their numbers in the histogram."""
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
        released, because counts were rounded down, or more, because of noise, all that is proven
        is that none is negative.
        """
        targets = self.program.targets
        of_other_size = targets is not None and self.plan.size != targets.output_size
        return 0.0 if of_other_size else float(self.solution.bound)

    @property
    def status(self) -> Status:
        """What was proven of the released counts, whatever the solver said of its own."""
        allowed = float(self.parameters["gap"] or 0)
        return status(value=self.value, bound=self.bound, allowed=allowed)

    def summary(self) -> dict[str, Any]:
        shared = self.counted.shared
        return {
            "objective": self.objective,
            "counts": self.mode.name,
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "budget_per_user": self.budget.per_user,
            "users": self.counted.users,
            "pairs": self.counted.pairs,
            "clicks_in": self.counted.clicks,
            "shared": {"users": shared.users, "pairs": shared.pairs, "clicks": shared.clicks},
            "users_unconstrained": self.counted.users - shared.users,
            "users_removed": len(self.removed),
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
            **({"convergence": self.solution.trace} if self.solution.trace else {}),
            "size_bound": self._size_bound,
            "exposed_users_expected": self.constraints.expected_exposed(self.plan.counts),
            "test_run": self.seed is not None,
            "seconds": self.stages.rounded(),
        }

    def write_curators_tables(self, curator: Path) -> None:
        """Who is behind which pseudonym, and who was removed."""
        if self.pseudonyms is not None:
            table = curator / "pseudonyms.parquet"
            self.engine.write_pseudonyms(self.output, self.pseudonyms, table)
        if isinstance(self.mode, Laplace):
            self.engine.write_users(self.removed, curator / "removed.parquet")

    @property
    def _size_bound(self) -> float:
        stayed = self.counted.stayed
        return stayed.users * self.constraints.limit if stayed else self.constraints.size_bound

    def drawn(self) -> dict[str, Any]:
        counts, constraints = self.plan.counts, self.constraints
        shared, left = self.counted.shared, constraints.hist
        lost = {"unique_pairs": self.counted.clicks - shared.clicks}
        if isinstance(self.mode, Laplace):
            lost["removed_users"] = shared.clicks - left.clicks
        fate = clicks_by_fate(left.pair_total, counts, constraints.upper)
        use = budget_use(constraints.charge(counts), constraints.limit)
        drawn: dict[str, Any] = {}
        if self.counted.stayed:
            # The pairs that stayed in the engine are in no figure, and their clicks in two sums.
            fate["too_dear"] += shared.too_dear
            fate["not_chosen"] += shared.clicks - shared.too_dear - left.clicks
            use[0] += shared.users - left.users
        else:
            drawn["figures"] = asdict(figures(*self.clicks_before_and_after()))
        return {**drawn, "clicks_by_fate": {**lost, **fate}, "budget_use": use}

    @property
    def method(self) -> str:
        return "sanitize"

    @property
    def cost(self) -> None:
        """Nothing accounts for a guarantee that is given the counts."""

    def claims(self) -> dict[str, Any]:
        names = "keep" if self.pseudonyms is None else "fresh"
        return {"counts": self.mode.name, "pseudonyms": names}
