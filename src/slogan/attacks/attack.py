"""attack(): every attack on one configuration, on one page."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from slogan import engines
from slogan.arrays import Ints
from slogan.attacks.canaries import Planted, planted
from slogan.attacks.capped import on_capped_sampling
from slogan.attacks.confidence import Claim, Found
from slogan.attacks.findings import Attack, Findings
from slogan.attacks.neighbours import on_neighbours
from slogan.attacks.released import on_choices, on_joiners, on_loners, on_shown
from slogan.attacks.sampled import (
    on_noisy_counts,
    on_planned_counts,
    on_sampling,
    on_unique_pairs,
)
from slogan.attacks.sums import on_counts, visible
from slogan.capped import drawn
from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.grouping import Grouping
from slogan.dp.kinds import Kinds, Urls
from slogan.dp.mechanisms import Gaussian
from slogan.dp.private_histogram import Division, divide
from slogan.dp.reach import weight_needed
from slogan.dp.statistics import Spending, spread
from slogan.engines import Counted, Spark
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.modes import Counts, Exact, Laplace, Private
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.planning import Planning
from slogan.privacy import PrivacyBudget, exact
from slogan.randomness import Randomness, randomness
from slogan.sampling import Output
from slogan.searchlog import SearchLog, Source
from slogan.solvers import Effort, require_limits
from slogan.stages import Stages, Watcher, silent
from slogan.synthesizing import synthesized

_NEARLY = 1 - 1e-9
"""Floating point takes a budget for a little less or more than it is."""


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """Synthetic users, as `synthesize` makes them."""

    selector: str = selection.DEFAULT
    association: str | None = None
    taxonomy: str | Path | None = None
    name: str = "synthetic"


def attack(
    log: SearchLog | Source,
    budget: PrivacyBudget,
    mode: Counts | Synthetic | None = None,
    *,
    objective: Objective | None = None,
    solver: str = "auto",
    time_limit: float = 10.0,
    gap: float = 1e-4,
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
        gap: When the solver may stop, relatively to the proven bound.
        trials: How often each attack is tried.
        seed: The same seed gives the same findings.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    if trials < 100:
        raise OptionError(f"{trials} trials show nothing", hint="give at least 100")
    require_limits(time_limit, gap)
    asked, stages, start = mode or Synthetic(), Stages(watcher), time.perf_counter()
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    attacked = _Attacked(budget, objective or OutputSize(), trials, randomness(seed), stages)
    found: list[Attack] = []
    if isinstance(asked, Exact | Laplace):
        with _counted(engine, source, memory_limit, stages, unique_pairs=False) as counted:
            found.append(on_unique_pairs(counted.hist, attacked.claim))
    with _counted(engine, source, memory_limit, stages, unique_pairs=True) as counted:
        if isinstance(asked, Exact | Laplace):
            effort = Effort(time_limit=time_limit, gap=gap)
            found += attacked.sampled(counted.hist, asked, solver, effort)
        elif isinstance(asked, Private):
            found += attacked.private(counted.hist, asked)
        else:
            found += attacked.synthetic(counted.hist, asked, counted.urls)
    return Findings(
        mode=asked.name,
        epsilon=budget.epsilon_value,
        delta=budget.delta_value,
        attacks=tuple(found),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class _Counted:
    """A log that was counted, and the urls of its pairs."""

    hist: PairHistogram
    urls: Urls


@contextmanager
def _counted(
    engine: str | Spark,
    source: SearchLog,
    memory_limit: str | None,
    stages: Stages,
    *,
    unique_pairs: bool,
) -> Generator[_Counted]:
    host = engines.start(engine, source, memory_limit=memory_limit)
    try:
        with stages.stage("count"):
            hist = host.count(source, unique_pairs=unique_pairs).hist
        yield _Counted(hist, host.urls)
    finally:
        host.close()


@dataclass(frozen=True)
class _Attacked:
    """What is attacked, and how often."""

    budget: PrivacyBudget
    objective: Objective
    trials: int
    rng: Randomness
    stages: Stages

    @property
    def claim(self) -> Claim:
        """Of the whole release."""
        return Claim(epsilon=self.budget.epsilon_value, delta=self.budget.delta_value)

    def sampled(
        self, hist: PairHistogram, mode: Exact | Laplace, solver: str, effort: Effort
    ) -> list[Attack]:
        """Real rows, drawn given their counts."""
        planning = Planning(self.objective, self.budget, solver, effort, self.stages)
        sampling = partial(
            on_sampling, claim=self.claim, trials=self.trials, rng=self.rng, stages=self.stages
        )
        if isinstance(mode, Exact):
            shown = sampling(hist, planning.exact)
            with self.stages.stage("plan again"):
                return [*shown, *on_planned_counts(hist, planning.exact)]
        shown = sampling(hist, partial(planning.laplace, mode=mode, rng=self.rng))
        solve = partial(planning.without_swaying, mode=mode)
        with self.stages.stage("plan again"):
            told = on_noisy_counts(hist, solve, mode, trials=self.trials, rng=self.rng)
        return [*shown, *told]

    def private(self, hist: PairHistogram, mode: Private) -> list[Attack]:
        """Real rows, private end to end."""
        division = divide(self.budget, mode.sampling_share)
        garden = self._planted(hist, mode.selector, division)
        made = drawn(
            _alone(garden.hist),
            self.budget,
            division,
            selection.load(mode.selector),
            objective=self.objective,
            rng=self.rng,
            stages=self.stages,
        )
        known, cap = made.histogram, exact(division.sampling.cap)
        measured = {"counts": known.counts.stage, "sizes": known.sizes.stage}
        claim = self._sampling(float(exact(mode.sampling_share)))
        with self.stages.stage("attack"):
            shown = on_shown(garden, known.pairs, made.output.user, claim)
            return [
                *self._on_measured(garden, known.pairs, known.account, division, measured, None),
                on_capped_sampling(cap, claim, 10 * self.trials, self.rng),
                *([shown] if shown else []),
                *on_joiners(garden, _clicks(made.output, garden.hist.pairs), self.claim),
            ]

    def synthetic(self, hist: PairHistogram, mode: Synthetic, urls: Urls) -> list[Attack]:
        """Synthetic users."""
        kinds = Kinds.asked(mode.association, mode.taxonomy)
        spending = spread(self.budget, association=kinds.looks)
        garden = self._planted(hist, mode.selector, spending)
        made = synthesized(
            _alone(garden.hist),
            self.budget,
            spending,
            selection.load(mode.selector),
            objective=self.objective,
            group=kinds.grouping(_with_planted(urls, hist.pairs)),
            rng=self.rng,
            stages=self.stages,
        )
        known = made.statistics
        measured = {
            "counts": known.counts.stage,
            "sizes": known.sizes.stage,
            "coverage": known.coverage.stage,
        }
        grouping = None
        if known.association is not None:
            measured["association"] = known.association.stage
            grouping = known.association.grouping
        with self.stages.stage("attack"):
            return [
                *self._on_measured(
                    garden, known.pairs, known.account, spending, measured, grouping
                ),
                *on_joiners(garden, _clicks(made.output, garden.hist.pairs), self.claim),
            ]

    def _planted(self, hist: PairHistogram, selector: str, spent: Division | Spending) -> Planted:
        weight, fewest = weight_needed(spent.selection), selection.fewest(selector)
        return planted(hist, trials=self.trials, weight=weight, fewest=fewest)

    def _on_measured(
        self,
        garden: Planted,
        pairs: Ints,
        account: Account,
        spent: Division | Spending,
        measured: Mapping[str, Gaussian],
        grouping: Grouping | None,
    ) -> list[Attack]:
        """Attacks on what both private modes do: select pairs, and add up what users hold."""
        selecting = Account(
            tuple(s for s in account.stages if s.name not in {*measured, "sampling"})
        )
        aside = Claim(epsilon=self.claim.epsilon, delta=float(spent.selection.delta))
        noise = {name: (stage, spent.parts[name]) for name, stage in measured.items()}
        return [
            self._on_account(account),
            *on_loners(garden, pairs, aside),
            *on_choices(garden, pairs, visible(selecting)),
            *on_counts(spent.parts["counts"], 10 * self.trials, self.rng),
            *on_neighbours(
                garden.hist, pairs, noise, grouping, trials=10 * self.trials, rng=self.rng
            ),
        ]

    def _on_account(self, account: Account) -> Attack:
        """Whether the stages of the run, with the noise they had, add up to more than is claimed.

        Noisy sums show that much of a user who takes up every norm: the replays look for one.
        """
        room = exact(self.claim.delta) > account.cost.delta
        epsilon = account.epsilon(self.claim.delta) if room else math.inf
        delta = account.delta(self.claim.epsilon)
        return Attack(
            target="all stages together",
            canary="takes up every norm",
            trials=1,
            found=Found(epsilon=float(epsilon) * _NEARLY, delta=float(delta) * _NEARLY),
            claim=self.claim,
        )

    def _sampling(self, share: float) -> Claim:
        """What the sampling of real rows may show, by its share of the budget."""
        cap = min(share * self.claim.epsilon, -math.log1p(-share * self.claim.delta))
        return Claim(epsilon=cap, delta=-math.expm1(-cap))


def _alone(hist: PairHistogram) -> Counted:
    """A histogram as an engine would hand it over."""
    return Counted(
        rows=hist, clicks=hist.clicks, users=hist.users, pairs=hist.pairs, rows_without_click=0
    )


def _with_planted(urls: Urls, pairs: int) -> Urls:
    """The urls of a log's pairs; all that were planted are of one site."""

    def known(asked: Ints) -> list[str]:
        own = asked[asked < pairs]
        return [*urls(own), *["planted.example"] * (len(asked) - len(own))]

    return known


def _clicks(output: Output, pairs: int) -> Ints:
    """Released clicks of every pair."""
    clicks = np.zeros(pairs, dtype=np.int64)
    np.add.at(clicks, output.pair, output.count)
    return clicks
