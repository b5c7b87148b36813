"""capped(): sanitize with private counts, on one page (Theorem R)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Literal

import numpy as np

from slogan.arrays import Ints
from slogan.capped_release import CappedRelease
from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.capped_sampling import capped_sample, weights
from slogan.dp.counts import MOST_CLICKS, NORM
from slogan.dp.private_histogram import (
    SHARES,
    Division,
    PrivateHistogram,
    divide,
    private_histogram,
)
from slogan.dp.reach import too_few
from slogan.dp.selection import Selector
from slogan.dp.sizes import LARGEST
from slogan.engines import Counted, Engine
from slogan.modes import Parameters, Private
from slogan.objectives import Objective
from slogan.privacy import PrivacyBudget, exact
from slogan.pseudonyms import fresh_pseudonyms
from slogan.randomness import Randomness, randomness
from slogan.sampling import Output
from slogan.searchlog import SearchLog
from slogan.stages import Stages


def capped(
    source: SearchLog,
    host: Engine,
    budget: PrivacyBudget,
    mode: Private,
    *,
    objective: Objective,
    parameters: Parameters,
    pseudonyms: Literal["fresh", "keep"],
    seed: int | None,
    stages: Stages,
) -> CappedRelease:
    """Rows of real users: pairs and counts are private, and no user shows more than B on average.

    Args:
        source: The log.
        host: The engine, which has counted nothing yet.
        budget: ε and δ.
        mode: How the budget is divided, and who selects pairs.
        objective: What utility means.
        parameters: What the curator chose, for the manifest.
        pseudonyms: "fresh" random user-IDs, or "keep" the log's own.
        seed: Makes a reproducible test run, which `verify` refuses.
        stages: Told what is going on.
    """
    division, select = divide(budget, mode.sampling_share), selection.load(mode.selector)
    rng = randomness(seed)
    with stages.stage("count"):
        counted = host.count(source, unique_pairs=True)
    made = drawn(counted, budget, division, select, objective=objective, rng=rng, stages=stages)
    names = None
    if pseudonyms == "fresh":
        with stages.stage("sample"):
            # Names are drawn for the users shown, so nobody else has a say in them.
            names = fresh_pseudonyms(made.output.users, host.id_kind(made.output), rng)
    return CappedRelease(
        log=source,
        budget=budget,
        objective=objective.name,
        parameters={**parameters, **_constants(division)},
        counted=counted,
        division=division,
        histogram=made.histogram,
        weight=made.weight,
        output=made.output,
        pseudonyms=names,
        seed=seed,
        engine=host,
        stages=stages,
        slogan_version=version("slogan"),
    )


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Rows of real users as numbers, and what they were drawn by."""

    histogram: PrivateHistogram
    weight: Ints
    output: Output


def drawn(
    counted: Counted,
    budget: PrivacyBudget,
    division: Division,
    select: Selector,
    *,
    objective: Objective,
    rng: Randomness,
    stages: Stages,
) -> Drawn:
    """Select, count and draw: all of Theorem R, on a log that was counted whole."""
    hist, cap = counted.hist, exact(division.sampling.cap)
    with stages.stage("selection"):
        selected = select(hist, division.selection, rng)
    if not len(selected.pairs):
        raise too_few(hist, counted.users, division.selection, Account(selected.stages))
    with stages.stage("counts"):
        known = private_histogram(hist, selected, division, rng)
        known.account.require(budget)
    with stages.stage("solve"):
        weight = sampling_weights(known, objective, hist.query[known.pairs], cap)
    with stages.stage("sample"):
        output = capped_sample(hist, known.pairs, weight, cap=cap, rng=rng)
    return Drawn(histogram=known, weight=weight, output=output)


def sampling_weights(
    known: PrivateHistogram, objective: Objective, query: Ints, cap: Fraction
) -> Ints:
    """Solve the objective on private statistics; floating point does no harm here."""
    counts = np.maximum(known.counts.values, 1.0)
    users = float(max(known.sizes.users, 1))
    expected = objective.expected_clicks(counts, query, cap=float(cap), users=users)
    return weights(expected, counts, cap=cap)


def _constants(division: Division) -> Parameters:
    """What the stages were told, for the manifest: none of it is chosen by a log."""
    return {
        **{f"share_{name}": str(part) for name, part in SHARES.items()},
        "sampling_cap": str(division.sampling.cap),
        "selection_delta": str(division.selection.delta),
        "counts_norm": NORM,
        "counts_most_clicks": MOST_CLICKS,
        "sizes_largest": LARGEST,
    }
