"""synthesize(): the end-to-end private release with synthetic users, on one page (Theorem S)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from slogan import engines
from slogan.arrays import Floats, Ints
from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.grouping import Grouping
from slogan.dp.kinds import Kinds
from slogan.dp.mixture import fit_mixture
from slogan.dp.reach import too_few
from slogan.dp.selection import Selector
from slogan.dp.statistics import Spending, Statistics, constants, measure, spread
from slogan.dp.synthesis import deal, generator_of
from slogan.engines import Counted, Spark
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.privacy import PrivacyBudget
from slogan.pseudonyms import fresh_pseudonyms
from slogan.randomness import Randomness, randomness
from slogan.sampling import Output
from slogan.searchlog import SearchLog, Source
from slogan.stages import Stages, Watcher, silent
from slogan.synthetic import SyntheticRelease


def synthesize(
    log: SearchLog | Source,
    budget: PrivacyBudget,
    *,
    objective: Objective | None = None,
    association: str | None = None,
    taxonomy: str | Path | None = None,
    selector: str = selection.DEFAULT,
    seed: int | None = None,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> SyntheticRelease:
    """A log of synthetic users, in the schema of the log, private end to end.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ.
        objective: What becomes of the private counts; they stay as they are if not given.
        association: What synthetic users hold together: pairs by "taxonomy" (if one is given, the
            default), by "domains" or "spectral" as the log's users do, or "independent".
        taxonomy: A public file of hosts and their categories.
        selector: A file of `dp/selection/`.
        seed: Makes a reproducible test run, which `verify` refuses.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    asked, kinds = objective or OutputSize(), Kinds.asked(association, taxonomy)
    spending = spread(budget, association=kinds.looks)
    stages, rng = Stages(watcher), randomness(seed)
    select = selection.load(selector)
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    host = engines.start(engine, source, memory_limit=memory_limit, watcher=watcher)
    try:
        with stages.stage("count"):
            counted = host.count(source, unique_pairs=True)
        made = synthesized(
            counted,
            budget,
            spending,
            select,
            objective=asked,
            group=kinds.grouping(host.urls),
            rng=rng,
            stages=stages,
        )
        with stages.stage("synthesis"):
            names = fresh_pseudonyms(made.output.users, host.id_kind(None), rng)
        return SyntheticRelease(
            log=source,
            budget=budget,
            parameters={
                **_chosen(asked),
                "selector": selector,
                **kinds.parameters(),
                **constants(spending),
                "encoding": source.encoding,
                "on_bad_row": "skip" if source.skip_bad_rows else "error",
            },
            counted=counted,
            output=made.output,
            pseudonyms=names,
            seed=seed,
            engine=host,
            stages=stages,
            slogan_version=version("slogan"),
            statistics=made.statistics,
            spending=spending,
        )
    except BaseException:
        host.close()
        raise


@dataclass(frozen=True, kw_only=True)
class Synthesized:
    """A synthetic log as numbers, and what it was made of."""

    statistics: Statistics
    output: Output


def synthesized(
    counted: Counted,
    budget: PrivacyBudget,
    spending: Spending,
    select: Selector,
    *,
    objective: Objective,
    group: Callable[[Ints, Floats], Grouping] | None,
    rng: Randomness,
    stages: Stages,
) -> Synthesized:
    """Select, measure and make up users: all of Theorem S, on a log that was counted whole."""
    hist = counted.rows
    with stages.stage("selection"):
        selected = select(hist, spending.selection, rng)
    if not len(selected.pairs):
        raise too_few(hist, counted.users, spending.selection, Account(selected.stages))
    found = measure(hist, selected, spending, group, rng=rng, stages=stages)
    found.account.require(budget)
    with stages.stage("synthesis"):
        output = synthetic_output(found, objective, hist.query_of(found.pairs), rng)
    if not output.clicks:
        raise too_few(hist, counted.users, spending.selection, found.account)
    return Synthesized(statistics=found, output=output)


def synthetic_output(
    found: Statistics, objective: Objective, query: Ints, rng: Randomness
) -> Output:
    """Everything from here on is computed from private statistics."""
    counts = np.rint(np.maximum(found.counts.values, 0.0)).astype(np.int64)
    counts = objective.on_private_counts(counts, query)
    generator = generator_of(rng)
    mixture = fit_mixture(found.association, counts, generator)
    output = deal(counts, mixture, found.sizes, generator)
    return replace(output, pair=found.pairs[output.pair])


def _chosen(objective: Objective) -> dict[str, str | int | float | None]:
    own = {
        name: value if isinstance(value, int) else str(value)
        for name, value in vars(objective).items()
        if value is not None
    }
    return {"objective": objective.name, **own}
