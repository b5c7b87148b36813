"""Attacks from the same machine: odd requests, paths, files, names and errors that could quote."""

import re
import shutil
import socket
import sqlite3
import threading
import time
import zipfile
from contextlib import contextmanager
from queue import SimpleQueue
from urllib.parse import quote

import duckdb
import pytest
from tests.helpers import write
from tests.studio_client import Person, studio, temporary, to_budget, words_of

from slogan.studio import pages, server, take_away
from slogan.studio.guard import HEADERS, MOST_TRIES

from .conftest import HOSTILE, SECRET
from .test_way import digests


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """One studio that its browser has entered, with one empty case."""
    folder = tmp_path_factory.mktemp("attacked")
    with studio(folder) as person:
        person.enter()
        person.folder = folder
        person.page = person.send("/", person.get("/")[1], "new")
        yield person
    complaints = (folder / "stderr.txt").read_text()
    assert SECRET not in complaints
    assert "Traceback" not in complaints


def test_every_answer_has_the_headers(running):
    """Pages, static files, events, redirections and every kind of refusal."""
    other, base = Person(running.entrance), running.base
    origin = {"Origin": running.origin, "Content-Type": "application/x-www-form-urlencoded"}
    token = re.search(r'name="form" value="(.*?)"', running.page)[1]
    requests = [
        (200, running, "GET", f"{base}/", None, {}),
        (200, running, "GET", f"{base}/studio.css", None, {}),
        (200, running, "GET", f"{base}/icon.svg", None, {}),
        (200, running, "GET", f"{base}/log/1/progress", None, {}),
        (200, running, "GET", f"{base}/enter?token=x", None, {}),
        (204, running, "POST", f"{base}/here", "tab", origin),
        (303, running, "POST", f"{base}/log/1/cancel", f"form={token}", origin),
        (400, running, "POST", f"{base}/new", "x", {"Origin": running.origin}),
        (403, running, "POST", f"{base}/new", "form=x", origin),
        (403, other, "GET", f"{base}/", None, {}),
        (404, running, "GET", f"{base}/nothing", None, {}),
        (404, running, "GET", "/", None, {}),
        (405, running, "PUT", f"{base}/", None, {}),
        (405, running, "POST", f"{base}/", f"form={token}", origin),
        (421, running, "GET", f"{base}/", None, {"Host": "evil.example"}),
        *[(403, other, "GET", f"{base}/enter?token=x", None, {})] * MOST_TRIES,
        (429, other, "GET", f"{base}/enter?token=x", None, {}),
    ]
    for status, person, method, path, body, headers in requests:
        answer, _ = person.ask(method, path, body, headers)
        assert answer.status == status, (method, path)
        for name, value in HEADERS.items():
            assert answer.getheader(name) == value, (status, name)
        assert answer.getheader("server") is None


@pytest.mark.parametrize(
    "sent", [b"nonsense\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01\x02"]
)
def test_what_is_not_http_is_not_answered(running, sent):
    with socket.create_connection((running.host, running.port), timeout=10) as line:
        line.sendall(sent + b"\r\n\r\n")
        assert line.recv(100) == b""


PLACES = ["/proc/self/mem", "/proc/self/environ", "/dev/zero", "../../../../etc/shadow", "\0", "~x"]


@pytest.mark.parametrize(
    "place", [*PLACES, "http://127.0.0.1:1/a.tsv", "s3://logs/a.tsv", "x" * 9999]
)
def test_what_cannot_be_a_log_is_refused(running, place):
    """Neither a device that never ends nor another machine is read."""
    begin = time.monotonic()
    page = running.send("", running.page, "source", source=place)

    assert 'role="alert"' in page
    assert "preview" not in page
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize(
    "name",
    ["../../manifest.json", "public/manifest.json", "curator/pseudonyms.parquet", "public/..%2fx"],
)
def test_no_other_file_is_a_page(running, name):
    answer, _ = running.ask("GET", f"{running.base}/log/1/pages/{name}")

    assert answer.status == 404


def test_an_upload_stays_in_its_folder(running):
    files = {"file": ("../../../evil name.tsv", b"user\tquery\turl\nu\tzqsecret\tw\n")}
    page = running.send("", running.page, "source", files=files)
    [stored] = temporary(running.folder).glob("*/uploads/*/*")

    assert stored.name == "evil_name.tsv"
    assert stored.stat().st_mode & 0o077 == 0
    assert "xxxxxxxx" in page
    assert SECRET not in page


def databases(folder):
    """The same table in DuckDB and in SQLite."""
    table = "CREATE TABLE clicks(user VARCHAR, query VARCHAR, url VARCHAR)"
    rows = [(f"{user}", f"{SECRET} {user % 3}", "w.example") for user in range(6)]
    for name, line in (("a.duckdb", duckdb.connect), ("a.sqlite", sqlite3.connect)):
        place = line(str(folder / name))
        place.execute(table)
        place.executemany("INSERT INTO clicks VALUES (?, ?, ?)", rows)
        place.commit()
        place.close()
        yield folder / name


QUOTING = (
    'SELECT CAST(query AS INTEGER) AS "user", query, url FROM clicks',
    'SELECT error(query) AS "user", query, url FROM clicks',
)


def test_databases_are_read_and_errors_of_sql_quote_nothing(running, tmp_path):
    for file in databases(tmp_path):
        page = running.send("", running.page, "source", source=str(file), table="clicks")
        assert "table clicks" in words_of(page)
        assert "who searched" in page
        assert SECRET not in page
    sql = 'SELECT "user", query, url FROM clicks WHERE url IS NOT NULL'
    page = running.send("", running.page, "source", source=str(tmp_path / "a.duckdb"), sql=sql)
    page = running.send("", page, "person", person="yes")
    assert "6 user-IDs made 6 clicks" in words_of(page)
    for sql in QUOTING:
        source = str(tmp_path / "a.duckdb")
        page = running.send("", running.page, "source", source=source, sql=sql)
        if 'role="alert"' not in page:  # the first rows may be readable
            page = running.send("", page, "person", person="yes")
        assert 'role="alert"' in page
        assert SECRET not in page


def test_a_bad_row_is_not_quoted(running, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(f"user,query,url\nu,{SECRET},w\nu,{SECRET},w,{SECRET},{SECRET}\n" * 50)
    page = running.send("", running.page, "source", source=str(file))
    if "alert" not in page:
        page = running.send("", page, "person", person="yes")

    assert 'role="alert"' in page
    assert SECRET not in page


def test_hostile_names_of_files_and_columns_are_escaped(running, tmp_path):
    name = HOSTILE.replace("/", "∕")
    header = (f"user {HOSTILE}", f"query{HOSTILE}", "url", "<b>")
    file = write(tmp_path / f"{name}.tsv", [("u", "q", "w", 1), ("v", "q", "w", 1)], header)
    page = running.send("", running.page, "source", source=str(file))
    roles = dict(zip(("user", "query", "url", "count"), header, strict=True)) | {"count": "none"}
    page = running.send("", page, "reading", **roles)
    page = running.send("", page, "person", person="yes")
    shown = [text for _, path, *_, text in running.seen if path.startswith(running.base)]

    assert "2 user-IDs made 2 clicks" in words_of(page)
    assert "<bdi>" in page
    for text in shown[-8:]:
        assert b"<script>document" not in text
        assert b"<img" not in text
        assert b"<b>" not in text


def test_a_release_never_takes_the_place_of_a_log_or_leaves_its_folder(log, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    mine = shutil.copy(log, own / "clicks.tsv")
    (tmp_path / "to-log").symlink_to(mine)
    (tmp_path / "to-folder").symlink_to(own)
    (tmp_path / "file").write_text("mine")
    with studio(tmp_path) as person:
        person.enter()
        _, page = to_budget(person, mine)
        places = [mine, own, "to-log", "to-folder", "file", own / "../own", "/proc/self/cwd"]
        places += [
            own / ".." / "own" / "clicks.tsv",
            mine / "below",
            "a\0b",
            "/proc/new",
            "x" * 300,
        ]
        before = digests(own)
        for place in places:
            page = person.send("", page, "release", output=str(place), confirmed="on")
            assert 'role="alert"' in page, place
            assert digests(own) == before, place
            assert (tmp_path / "file").read_text() == "mine"
        _, books = person.get(
            f"{person.seen[-1][1].rpartition('/')[0].removeprefix(person.base)}/ledger"
        )
    assert "0 releases" in words_of(books)


def test_a_link_is_not_packed(tmp_path):
    public = tmp_path / "public"
    public.mkdir()
    (public / "log.tsv").write_text("released")
    (tmp_path / "raw.tsv").write_text(SECRET)
    (public / "raw.tsv").symlink_to(tmp_path / "raw.tsv")
    take_away._pack(public, tmp_path / "a.zip")

    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == ["release/log.tsv"]


@contextmanager
def inside(monkeypatch, tmp_path, **waiting):
    """A studio in a thread of this process, whose parts can be replaced."""
    monkeypatch.setenv("TMPDIR", str(temporary(tmp_path)))
    monkeypatch.setattr("tempfile.tempdir", None)
    addresses = SimpleQueue()
    options = {"browser": False, "announce": addresses.put, "waiting": server.Waiting(**waiting)}
    thread = threading.Thread(target=server.serve, kwargs=options, daemon=True)
    thread.start()
    person = Person(addresses.get(timeout=60))
    person.thread = thread
    yield person
    thread.join(60)
    assert not thread.is_alive()
    assert list(temporary(tmp_path).iterdir()) == []


def test_an_error_of_ours_says_where_and_quotes_nothing(monkeypatch, tmp_path, capfd, caplog):
    def broken(*_words):
        raise ValueError(SECRET)

    with inside(monkeypatch, tmp_path, idle=2.0) as person:
        person.enter()
        with monkeypatch.context() as patch:
            patch.setattr(pages, "plain_page", broken)
            answer, page = person.ask("GET", f"{person.base}/?{quote(SECRET)}=1")
    said = capfd.readouterr()

    assert answer.status == 500
    assert "Internal error: ValueError at test_attacks.py" in page
    assert answer.getheader("cache-control") == "no-store"
    assert answer.getheader("content-security-policy") == HEADERS["content-security-policy"]
    assert SECRET not in page + said.out + said.err + caplog.text


def test_a_studio_that_is_left_alone_ends(monkeypatch, tmp_path):
    begin = time.monotonic()
    with inside(monkeypatch, tmp_path, idle=1.5) as person:
        person.enter()
        for _ in range(4):
            time.sleep(0.5)
            person.get("/")
        assert person.thread.is_alive()  # each request begins the time again
    assert time.monotonic() - begin > 3
    assert server.Waiting().idle == 1800
