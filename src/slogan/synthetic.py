"""SyntheticRelease: a log of users who never lived, and the private statistics behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slogan.dp.mechanisms import Cost
from slogan.dp.reach import weight_needed
from slogan.dp.statistics import Spending, Statistics
from slogan.publication import Publication
from slogan.report.figures import clicks_by_selection, figures


@dataclass(frozen=True, kw_only=True)
class SyntheticRelease(Publication):
    """A synthetic log, ready to be looked at and saved. Close it to forget the log."""

    statistics: Statistics
    spending: Spending

    @property
    def method(self) -> str:
        return "synthesize"

    @property
    def cost(self) -> Cost:
        return self.statistics.account.cost

    def summary(self) -> dict[str, Any]:
        found, output = self.statistics, self.output
        return {
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "users": self.counted.users,
            "pairs": self.counted.pairs,
            "clicks_in": self.counted.clicks,
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "pairs_out": output.pairs,
            "users_out": output.users,
            "clicks_out": output.clicks,
            "coverage": found.coverage.share,
            "association": found.kind,
            "weight_needed": weight_needed(self.spending.selection),
            "budget_shares": {name: float(part) for name, part in self.spending.shares.items()},
            "test_run": self.seed is not None,
            "seconds": self.stages.rounded(),
        }

    def drawn(self) -> dict[str, Any]:
        before, after = self.clicks_before_and_after()
        share = self.statistics.coverage.share
        return {
            "figures": asdict(figures(before, after, coverage=share)),
            "clicks_by_fate": clicks_by_selection(before, after),
        }

    def claims(self) -> dict[str, Any]:
        found = self.statistics
        rank = 0 if found.association is None else found.association.rank
        return {
            "counts": "private",
            "pseudonyms": "synthetic",
            "account": found.account.summary(self.budget),
            "outputs": {
                "coverage": found.coverage.share,
                "association": found.kind,
                "association_rank": rank,
                "users": found.sizes.users,
            },
        }
