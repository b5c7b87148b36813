"""audit(): run every attack on one configuration."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from slogan import engines
from slogan.arrays import Ints
from slogan.auditor import Attack, Claim, Findings, Found, private, sampling
from slogan.auditor.one_pair import on_novel_pairs, on_numbers
from slogan.auditor.whole import WholeVerb
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import one_pair, selection
from slogan.dp.accounting import Account
from slogan.dp.grouping import Grouping, Kinds, Urls
from slogan.dp.private_rows import divide
from slogan.dp.statistics import Spending, spread, weight_needed
from slogan.engines import EngineChoice, EngineSettings
from slogan.engines.engine import Counted, Engine
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.logs.searchlog import SearchLog, Source
from slogan.modes import Counts, ExactCounts, LaplaceCounts, PrivateCounts, SyntheticUsers
from slogan.planning.objectives import Objective
from slogan.planning.planner import Planner
from slogan.planning.solvers import Solver
from slogan.progress import Progress, Steps, shown, silent
from slogan.randomness import Randomness, randomness
from slogan.release.base import Release
from slogan.workflows.arguments import (
    budget_from,
    counts_from,
    objective_from,
    require_exact_counts,
    solver_from,
)
from slogan.workflows.sanitize import sanitize
from slogan.workflows.sanitize_private import draw_rows
from slogan.workflows.synthesize import synthesize
from slogan.workflows.synthetic_users import make_users, make_users_of_one

_NEARLY = 1 - 1e-9
"""Allows for the rounding of a budget to floating point."""


def audit(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    mode: Counts | SyntheticUsers | str | None = None,
    *,
    epsilon: Number | None = None,
    exp_epsilon: Number | None = None,
    delta: Number | None = None,
    objective: Objective | str | None = None,
    solver: Solver | str | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    trials: int = 2_000,
    seed: int | None = None,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Findings:
    """Plant users in a log, make a release of it, and measure what it reveals of them.

    A sanity check and not a proof: attacks that find nothing prove nothing. The findings depend
    on the log and are for the curator.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ; or give `epsilon` or `exp_epsilon` (e^ε), and `delta`.
        mode: The attacked mode: `SyntheticUsers()` as made by `synthesize`, which is the default,
            or the counts of `sanitize`: "exact", "private", `LaplaceCounts(…)`.
        epsilon: ε.
        exp_epsilon: e^ε instead of ε.
        delta: δ.
        objective: The utility to maximise; the output size if not given.
        solver: A name or `Solver(name, time_limit, gap)`; "auto" if not given.
        time_limit: Seconds the solver may take for each problem; 10 if not given.
        gap: Relative distance from the proven bound at which it may stop; 1e-4 if not given.
        trials: How often each attack is tried.
        seed: The same seed gives the same findings.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    if trials < 100:
        raise OptionError(f"{trials} trials are too few", hint="give at least 100")
    spendable, goal = budget_from(budget, epsilon, exp_epsilon, delta), objective_from(objective)
    counts = None if isinstance(mode, SyntheticUsers | None) else counts_from(mode)
    require_exact_counts(goal, counts)
    solving = solver_from(solver, time_limit, gap, default=Solver(time_limit=10.0))
    settings, start = engines.resolve(engine, log), time.perf_counter()
    source = settings.describe(log)
    with shown(progress) as on_progress:
        attacker = Attacker(spendable, goal, trials, randomness(seed), Steps(on_progress))
        target = mode if isinstance(mode, SyntheticUsers) else counts
        attacks = tuple(attacker.attacks(settings, source, target, solving))
    return Findings(
        mode="synthetic" if counts is None else counts.kind.counts,
        epsilon=spendable.epsilon_value,
        delta=spendable.delta_value,
        attacks=attacks,
        seconds=time.perf_counter() - start,
    )


@contextmanager
def _counted(
    settings: EngineSettings, source: SearchLog, steps: Steps, *, unique_pairs: bool
) -> Generator[tuple[PairHistogram, Engine]]:
    """The counted log, and the engine that holds its texts."""
    with closing(settings.start()) as host:
        with steps.step("count"):
            hist = host.count(source, unique_pairs=unique_pairs).hist
        yield hist, host


@dataclass(frozen=True)
class Attacker:
    """A configuration under attack, and the number of trials."""

    budget: PrivacyBudget
    objective: Objective
    trials: int
    rng: Randomness
    steps: Steps

    @property
    def claim(self) -> Claim:
        """The claim of the whole release."""
        return Claim(epsilon=self.budget.epsilon_value, delta=self.budget.delta_value)

    def attacks(
        self,
        engine: EngineSettings,
        log: SearchLog,
        mode: Counts | SyntheticUsers | None,
        solver: Solver,
    ) -> Iterator[Attack]:
        """All attacks on a mode, one after the other."""
        if isinstance(mode, ExactCounts | LaplaceCounts):
            with _counted(engine, log, self.steps, unique_pairs=False) as (hist, _):
                yield sampling.on_unique_pairs(hist, self.claim)
        with _counted(engine, log, self.steps, unique_pairs=True) as (hist, host):
            if isinstance(mode, ExactCounts | LaplaceCounts):
                yield from self.sampled(hist, mode, solver)
                return
            users = mode or SyntheticUsers()
            yield from self.whole(engine, users).attacked(log, host, hist)
            if isinstance(users, PrivateCounts):
                yield from self.private(hist, users)
            elif users.contributions == "one":
                yield from self.one(hist)
            else:
                kinds = Kinds.from_options(users.association, users.taxonomy)
                kinds = kinds.for_log(urls=log.columns.url is not None)
                yield from self.synthetic(hist, users.selector, kinds, host.urls)

    def whole(self, engine: EngineSettings, mode: PrivateCounts | SyntheticUsers) -> WholeVerb:
        """The verb that makes such a release, from files."""
        options: dict[str, Any] = {
            "objective": self.objective,
            "engine": engine,
            "accept_weak_privacy": True,
            "progress": silent,
        }

        def verb(log: SearchLog, seed: int | None) -> Release:
            if isinstance(mode, PrivateCounts):
                return sanitize(log, self.budget, counts=mode, seed=seed, **options)
            kinds = {"association": mode.association, "taxonomy": mode.taxonomy}
            chosen = {"selector": mode.selector, "contributions": mode.contributions}
            public = {"vocabulary": mode.vocabulary, "hints": mode.hints}
            return synthesize(log, self.budget, seed=seed, **kinds, **chosen, **public, **options)

        return WholeVerb(
            verb=verb,
            selector=mode.selector,
            claim=self.claim,
            rng=self.rng,
            steps=self.steps,
            one=isinstance(mode, SyntheticUsers) and mode.contributions == "one",
        )

    def sampled(
        self, hist: PairHistogram, mode: ExactCounts | LaplaceCounts, solver: Solver
    ) -> list[Attack]:
        """Real rows, drawn given their counts."""
        planner = Planner(self.objective, self.budget, solver, self.steps)
        trials, rng, steps = self.trials, self.rng, self.steps
        noisy = mode if isinstance(mode, LaplaceCounts) else None
        plans = partial(planner.laplace, mode=noisy, rng=rng) if noisy else planner.exact
        shown = sampling.on_sampling(hist, plans, self.claim, trials=trials, rng=rng, steps=steps)
        with steps.step("plan again"):
            if noisy is None:
                return [*shown, *sampling.on_planned_counts(hist, plans)]
            solve = partial(planner.without_influential, mode=noisy)
            return [*shown, *sampling.on_noisy_counts(hist, solve, noisy, trials=trials, rng=rng)]

    def private(self, hist: PairHistogram, mode: PrivateCounts) -> list[Attack]:
        """Real rows, private end to end."""
        division = divide(self.budget, mode.sampling_share)
        garden = self._planted(hist, division)
        rows = draw_rows(
            _alone(garden.hist),
            self.budget,
            division,
            selection.load(mode.selector),
            objective=self.objective,
            rng=self.rng,
            steps=self.steps,
        )
        known, share = rows.histogram, float(exact(mode.sampling_share))
        cap = min(share * self.claim.epsilon, -math.log1p(-share * self.claim.delta))
        claim = Claim(epsilon=cap, delta=-math.expm1(-cap))  # of the sampling alone
        with self.steps.step("attack"):
            return [
                *self._on_stages(garden, known.pairs, known.account, division, None, mode.selector),
                private.on_capped_sampling(division, claim, 10 * self.trials, self.rng),
                *private.on_drawn_rows(garden, known.pairs, rows.output.user, claim),
                *private.on_released(garden, rows.output, self.claim),
            ]

    def synthetic(
        self, hist: PairHistogram, selector: str, kinds: Kinds, urls: Urls
    ) -> list[Attack]:
        """Synthetic users."""
        spending = spread(self.budget, association=kinds.looks)
        garden = self._planted(hist, spending)
        users, known = make_users(
            _alone(garden.hist),
            self.budget,
            spending,
            selection.load(selector),
            objective=self.objective,
            group=kinds.grouping(_with_planted(urls, hist.pairs)),
            rng=self.rng,
            steps=self.steps,
        )
        grouping = known.association and known.association.grouping
        spending = replace(spending, parts=spending.shared(association=grouping is not None))
        with self.steps.step("attack"):
            return [
                *self._on_stages(garden, known.pairs, known.account, spending, grouping, selector),
                *private.on_released(garden, users, self.claim),
            ]

    def one(self, hist: PairHistogram) -> list[Attack]:
        """Synthetic users, from one pair of each user."""
        spending = one_pair.divide(self.budget)
        garden = private.planted(hist, trials=self.trials, weight=spending.weight_needed)
        users, known = make_users_of_one(
            _alone(garden.hist),
            self.budget,
            spending,
            objective=self.objective,
            rng=self.rng,
            steps=self.steps,
        )
        with self.steps.step("attack"):
            return [
                self._on_account(known.account),
                *private.on_selection(garden, known.pairs, self.claim, self.claim),
                *private.on_released(garden, users, self.claim),
                *on_novel_pairs(self.claim.epsilon, self.trials, self.rng),
                *on_numbers(self.budget, self.trials, self.rng),
            ]

    def _planted(self, hist: PairHistogram, spent: Spending) -> private.Planted:
        return private.planted(hist, trials=self.trials, weight=weight_needed(spent.selection))

    def _on_stages(
        self,
        garden: private.Planted,
        pairs: Ints,
        account: Account,
        spent: Spending,
        grouping: Grouping | None,
        selector: str,
    ) -> list[Attack]:
        """Attacks on the stages of both private modes: selecting pairs, and noisy sums."""
        others = {*private.sums(grouping), "sampling"}
        selecting = Account(tuple(stage for stage in account.stages if stage.name not in others))
        alone = Claim(epsilon=self.claim.epsilon, delta=float(spent.selection.delta))
        trials, rng = 10 * self.trials, self.rng
        return [
            self._on_account(account),
            *private.on_selection(garden, pairs, alone, private.visible(selecting)),
            *private.on_novel_pairs(
                selection.load(selector),
                spent.parts["selection"],
                self.claim.epsilon,
                self.trials,
                rng,
            ),
            *private.on_counts(spent.parts["counts"], trials, rng),
            *private.on_sums(garden.hist, pairs, account, spent.parts, grouping, trials, rng),
        ]

    def _on_account(self, account: Account) -> Attack:
        """Check that the stages of the run, with their noise, do not exceed the claim in total.

        The total is what noisy sums reveal of a user who reaches every norm.
        """
        room = exact(self.claim.delta) > account.cost.delta
        epsilon = account.epsilon(self.claim.delta) if room else math.inf
        delta = account.delta(self.claim.epsilon)
        return Attack(
            target="all stages together",
            canary="reaches every norm",
            trials=1,
            found=Found(epsilon=float(epsilon) * _NEARLY, delta=float(delta) * _NEARLY),
            claim=self.claim,
            evidence="account",
        )


def _alone(hist: PairHistogram) -> Counted:
    """A histogram as an engine returns it."""
    return Counted(
        rows=hist, clicks=hist.clicks, users=hist.users, pairs=hist.pairs, rows_without_click=0
    )


def _with_planted(urls: Urls, pairs: int) -> Urls:
    """The urls of a log's pairs; all planted pairs have one site."""

    def known(numbers: Ints) -> list[str]:
        own = numbers[numbers < pairs]
        return [*urls(own), *["planted.example"] * (len(numbers) - len(own))]

    return known
