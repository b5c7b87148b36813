"""slogan sanitize: its JSON, its words, its errors, and an interrupt."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.helpers import write
from tests.unit.cli.commands import BUDGET, slogan


def test_sanitize_prints_one_json_object_and_nothing_else(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", *BUDGET, "--json", cwd=tmp_path)
    told = json.loads(done.stdout)

    assert done.returncode == 0
    asked = """objective epsilon delta budget_per_user users pairs clicks_in clicks_out pairs_out
        users_out value bound gap status exposed_users_expected seconds release"""
    assert set(asked.split()) <= told.keys()
    assert told["release"] == "out"
    assert told["users"] == 8
    assert told["pairs"] == 4
    assert told["clicks_in"] == 26
    assert told["gap"] == abs(told["bound"] - told["value"]) / max(1, abs(told["bound"]))


def test_results_go_to_stdout_without_colour_and_without_text_of_the_log(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == 0
    assert done.stderr == ""
    assert "released" in done.stdout
    assert "\x1b[" not in done.stdout
    assert "secret" not in done.stdout
    assert "query 1" not in done.stdout


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([], 2, "no rows"),
        ([(1, "my secret", "u", -1)], 2, "negative"),
        ([(1, "my secret", "u", 0)], 2, "zero"),
        ([(1, "my secret", "u", 0.5)], 2, "fraction"),
        ([(1, "my secret", "u", 2**60)], 2, "2^53"),
        ([(1, "my secret", "u", "")], 2, "missing"),
        ([(1, "my secret", "u", 1)], 3, "only one user"),
        ([(1, "my secret", "u", 1), (2, "other secret", "u", 1)], 3, "no pair is shared"),
    ],
)
def test_bad_logs_each_have_their_own_message(tmp_path, rows, code, words):
    write(tmp_path / "bad.tsv", rows)
    done = slogan("sanitize", "bad.tsv", "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == code
    assert words in " ".join(done.stderr.split())
    assert "hint:" in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("solver", ["packing", "exact"])
def test_an_interrupt_stops_the_solver_and_leaves_nothing(tmp_path, solver):
    """At this budget no solver proves optimality in time, so the signal arrives while it works."""
    slogan("generate", "log.tsv", "--seed", "3", cwd=tmp_path)
    words = ["sanitize", "log.tsv", "-o", "out", "--exp-epsilon", "2.3", "--delta", "0.8"]
    private = tmp_path / "private"
    private.mkdir()
    run = subprocess.Popen(
        [sys.executable, "-m", "slogan", *words, "--time-limit", "120", "--solver", solver],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(private)},
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(8)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]

    assert run.returncode == 130, said
    assert "Interrupted. The release is either complete or absent" in said
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith((".out", "out"))] == []
    assert list(private.iterdir()) == []


def test_a_required_utility_finds_the_least_budget(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", "--require", "2", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())

    assert done.returncode == 0, done.stderr
    assert told["value"] >= told["required"] == 2
    assert told["budget_lower_bound"] <= told["budget_needed"] == told["budget_per_user"]
    assert told["budget_needed"] <= told["budget_lower_bound"] * 1.0002
    assert manifest["parameters"]["require"] == 2
    assert any("chosen on the log" in text for text in manifest["not_guaranteed"])
    assert "budget_lower_bound" not in json.dumps(manifest)

    checked = slogan("verify", log, "out", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    shown = slogan("sanitize", log, "-o", "again", "--require", "2", cwd=tmp_path)
    assert "The least budget found for 2 clicks" in " ".join(shown.stdout.split())


def test_few_users_are_exposed_for_a_required_utility(tmp_path, log):
    budget = ("--exp-epsilon", "3", "--delta", "0.6")
    chosen = ("--require", "2", "--minimize", "exposure")
    done = slogan("sanitize", log, "-o", "out", *budget, *chosen, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    page = (tmp_path / "out/curator/report.html").read_text()

    assert told["value"] == told["clicks_out"] == told["required"] == 2
    assert told["minimized"] == "exposure"
    assert 0 < told["exposure_lower_bound"] <= told["exposed_users_expected"] <= 2 + 1e-9
    assert told["status"] == "optimal"
    assert "budget_needed" not in told
    assert manifest["parameters"]["require"] == 2
    assert manifest["parameters"]["minimize"] == "exposure"
    assert manifest["budget"]["exp_epsilon"] == "3"
    assert any("plan was chosen on the log" in text for text in manifest["not_guaranteed"])
    assert not any("budget was chosen" in text for text in manifest["not_guaranteed"])
    assert "exposure_lower_bound" not in json.dumps(manifest)
    assert "No such plan exposes fewer than" in page
    assert "Required output size: 2." in page

    checked = slogan("verify", log, "out", *budget, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    shown = slogan("sanitize", log, "-o", "again", *budget, *chosen, cwd=tmp_path)
    text = " ".join(shown.stdout.split())
    assert "Released 2 clicks, as required, with few exposed users" in text
    assert "The plan was chosen on your log" in text


def test_the_curators_report_states_the_budget_that_was_found(tmp_path, log, here):
    here("sanitize", log, "-o", tmp_path / "out", "--require", "2")
    page = (tmp_path / "out/curator/report.html").read_text()
    told = json.loads((tmp_path / "out/curator/certificate.json").read_text())
    (line,) = re.findall(r"<p>(Required output size: 2\..*?)</p>", page)
    needed, bound = (
        float(n) for n in re.findall(r"is ([0-9.]+) per .* below ([0-9.]+) r", line)[0]
    )

    assert needed >= told["budget_needed"] * (1 - 1e-12)
    assert bound <= told["budget_lower_bound"]
    assert needed == pytest.approx(told["budget_needed"], rel=1e-5)
    assert "The budget was chosen on the log" in line


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--minimize exposure --epsilon 1 --delta 0.5", "needs a utility to reach"),
        ("--minimize exposure", "needs a utility to reach"),
        ("--minimize exposure --require 2", "needs a privacy budget"),
        ("--minimize exposure --require 2 --epsilon 1", "needs a privacy budget"),
        ("--minimize exposure --require 0 --epsilon 1 --delta 0.5", "at least 1"),
        ("--minimize budget --require 2 --epsilon 1 --delta 0.5", "exposure"),
        ("--minimize exposure --require 9999 --epsilon 1 --delta 0.5", "for this log and budget"),
        (
            "--minimize exposure --require 2 --epsilon 1 --delta 0.5 --objective frequent_pairs",
            "no value of frequent_pairs",
        ),
        (
            "--minimize exposure --require 2 --epsilon 1 --delta 0.5 --counts private",
            "exact counts only",
        ),
        (
            "--minimize exposure --require 2 --epsilon 1 --delta 0.5 --solver distributed",
            "does not minimise the exposure",
        ),
    ],
)
def test_what_cannot_be_minimised_is_refused_before_anything_is_written(
    tmp_path, log, options, words
):
    done = slogan("sanitize", log, "-o", "out", *options.split(), cwd=tmp_path)

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_ledger_records_the_budget_that_was_found(tmp_path, log, here):
    book = ("--ledger", tmp_path / "web.ledger", "--population", "web")
    here("ledger", *book, "--create")
    impossible = here("sanitize", log, "-o", tmp_path / "no", *book, "--require", "1000000")
    before = (tmp_path / "web.ledger").read_text()
    made = here("sanitize", log, "-o", tmp_path / "out", *book, "--require", "2", "--json")
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    after = (tmp_path / "web.ledger").read_text()
    (entry,) = [line for line in after.splitlines() if '"require"' in line]

    assert impossible.returncode == 2
    assert len(before.splitlines()) == 1  # nothing is reserved or recorded, half or whole
    assert not (tmp_path / "no").exists()
    assert json.loads(made.stdout)["ledger"]["population"] == "web"
    assert f'"epsilon":"{manifest["budget"]["epsilon"]}"' in entry.replace(" ", "")
    assert f'"delta":"{manifest["budget"]["delta"]}"' in entry.replace(" ", "")


def test_a_cap_refuses_a_found_budget_before_the_log_is_counted(tmp_path, log, here, monkeypatch):
    from slogan.engines.duckdb.engine import DuckDBEngine

    book = ("--ledger", tmp_path / "web.ledger", "--population", "web")
    here("ledger", *book, "--create", "--set-epsilon-cap", "1", "--set-delta-cap", "1e-6")
    before = (tmp_path / "web.ledger").read_text()
    counted = []
    count = DuckDBEngine.count
    monkeypatch.setattr(
        DuckDBEngine, "count", lambda *args, **rest: counted.append(1) or count(*args, **rest)
    )
    refused = here("sanitize", log, "-o", tmp_path / "out", *book, "--require", "2")

    assert refused.returncode == 5
    assert counted == []
    assert (tmp_path / "web.ledger").read_text() == before
    allowed = here(
        "sanitize", log, "-o", tmp_path / "out", *book, "--require", "2", "--allow-unaccounted"
    )
    assert allowed.returncode == 0
    assert counted == [1]
    assert '"require":2' in (tmp_path / "web.ledger").read_text().replace(" ", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--require 2 --epsilon 1 --delta 0.5", "both given"),
        ("--require 2 --delta 0.5", "both given"),
        ("--require 0", "at least 1"),
        ("--require 5 --objective diversity", "the most for this log is"),
        ("--require 1000000", "the most for this log is"),
        ("--require 2 --objective frequent_pairs", "no value of frequent_pairs"),
        ("--require 2 --counts private", "exact counts only"),
        ("--require 2 --counts laplace --laplace-bound 2 --laplace-epsilon 1", "exact counts only"),
        ("--require 2 --solver distributed", "does not search for the least budget"),
    ],
)
def test_what_cannot_be_required_is_refused_before_anything_is_written(
    tmp_path, log, options, words
):
    done = slogan("sanitize", log, "-o", "out", *options.split(), cwd=tmp_path)

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert "hint:" in done.stderr
    assert not (tmp_path / "out").exists()
