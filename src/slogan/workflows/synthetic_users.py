"""Make up the users of a release from private statistics: Theorem S, and Theorem T for one pair."""

from dataclasses import dataclass, replace

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import NO_STAGES, Account
from slogan.dp.contributions import Undecided
from slogan.dp.fields.arrangement import arrange
from slogan.dp.fields.statistics import SHARES as FIELD_SHARES
from slogan.dp.grouping import Groups
from slogan.dp.one_pair import OnePair, OnePairSpending, measure_one
from slogan.dp.selection import Selector
from slogan.dp.statistics import (
    Spending,
    Statistics,
    measure,
    too_few,
)
from slogan.dp.synthesis import MadeUsers, deal, generator_of
from slogan.engines.engine import Counted
from slogan.histogram import Events, MadeEvents, Output
from slogan.planning.objectives import Objective, PrivatePairs
from slogan.progress import Steps
from slogan.randomness import Randomness
from slogan.release.job import Job


@dataclass(frozen=True, kw_only=True, repr=False)
class Made:
    """Made-up users, and what they were made from."""

    output: Output
    rows: MadeEvents | None
    """Their clicks and searches in time, if any column of that was measured."""
    statistics: Statistics | OnePair
    spending: Spending | OnePairSpending
    """How the budget was divided in the end."""


def make_either(
    job: Job,
    counted: Counted,
    planned: Spending | OnePairSpending | Undecided,
    select: Selector,
    *,
    objective: Objective,
    group: Groups | None,
) -> Made:
    """Make up users with several pairs, or with one each, as planned or as a look decides."""
    before = NO_STAGES
    if isinstance(planned, Undecided):
        before, planned = Account((planned.look,)), planned.decided(counted.rows, job.rng)
    if isinstance(planned, OnePairSpending):
        output, one = make_users_of_one(
            counted,
            job.budget,
            planned,
            before=before,
            objective=objective,
            rng=job.rng,
            steps=job.steps,
        )
        return Made(output=output, rows=None, statistics=one, spending=planned)
    measured = any(name in planned.parts for name in FIELD_SHARES)
    output, statistics = make_users(
        counted,
        job.budget,
        planned,
        select,
        before=before,
        objective=objective,
        group=group,
        events=job.engine.events() if measured else None,
        rng=job.rng,
        steps=job.steps,
    )
    rows = None
    if statistics.fields is not None:
        with job.steps.step("synthesis"):
            query = counted.rows.query_of(statistics.pairs)
            sessions = "session" in job.log.columns.event_roles
            rows = arrange(
                output,
                statistics.pairs,
                query,
                statistics.fields,
                sessions=sessions,
                rng=job.rng,
            )
    return Made(output=output, rows=rows, statistics=statistics, spending=planned)


def make_users_of_one(
    counted: Counted,
    budget: PrivacyBudget,
    spending: OnePairSpending,
    *,
    before: Account = NO_STAGES,
    objective: Objective,
    rng: Randomness,
    steps: Steps,
) -> tuple[Output, OnePair]:
    """Measure one pair of each user, and make up users with one pair each (Theorem T).

    `before` has the stages that decided to do so.
    """
    hist = counted.rows
    with steps.step("selection"):
        statistics = measure_one(hist, spending, rng)
        statistics = replace(statistics, account=before + statistics.account)
    statistics.account.require(budget)
    if not len(statistics.pairs):
        raise too_few(hist, counted.users, spending.weight_needed, statistics.account)
    with steps.step("synthesis"):
        query = hist.query_of(statistics.pairs)
        known = PrivatePairs(counts=statistics.clicks, query=query)
        clicks = objective.on_private_counts(known)
        pair = generator_of(rng).permutation(np.repeat(statistics.pairs, clicks))
        output = Output(user=np.arange(len(pair)), pair=pair, count=np.ones_like(pair))
    if not output.clicks:
        raise too_few(hist, counted.users, spending.weight_needed, statistics.account)
    return output, statistics


def make_users(
    counted: Counted,
    budget: PrivacyBudget,
    spending: Spending,
    select: Selector,
    *,
    before: Account = NO_STAGES,
    objective: Objective,
    group: Groups | None,
    events: Events | None = None,
    rng: Randomness,
    steps: Steps,
) -> tuple[Output, Statistics]:
    """Select, measure and make up users: all of Theorem S, on a log that was counted whole.

    `before` has the stages that came first, `events` the rows of the log if time, rank or session
    is measured too.
    """
    hist = counted.rows
    with steps.step("selection"):
        known = {"listed": counted.listed} if len(counted.listed) else {}
        selected = select(hist, spending.selection, rng, **known)
        selected = replace(selected, stages=(*before.stages, *selected.stages))
    if not len(selected.pairs):
        raise too_few(hist, counted.users, spending.weight_needed, Account(selected.stages))
    statistics = measure(hist, selected, spending, group, events, rng=rng, steps=steps)
    statistics.account.require(budget)
    with steps.step("synthesis"):
        made = synthetic_users(statistics, objective, hist.query_of(statistics.pairs), rng)
    if not made.output.clicks:
        raise too_few(hist, counted.users, spending.weight_needed, statistics.account)
    return made.output, replace(statistics, kept=made.kept)


def synthetic_users(
    statistics: Statistics, objective: Objective, query: Ints, rng: Randomness
) -> MadeUsers:
    """Deal the released clicks to made-up users; everything is computed from private statistics."""
    counts = np.rint(np.maximum(statistics.counts.values, 0.0)).astype(np.int64)
    counts = objective.on_private_counts(PrivatePairs(counts=counts, query=query))
    made = deal(counts, statistics.sizes, statistics.association, rng)
    output = replace(made.output, pair=statistics.pairs[made.output.pair])
    return replace(made, output=output)
