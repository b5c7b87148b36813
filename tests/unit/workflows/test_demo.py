"""The demo: what it measures, and that the person is in no release."""

import json

import pytest
from rich.console import Console

import slogan
from slogan.cli.demo import text
from slogan.planning.solvers.packing import search
from slogan.workflows.demo import _story, demo


def test_releases_are_measured_for_their_curator(tmp_path):
    log, release = tmp_path / "clicks.tsv", tmp_path / "release"
    rows = [(u, f"query {n}", f"www.s{n}.com", 1 + u % 2) for u in range(40) for n in range(4)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    log.write_text("".join(f"{line}\n" for line in lines))
    with slogan.sanitize(log, exp_epsilon=2, delta="0.5", solver="exact") as made:
        saved = made.save(release)
    public = {file: file.read_bytes() for file in (release / "public").iterdir()}

    story = _story("output_size", log, saved, [("query 0", "www.s0.com")])
    kept = json.loads((release / "curator" / "evaluation.json").read_text())

    assert story.verified
    assert story.kept.recall == kept["recall"]
    assert story.kept.hit_at_10 == kept["also_clicked"]["hit_at_10"]
    assert story.sample.precision == kept["yardstick"]["precision"]
    assert story.to_dict()["uses"]["good_for"][0]["task"] == "building and testing software"
    assert story.to_dict()["measures"]["yardstick"]["recall"] == kept["yardstick"]["recall"]
    assert {file: file.read_bytes() for file in (release / "public").iterdir()} == public


@pytest.mark.long
def test_the_demo_shows_the_person_in_the_log_and_in_no_release(tmp_path, monkeypatch):
    # A new installation would have to compile the loops of a solver first.
    monkeypatch.setattr(search, "search", None)
    story = demo(tmp_path / "demo")
    releases = [*story.releases, story.synthetic]

    assert story.raw.succeeds
    assert not any(release.attack.succeeds for release in releases)
    assert all(release.verified for release in releases)
    assert all(0 <= release.kept.recall <= 1 for release in releases)
    assert json.dumps(story.to_dict())
    Console(quiet=True).print(text(story))
