"""attack(): every attack on one configuration, on one page."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from slogan import engines
from slogan.arrays import Ints
from slogan.attacks.canaries import planted
from slogan.attacks.capped import on_capped_sampling
from slogan.attacks.confidence import Claim
from slogan.attacks.findings import Attack, Findings
from slogan.attacks.released import on_joiners, on_loners
from slogan.attacks.sampled import on_sampling
from slogan.attacks.sums import on_counts
from slogan.capped import sampling_weights
from slogan.dp import selection
from slogan.dp.capped_sampling import capped_sample
from slogan.dp.private_histogram import divide, private_histogram
from slogan.dp.reach import weight_needed
from slogan.dp.statistics import measure, spread
from slogan.engines import Spark
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.modes import Counts, Exact, Laplace, Private
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.planning import Planned, Planning
from slogan.privacy import PrivacyBudget, exact
from slogan.randomness import Randomness, randomness
from slogan.sampling import Output
from slogan.searchlog import SearchLog, Source
from slogan.solvers import Effort
from slogan.stages import Stages, Watcher, silent
from slogan.synthesizing import synthetic_output


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Synthetic users, as `synthesize` makes them."""

    selector: str = selection.DEFAULT
    name: str = "synthetic"


def attack(
    log: SearchLog | Source,
    budget: PrivacyBudget,
    mode: Counts | Synthetic | None = None,
    *,
    objective: Objective | None = None,
    solver: str = "auto",
    time_limit: float = 10.0,
    trials: int = 2_000,
    seed: int | None = None,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Findings:
    """Plant users in a log, run a mode on it, and bound from below what shows of them.

    A sanity check and not a proof: attacks that find nothing prove nothing. What is found depends
    on the log and is for the curator.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ.
        mode: `Exact()`, `Laplace(…)` or `Private(…)` as for `sanitize`, or `Synthetic()`.
        objective: What utility means; the output size if not given.
        solver: A file of `solvers/`, or "auto".
        time_limit: Seconds the solver may take for each problem.
        trials: How often each attack is tried.
        seed: The same seed gives the same findings.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    if trials < 100:
        raise OptionError(f"{trials} trials show nothing", hint="give at least 100")
    asked, stages, start = mode or Synthetic(), Stages(watcher), time.perf_counter()
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    host = engines.start(engine, source, memory_limit=memory_limit)
    try:
        with stages.stage("count"):
            hist = host.count(source, unique_pairs=True).hist
    finally:
        host.close()
    rng = randomness(seed)
    if isinstance(asked, Exact | Laplace):
        effort = Effort(time_limit=time_limit)
        planning = Planning(objective or OutputSize(), budget, solver, effort, stages)
        found = _on_sampled(hist, planning, asked, trials, rng, stages)
    elif isinstance(asked, Private):
        found = _on_private(hist, budget, asked, objective or OutputSize(), trials, rng, stages)
    else:
        found = _on_synthetic(hist, budget, asked, objective or OutputSize(), trials, rng, stages)
    return Findings(
        mode=asked.name,
        epsilon=budget.epsilon_value,
        delta=budget.delta_value,
        attacks=tuple(found),
        seconds=time.perf_counter() - start,
    )


def _claim(budget: PrivacyBudget) -> Claim:
    return Claim(epsilon=budget.epsilon_value, delta=budget.delta_value)


def _on_sampled(
    hist: PairHistogram,
    planning: Planning,
    mode: Exact | Laplace,
    trials: int,
    rng: Randomness,
    stages: Stages,
) -> list[Attack]:
    def plans(log: PairHistogram) -> Planned:
        if isinstance(mode, Laplace):
            return planning.laplace(log, mode, rng)
        return planning.exact(log)

    claim = _claim(planning.budget)
    return on_sampling(hist, plans, claim, trials=trials, rng=rng, stages=stages)


def _on_private(
    hist: PairHistogram,
    budget: PrivacyBudget,
    mode: Private,
    objective: Objective,
    trials: int,
    rng: Randomness,
    stages: Stages,
) -> list[Attack]:
    division = divide(budget, mode.sampling_share)
    cap = exact(division.sampling.cap)
    garden = planted(hist, trials=trials, weight=weight_needed(division.selection))
    with stages.stage("selection"):
        selected = selection.load(mode.selector)(garden.hist, division.selection, rng)
    with stages.stage("counts"):
        known = private_histogram(garden.hist, selected, division, rng)
    with stages.stage("sample"):
        weight = sampling_weights(known, objective, garden.hist.query[known.pairs], cap)
        output = capped_sample(garden.hist, known.pairs, weight, cap=cap, rng=rng)
    aside = Claim(epsilon=budget.epsilon_value, delta=float(division.selection.delta))
    with stages.stage("attack"):
        return [
            *on_loners(garden, known.pairs, aside),
            *on_counts(division.parts["counts"], 10 * trials, rng),
            on_capped_sampling(cap, 10 * trials, rng),
            *on_joiners(garden, _clicks(output, garden.hist.pairs), _claim(budget)),
        ]


def _on_synthetic(
    hist: PairHistogram,
    budget: PrivacyBudget,
    mode: Synthetic,
    objective: Objective,
    trials: int,
    rng: Randomness,
    stages: Stages,
) -> list[Attack]:
    spending = spread(budget, association=False)
    garden = planted(hist, trials=trials, weight=weight_needed(spending.selection))
    with stages.stage("selection"):
        selected = selection.load(mode.selector)(garden.hist, spending.selection, rng)
    known = measure(garden.hist, selected, spending, None, rng=rng, stages=stages)
    with stages.stage("synthesis"):
        output = synthetic_output(known, objective, garden.hist.query[known.pairs], rng)
    aside = Claim(epsilon=budget.epsilon_value, delta=float(spending.selection.delta))
    with stages.stage("attack"):
        return [
            *on_loners(garden, known.pairs, aside),
            *on_counts(spending.parts["counts"], 10 * trials, rng),
            *on_joiners(garden, _clicks(output, garden.hist.pairs), _claim(budget)),
        ]


def _clicks(output: Output, pairs: int) -> Ints:
    """Released clicks of every pair."""
    clicks = np.zeros(pairs, dtype=np.int64)
    np.add.at(clicks, output.pair, output.count)
    return clicks
