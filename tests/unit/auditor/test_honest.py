"""audit() passes honest mechanisms, on logs of several shapes and in every format."""

from dataclasses import replace

import pandas as pd
import pytest
from tests.unit.auditor.attacked import END_TO_END, MODES, caught

import slogan
from slogan.auditor.whole import WholeVerb
from slogan.dp import selection

ROWS = {
    "site visits": [
        (f"u{u}", f"page {(u * 7 + n * n) % 30}", f"site{n % 5}.com", 1 + n % 4)
        for u in range(150)
        for n in range(12)
    ],
    "one pair per user": [(u, f"query {u % 11}", f"{u % 11}.com", 1) for u in range(300)],
}


def write(file, rows, header="user\tquery\turl\tcount\n"):
    file.write_text(
        header + "".join("\t".join(map(str, row)) + "\n" for row in dict.fromkeys(rows))
    )
    return file


def replayed(log, kind, monkeypatch, budget=END_TO_END):
    """An audit by replay and noise alone."""
    nothing = {"private": lambda *_: [], "synthetic": lambda *_: []}
    for name, attacks in nothing.items():
        monkeypatch.setattr(f"slogan.auditor.audit.Attacker.{name}", attacks)
    return slogan.audit(log, budget, kind, trials=100, seed=1)


@pytest.mark.parametrize("mode", ["private", "synthetic"])
@pytest.mark.parametrize("shape", [*ROWS, pytest.param("search", marks=pytest.mark.long)])
def test_an_honest_mode_passes_on_every_shape(tmp_path, shape, mode):
    file = tmp_path / "log.tsv"
    if shape == "search":
        slogan.generate(file, users=300, seed=2)
    else:
        write(file, ROWS[shape])
    found = slogan.audit(file, END_TO_END, MODES[mode][0], trials=400, seed=1)

    assert caught(found) == set()
    assert {a.evidence for a in found.attacks} == {"replay", "noise", "statistics", "account"}
    assert sum(a.evidence == "replay" for a in found.attacks) >= 9


@pytest.mark.parametrize(
    "format",
    [
        "csv",
        *(pytest.param(f, marks=pytest.mark.long) for f in ("parquet", "jsonl.gz", "tsv.zst")),
    ],
)
def test_every_format_is_replayed(tmp_path, monkeypatch, format):
    file = tmp_path / f"log.{format}"
    slogan.generate(file, users=60, seed=3, clicks_per_user=10)
    found = replayed(file, slogan.SyntheticUsers(), monkeypatch)

    assert caught(found) == set()
    hostile = [a.canary for a in found.attacks if "hostile" in a.canary]
    assert hostile == (
        [] if format == "parquet" else ["hostile lines", "hostile lines, not skipped"]
    )


@pytest.mark.parametrize("shape", ROWS)
def test_one_pair_of_each_user_passes_on_every_shape(tmp_path, shape):
    kind, budget = MODES["one"]
    found = slogan.audit(write(tmp_path / "log.tsv", ROWS[shape]), budget, kind, trials=400, seed=1)

    assert caught(found) == set()
    assert {a.evidence for a in found.attacks} == {"replay", "noise", "statistics", "account"}
    assert sum(a.evidence == "replay" for a in found.attacks) >= 13


def test_a_log_of_events_without_a_header_is_replayed(tmp_path, monkeypatch):
    file = write(tmp_path / "log.tsv", [row[:3] for row in ROWS["site visits"]], header="")
    log = slogan.read(file, columns=("user", "query", "url"))

    assert caught(replayed(log, slogan.PrivateCounts(), monkeypatch)) == set()


def test_a_table_in_memory_is_replayed_as_a_file(monkeypatch):
    table = pd.DataFrame(ROWS["site visits"], columns=["user", "query", "url", "count"])

    assert caught(replayed(table, slogan.SyntheticUsers(), monkeypatch)) == set()


@pytest.mark.long
@pytest.mark.parametrize("selector", selection.names())
@pytest.mark.parametrize("association", ["independent", "pairs"])
def test_every_selector_is_replayed(log, monkeypatch, selector, association):
    kind = slogan.SyntheticUsers(selector=selector, association=association)
    found = replayed(log, kind, monkeypatch)

    assert caught(found) == set()
    assert "noise for selection" in {a.target for a in found.attacks}


@pytest.mark.long
def test_a_budget_that_releases_nothing_is_replayed_all_the_same(log, monkeypatch):
    """Recorded noise is pushed, so that pairs are released and users made at any budget."""
    budget = slogan.PrivacyBudget(epsilon="0.01", delta="1e-9")
    found = replayed(log, slogan.SyntheticUsers(), monkeypatch, budget=budget)

    assert caught(found) == set()
    assert "whole release" in {a.target for a in found.attacks}


def test_a_verb_that_refuses_the_log_itself_is_not_audited(tmp_path, monkeypatch):
    import duckdb

    file = tmp_path / "log.parquet"
    duckdb.sql(f"""COPY (SELECT (range % 75)::TINYINT AS user, 'q' || (range // 75) AS query,
        'u.com' AS url, 1 AS count FROM range(225)) TO '{file}' (FORMAT parquet)""")
    with pytest.raises(slogan.SloganError):
        replayed(file, slogan.SyntheticUsers(), monkeypatch)


def test_a_log_without_local_files_is_reported_as_not_replayed():
    log = slogan.read(__file__, format="tsv", columns=("user", "query", "url"))
    verb = WholeVerb(verb=None, selector="pooled", claim=None, rng=None, steps=None)
    (row,) = verb.attacked(replace(log, addresses=("s3a://x",)), None, None)

    assert "not replayed" in row.canary
