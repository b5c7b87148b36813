"""The demo: the whole way with a made-up log, and nothing of it afterwards."""

import html
import json
import re
import shlex

import pytest
from tests.commands import slogan
from tests.studio_client import studio, temporary, to_budget, words_of

from slogan import generate
from slogan.studio.screens import STEPS

from .test_way import digests, released, replaced


@pytest.mark.long
def test_the_demo_goes_all_the_way_and_leaves_nothing(tmp_path):
    with studio(tmp_path, "--demo") as person:
        person.enter()
        _, home = person.get("/")
        assert "clicks.tsv" in home
        _, page = person.get("/log/1/load")
        assert "everything is made up" in page
        assert 'class="preview"' in page  # it is loaded already
        page = person.send("", page, "person", person="yes")
        _, page = person.get("/log/1/recipients")
        page = person.send("", page, "recipient", recipient="web", new_population="shop-customers")
        page = person.send("", page, "declare", users="2.500", clicks="95")
        page = person.send("", page, "stop", stop="3", next="choose")
        page = person.send("", page, "release")  # the box was not ticked
        assert "not confirmed" in words_of(page)
        person.send("", page, "release", confirmed="on")
        for name in ("inspect", "explore", "ledger", "report"):
            _, page = person.get(f"/log/1/{name}")
        assert "Verified" in words_of(page)
        assert "removed when the studio ends" in words_of(page)
        shown = "\n".join(html.unescape(text.decode()) for *_, text in person.seen if text)
        assert [step.name for step in STEPS if step.practice not in shown] == []
    assert list(temporary(tmp_path).iterdir()) == []
    assert not (tmp_path / "home").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"temporary", "stderr.txt"}


@pytest.mark.long
def test_times_and_ranks_are_made_up_as_by_the_shown_command(tmp_path):
    log = tmp_path / "log.aol.tsv"
    generate(log, users=2_000, clicks_per_user=8, events=True)
    labels = {"period": "2006-03-01/2006-05-31", "seed": "7"}
    with studio(tmp_path, "--demo") as person:
        person.enter()
        at, page = to_budget(person, log)
        _, loaded = person.get(f"{at}/load")
        assert "at which rank: made up" in loaded
        assert "when: made up" in loaded
        page = person.send("", page, "release", next="plan", **labels)
        shown = re.sub(r"</?span>", "", re.search(r'<code id="command">(.*?)</code>', page)[1])
        page = released(person, at, page, tmp_path / "mine", **labels)
        assert "test run" in words_of(page)
    words = shlex.split(html.unescape(shown))[1:]
    kept = {"--output": "theirs", "--population": None, "--ledger": None}
    assert slogan(*replaced(words, kept), cwd=tmp_path).returncode == 0

    mine = digests(tmp_path / "mine/public")
    assert mine == digests(tmp_path / "theirs/public")
    manifest = json.loads((tmp_path / "mine/public/manifest.json").read_text())
    assert manifest["log"]["events"]
