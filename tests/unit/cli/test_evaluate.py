"""slogan evaluate: its JSON and its words."""

import json

from tests.unit.cli.commands import BUDGET, SECRET, slogan


def test_the_command_prints_the_fields_of_the_design(tmp_path, log):
    slogan("sanitize", log, "-o", "release", *BUDGET, cwd=tmp_path)
    release = tmp_path / "release"
    before = {file: file.read_bytes() for file in (release / "public").iterdir()}
    done = slogan("evaluate", log, release, "--min-support", "1/10,1/4", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)

    asked = """precision recall sum_support_distance average_support_distance diversity size_ratio
        diff_ratio_histogram yardstick"""
    assert set(asked.split()) <= told.keys()
    assert [one["min_support"] for one in told["frequent_pairs"]] == ["1/10", "1/4"]
    assert SECRET[1] not in done.stdout + done.stderr
    assert {file: file.read_bytes() for file in (release / "public").iterdir()} == before


def test_the_command_in_words_names_its_reader(tmp_path, log):
    done = slogan("evaluate", log, log, cwd=tmp_path)

    assert done.returncode == 0
    assert "for the curator only, do not publish" in done.stdout
    assert done.stderr == ""


def test_several_releases_are_compared_with_and_without_the_log(tmp_path, log):
    for name in ("one", "two"):
        slogan("sanitize", log, "-o", name, *BUDGET, cwd=tmp_path)
    with_log = slogan("evaluate", log, "one", "two", "--json", cwd=tmp_path)
    without = slogan("evaluate", "one", "two", cwd=tmp_path)

    told = json.loads(with_log.stdout)
    assert [one["release"] for one in told["releases"]] == ["one", "two"]
    assert "costs privacy" in told["words"][-1]
    assert without.returncode == 0
    assert "two is better at: " in without.stdout
    assert SECRET[1] not in with_log.stdout + without.stdout


def test_the_verdict_comes_first(tmp_path, log):
    slogan("sanitize", log, "-o", "release", *BUDGET, cwd=tmp_path)
    said = slogan("evaluate", log, "release", cwd=tmp_path).stdout

    assert said.startswith("Good for\n")
    assert said.index("Not for") < said.index("random sample")
    assert (tmp_path / "release/curator/memo.html").is_file()
