"""slogan demo: how its story is shown."""

import importlib
import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from slogan.budget import PrivacyBudget
from slogan.cli.demo import text
from slogan.manifest.uses import Use, Uses
from slogan.release.base import Saved
from slogan.workflows.demo import Attack, ReleaseStory, Story, Utility

demo = importlib.import_module("slogan.cli.demo")  # not the function of that name
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
        uses=Uses(
            good_for=tuple(Use(task, "") for task in ("testing", "suggesting", "ranking", "more")),
            not_for=(Use("rare searches", ""),),
        ),
    )
    return Story(
        log=folder / "clicks.tsv",
        budget=PrivacyBudget(exp_epsilon="2", delta="0.5"),
        raw=replace(ATTACK, named_users=1, secrets_found=3),
        releases=(release,),
        synthetic=replace(release, objective=None),
        seconds=1.0,
    )


def told(release):
    console = Console(width=200, file=io.StringIO())
    console.print(text(release))
    return console.file.getvalue()


def test_the_story_begins_with_made_up_users_and_ends_with_files():
    words = told(story(Path("release")))
    line = (
        "56 pairs, 1,234 clicks; the attack finds no user; verified.\n"
        "  Good for: testing; suggesting; ranking.\n"
        "  Not for: rare searches.\n"
    )

    assert words.index("Made-up users") < words.index("Real rows")
    assert f"  {line}" in words
    assert words.count(f"  {line}") == 2
    assert words.index("Files to open") < words.index("release/public/report.html")


def test_an_attack_that_succeeds_is_not_hidden():
    made = story(Path("release"))
    found = replace(made.synthetic, attack=replace(ATTACK, named_users=1), verified=False)

    assert "THE ATTACK FINDS 1 USER; NOT VERIFIED" in told(replace(made, synthetic=found))


@pytest.mark.parametrize(
    ("terminal", "environment", "opens"),
    [
        (True, {"DISPLAY": ":0"}, True),
        (False, {"DISPLAY": ":0"}, False),
        (True, {}, False),
        (True, {"DISPLAY": ":0", "CI": "true"}, False),
    ],
)
def test_a_browser_is_opened_for_a_person_at_a_desktop(monkeypatch, terminal, environment, opens):
    stream = SimpleNamespace(isatty=lambda: terminal)
    streams = SimpleNamespace(stdin=stream, stdout=stream, stderr=stream, platform="linux")
    monkeypatch.setattr(demo, "sys", streams)
    monkeypatch.setattr(demo.os, "environ", environment)

    assert demo._has_browser() is opens
