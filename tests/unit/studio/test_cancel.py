"""Cancelling: work ends at once, is not a failure, and can be done again."""

import threading
from urllib.parse import urlencode

from tests.studio_client import Forms, studio, temporary, to_budget, words_of

from slogan.studio.screens import STEPS

KIND = {"Content-Type": "application/x-www-form-urlencoded"}


def begun(person, at, screen, do, **fields):
    """Send a form whose work takes longer than its answer; the page of the work."""
    _, page = person.get(f"{at}/{screen}")
    action, given = next(one for one in Forms(page).forms if one[1].get("do") == do)
    headers = KIND | {"Origin": person.origin}
    assert person.ask("POST", action, urlencode(given | fields), headers)[0].status == 303
    return person.ask("GET", action)[1]


def cancelled(person, page):
    """Press the button of the page of the work; the page that follows."""
    [(action, given)] = [one for one in Forms(page).forms if one[0].endswith("/cancel")]
    headers = KIND | {"Origin": person.origin}
    answer, _ = person.ask("POST", action, urlencode(given), headers)
    return person.get(answer.getheader("location").removeprefix(person.base))[1]


def test_work_shows_how_far_it_is_and_is_cancelled(log, tmp_path):
    with studio(tmp_path) as person:
        person.enter()
        at, _ = to_budget(person, log)
        page = begun(person, at, "explore", "declare", users="650000", clicks="20")
        assert "<progress" in page
        assert 'http-equiv="refresh"' in page  # without a script it loads itself again
        for step in STEPS:  # each can be opened meanwhile
            assert person.ask("GET", f"{person.base}{at}/{step.name}")[0].status in (200, 303)
        progress = threading.Thread(target=person.ask, args=("GET", f"{person.base}{at}/progress"))
        progress.start()
        page = cancelled(person, page)
        progress.join(60)
        [events] = [text for _, path, *_, text in person.seen if path.endswith("/progress")]
        assert events.startswith(b'data: {"name": ')
        assert b"event: end" in events
        assert "It was cancelled" in words_of(page)
        assert "Compare budgets" in page
        page = person.send("", page, "declare", users="600", clicks="4")
        assert 'id="stop"' in page
        page = person.send("", page, "stop", stop="3", next="choose")
        output = {"output": str(tmp_path / "release"), "confirmed": "on"}
        page = begun(person, at, "release", "release", **output)
        assert person.ask("GET", f"{person.base}{at}/ledger")[0].status == 200
        if "/cancel" in page:
            cancelled(person, page)
        _, books = person.get(f"{at}/ledger")
        assert (tmp_path / "release/public/manifest.json").exists() == ("published" in books)
        assert not [path for path in tmp_path.iterdir() if path.name.startswith(".release")]
    assert list(temporary(tmp_path).iterdir()) == []
