"""The demo: what it measures, and how its story is told."""

import io
import json

import pytest
from rich.console import Console

import slogan
from slogan.demo import demo, measures
from slogan.story import story

ATTACK = {"named_users": 0, "secrets_found": 0, "linked_users": 0, "succeeds": False}
KEPT = {
    "precision": 0.875,
    "recall": 0.25,
    "hit_at_10": None,
    "yardstick": {"precision": 0.5, "recall": 0.125, "hit_at_10": 0.0625},
}


def told(folder):
    """What the demo tells, made up."""
    sizes = {"clicks_out": 1234, "pairs_out": 56, "users_out": 78}
    release = {**sizes, "release": str(folder), "verified": True, "attack": ATTACK}
    return {
        "log": "clicks.tsv",
        "person": "999042",
        "knows": ["one", "two"],
        "secrets": ["a secret"],
        "raw": {**ATTACK, "named_users": 1, "secrets_found": 3},
        "exp_epsilon": 2.0,
        "delta": 0.5,
        "releases": [{**release, "objective": "output_size", "gap": 0.01, "measures": KEPT}],
        "synthetic": {**release, "epsilon": 1.0, "delta": 1e-6, "measures": KEPT},
        "seconds": 1.0,
    }


def test_the_story_shows_the_headlines_beside_a_random_sample():
    console = Console(width=80, file=io.StringIO())
    console.print(story(told("release")))
    lines = console.file.getvalue().splitlines()

    for name in ("output_size", "synthetic"):
        (row,) = [line for line in lines if line.startswith(name) and "0.875" in line]
        assert row.split()[1:] == ["0.875", "(0.500)", "0.250", "(0.125)", "–", "(0.062)"]
    assert any(line.split()[:4] == ["output_size", "1,234", "56", "78"] for line in lines)


def test_releases_are_measured_for_their_curator(tmp_path):
    log, release = tmp_path / "clicks.tsv", tmp_path / "release"
    rows = [(u, f"query {n}", f"www.s{n}.com", 1 + u % 2) for u in range(40) for n in range(4)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    log.write_text("".join(f"{line}\n" for line in lines))
    made = slogan.sanitize(log, slogan.PrivacyBudget(exp_epsilon=2, delta="0.5"), solver="exact")
    try:
        made.save(release)
    finally:
        made.close()
    public = {file: file.read_bytes() for file in (release / "public").iterdir()}

    found = measures(log, release)
    kept = json.loads((release / "curator" / "evaluation.json").read_text())

    assert found["recall"] == kept["recall"]
    assert found["hit_at_10"] == kept["also_clicked"]["hit_at_10"]
    assert found["yardstick"]["precision"] == kept["yardstick"]["precision"]
    assert {file: file.read_bytes() for file in (release / "public").iterdir()} == public


@pytest.mark.long
def test_the_demo_shows_the_person_in_the_log_and_in_no_release(tmp_path):
    done = demo(tmp_path / "demo")
    releases = [*done["releases"], done["synthetic"]]

    assert done["raw"]["succeeds"]
    assert not any(release["attack"]["succeeds"] for release in releases)
    assert all(release["verified"] for release in releases)
    assert all(0 <= release["measures"]["recall"] <= 1 for release in releases)
    Console(quiet=True).print(story(done))
