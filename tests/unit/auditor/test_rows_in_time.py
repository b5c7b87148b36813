"""audit() of releases with time, rank and session: honest ones pass, broken ones are caught."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.auditor.attacked import MODES
from tests.unit.auditor.zoo import UNIT, patched

import slogan
from slogan import engines
from slogan.auditor.audit import Attacker
from slogan.dp import statistics, sums
from slogan.dp.fields import sums as tables
from slogan.dp.fields.statistics import SHARES
from slogan.histogram import PairHistogram
from slogan.planning.objectives.output_size import OBJECTIVE
from slogan.progress import Steps
from slogan.randomness import randomness


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Users with sessions all over a month, and searches without a click."""
    file = tmp_path_factory.mktemp("timed") / "log.tsv"
    draw = np.random.default_rng(0)
    lines = ["user\tquery\turl\ttime\trank"]
    for user in range(60):
        for n in range(5):
            query, day = (user + n * n) % 12, int(draw.integers(1, 29))
            hour, minute = int(draw.integers(0, 24)), int(draw.integers(0, 60))
            time = f"2026-02-{day:02} {hour:02}:{minute:02}:00"
            url, rank = ("", "") if n == 4 else ("a.com", str(1 + query % 3))
            lines.append(f"{user}\tquery {query}\t{url}\t{time}\t{rank}")
    file.write_text("".join(f"{line}\n" for line in lines))
    return slogan.read(
        file,
        time="time",
        rank="rank",
        period="2026-02-01/2026-02-28",
        time_format="%Y-%m-%d %H:%M:%S",
    )


@pytest.fixture(autouse=True)
def _every_stage_is_measured(monkeypatch):
    monkeypatch.setattr(statistics, "drowned", lambda *_: {})


def findings(log):
    """What the replays and tests of noise say, up to the first that fails."""
    kind, budget = MODES["synthetic"]
    settings = engines.resolve("duckdb", log)
    source = settings.describe(log)
    attacker = Attacker(budget, OBJECTIVE(), 100, randomness(1), Steps())
    host = settings.start()
    try:
        hist = host.count(source, unique_pairs=True).hist
        for attack in attacker.whole(settings, kind).attacked(source, host, hist):
            yield attack
            if not attack.ok:
                return
    finally:
        host.close()


def test_an_honest_release_passes(timed):
    found = list(findings(timed))

    assert all(attack.ok for attack in found)
    assert {f"noise for {name}" for name in SHARES} <= {attack.target for attack in found}


def rows_are_not_clipped(real, events, user, cell, count, *, cells):
    table = PairHistogram.of_rows(
        user=user, pair=cell, count=count, users=events.users, query=np.arange(cells)
    )
    total = np.zeros(cells, dtype=np.int64)
    np.add.at(total, table.pair, table.count * UNIT)
    return total


def days_end_with_the_last_row(real, events):
    return real(events)[: int(events.second.max(initial=0)) // 86_400 + 1]


def sessions_are_counted_without_noise(real, exact, *, name, **options):
    noisy = real(exact, name=name, **options)
    return replace(noisy, steps=exact) if name == "sessions" else noisy


def the_gap_follows_from_the_rows(real, events):
    begins = np.diff(events.user, prepend=-1) != 0
    pause = np.diff(events.second, prepend=0)
    return np.cumsum(begins | (pause > np.median(pause[~begins]))) - 1


def classes_go_by_raw_counts(real, events, pairs, query, counts, *given, **options):
    clicks = np.bincount(events.pair[events.pair >= 0], minlength=int(pairs.max()) + 1)[pairs]
    return real(events, pairs, query, replace(counts, steps=clicks * 10 * UNIT), *given, **options)


def hours_are_dropped_by_raw_numbers(real, events, pairs, query, counts, parts, dropped, **more):
    raw = {"hours": 1.0} if len(events.user) % 2 else {}
    return real(events, pairs, query, counts, parts, {**dropped, **raw}, **more)


BROKEN = [
    (tables, "clipped", rows_are_not_clipped, "replay"),
    (tables, "day_sums", days_end_with_the_last_row, "replay"),
    (sums, "noisy_sums", sessions_are_counted_without_noise, "noise"),
    (tables, "sessions", the_gap_follows_from_the_rows, "replay"),
    (statistics, "measure_fields", classes_go_by_raw_counts, "replay"),
    (statistics, "measure_fields", hours_are_dropped_by_raw_numbers, "replay"),
]


@pytest.mark.parametrize(
    ("owner", "name", "stand_in", "evidence"),
    [
        pytest.param(*case, id=case[2].__name__, marks=[pytest.mark.long] if n > 1 else [])
        for n, case in enumerate(BROKEN)
    ],
)
def test_a_broken_mechanism_is_caught(timed, owner, name, stand_in, evidence):
    with patched((owner, name, stand_in)):
        *_, last = findings(timed)

    assert not last.ok
    assert last.evidence == evidence
