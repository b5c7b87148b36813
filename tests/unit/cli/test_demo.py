"""slogan demo: how its story is shown."""

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from slogan.budget import PrivacyBudget
from slogan.cli.demo import text
from slogan.release.base import Saved
from slogan.workflows.demo import Attack, ReleaseStory, Story, Utility

ATTACK = Attack(named_users=0, secrets_found=0, linked_users=0)
KEPT = Utility(precision=0.875, recall=0.25, hit_at_10=None)
SAMPLE = Utility(precision=0.5, recall=0.125, hit_at_10=0.0625)


class Summary(SimpleNamespace):
    def to_dict(self):
        return vars(self)


def story(folder):
    """What the demo finds, made up."""
    sizes = {"clicks_in": 9999, "clicks_out": 1234, "pairs_out": 56, "users_out": 78}
    figures = {"epsilon": 1.0, "delta": 1e-6, "value": 1.0, "bound": 1.0, "gap": 0.01}
    saved = Saved(folder=folder, ledger=None, summary=Summary(**sizes, **figures, coverage=0.1))
    release = ReleaseStory(
        objective="output_size",
        saved=saved,
        verified=True,
        attack=ATTACK,
        kept=KEPT,
        sample=SAMPLE,
    )
    return Story(
        log=folder / "clicks.tsv",
        budget=PrivacyBudget(exp_epsilon="2", delta="0.5"),
        raw=replace(ATTACK, named_users=1, secrets_found=3),
        releases=(release,),
        synthetic=replace(release, objective=None),
        seconds=1.0,
    )


def test_the_story_shows_the_headlines_beside_a_random_sample():
    console = Console(width=80, file=io.StringIO())
    console.print(text(story(Path("release"))))
    lines = console.file.getvalue().splitlines()

    for name in ("output_size", "synthetic"):
        (row,) = [line for line in lines if line.startswith(name) and "0.875" in line]
        assert row.split()[1:] == ["0.875", "(0.500)", "0.250", "(0.125)", "–", "(0.062)"]
    assert any(line.split()[:4] == ["output_size", "1,234", "56", "78"] for line in lines)
