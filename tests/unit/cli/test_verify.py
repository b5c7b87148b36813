"""slogan verify: what it accepts and what it refuses."""

import json

from tests.unit.cli.commands import BUDGET, slogan


def test_verify_accepts_an_honest_release_and_refuses_an_edited_one(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    honest = slogan("verify", log, "out", "--json", cwd=tmp_path)
    released = tmp_path / "out/public/log.tsv"
    released.write_text(released.read_text() + "77\tmy secret illness\twww.doc.com\t1\n")
    edited = slogan("verify", log, "out", "--json", cwd=tmp_path)

    assert honest.returncode == 0
    assert json.loads(honest.stdout)["ok"] is True
    assert edited.returncode == 4
    failed = {c["name"] for c in json.loads(edited.stdout)["checks"] if not c["ok"]}
    assert {"checksum", "no_unique_pair"} <= failed
    assert "secret" not in edited.stdout + edited.stderr


def test_verify_ends_with_the_budget_and_whose_decision_it_is(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    text = slogan("verify", log, "out", cwd=tmp_path).stdout
    found = json.loads(slogan("verify", log, "out", "--json", cwd=tmp_path).stdout)
    (tmp_path / "out/public/manifest.json").write_text("{}")
    nothing = json.loads(slogan("verify", log, "out", "--json", cwd=tmp_path).stdout)

    assert found["budget"] == {"epsilon": None, "exp_epsilon": "2", "delta": "0.5"}
    assert found["conclusion"].startswith("Verified: the files match the manifest")
    assert "(e^ε = 2, δ = 0.5) is kept" in found["conclusion"]
    assert found["conclusion"].endswith("Whether that budget is strict enough is your decision.")
    assert " ".join(text.split()).endswith(found["conclusion"])
    assert nothing["budget"] is None
    assert nothing["conclusion"] == "Not verified: do not publish this release."


def test_verify_refuses_a_seeded_release(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, "--seed", "1", cwd=tmp_path)
    done = slogan("verify", log, "out", cwd=tmp_path)

    assert done.returncode == 4
    assert "not a test run" in done.stderr


def test_verify_refuses_a_release_made_for_another_budget(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    done = slogan("verify", log, "out", "--exp-epsilon", "1.1", "--delta", "0.1", cwd=tmp_path)

    assert done.returncode == 4
    assert "budget" in done.stderr


def test_verify_shows_plain_lines_and_figures_with_details(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    plain = " ".join(slogan("verify", log, "out", cwd=tmp_path).stdout.split())
    details = " ".join(slogan("verify", log, "out", "--details", cwd=tmp_path).stdout.split())

    assert "ok epsilon all" in plain
    assert "ok public folder public/ holds exactly the expected files" in plain
    assert "(e^ε = 2, δ = 0.5); to check what was agreed, add --epsilon and --delta" in plain
    assert "condition_2" not in plain
    assert "exact integers" not in plain
    assert "ok condition_2 all" in details
    assert "decided by exact integers" in details


def test_several_releases_are_not_taken_for_parts_of_the_log(tmp_path, log):
    for name in ("one", "two"):
        slogan("sanitize", log, "-o", name, *BUDGET, cwd=tmp_path)
    done = slogan("verify", log, "one", "two", cwd=tmp_path)

    assert done.returncode == 2
    assert "verify takes one release, and 2 are named" in done.stderr
    assert f"slogan verify {log} two" in done.stderr


def test_a_log_that_cannot_be_read_is_reported_once_with_the_command(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    done = slogan("verify", "other.csv", "out", cwd=tmp_path)
    found = json.loads(slogan("verify", "other.csv", "out", "--json", cwd=tmp_path).stdout)
    reason = "the input log cannot be read with the format and columns of the manifest"
    failed = [check for check in found["checks"] if not check["ok"]]

    assert done.returncode == 4
    assert (done.stdout + done.stderr).count(reason) == 1
    assert done.stdout.count("FAILED") == 1
    assert f"{len(failed)} checks" in done.stdout
    assert "slogan verify LOG out" in done.stderr
    assert len(failed) > 5
    assert {check["detail"] for check in failed} == {f"not possible: {reason}"}
