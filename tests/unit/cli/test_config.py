"""slogan config: shared tables, where each option comes from, and which budget crosses verbs."""

import json

import pytest
from tests.helpers import write
from tests.unit.cli.commands import BUDGET, ROWS, slogan

SHARED = """
[session]
threads = 1

[reading]
on-bad-row = "skip"
user = "who"

[budget]
epsilon = "2"
delta = "1e-5"

[sanitize]
gap = 0.5
"""


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "slogan.toml").write_text(SHARED)
    return ("--config", "slogan.toml")


def resolved(tmp_path, words, verb, **env):
    done = slogan(*words, "config", verb, "--json", cwd=tmp_path, **env)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["options"]
    return {row["option"]: (row["value"], row["source"]) for row in rows}


def test_reading_is_shared_by_every_verb_that_reads(tmp_path, shared):
    for verb in ("inspect", "sanitize", "synthesize", "verify", "evaluate", "frontier", "audit"):
        found = resolved(tmp_path, shared, verb)
        assert found["--user"] == ("who", "slogan.toml, [reading]")
        assert found["--on-bad-row"] == ("skip", "slogan.toml, [reading]")


def test_the_shared_budget_is_that_of_made_up_users_and_of_no_other_verb(tmp_path, shared):
    found = {verb: resolved(tmp_path, shared, verb)["--delta"] for verb in ("synthesize", "audit")}
    others = {verb: resolved(tmp_path, shared, verb)["--delta"] for verb in ("sanitize", "verify")}

    assert {*found.values()} == {("1e-5", "slogan.toml, [budget]")}
    assert {*others.values()} == {(None, "default")}


def test_an_audit_of_real_rows_does_not_take_the_shared_budget(tmp_path, shared):
    words = ("audit", "clicks.tsv", "--mode", "sanitize", "--user", "user")
    write(tmp_path / "clicks.tsv", ROWS)
    done = slogan(*shared, *words, cwd=tmp_path)

    assert done.returncode == 2
    assert "a release needs a privacy budget" in done.stderr


def test_the_source_of_every_value_is_shown(tmp_path, shared):
    given = {"SLOGAN_SYNTHESIZE_DELTA": "1e-7", "SLOGAN_SANITIZE_DELTA": "0.5"}
    made_up = resolved(tmp_path, shared, "synthesize", **given)
    real = resolved(tmp_path, shared, "sanitize", **given)
    text = slogan(*shared, "config", cwd=tmp_path, **given).stdout

    assert made_up["--delta"] == ("1e-7", "variable SLOGAN_SYNTHESIZE_DELTA")
    assert made_up["--epsilon"] == ("2", "slogan.toml, [budget]")
    assert real["--delta"] == ("0.5", "variable SLOGAN_SANITIZE_DELTA")
    assert real["--gap"] == ("0.5", "slogan.toml")
    assert real["--time-limit"] == ("60.0", "default")
    assert "--time-limit" not in text
    assert "slogan.toml, [reading]" in text


def test_a_flag_for_the_other_form_of_epsilon_replaces_the_shared_one(tmp_path, shared):
    write(tmp_path / "clicks.tsv", ROWS)
    words = ("synthesize", "clicks.tsv", "-o", "out", "--user", "user", "--exp-epsilon", "1.5")
    done = slogan(*shared, *words, "--json", cwd=tmp_path)

    assert done.returncode in (0, 3), done.stderr  # three queries may be too few
    assert "not both" not in done.stderr


def test_options_of_the_process_have_their_own_table(tmp_path, log):
    (tmp_path / "slogan.toml").write_text("[sanitize]\nthreads = 1\n")
    wrong = slogan("--config", "slogan.toml", "sanitize", log, "-o", "o", *BUDGET, cwd=tmp_path)
    (tmp_path / "slogan.toml").write_text('[session]\nthreads = "1"\n')
    kind = slogan("--config", "slogan.toml", "inspect", log, cwd=tmp_path)
    (tmp_path / "slogan.toml").write_text("[session]\nquiet = true\nthreads = 1\n")
    right = slogan("--config", "slogan.toml", "inspect", log, cwd=tmp_path)

    assert wrong.returncode == kind.returncode == 2
    assert "put it below [session]" in wrong.stderr
    assert "write threads = 2" in kind.stderr
    assert (right.returncode, right.stdout) == (0, "")
