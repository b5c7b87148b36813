"""slogan frontier: one JSON object, and nothing of the log in its files."""

import json

from tests.unit.cli.commands import SECRET, slogan

import slogan as slogan_package


def test_the_verb_prints_one_object_and_nothing_of_the_log(log, tmp_path):
    words = ("--exp-epsilons", "1.4, 2", "--deltas", "0.5", "--time-limit", "1", "-o", "out")
    done = slogan("frontier", log, "--on-log", *words, "--json", cwd=tmp_path)
    told = json.loads(done.stdout)
    schema, version = told.pop("schema"), told.pop("slogan_version")

    assert done.returncode == 0
    assert (schema, version) == ("slogan/frontier/1", slogan_package.__version__)
    assert [point["value"] <= point["bound"] for point in told["points"]] == [True, True]
    assert told == json.loads((tmp_path / "out" / "frontier.json").read_text())
    for file in (tmp_path / "out").iterdir():
        assert SECRET[1] not in file.read_text()
        assert "query 1" not in file.read_text()


def test_the_words_name_the_page_and_what_was_looked_at(log, tmp_path):
    words = ("--exp-epsilons", "2", "--deltas", "0.5", "--time-limit", "1", "-o", "out")
    done = slogan("frontier", log, "--on-log", *words, cwd=tmp_path)
    told = " ".join((done.stdout + done.stderr).split())

    assert "Chosen after looking at the log" in told
    assert "out/frontier.html" in told


def test_a_frontier_of_queries_is_measured_on_queries(tmp_path):
    rows = [f"u{n}\tweather" for n in range(40)] + [f"u{n}\tnews {n % 3}" for n in range(40)]
    (tmp_path / "queries.tsv").write_text("user\tquery\n" + "\n".join(rows) + "\n")
    grid = ("--mode", "synthesize", "--epsilons", "8", "--deltas", "1e-3", "--runs", "1")
    done = slogan("frontier", "queries.tsv", *grid, cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "searches, " in done.stdout
    assert "queries." in done.stdout
    assert "pair" not in done.stdout


def test_what_one_objective_costs_the_other(log, tmp_path):
    grid = ("--exp-epsilons", "2", "--deltas", "0.5", "--time-limit", "1")
    asked = ("frontier", log, "--on-log", "--objectives", "diversity,output_size")
    done = slogan(*asked, *grid, cwd=tmp_path)
    refused = slogan(*asked, *grid, "--weights", "diversity=1", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "--at-least" in done.stdout
    assert "no output with as many released clicks" in " ".join(done.stdout.split())
    assert refused.returncode == 2
    assert "--weights has no effect with --objectives" in refused.stderr
