"""sanitize with private counts: rows of real users, drawn rarely, on one page (Theorem R)."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.private_rows import capped_sample, divide, private_histogram, weights
from slogan.dp.selection import Selector
from slogan.dp.statistics import PrivateHistogram, Spending, too_few
from slogan.dp.sums import LARGEST, MOST_CLICKS, NORM
from slogan.engines.engine import Counted
from slogan.histogram import Output
from slogan.modes import Parameters, PrivateCounts
from slogan.planning.objectives import CappedPairs, Objective
from slogan.progress import Steps
from slogan.randomness import Randomness
from slogan.release.job import Job
from slogan.release.kinds import PrivateRowsRelease


def sanitize_private(
    job: Job, mode: PrivateCounts, objective: Objective, weak: Parameters
) -> PrivateRowsRelease:
    """Select pairs, measure their counts with noise, and draw clicks of real users under a cap."""
    division, select = divide(job.budget, mode.sampling_share), selection.load(mode.selector)
    with job.steps.step("count"):
        counted = job.engine.count(job.log, unique_pairs=True)
    ids = job.id_kind()
    rows = draw_rows(
        counted, job.budget, division, select, objective=objective, rng=job.rng, steps=job.steps
    )
    with job.steps.step("sample"):
        names = job.names_for(rows.output, ids)
    return PrivateRowsRelease(
        job=job,
        parameters=job.parameters(objective, mode.parameters(), weak)
        | _constants(division)
        | rows.histogram.looked,
        counted=counted,
        output=rows.output,
        pseudonyms=names,
        objective=objective.name,
        division=division,
        histogram=rows.histogram,
        weight=rows.weight,
    )


@dataclass(frozen=True, kw_only=True)
class PrivateRows:
    """Rows of real users as numbers, and what they were drawn by."""

    histogram: PrivateHistogram
    weight: Ints
    output: Output


def draw_rows(
    counted: Counted,
    budget: PrivacyBudget,
    division: Spending,
    select: Selector,
    *,
    objective: Objective,
    rng: Randomness,
    steps: Steps,
) -> PrivateRows:
    """Select, count and draw: all of Theorem R, on a log that was counted whole."""
    hist, cap = counted.hist, exact(division.sampling.cap)
    with steps.step("selection"):
        selected = select(hist, division.selection, rng)
    if not len(selected.pairs):
        raise too_few(hist, counted.users, division.weight_needed, Account(selected.stages))
    with steps.step("counts"):
        private = private_histogram(hist, selected, division, rng)
        private.account.require(budget)
    with steps.step("solve"):
        weight = _weights(private, objective, hist.query[private.pairs], cap)
    with steps.step("sample"):
        output = capped_sample(hist, private.pairs, weight, cap=cap, rng=rng)
    return PrivateRows(histogram=private, weight=weight, output=output)


def _weights(private: PrivateHistogram, objective: Objective, query: Ints, cap: Fraction) -> Ints:
    """Solve the objective on private statistics; floating point does no harm here."""
    counts = np.maximum(private.counts.values, 1.0)
    users = float(max(private.sizes.users, 1))
    pairs = CappedPairs(counts=counts, query=query, cap=float(cap), users=users)
    return weights(objective.expected_clicks(pairs), counts, cap=cap)


def _constants(division: Spending) -> Parameters:
    """The settings of the stages, for the manifest: none of them depends on a log."""
    return {
        **{f"share_{name}": str(part) for name, part in division.shares.items()},
        "sampling_cap": str(division.sampling.cap),
        "selection_delta": str(division.selection.delta),
        "counts_norm": NORM,
        "counts_most_clicks": MOST_CLICKS,
        "sizes_largest": LARGEST,
    }
