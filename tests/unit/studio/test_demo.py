"""The demo: the whole way with a made-up log, and nothing of it afterwards."""

import html

import pytest
from tests.studio_client import studio, temporary, words_of

from slogan.studio.screens import STEPS


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
