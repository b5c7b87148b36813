"""Dry runs of synthesize(): what a budget would release on average. Nothing of them is released."""

from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean

import numpy as np

from slogan.budget import PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds, Urls
from slogan.dp.statistics import spread
from slogan.engines.engine import Counted
from slogan.errors import TooFewUsersError
from slogan.measures import Totals
from slogan.measures.supports import frequent_pairs
from slogan.planning.objectives import Objective
from slogan.progress import Steps
from slogan.randomness import SeededRandomness
from slogan.workflows.frontier.points import SynthesizedPoint, running_maximum
from slogan.workflows.synthetic_users import make_users


@dataclass(frozen=True, kw_only=True)
class DryRuns:
    """Dry runs of synthesize() on a counted log: all of its arguments except the budget."""

    counted: Counted
    urls: Urls
    objective: Objective
    kinds: Kinds
    selector: str
    support: Fraction
    seeds: range
    steps: Steps

    def under(self, budgets: list[PrivacyBudget]) -> tuple[SynthesizedPoint, ...]:
        """A point for every budget, none below that of a smaller one."""
        points: list[SynthesizedPoint] = []
        for n, budget in enumerate(budgets):
            self.steps.note(f"{n} of {len(budgets)} budgets")
            points.append(self._point(budget))
        return running_maximum(points)

    def _point(self, budget: PrivacyBudget) -> SynthesizedPoint:
        """Average over runs. Every budget meets the same seeds, so that points compare."""
        runs = [self._run(budget, seed) for seed in self.seeds]
        kept = [frequent_pairs(run, self.support) for run in runs]
        pairs = [int(np.count_nonzero(run.after)) for run in runs]
        return SynthesizedPoint(
            epsilon=budget.epsilon_value,
            delta=budget.delta_value,
            value=fmean(pairs),
            average=fmean(pairs),
            pairs_least=min(pairs),
            pairs_most=max(pairs),
            clicks=fmean(int(run.after.sum()) for run in runs),
            coverage=fmean(float(run.coverage) for run in runs),
            recall=_mean([one.recall for one in kept]),
            precision=_mean([one.precision for one in kept]),
            sum_support_distance=fmean(one.sum_support_distance for one in kept),
        )

    def _run(self, budget: PrivacyBudget, seed: int) -> Totals:
        hist = self.counted.hist
        after, coverage = np.zeros(hist.pairs, dtype=np.int64), Fraction(0)
        try:
            users, statistics = make_users(
                self.counted,
                budget,
                spread(budget, association=self.kinds.looks),
                selection.load(self.selector),
                objective=self.objective,
                group=self.kinds.grouping(self.urls),
                rng=SeededRandomness(seed),
                steps=self.steps,
            )
        except TooFewUsersError:
            pass  # nothing would be released, and that is an answer
        else:
            np.add.at(after, users.pair, users.count)
            coverage = exact(statistics.coverage.share)
        return Totals(before=hist.pair_total, after=after, query=hist.query, coverage=coverage)


def _mean(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None
