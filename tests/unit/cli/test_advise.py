"""slogan advise: one fact per line, one JSON object, and a mark if the log was read."""

import json
import shlex

from tests.unit.cli.commands import slogan

SIZE = ("--users", "30", "--clicks-per-user", "4")


def test_each_budget_is_shown_in_lines(tmp_path):
    done = slogan("advise", *SIZE, "--for", "reproduction", cwd=tmp_path)
    words = done.stdout + done.stderr

    assert done.returncode == 0
    assert "strict  ε = 0.5, δ = 1e-6" in words
    assert "at most 2.72 of 100 people" in words
    assert "add users (a longer period), not budget" in words
    assert done.stdout.rstrip().endswith(
        "Next, with your file in place of LOG:  "
        "slogan sanitize LOG -o release --exp-epsilon 2 --delta 0.5"
    )


def test_a_log_is_read_for_its_size_alone(log, tmp_path):
    done = slogan("advise", log, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)

    assert found["users"] == 8
    assert found["looked_at_log"] is True
    assert "query" not in done.stdout


def test_the_next_command_reads_the_log_as_it_was_read(log, here, tmp_path):
    odd = tmp_path / "my clicks.csv"
    odd.write_text(log.read_text().replace("user\t", "who\t").replace("\t", "|"))
    done = here("advise", odd.name, "--user", "who", "--delimiter", "pipe", "--fold")
    shown = done.stdout.rstrip().splitlines()[-1].removeprefix("Next:  ")
    inspected = here("inspect", *shlex.split(shown)[2:8])
    found = json.loads(here("advise", log, "--for", "web", "--json").stdout)

    assert shown == (
        "slogan synthesize 'my clicks.csv' --user who --fold --delimiter pipe -o release "
        "--epsilon 1 --delta 1e-6"
    )
    assert inspected.returncode == 0
    assert found["command"] == found["recommendation"]["command"]
    assert found["command"].startswith(f"slogan synthesize {log} -o release")


def test_wrong_usage_has_a_command_to_paste(log, tmp_path):
    without = slogan("advise", cwd=tmp_path)
    twice = slogan("advise", log, *SIZE, cwd=tmp_path)
    reading = slogan("advise", *SIZE, "--user", "who", cwd=tmp_path)

    assert {without.returncode, twice.returncode, reading.returncode} == {2}
    assert "slogan advise --users 60000" in without.stderr


def test_a_log_of_queries_is_advised_on_queries(tmp_path):
    rows = [f"u{n}\tweather" for n in range(40)] + [f"u{n}\tnews {n % 3}" for n in range(40)]
    (tmp_path / "queries.tsv").write_text("user\tquery\n" + "\n".join(rows) + "\n")
    done = slogan("advise", "queries.tsv", cwd=tmp_path)
    words = done.stdout

    assert done.returncode == 0
    assert "a mean of 2 searches, measured" in words
    assert "pair" not in words
    assert "click" not in words
