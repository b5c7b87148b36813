"""DryRuns: what synthesize() would give, measured on the raw log, and not released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean

import numpy as np

from slogan.dp import selection
from slogan.dp.kinds import Kinds
from slogan.dp.statistics import spread
from slogan.engines import Counted, Engine
from slogan.errors import TooFewUsersError
from slogan.isotonic import isotonic
from slogan.objectives import Objective
from slogan.privacy import PrivacyBudget, exact
from slogan.randomness import SeededRandomness
from slogan.report.measures.supports import frequent_pairs
from slogan.report.measures.totals import Totals
from slogan.stages import Stages
from slogan.synthesizing import synthesized


@dataclass(frozen=True, kw_only=True)
class DryRuns:
    """What is tried: a log, counted whole, and everything of the method but the budget."""

    counted: Counted
    engine: Engine
    objective: Objective
    kinds: Kinds
    selector: str
    min_support: Fraction
    runs: int
    seed: int
    stages: Stages

    def over(self, budgets: list[PrivacyBudget]) -> tuple[SynthesizedPoint, ...]:
        """A point for every budget, none below that of a smaller one."""
        points: list[SynthesizedPoint] = []
        watched = self.stages.watcher
        for n, budget in enumerate(budgets):
            done = f"{n} of {len(budgets)} budgets"
            self.stages.watcher = lambda stage, note, done=done: watched(stage, f"{done} {note}")
            points.append(self.under(budget))
        rising = isotonic([(p.epsilon, p.delta) for p in points], [p.average for p in points])
        return tuple(replace(p, value=value) for p, value in zip(points, rising, strict=True))

    def under(self, budget: PrivacyBudget) -> SynthesizedPoint:
        """Average over runs. Every budget meets the same seeds, so that points compare."""
        found = [self._run(budget, self.seed + n) for n in range(self.runs)]
        pairs = [one.pairs for one in found]
        return SynthesizedPoint(
            epsilon=budget.epsilon_value,
            delta=budget.delta_value,
            value=fmean(pairs),
            average=fmean(pairs),
            pairs_least=min(pairs),
            pairs_most=max(pairs),
            clicks=fmean(one.clicks for one in found),
            coverage=fmean(one.coverage for one in found),
            recall=_mean([one.recall for one in found]),
            precision=_mean([one.precision for one in found]),
            sum_support_distance=fmean(one.sum_support_distance for one in found),
        )

    def _run(self, budget: PrivacyBudget, seed: int) -> _Run:
        hist = self.counted.hist
        after, coverage = np.zeros(hist.pairs, dtype=np.int64), Fraction(0)
        try:
            made = synthesized(
                self.counted,
                budget,
                spread(budget, association=self.kinds.looks),
                selection.load(self.selector),
                objective=self.objective,
                group=self.kinds.grouping(self.engine.urls),
                rng=SeededRandomness(seed),
                stages=self.stages,
            )
        except TooFewUsersError:
            pass  # nothing would be released, and that is an answer
        else:
            np.add.at(after, made.output.pair, made.output.count)
            coverage = exact(made.statistics.coverage.share)
        totals = Totals(before=hist.pair_total, after=after, query=hist.query, coverage=coverage)
        kept = frequent_pairs(totals, self.min_support)
        return _Run(
            pairs=int(np.count_nonzero(after)),
            clicks=int(after.sum()),
            coverage=float(coverage),
            recall=kept.recall,
            precision=kept.precision,
            sum_support_distance=kept.sum_support_distance,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizedPoint:
    """What synthesize() would give, on average; None where nothing is frequent."""

    epsilon: float
    delta: float
    value: float
    """Different released pairs: of all values that never fall as a budget grows, the nearest."""
    average: float
    """Different released pairs, as the dry runs of this budget alone had them."""
    pairs_least: int
    pairs_most: int
    clicks: float
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    pairs: int
    clicks: int
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


def _mean(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None
