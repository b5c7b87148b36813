"""A person at the studio, without a browser: opens its address, reads forms, sends them."""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from urllib.parse import urlencode, urlsplit

PATIENCE = 120.0


class Forms(HTMLParser):
    """The forms of a page: where each goes, and what a browser would send of it."""

    def __init__(self, page):
        super().__init__()
        self.forms, self._select = [], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif tag == "input" and self.forms and given.get("name"):
            ticked = given.get("type") not in ("radio", "checkbox", "file") or "checked" in given
            if ticked:
                self.forms[-1][1][given["name"]] = given.get("value", "")
        elif tag == "select" and self.forms:
            self._select = given["name"]
        elif tag == "option" and self._select and "selected" in given:
            self.forms[-1][1][self._select] = given.get("value", "")


class Person:
    """One browser at one studio."""

    def __init__(self, address):
        parts = urlsplit(address)
        self.host, self.port, self.entrance = parts.hostname, parts.port, address
        self.base = parts.path.rpartition("/")[0]
        self.cookie, self.seen = "", []

    @property
    def origin(self):
        return f"http://{self.host}:{self.port}"

    def ask(self, method, path, body=None, headers=None):
        """One request, with these headers and a cookie if there is one."""
        line = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        line.request(method, path, body, {**sent, **(headers or {})})
        answer = line.getresponse()
        text = answer.read()
        line.close()
        self.seen.append((method, path, answer.status, dict(answer.getheaders()), text))
        return answer, text.decode("utf-8", "replace")

    def enter(self):
        """Exchange the token for a cookie."""
        parts = urlsplit(self.entrance)
        answer, _ = self.ask("GET", f"{parts.path}?{parts.query}")
        assert answer.status == 200
        self.cookie = answer.getheader("set-cookie").partition(";")[0]
        return answer

    def get(self, path):
        """A page below the base, when no work is going on any more."""
        end = time.monotonic() + PATIENCE
        while True:
            answer, page = self.ask("GET", f"{self.base}{path}")
            if "data-progress=" not in page:
                return answer, page
            assert time.monotonic() < end, "the work does not end"
            time.sleep(0.1)

    def send(self, path, page, do, files=None, **fields):
        """Send the form of a page whose hidden field `do` says so; the page that follows."""
        forms = [one for one in Forms(page).forms if one[1].get("do") == do]
        assert forms, f"no form {do}"
        action, given = forms[0]
        given = {name: text for name, text in {**given, **fields}.items() if text is not None}
        body, kind = urlencode(given), "application/x-www-form-urlencoded"
        if files:
            body, kind = multipart(given, files)
        headers = {"Content-Type": kind, "Origin": self.origin}
        answer, text = self.ask("POST", action, body, headers)
        assert answer.status == 303, (answer.status, text)
        return self.get(answer.getheader("location").removeprefix(self.base))[1]


def multipart(fields, files):
    """The body of a form with files, and its type."""
    parts = [
        f'--xx\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for name, text in fields.items()
    ]
    for name, (file, data) in files.items():
        head = f'--xx\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n\r\n'
        parts.append(head.encode() + data + b"\r\n")
    return b"".join([*parts, b"--xx--\r\n"]), "multipart/form-data; boundary=xx"


def started(folder, *words, **env):
    """A studio in a process, and its address."""
    with (folder / "stderr.txt").open("w") as complaints:
        process = _started(folder, complaints, words, env)
    return process, json.loads(process.stdout.readline())["address"]


def _started(folder, complaints, words, env):
    return subprocess.Popen(
        [sys.executable, "-m", "slogan", "studio", "--no-browser", "--json", *map(str, words)],
        cwd=folder,
        env={
            **os.environ,
            "XDG_DATA_HOME": str(folder / "home"),
            "TMPDIR": str(temporary(folder)),
            **env,
        },
        stdout=subprocess.PIPE,
        stderr=complaints,
        text=True,
    )


def temporary(folder):
    """Where the temporary files of that studio go."""
    place = folder / "temporary"
    place.mkdir(exist_ok=True)
    return place


@contextmanager
def studio(folder, *words, **env):
    """A studio, ended afterwards."""
    process, address = started(folder, *words, **env)
    try:
        person = Person(address)
        person.process = process
        yield person
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def words_of(page):
    """The text of a page, without its markup."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def to_budget(person, source, recipient="web", people=None, users="600", **reading):
    """From the list of logs to the page on which a budget was chosen.

    `people` are the fields of a population; without them it is a new one.
    """
    _, home = person.get("/")
    page = person.send("/", home, "new")
    page = person.send("", page, "source", source=source)
    if reading:
        page = person.send("", page, "reading", **reading)
    page = person.send("", page, "person", person="yes")
    at = Forms(page).forms[1][0].rpartition("/")[0].removeprefix(person.base)
    _, page = person.get(f"{at}/recipients")
    real = {"real_rows": "on"} if recipient == "reproduction" else {}
    people = people or {"new_population": "people"}
    page = person.send("", page, "recipient", recipient=recipient, **people, **real)
    page = person.send("", page, "declare", users=users, clicks="2,5")
    place = re.search(r'id="stop"[^>]* value="(\d)"', page)[1]
    return at, person.send("", page, "stop", stop=place, next="choose")
