"""What a synthetic log is worth that is made with one selector under the whole of (ε, δ)."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from bench import selectors
from bench.selection_tables import PURE, Asked
from bench.selectors import BudgetWithEpsilon
from bench.shapes import Log
from bench.store import Record
from slogan.arrays import Ints
from slogan.budget import PrivacyBudget, exact
from slogan.dp.accounting import Account, Approximate, Gaussian
from slogan.dp.grouping import INDEPENDENT
from slogan.dp.selection import SelectionBudget
from slogan.dp.statistics import Spending, Statistics, measure, spread
from slogan.histogram import Output, PairHistogram
from slogan.measures.cooccurrence import CoOccurrence, hit_rate
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Steps
from slogan.randomness import Randomness, randomness
from slogan.workflows.synthetic_users import synthetic_users

MIN_SUPPORT = 1 / 2000
_PURE_GRID = 4096
_NO_ROWS: Ints = np.zeros(0, dtype=np.int64)
_NOTHING = Output(user=_NO_ROWS, pair=_NO_ROWS, count=_NO_ROWS)


def answer(log: Log, top: Ints, asked: Asked, runs: int, *, seed: int | None = None) -> Record:
    """Make several synthetic logs; the means of their measures."""
    start, kinds, worth = time.perf_counter(), [], []
    for _ in range(runs):
        found, output = synthesized(log, asked, randomness(seed))
        kinds.append(found.kind if found else INDEPENDENT)
        worth.append(_worth(log.hist, top, found.coverage.share if found else 0.0, output))
    means = {name: float(np.mean([one[name] for one in worth])) for name in worth[0]}
    return {
        **means,
        "association": Counter(kinds).most_common(1)[0][0],
        "runs": runs,
        "seconds": (time.perf_counter() - start) / runs,
    }


def hits_of_the_log(hist: PairHistogram) -> float:
    """hit@10 of what real users hold together, the tested user left out."""
    return hit_rate(hist, CoOccurrence.learn(hist), same_users=True).share or 0.0


def synthesized(log: Log, asked: Asked, rng: Randomness) -> tuple[Statistics | None, Output]:
    """As `slogan synthesize` does, from a log that is counted; no statistics of no pair."""
    budget = PrivacyBudget(epsilon=asked.epsilon, delta=asked.delta)
    spending, hist = spread(budget, association=True), log.hist
    selected = selectors.load(asked.selector)(hist, _for_selection(spending, asked), rng)
    if not len(selected.pairs):
        return None, _NOTHING
    found = measure(hist, selected, spending, log.group, rng=rng, steps=Steps())
    found.account.require(budget)
    made = synthetic_users(found, OutputSize(), hist.query[found.pairs], rng)
    return replace(found, kept=made.kept), made.output


def _worth(hist: PairHistogram, top: Ints, coverage: float, output: Output) -> dict[str, float]:
    released = PairHistogram(
        user=output.user,
        pair=output.pair,
        count=output.count,
        users=int(output.user.max(initial=-1)) + 1,
        pairs=hist.pairs,
        query=hist.query,
    )
    truth, shown = hist.pair_total / hist.clicks, released.pair_total > 0
    support = coverage * released.pair_total / max(1, released.clicks)
    frequent = truth >= MIN_SUPPORT
    model = CoOccurrence.learn(released)
    return {
        "pairs": float(shown.sum()),
        "recall": float(shown[top].mean()),
        "distance": float(np.abs(support - truth)[frequent].sum()),
        "coverage": coverage,
        "true_coverage": float(truth[shown].sum()),
        "hits": hit_rate(hist, model, same_users=False).share or 0.0,
    }


def _for_selection(spending: Spending, asked: Asked) -> SelectionBudget:
    """Half of μ², or beside the other half the ε that fits into the same (ε, δ)."""
    if asked.selector != PURE:
        return spending.selection
    part = spending.selection
    others = spending.cost.mu_squared - part.mu_squared
    epsilon = _pure_epsilon(others, part.delta, exact(asked.epsilon), exact(asked.delta))
    return BudgetWithEpsilon(mu_squared=part.mu_squared, delta=part.delta, epsilon=epsilon)


@cache
def _pure_epsilon(
    others: Fraction, aside: Fraction, epsilon: Fraction, delta: Fraction
) -> Fraction:
    """The largest multiple of 1/4096 that a pure stage may spend beside Gaussian ones."""
    beside = Gaussian(name="others", norm_squared=others, variance=1)

    def fits(steps: int) -> bool:
        pure = Approximate(name="selection", epsilon=Fraction(steps, _PURE_GRID), delta=aside)
        return Account((beside, pure)).delta(epsilon) <= delta

    low, high = 1, int(epsilon * _PURE_GRID)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return Fraction(low, _PURE_GRID)
