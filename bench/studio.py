"""How fast does the studio answer on a log of 65,000 users, and how long is a release day in it?"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from html import unescape
from os import environ, getloadavg, sysconf
from pathlib import Path
from statistics import median
from urllib.parse import urlencode, urlsplit

from bench.machine import line
from bench.store import Record, Store
from slogan import generate

_FIRST, _ANSWER = 1.0, 0.2
_TIMES = 7
_STEPS = ("load", "inspect", "recipients", "explore", "release", "report", "ledger")


def main(argv: list[str]) -> None:
    """Start a studio, go the whole way as a person would, and open each screen several times."""
    parser = argparse.ArgumentParser(prog="bench studio", description=__doc__)
    parser.add_argument("--users", type=int, default=65_000)
    parser.add_argument("--clicks", type=float, default=20, help="of a user, on average")
    options = parser.parse_args(argv)
    store = Store("studio" if options.users == 65_000 else f"studio-{options.users}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "clicks.tsv"
        generate(log, users=options.users, clicks_per_user=options.clicks)
        starts, used = zip(*(_first_page(folder) for _ in range(_TIMES)), strict=True)
        first = {"median": median(starts), "worst": max(starts), "asked": _FIRST}
        store.keep("first page", {**first, "processor": median(used), "load": getloadavg()[0]})
        with _studio(folder) as browser:
            works = dict(_way(browser, log, options.users, options.clicks))
            for work, seconds in works.items():
                store.keep(f"work: {work}", {"median": seconds})
            whole = {"median": median(starts) + sum(works.values())}
            store.keep("whole: from the start to a verified release", whole)
            for step in _STEPS:
                before = browser.processor()
                seconds = [browser.opened(f"/log/1/{step}") for _ in range(_TIMES)]
                used = (browser.processor() - before) / _TIMES
                record = {"median": median(seconds), "worst": max(seconds), "asked": _ANSWER}
                store.keep(f"screen: {step}", {**record, "processor": used})
    store.print_and_keep(_markdown(store.records, options.users, line(store.machine)))


class _Browser:
    """Opens pages and sends their forms, without drawing them."""

    def __init__(self, address: str, server: int) -> None:
        self._server = server
        parts = urlsplit(address)
        self._host = f"{parts.hostname}:{parts.port}"
        self._base = parts.path.rpartition("/")[0]
        self._cookie = ""
        head, _ = self._ask("GET", f"{parts.path}?{parts.query}")
        self._cookie = (head.getheader("set-cookie") or "").partition(";")[0]

    def processor(self) -> float:
        """The seconds of CPU that the server has used."""
        words = Path(f"/proc/{self._server}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / sysconf("SC_CLK_TCK")

    def opened(self, path: str) -> float:
        """The seconds until a page has arrived."""
        begin = time.perf_counter()
        head, _ = self._ask("GET", self._base + path)
        seconds = time.perf_counter() - begin
        if head.status not in (200, 303):
            raise RuntimeError(f"{path} is answered with {head.status}")
        return seconds

    def page(self, path: str) -> str:
        """A page, when no work is going on any more."""
        while "data-progress=" in (text := self._ask("GET", self._base + path)[1]):
            time.sleep(0.02)
        return text

    def send(self, path: str, page: str, **fields: str) -> tuple[str, float]:
        """Send a form; the page that follows it, and the seconds until its work was done."""
        hidden = {
            name: unescape(found[1])
            for name in ("form", "confirmation")
            if (found := re.search(f'name="{name}" value="(.*?)"', page))
        }
        kind = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://{self._host}",
        }
        begin = time.perf_counter()
        head, text = self._ask("POST", self._base + path, urlencode({**hidden, **fields}), kind)
        where = head.getheader("location")
        if where is None:
            raise RuntimeError(f"{path} is answered with {head.status}: {text[:200]}")
        page = self.page(where.removeprefix(self._base))
        if 'role="alert"' in page:
            raise RuntimeError(re.sub("<.*?>", " ", page.partition('role="alert"')[2])[:200])
        return page, time.perf_counter() - begin

    def _ask(
        self, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, str]:
        connection = http.client.HTTPConnection(self._host, timeout=600)
        connection.request(method, path, body, {"Cookie": self._cookie, **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return answer, text


@contextmanager
def _studio(folder: Path) -> Generator[_Browser]:
    process = subprocess.Popen(
        [sys.executable, "-m", "slogan", "studio", "--no-browser", "--json"],
        cwd=folder,
        env={**environ, "XDG_DATA_HOME": str(folder / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield _Browser(json.loads(process.stdout.readline())["address"], process.pid)
    finally:
        process.terminate()
        process.wait(60)


def _first_page(folder: Path) -> tuple[float, float]:
    """The seconds from the start of the command to the first page, and the server's CPU."""
    begin = time.perf_counter()
    with _studio(folder) as browser:
        browser.opened("/")
        seconds = time.perf_counter() - begin
        return seconds, browser.processor()


def _way(browser: _Browser, log: Path, users: int, clicks: float) -> Iterator[tuple[str, float]]:
    """From the log to the verified release: what is worked at, and the seconds it takes."""
    page, _ = browser.send("/new", browser.page("/"))
    page, seconds = browser.send("/log/1/load", page, do="source", source=str(log))
    yield "look at the file", seconds
    page, seconds = browser.send("/log/1/load", page, do="person", person="yes")
    yield "count the log", seconds
    cap = {"new_population": "people", "epsilon_cap": "2", "delta_cap": "1e-5"}
    page, _ = browser.send("/log/1/recipients", page, do="recipient", recipient="web", **cap)
    size = {"users": str(users), "clicks": f"{clicks:g}"}
    page, seconds = browser.send("/log/1/explore", page, do="declare", **size)
    yield "compare budgets on made-up logs", seconds
    page, _ = browser.send("/log/1/explore", page, do="stop", stop="3", next="choose")
    output = {"output": str(log.parent / "release"), "confirmed": "on"}
    begin = time.perf_counter()
    browser.send("/log/1/release", page, do="release", **output)
    page = browser.page("/log/1/report")
    yield "make the release, verify and measure it", time.perf_counter() - begin
    if "Verified" not in page:
        raise RuntimeError("the release was not verified")


def _markdown(records: dict[str, Record], users: int, machine: str) -> str:
    lines = ["| what | median, s | worst, s | asked, s | CPU, s |", "|" + " --- |" * 5]
    for name, record in records.items():
        figures = (record.get(key) for key in ("median", "worst", "asked", "processor"))
        cells = ("" if figure is None else f"{figure:.2f}" for figure in figures)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    words = _WORDS.format(users=users, load=records["first page"]["load"])
    return "\n\n".join([f"# {__doc__}", words, "\n".join(lines), machine])


_WORDS = f"""A made-up log of {{users:,}} users.
Wall time, as a browser on the same machine sees it.
The first page is from the start of `slogan studio`, {_TIMES} times; each screen is opened {_TIMES}
times after the release was made.
Work is measured once, from the press of the button to the page that shows its result.
CPU is of the server, for one answer. {{load:.0f}} processes shared the cores: compare the CPU."""
