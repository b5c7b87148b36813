"""No statistical check of `verify` refuses an honest release: many small ones are drawn and judged.

The releases are made by the functions of `synthesize`, without files, and judged by the checks:
small logs of independent users, some with pairs declared public; logs of users with interests that
the release follows; logs of visitors with one pair each; and logs of which a look decides.
"""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from unittest.mock import patch

import duckdb
import numpy as np
import pytest

from slogan.budget import PrivacyBudget, exact
from slogan.dp import noise, selection
from slogan.dp.accounting import NO_STAGES, Account
from slogan.dp.contributions import undecided
from slogan.dp.grouping import Grouping, by_pair
from slogan.dp.one_pair import OnePairSpending, divide
from slogan.dp.statistics import spread
from slogan.engines.engine import Counted
from slogan.engines.pseudonyms import IdKind, fresh_pseudonyms
from slogan.errors import TooFewUsersError
from slogan.histogram import PairHistogram
from slogan.manifest.manifest import Outputs, Spent, SpentStage
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Steps, silent
from slogan.randomness import SystemRandomness
from slogan.verification import users
from slogan.verification.comparison import Comparison
from slogan.verification.private_checks import SYNTHETIC_USERS
from slogan.verification.users import user_ids
from slogan.workflows.synthetic_users import make_users, make_users_of_one

STRICT = Fraction("1e-12")
"""With a larger δ a pair of one user may be released: the event that `selectable` points out."""


@dataclass(frozen=True)
class Kind:
    """Logs, the budgets they are released with, and the checks of such releases."""

    name: str
    log: object
    budgets: tuple
    looks: bool = False
    """Whether association is measured."""
    contributions: str = "several"
    public: bool = False
    """Whether some pairs are declared public."""


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


def any_log(rng):
    """A log of either kind, or of users between the two."""
    if rng.random() < 0.4:
        return visitors_log(rng)
    return (small_log if rng.random() < 0.7 else grouped_log)(rng)


def with_public_pairs(hist, rng):
    """The log with pairs without users, and the public ones: all of those, and some others."""
    unheld = int(rng.choice([0, 50, 2_000]))
    query = np.concatenate([hist.query, hist.query.max() + 1 + np.arange(unheld)])
    held = np.flatnonzero(rng.random(hist.pairs) < rng.choice([0.02, 0.5]))
    return (
        replace(hist, pairs=hist.pairs + unheld, query=query),
        np.concatenate([held, hist.pairs + np.arange(unheld)]),
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
    contributions="one",
)
AUTO = Kind(
    "a look that decides",
    any_log,
    budgets((10, "1e-13"), (4, "1e-13"), (1, "1e-13")),
    contributions="auto",
)
PUBLIC = Kind(
    "public pairs",
    small_log,
    budgets((10, "1e-13"), (6, "1e-13"), (3, "1e-3")),
    public=True,
)
KINDS = (INDEPENDENT, FOLLOWED, ONE, AUTO, PUBLIC)


def checks_of(kind, budget):
    """The checks of a release; `selectable` may fail honestly in the δ event, so it is left out."""
    left_out = {"public_pairs"}
    if kind.contributions != "one" and exact(budget.delta) >= STRICT:
        left_out |= {"selectable"}
    checks = {**SYNTHETIC_USERS, "user_ids": user_ids}
    return {name: check for name, check in checks.items() if name not in left_out}


def in_groups(pairs, counts):
    """Each pair for itself, or pairs by three: of the two, the first that noise does not hide."""
    by_three = np.arange(len(pairs)) // 3
    return [
        by_pair(counts),
        Grouping(name="domains", category=by_three, categories=int(by_three.max(initial=0)) + 1),
    ]


def in_threes(pairs, counts):
    return in_groups(pairs, counts)[1:]


def divided(kind, hist, budget, rng):
    """The stages that came first, and how the rest of the budget is divided."""
    if kind.contributions == "auto":
        planned = undecided(budget, association=kind.looks)
        return Account((planned.look,)), planned.decided(hist, rng)
    if kind.contributions == "one":
        return NO_STAGES, divide(budget)
    return NO_STAGES, spread(budget, association=kind.looks)


def honest(kind, hist, listed, budget, rng, group, ids):
    """A release of a log, and all that the checks look at."""
    counted = Counted(
        rows=hist,
        clicks=hist.clicks,
        users=hist.users,
        pairs=hist.pairs,
        rows_without_click=0,
        listed=listed,
    )
    before, spending = divided(kind, hist, budget, rng)
    run = {"before": before, "objective": OutputSize(), "rng": rng, "steps": Steps(silent)}
    if isinstance(spending, OnePairSpending):
        output, statistics = make_users_of_one(counted, budget, spending, **run)
    else:
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
        | ({} if kind.contributions == "several" else {"contributions": kind.contributions})
        | ({} if isinstance(spending, OnePairSpending) else {"selector": "pooled"}),
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


def judged(sql, hist, listed, shown, manifest, checks, named):
    """The names of the checks that refuse a release."""
    pairs = [[f"q{pair}", "u"] for pair in listed.tolist()]
    sql.execute("CREATE TABLE declared (query VARCHAR, url VARCHAR)")
    if pairs:
        sql.executemany("INSERT INTO declared VALUES (?, ?)", pairs)
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
        declared=len(listed),
        compared=Comparison(sql),
        logs=lambda: (counted, counted),
        curators=lambda _: None,
    )
    found = {name: check(evidence) for name, check in checks.items()}
    return {name: detail for name, (ok, detail) in found.items() if not ok}


def text_id(user):
    return f"u{user}"


def whole_number(user):
    return str(1_000 + 7 * user)


IDS = {text_id: IdKind(), whole_number: IdKind(limit=2**53 - 1)}


def refused(kind, releases, seed):
    """How many of `releases` honest releases are refused and why, and what kinds there were."""
    rng, reasons, made = np.random.default_rng(seed), [], 0
    seen = Counter()
    while made < releases:
        hist = kind.log(rng)
        listed = np.zeros(0, dtype=np.int64)
        if kind.public:
            hist, listed = with_public_pairs(hist, rng)
        budget = kind.budgets[made % len(kind.budgets)]
        named, group = list(IDS)[made % 2], (in_groups, in_threes)[made % 3 == 0]
        try:
            shown, manifest = honest(
                kind, hist, listed, budget, SystemRandomness(), group, IDS[named]
            )
        except TooFewUsersError:
            continue
        made += 1
        seen["followed"] += manifest.outputs.association != "independent"
        seen["one"] += manifest.account.stages[-2].name == "draw"
        with closing(duckdb.connect()) as sql:
            checks = checks_of(kind, budget)
            if found := judged(sql, hist, listed, shown, manifest, checks, named):
                reasons.append((budget, found))
    return reasons, seen


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
    reasons, seen = refused(kind, 20, seed=1)

    assert reasons == []
    assert (seen["followed"] > 0) is kind.looks
    assert (seen["one"] > 0) is (kind.contributions != "several")


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("kind", "releases"),
    [(INDEPENDENT, 2_000), (FOLLOWED, 4_000), (ONE, 2_000), (AUTO, 1_000), (PUBLIC, 1_000)],
    ids=lambda given: getattr(given, "name", None),
)
def test_ten_thousand_honest_releases_pass(ladder, kind, releases):
    ladder.count("cases tried", releases)
    reasons, seen = refused(kind, releases, seed=2)

    assert reasons == []
    assert (seen["followed"] > releases // 5) is kind.looks
    if kind.contributions == "auto":
        assert releases // 5 < seen["one"] < releases * 4 // 5
