"""SyntheticRelease: a log of made-up users, and the private statistics behind it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.dp.mechanisms import Cost
from slogan.dp.statistics import Spending, Statistics, weight_needed
from slogan.manifest.certificate import SyntheticSummary
from slogan.manifest.manifest import Claims, Outputs, Spent
from slogan.release.base import Release
from slogan.report.curator import clicks_by_selection, figures


@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticRelease(Release):
    """Made-up users who fit private statistics: private end to end (Theorem S)."""

    statistics: Statistics
    spending: Spending

    @property
    def cost(self) -> Cost:
        return self.statistics.account.cost

    @property
    def summary(self) -> SyntheticSummary:
        return SyntheticSummary(
            **self._facts(),
            coverage=self.statistics.coverage.share,
            association=self.statistics.kind,
            weight_needed=weight_needed(self.spending.selection),
            budget_shares={name: float(part) for name, part in self.spending.shares.items()},
        )

    def chart_data(self) -> dict[str, Any]:
        before, after = self.clicks_before_and_after()
        share = self.statistics.coverage.share
        return {
            "figures": asdict(figures(before, after, coverage=share)),
            "clicks_by_fate": clicks_by_selection(before, after),
        }

    def write_curators_tables(self, curator: Path) -> None:
        """Write nothing: made-up users have no real IDs."""

    def claims(self) -> Claims:
        statistics = self.statistics
        association = statistics.association
        return Claims(
            pseudonyms="synthetic",
            account=Spent.model_validate(statistics.account.summary(self.budget)),
            outputs=Outputs(
                coverage=statistics.coverage.share,
                association=statistics.kind,
                association_rank=0 if association is None else association.rank,
                users=statistics.sizes.users,
            ),
        )
