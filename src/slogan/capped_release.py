"""CappedRelease: rows of real users, drawn so rarely that the whole release is private."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.arrays import Ints
from slogan.dp.capped_sampling import expected_exposed
from slogan.dp.mechanisms import Cost
from slogan.dp.private_histogram import Division, PrivateHistogram
from slogan.privacy import exact
from slogan.publication import Publication
from slogan.report.figures import clicks_by_draw, figures


@dataclass(frozen=True, kw_only=True)
class CappedRelease(Publication):
    """A log of real rows (Theorem R), ready to be saved. Close it to forget the log."""

    objective: str
    division: Division
    histogram: PrivateHistogram
    weight: Ints

    @property
    def method(self) -> str:
        return "sanitize"

    @property
    def cap(self) -> float:
        """B: the most clicks that any user is expected to show."""
        return float(exact(self.division.sampling.cap))

    @property
    def cost(self) -> Cost:
        return self.histogram.account.cost

    def summary(self) -> dict[str, Any]:
        users = self.counted.users
        exposed = expected_exposed(
            self.counted.hist,
            self.histogram.pairs,
            self.weight,
            cap=exact(self.division.sampling.cap),
        )
        return {
            "objective": self.objective,
            "counts": "private",
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "budget_per_user": self.cap,
            "users": users,
            "pairs": self.counted.pairs,
            "clicks_in": self.counted.clicks,
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "pairs_selected": len(self.histogram.pairs),
            "clicks_out": self.output.clicks,
            "pairs_out": self.output.pairs,
            "users_out": self.output.users,
            "size_bound": users * self.cap,
            "exposed_users_expected": exposed,
            "exposed_users_at_most": users * -math.expm1(-self.cap),
            "test_run": self.seed is not None,
            "seconds": self.stages.rounded(),
        }

    def write_curators_tables(self, curator: Path) -> None:
        """Who is behind which pseudonym."""
        if self.pseudonyms is not None:
            table = curator / "pseudonyms.parquet"
            self.engine.write_pseudonyms(self.output, self.pseudonyms, table)

    def drawn(self) -> dict[str, Any]:
        before, after = self.clicks_before_and_after()
        return {
            "figures": asdict(figures(before, after)),
            "clicks_by_fate": clicks_by_draw(before, after, self.histogram.pairs),
        }

    def claims(self) -> dict[str, Any]:
        return {
            "counts": "private",
            "pseudonyms": "keep" if self.pseudonyms is None else "fresh",
            "account": self.histogram.account.summary(self.budget),
            "outputs": {
                "pairs_selected": len(self.histogram.pairs),
                "users": self.histogram.sizes.users,
            },
        }
