"""No statistical check of `verify` refuses an honest release: many small ones are drawn and judged.

The releases are made by the functions of `synthesize`, without files, and judged by the checks:
small logs of independent users, logs of users with interests that the release follows, and logs
of visitors with one pair each.
"""

from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

import duckdb
import numpy as np
import pytest

from slogan.budget import PrivacyBudget, exact
from slogan.dp import noise, selection
from slogan.dp.grouping import Grouping, by_pair
from slogan.dp.one_pair import divide
from slogan.dp.statistics import spread
from slogan.engines.engine import Counted
from slogan.engines.pseudonyms import IdKind, fresh_pseudonyms
from slogan.errors import TooFewUsersError
from slogan.histogram import PairHistogram
from slogan.manifest.manifest import Outputs, Spent, SpentStage
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Steps, silent
from slogan.randomness import SystemRandomness
from slogan.verification import one_pair, users
from slogan.verification.comparison import Comparison
from slogan.verification.mechanism import counts_noisy, outputs_noisy, selectable
from slogan.verification.users import dealt, user_ids
from slogan.workflows.synthetic_users import make_users, make_users_of_one

STRICT = Fraction("1e-12")
"""With a larger δ a pair of one user may be released: the event that `selectable` points out."""


@dataclass(frozen=True)
class Kind:
    """Logs, the budgets they are released with, and the checks of such releases."""

    name: str
    log: object
    budgets: tuple
    checks: tuple = (selectable, counts_noisy, outputs_noisy, user_ids, dealt)
    looks: bool = False
    """Whether association is measured."""
    one: bool = False
    """Whether one pair of each user counts."""

    def of(self, hist, made):
        """The checks of the nth release."""
        budget = self.budgets[made % len(self.budgets)]
        several = self.checks[0] is selectable and exact(budget.delta) >= STRICT
        return budget, self.checks[1:] if several else self.checks


def budgets(*pairs):
    return tuple(PrivacyBudget(epsilon=epsilon, delta=delta) for epsilon, delta in pairs)


def small_log(rng):
    """Some hundred users of a random shape: popular pairs, and some that one user holds."""
    users, pages = int(rng.integers(60, 400)), int(rng.integers(2, 12))
    chance = 1 / np.arange(1, pages + 1) ** rng.uniform(0, 1.5)
    rows = []
    for user in range(users):
        held = rng.random(pages) < rng.uniform(0.3, 1) * chance
        rows += [
            (user, pair, int(rng.geometric(rng.uniform(0.2, 0.9)))) for pair in np.flatnonzero(held)
        ]
        rows += [(user, pages + user * 3 + n, 1) for n in range(int(rng.integers(0, 4)))]
        if not rows or rows[-1][0] != user:
            rows.append((user, 0, 1))
    user, pair, count = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    kept, pair = np.unique(pair, return_inverse=True)
    return PairHistogram.of_rows(
        user=user, pair=pair, count=count, users=users, query=np.arange(len(kept))
    )


def grouped_log(rng):
    """Some hundred to a few thousand users, each with one of a few interests."""
    users, pages = int(np.exp(rng.uniform(5, 8.2))), int(rng.integers(14, 61))
    interests, lift = int(rng.integers(2, 9)), np.exp(rng.uniform(1, 4))
    popular = 1 / np.arange(1, pages + 1) ** rng.uniform(0, 1.2)
    about = rng.integers(0, interests, pages)
    mine = rng.integers(0, interests, users)
    sizes = rng.geometric(rng.uniform(0.1, 0.5), users) + rng.integers(0, 4, users)
    likely = np.log(popular * np.where(about == mine[:, None], lift, 1))
    order = np.argsort(-likely - rng.gumbel(size=likely.shape), axis=1)
    user, place = np.nonzero(np.arange(pages) < sizes[:, None])
    pair, alone = order[user, place], np.flatnonzero(rng.random(users) < 0.3)
    user, pair = np.concatenate([user, alone]), np.concatenate([pair, pages + alone])
    kept, pair = np.unique(pair, return_inverse=True)
    count = rng.geometric(rng.uniform(0.2, 0.9), len(user))
    return PairHistogram.of_rows(
        user=user, pair=pair, count=count, users=users, query=np.arange(len(kept))
    )


def visitors_log(rng):
    """Visitors with one pair each, but for some: popular pairs, and pairs of a single one."""
    pages, top = int(rng.integers(5, 120)), rng.uniform(20, 400)
    holders = np.ceil(top / np.arange(1, pages + 1) ** rng.uniform(0.2, 1.2)).astype(np.int64)
    alone = int(rng.integers(0, 100))
    pair = np.repeat(np.arange(pages + alone), np.concatenate([holders, np.ones(alone, np.int64)]))
    users = len(pair)
    more = np.flatnonzero(rng.random(users) < rng.choice([0, 0.02, 0.3]))
    others = (pair[more] + 1 + rng.integers(0, pages - 1, len(more))) % pages
    user = np.concatenate([np.arange(users), more])
    return PairHistogram.of_rows(
        user=user,
        pair=np.concatenate([pair, others]),
        count=rng.geometric(0.7, len(user)),
        users=users,
        query=np.arange(pages + alone),
    )


INDEPENDENT = Kind(
    "independent users",
    small_log,
    budgets((10, "1e-13"), (6, "1e-13"), (3, "1e-3"), (10, "1e-4")),
)
FOLLOWED = Kind(
    "an association",
    grouped_log,
    budgets((10, "1e-13"), (4, "1e-13"), (2, "1e-6"), (6, "1e-5"), (8, "1e-13")),
    looks=True,
)
ONE = Kind(
    "one pair of each user",
    visitors_log,
    budgets((1, "1e-6"), (4, "1e-8"), ("0.3", "1e-5"), (10, "1e-9"), (2, "1e-4")),
    checks=(one_pair.selectable, one_pair.noise, one_pair.outputs, user_ids, dealt),
    one=True,
)
KINDS = (INDEPENDENT, FOLLOWED, ONE)


def in_groups(pairs, counts):
    """Each pair for itself, or pairs by three: of the two, the first that noise does not hide."""
    by_three = np.arange(len(pairs)) // 3
    return [
        by_pair(counts),
        Grouping(name="domains", category=by_three, categories=int(by_three.max(initial=0)) + 1),
    ]


def in_threes(pairs, counts):
    return in_groups(pairs, counts)[1:]


def honest(kind, hist, budget, rng, group, ids):
    """A release of a log, and all that the checks look at."""
    counted = Counted(
        rows=hist, clicks=hist.clicks, users=hist.users, pairs=hist.pairs, rows_without_click=0
    )
    run = {"objective": OutputSize(), "rng": rng, "steps": Steps(silent)}
    if kind.one:
        spending = divide(budget)
        output, statistics = make_users_of_one(counted, budget, spending, **run)
    else:
        spending = spread(budget, association=kind.looks)
        group, select = group if kind.looks else None, selection.load("pooled")
        output, statistics = make_users(counted, budget, spending, select, group=group, **run)
    names = fresh_pseudonyms(output.users, ids, rng)
    number = {user: names[n] for n, user in enumerate(np.unique(output.user).tolist())}
    shown = [
        (number[user], pair, clicks)
        for user, pair, clicks in zip(
            output.user.tolist(), output.pair.tolist(), output.count.tolist(), strict=True
        )
    ]
    manifest = SimpleNamespace(
        parameters={"objective": "output_size", **statistics.looked}
        | ({"contributions": "one"} if kind.one else {"selector": "pooled"}),
        pseudonyms="synthetic",
        account=Spent(
            stages=tuple(
                SpentStage(
                    name=stage.name,
                    mechanism=stage.mechanism,
                    parameters=stage.parameters(),
                    theorem=stage.theorem,
                    cost={},
                )
                for stage in statistics.account.stages
            ),
            cost={},
            delta_at_epsilon=0.0,
            epsilon_at_delta=0.0,
        ),
        outputs=Outputs(
            pairs_selected=len(statistics.pairs),
            coverage=statistics.share,
            clicks_released=statistics.inside,
            clicks_other=statistics.outside,
            clicks_counted=statistics.counted,
            association=statistics.kind,
            association_kept=statistics.kept,
            users=statistics.users,
            users_by_pairs=tuple(statistics.bins.tolist()),
        ),
    )
    return shown, manifest


def judged(sql, hist, shown, manifest, checks, named):
    """The names of the checks that refuse a release."""
    clicked = zip(hist.user.tolist(), hist.pair.tolist(), hist.count.tolist(), strict=True)
    for table, rows in (("clicked", [(named(u), p, c) for u, p, c in clicked]), ("shown", shown)):
        user, pair, clicks = zip(*rows, strict=True)
        sql.register(
            "given",
            {
                "user": np.array(user, object),
                "query": np.array([f"q{p}" for p in pair], object),
                "url": np.array(["u"] * len(pair), object),
                "clicks": np.array(clicks, dtype=np.int64),
            },
        )
        sql.execute(f"CREATE TABLE {table} AS FROM given")
    counted = SimpleNamespace(user_type="VARCHAR" if named is text_id else "BIGINT")
    evidence = SimpleNamespace(
        manifest=manifest,
        compared=Comparison(sql),
        logs=lambda: (counted, counted),
        curators=lambda _: None,
    )
    return {
        check.__name__: detail for check in checks for ok, detail in [check(evidence)] if not ok
    }


def text_id(user):
    return f"u{user}"


def whole_number(user):
    return str(1_000 + 7 * user)


IDS = {text_id: IdKind(), whole_number: IdKind(limit=2**53 - 1)}


def refused(kind, releases, seed):
    """How many of `releases` honest releases are refused and why, and how many follow others."""
    rng, reasons, made, followed = np.random.default_rng(seed), [], 0, 0
    while made < releases:
        hist = kind.log(rng)
        budget, checks = kind.of(hist, made)
        named, group = list(IDS)[made % 2], (in_groups, in_threes)[made % 3 == 0]
        try:
            shown, manifest = honest(kind, hist, budget, SystemRandomness(), group, IDS[named])
        except TooFewUsersError:
            continue
        made += 1
        followed += manifest.outputs.association != "independent"
        with closing(duckdb.connect()) as sql:
            if found := judged(sql, hist, shown, manifest, checks, named):
                reasons.append((budget, found))
    return reasons, followed


@pytest.fixture(autouse=True, scope="module")
def _the_same_is_computed_once():
    """What is common to thousands of releases: hashes of user-IDs, and tables of noise."""
    functions, gaussian = users._functions, noise._gaussian.__wrapped__
    with (
        patch.object(users, "_functions", cache(lambda *given: tuple(functions(*given)))),
        patch.object(noise, "_gaussian", cache(gaussian)),
    ):
        yield


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_honest_releases_pass(ladder, kind):
    """Each check fails by chance in less than one of 10^6 releases."""
    ladder.count("cases tried", 20)
    reasons, followed = refused(kind, 20, seed=1)

    assert reasons == []
    assert (followed > 0) is kind.looks


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "releases"),
    [(INDEPENDENT, 3_000), (FOLLOWED, 5_000), (ONE, 2_000)],
    ids=lambda given: getattr(given, "name", None),
)
def test_ten_thousand_honest_releases_pass(ladder, kind, releases):
    ladder.count("cases tried", releases)
    reasons, followed = refused(kind, releases, seed=2)

    assert reasons == []
    assert (followed > releases // 5) is kind.looks
