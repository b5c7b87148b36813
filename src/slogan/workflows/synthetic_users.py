"""Make up the users of a release from private statistics: Theorem S, and Theorem T for one pair."""

from dataclasses import replace

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import NO_STAGES, Account
from slogan.dp.grouping import Groups
from slogan.dp.one_pair import OnePair, OnePairSpending, measure_one
from slogan.dp.selection import Selector
from slogan.dp.statistics import Spending, Statistics, measure, too_few
from slogan.dp.synthesis import MadeUsers, deal, generator_of
from slogan.engines.engine import Counted
from slogan.histogram import Output
from slogan.planning.objectives import Objective, PrivatePairs
from slogan.progress import Steps
from slogan.randomness import Randomness


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
    rng: Randomness,
    steps: Steps,
) -> tuple[Output, Statistics]:
    """Select, measure and make up users: all of Theorem S, on a log that was counted whole.

    `before` has the stages that came first.
    """
    hist = counted.rows
    with steps.step("selection"):
        known = {"listed": counted.listed} if len(counted.listed) else {}
        selected = select(hist, spending.selection, rng, **known)
        selected = replace(selected, stages=(*before.stages, *selected.stages))
    if not len(selected.pairs):
        raise too_few(hist, counted.users, spending.weight_needed, Account(selected.stages))
    statistics = measure(hist, selected, spending, group, rng=rng, steps=steps)
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
