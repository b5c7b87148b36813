"""No statistical check of `verify` refuses an honest release: many small ones are drawn and judged.

The releases are made by the functions of `synthesize`, without files, and judged by the checks.
"""

from contextlib import closing
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest

from slogan.budget import PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.statistics import spread
from slogan.engines.engine import Counted
from slogan.engines.pseudonyms import IdKind, fresh_pseudonyms
from slogan.errors import TooFewUsersError
from slogan.histogram import PairHistogram
from slogan.manifest.manifest import Outputs, Spent, SpentStage
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Steps, silent
from slogan.randomness import SystemRandomness
from slogan.verification.comparison import Comparison
from slogan.verification.mechanism import counts_noisy, outputs_noisy, selectable
from slogan.verification.users import dealt, user_ids
from slogan.workflows.synthetic_users import make_users

CHECKS = (selectable, counts_noisy, outputs_noisy, user_ids, dealt)
BUDGETS = [
    PrivacyBudget(epsilon=epsilon, delta=delta)
    for epsilon, delta in ((10, "1e-13"), (6, "1e-13"), (3, "1e-3"), (10, "1e-4"))
]
STRICT = Fraction("1e-12")
"""With a larger δ a pair of one user may be released: the event that `selectable` points out."""
SPENDING = {budget: spread(budget, association=False) for budget in BUDGETS}


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


def honest(hist, budget, rng):
    """A release of a log, and all that the checks look at."""
    spending = SPENDING[budget]
    counted = Counted(
        rows=hist, clicks=hist.clicks, users=hist.users, pairs=hist.pairs, rows_without_click=0
    )
    output, statistics = make_users(
        counted,
        budget,
        spending,
        selection.load("pooled"),
        objective=OutputSize(),
        group=None,
        rng=rng,
        steps=Steps(silent),
    )
    names = fresh_pseudonyms(output.users, IdKind(), rng)
    number = {user: names[n] for n, user in enumerate(np.unique(output.user).tolist())}
    shown = [
        (number[user], pair, clicks)
        for user, pair, clicks in zip(
            output.user.tolist(), output.pair.tolist(), output.count.tolist(), strict=True
        )
    ]
    sizes, coverage = statistics.sizes, statistics.coverage
    manifest = SimpleNamespace(
        parameters={"selector": "pooled", "objective": "output_size", **statistics.looked},
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
            coverage=coverage.share,
            clicks_released=coverage.inside,
            clicks_other=coverage.outside,
            clicks_counted=coverage.counted,
            association="independent",
            association_kept=0.0,
            users=sizes.users,
            users_by_pairs=tuple(sizes.bins.tolist()),
        ),
    )
    return shown, manifest


def judged(sql, hist, shown, manifest, checks):
    """The names of the checks that refuse a release."""
    clicked = zip(hist.user.tolist(), hist.pair.tolist(), hist.count.tolist(), strict=True)
    for table, rows in (("clicked", [(f"u{u}", p, c) for u, p, c in clicked]), ("shown", shown)):
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
    counted = SimpleNamespace(user_type="VARCHAR")
    evidence = SimpleNamespace(
        manifest=manifest,
        compared=Comparison(sql),
        logs=lambda: (counted, counted),
        curators=lambda _: None,
    )
    return {
        check.__name__: detail for check in checks for ok, detail in [check(evidence)] if not ok
    }


def refused(releases, seed):
    """How many of `releases` honest releases are refused, and why."""
    rng, reasons, made = np.random.default_rng(seed), [], 0
    while made < releases:
        budget = BUDGETS[made % len(BUDGETS)]
        hist = small_log(rng)
        try:
            shown, manifest = honest(hist, budget, SystemRandomness())
        except TooFewUsersError:
            continue
        made += 1
        with closing(duckdb.connect()) as sql:
            checks = CHECKS if exact(budget.delta) < STRICT else CHECKS[1:]
            if found := judged(sql, hist, shown, manifest, checks):
                reasons.append(found)
    return reasons


def test_honest_releases_pass(ladder):
    """Each check fails by chance in less than one of 10^6 releases."""
    ladder.count("cases tried", 60)
    assert refused(60, seed=1) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_ten_thousand_honest_releases_pass(ladder):
    ladder.count("cases tried", 10_000)
    assert refused(10_000, seed=2) == []
