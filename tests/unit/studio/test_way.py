"""The way from a log to a zip, without a script; and that it is the way of the command line."""

import hashlib
import html
import io
import json
import os
import re
import shlex
import shutil
import signal
import threading
import time
import zipfile
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.commands import slogan
from tests.studio_client import (
    Forms,
    Person,
    started,
    studio,
    temporary,
    to_budget,
    words_of,
)

from .conftest import HOSTILE, SECRET

LABELS = {"title": "Herons", "recipient": "everyone", "approver": "A. Approver"}


def digests(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def released(person, at, page, folder, **fields):
    """Confirm the release; the report."""
    page = person.send("", page, "release", output=str(folder), confirmed="on", **fields)
    return person.get(f"{at}/report")[1]


@pytest.fixture(scope="module")
def way(log, tmp_path_factory):
    """A whole way, with everything that was answered on it."""
    folder, before = tmp_path_factory.mktemp("way"), digests(log.parent)
    with studio(folder, XDG_DATA_HOME=str(folder / "home")) as person:
        person.enter()
        at, asked = to_budget(person, log)
        page = released(person, at, asked, folder / "release", **LABELS)
        again = dict(next(form for form in Forms(asked).forms if form[1].get("do") == "release")[1])
        again |= {"output": str(folder / "other"), "confirmed": "on"}
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Origin": person.origin}
        person.ask("POST", f"{person.base}{at}/release", urlencode(again), kind)
        _, alarm = person.get(f"{at}/ledger")
        assert "choices are fixed" in words_of(alarm)  # a page that asks is used once
        assert not (folder / "other").exists()
        answer, _ = person.ask("GET", f"{person.base}{at}/public.zip")
        packed = person.seen[-1][4]
        for name in ("public/report.html", "curator/memo.html"):
            person.ask("GET", f"{person.base}{at}/pages/{name}")
        _, books = person.get(f"{at}/ledger")
    assert digests(log.parent) == before  # nothing is written beside the log
    assert list(temporary(folder).iterdir()) == []
    return person, folder, page, answer, packed, books


def test_a_release_is_verified_and_taken_away(way, log):
    _, folder, page, answer, packed, books = way
    words = words_of(page)

    assert "Verified: the files match the manifest" in words
    assert "Herons" in page
    assert answer.getheader("content-type") == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        inside = {name: archive.read(name) for name in archive.namelist()}
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    public = folder / "release/public"
    assert inside == {f"release/{path.name}": path.read_bytes() for path in public.iterdir()}
    assert {"release/data-card.html", "release/croissant.json"} <= set(inside)
    assert "approved by A. Approver" in words_of(books)
    assert slogan("verify", log, "release", cwd=folder).returncode == 0


def test_the_curators_half_is_not_in_the_zip_nor_has_a_button(way):
    _, _, page, _, packed, _ = way

    assert not [
        name for name in zipfile.ZipFile(io.BytesIO(packed)).namelist() if "curator" in name
    ]
    assert "curator.zip" not in page


def test_texts_that_are_not_released_are_in_no_answer(way):
    person, *_ = way
    answers = [(path, head, text) for _, path, _, head, text in person.seen]

    assert len(answers) > 15
    for path, head, text in answers:
        assert SECRET.encode() not in text, path
        assert SECRET not in path + json.dumps(head)


def test_released_texts_are_in_the_review_alone(way):
    """The other pages have neither the heron queries nor the hostile one."""
    person, *_ = way
    showing = {
        path.rpartition("/")[2]
        for _, path, status, _, text in person.seen
        if status == 200 and b"heron" in text and not path.endswith(".zip")
    }

    assert showing == {"report"}


def test_hostile_texts_are_escaped(way):
    person, _, page, *_ = way

    assert "&lt;script&gt;document.title" in page
    for _, path, _, _, text in person.seen:
        if not path.endswith((".zip", ".js")):
            assert b"<script>document" not in text
            assert b"<img" not in text
    assert HOSTILE not in page


def test_no_title_and_no_address_has_a_name(way):
    person, *_ = way
    titles = {
        title.decode()
        for _, path, _, _, text in person.seen
        if "/pages/" not in path
        for title in re.findall(rb"<title>(.*?)</title>", text)
    }

    assert all(title.endswith("slogan studio") for title in titles)
    assert not [title for title in titles if "clicks" in title or "Herons" in title]
    assert not [path for _, path, *_ in person.seen if "clicks" in path]


def test_a_released_page_is_a_sandbox_with_its_own_style(way):
    person, *_ = way
    heads = [head for _, path, _, head, _ in person.seen if path.endswith("public/report.html")]

    own = "sandbox; default-src 'none'; style-src 'sha256-"
    assert heads[0]["content-security-policy"].startswith(own)
    assert "frame-ancestors 'none'" in heads[0]["content-security-policy"]


@pytest.mark.parametrize(
    ("recipient", "reading"),
    [
        ("web", {}),
        pytest.param("reproduction", {}, marks=pytest.mark.long),
        pytest.param("colleagues", {"url": "none", "searches": "all"}, marks=pytest.mark.long),
    ],
)
def test_a_test_run_of_a_demo_equals_that_of_the_shown_command(log, tmp_path, recipient, reading):
    with studio(tmp_path, "--demo") as person:
        person.enter()
        at, page = to_budget(person, log, recipient, **reading)
        page = person.send("", page, "release", seed="7", title="A — b", next="plan")
        shown = re.sub(r"</?span>", "", re.search(r'<code id="command">(.*?)</code>', page)[1])
        toml = re.search(r'<code id="toml">(.*?)</code>', page, re.DOTALL)[1]
        page = released(person, at, page, tmp_path / "mine", seed="7", title="A — b")
        assert "Not verified" in words_of(page)  # it is a test run
        assert 'public.zip"' not in page
    words = shlex.split(html.unescape(shown))[1:]
    kept = {"--output": "theirs", "--population": None, "--ledger": None}
    assert slogan(*replaced(words, kept), cwd=tmp_path).returncode == 0
    (tmp_path / "slogan.toml").write_text(
        "".join(
            line
            for line in html.unescape(toml).splitlines(keepends=True)
            if not line.startswith(("output", "population", "ledger"))
        )
    )
    by_file = ["--config", "slogan.toml", words[0], log, "-o", "by-file"]
    assert slogan(*by_file, cwd=tmp_path).returncode == 0

    mine = digests(tmp_path / "mine/public")
    assert mine
    assert mine == digests(tmp_path / "theirs/public") == digests(tmp_path / "by-file/public")


def replaced(words, values):
    """A command line with other values of some options; without those that are None."""
    words = list(words)
    for name, value in values.items():
        if name in words:
            place = words.index(name)
            words[place : place + 2] = [] if value is None else [name, value]
    return words


def test_a_finished_release_is_opened_again_and_queries_are_withheld(way, log, tmp_path):
    _, folder, *_ = way
    shutil.copytree(folder / "release", tmp_path / "release")
    with studio(tmp_path) as person:
        person.enter()
        _, home = person.get("/")
        page = person.send("/", home, "open", release=str(tmp_path / "release"))
        assert "Only a check against the log" in words_of(page)
        _, home = person.get("/")
        page = person.send("/", home, "open", release=str(tmp_path / "nothing"))
        assert "no release at this path" in words_of(page)
        opened = {"release": str(tmp_path / "release"), "log": str(log)}
        page = person.send("/", page, "open", **opened)
        assert "Verified" in page
        number = re.search(r'for="query-(\d)" id="text-\d"><bdi>heron 2</bdi>', page)[1]
        old = page
        page = person.send("", page, "withhold", **{f"query-{number}": number})
        assert "<bdi>heron 2</bdi>" not in page
        assert "Withheld so far: 1" in words_of(page)
        assert "Verified" in page
        page = person.send("", old, "withhold", **{f"query-{number}": number})
        assert "used already" in words_of(page)  # the places belong to the older list
        assert "Withheld so far: 1" in words_of(page)
    assert slogan("verify", log, "release", cwd=tmp_path).returncode == 0


def test_looks_and_killed_workers_are_in_the_ledger_and_caps_stay(log, tmp_path):
    with studio(tmp_path) as person:
        person.enter()
        at, page = to_budget(person, log)
        _, page = person.get(f"{at}/explore")
        page = person.send("", page, "look")
        assert "is recorded" in words_of(page)  # the box was not ticked
        page = person.send("", page, "look", recorded="on")
        assert "Measured on your log" in words_of(page)
        page = person.send("", page, "stop", stop="3", next="choose")
        assert "chosen after looking at your log" in words_of(page)

        for place in (log, log.parent, tmp_path / "home/slogan"):
            page = person.send("", page, "release", output=str(place), confirmed="on")
            assert 'role="alert"' in page  # a log, its folder and a ledger are not replaced
        page = person.send("", page, "release", output=str(tmp_path / "release"))
        assert "not confirmed" in words_of(page)

        workers = children(person.process.pid)
        killer = threading.Timer(0.2, lambda: [os.kill(pid, signal.SIGKILL) for pid in workers])
        killer.start()
        page = person.send("", page, "release", output=str(tmp_path / "release"), confirmed="on")
        killer.join()
        if not (tmp_path / "release").exists():
            assert "ended without a result" in words_of(page)
            assert not list(tmp_path.glob("release*"))
        _, books = person.get(f"{at}/ledger")
        assert "compared on the log" in words_of(books)
        raised = person.send("", books, "cap", epsilon_cap="3", delta_cap="1e-5")
        assert "would raise" in words_of(raised)
        lowered = person.send("", books, "cap", epsilon_cap="1,5", delta_cap="1e-5")
        assert "of 1.5 spent" in words_of(lowered)
    ledger = json.loads(
        slogan(
            *("ledger", "--population", "people", "--json"),
            cwd=tmp_path,
            XDG_DATA_HOME=tmp_path / "home",
        ).stdout
    )
    assert ledger["cap"]["epsilon"] == 1.5
    kinds = [entry["kind"] for entry in ledger["entries"]]
    assert kinds.count("looked") == 1
    assert "reserved" in kinds


def children(pid):
    return [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/stat")
        if path.read_text().rpartition(")")[2].split()[1] == str(pid)
    ]


def test_a_killed_server_takes_its_workers_along_and_the_next_start_cleans_up(log, tmp_path):
    process, address = started(tmp_path, log)
    person = Person(address)
    person.enter()
    assert list(temporary(tmp_path).iterdir())
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    for pid in workers:
        gone(pid)
    with studio(tmp_path) as person:
        person.enter()
        left = list(temporary(tmp_path).iterdir())
        assert len(left) == 1  # that of this one
    assert list(temporary(tmp_path).iterdir()) == []


def gone(pid):
    """Wait until a process has ended."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError("a worker outlives its server")
