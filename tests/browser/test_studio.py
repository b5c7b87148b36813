"""The studio in Chromium: each recipient's way from load to zip, as people see and use it."""

import json
import re
import shutil
import threading
import time
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright
from tests.browser.test_report_pages import (
    BROWSERS,
    FLAGS,
    OUTLINED,
    STICKING_OUT,
    background,
    brightness,
)
from tests.commands import slogan
from tests.helpers import write
from tests.studio_client import started

from slogan.studio.screens.recipients import CARDS

TUTORIAL = Path(__file__).parents[2] / "docs/tutorial/03-studio.md"
WIDTHS = (400, 640, 1600)  # a telephone, twice the size on a small screen, a large one
BESIDE_THE_STEPS = STICKING_OUT.replace(".scroll,", ".scroll, .rail,")
NAMES = [card.name for card in CARDS]
PATIENCE = 120_000
MARK = "zqsecret"


def rows(users=400):
    for k in range(users):
        for n in (k % 4, (k + 1) % 4):
            yield f"u{k}", f"heron {n}", f"www.h{n}.example", 1 + k % 3


@pytest.fixture(scope="module")
def chromium():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("no Chromium here: `make test` installs it, or `apt-get install chromium`")
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=found, args=FLAGS) as browser,
    ):
        yield browser


@contextmanager
def window(chromium, folder, *words, script=True):
    """A studio, and a page of a browser that has entered it."""
    process, address = started(folder, *words)
    try:
        with chromium.new_context(
            viewport={"width": 1280, "height": 900},
            java_script_enabled=script,
            accept_downloads=True,
        ) as context:
            context.set_default_timeout(PATIENCE)
            page = context.new_page()
            page.complaints, page.asked, page.texts = [], [], []
            page.on("console", lambda message: page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.on("request", lambda request: page.asked.append(request.url))
            page.goto(address)
            page.get_by_role("button", name="Load a log").wait_for()
            page.own = re.match(r"http://[^/]*/[^/]*/", page.url)[0]
            yield page
            assert page.complaints == []
            assert not [url for url in page.asked if not url.startswith(page.own)]
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def no_check(_page, _name):
    """Look at nothing."""


def walk(  # noqa: PLR0915
    page, card, log, folder, *, population, size=("400", "4,0"), check=no_check, reading=()
):
    """From the list of logs to the zip, as a person does; the zip's names."""
    page.get_by_role("link", name="slogan studio").click()
    page.get_by_role("heading", name="Your logs").wait_for()
    check(page, "home")
    page.get_by_role("button", name="Load a log").click()
    page.get_by_label("Path of the log").fill(str(log))
    page.get_by_role("button", name="Load", exact=True).click()
    page.locator("table.preview").wait_for()
    for label, choice in reading:
        if not page.locator(f"#{label}").is_visible():
            page.get_by_text("Change how it is read").click()
        page.locator(f"#{label}").select_option(choice)
    if reading:
        page.get_by_role("button", name="Read it like this").click()
        page.locator("table.preview").wait_for()
    assert "heron" not in page.content()  # nothing of a row is shown
    page.get_by_label("Yes, as far as we know").check()
    check(page, "load")
    page.get_by_role("button", name="Next: inspect it").click()
    page.locator(".big-line").first.wait_for()
    check(page, "inspect")
    page.get_by_role("link", name="Next: who gets it?").click()
    page.locator(f"#to-{card}").check()
    if card == "reproduction":
        page.get_by_label("I know that rows of real people").check()
    new = page.get_by_label("Name", exact=True)
    if not new.is_visible():
        page.get_by_text("A new population").click()
    new.fill(population)
    check(page, "recipients")
    page.get_by_role("button", name="Next: explore budgets").click()
    page.get_by_label("People in the log").fill(size[0])
    page.get_by_label("Clicks of one person").fill(size[1])
    check(page, "declare")
    page.get_by_role("button", name="Compare budgets").click()
    page.locator("#stop").wait_for()
    check(page, "explore")
    if card == "reproduction":
        page.locator("#stop").evaluate("one => one.value = one.max")
    page.get_by_role("button", name="Choose this budget").click()
    page.get_by_label("New folder").fill(str(folder))
    page.get_by_label("Title").fill("Herons")
    if card == "reproduction":
        page.locator("#unaccounted").check()
    page.get_by_label("I have read it").check()
    check(page, "release")
    page.get_by_role("button", name="Release, once").click()
    page.locator(".verdict").wait_for()
    check(page, "report")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download release.zip").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        names = set(archive.namelist())
    page.get_by_role("link", name="Ledger", exact=True).click()
    page.get_by_role("heading", name="Timeline").wait_for()
    check(page, "ledger")
    return names


def findings(page):
    """What axe finds, however small."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["target"]) for one in found for node in one["nodes"]]


def looks_right(page, name):
    """Light, dark, narrow, wide, on paper: nothing that axe finds, nothing sticking out."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.texts.append(page.locator("body").inner_text())
    assert findings(page) == [], name
    assert brightness(background(page)) > 0.9
    page.emulate_media(color_scheme="dark")
    assert findings(page) == [], name
    assert brightness(background(page)) < 0.2
    page.emulate_media(color_scheme="light")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= width, (name, width)
        assert page.evaluate(BESIDE_THE_STEPS) == [], (name, width)
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(media="print")
    assert not page.locator("nav.rail").is_visible()
    page.emulate_media(media="screen")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, select, textarea, button, a")].filter(
        one => one.type !== "hidden" && one.checkVisibility()
          && !(one.labels && one.labels.length) && !one.innerText.trim()
          && !one.getAttribute("aria-labelledby")).map(one => one.outerHTML)"""
    )
    assert unnamed == []


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write(tmp_path_factory.mktemp("log") / "clicks.tsv", rows())


def test_each_recipient_gets_a_zip_and_every_screen_looks_right(chromium, log, tmp_path):
    """Four logs side by side in one studio; the first is looked at closely."""
    with window(chromium, tmp_path) as page:
        for card in NAMES:
            check = looks_right if card == NAMES[0] else no_check
            place = tmp_path / card
            names = walk(page, card, log, place, population=f"people-{card}", check=check)
            assert {"release/log.tsv", "release/manifest.json", "release/data-card.html"} <= names
            assert not [name for name in names if "curator" in name]
        page.get_by_role("link", name="slogan studio").click()
        page.get_by_role("heading", name="Your logs").wait_for()
        assert page.get_by_text("Released").count() == len(NAMES)
        shown = "\n".join(page.texts)
    for card in NAMES:
        assert slogan("verify", log, card, cwd=tmp_path).returncode == 0

    buttons = re.findall(r"\*\*(.+?)\*\*", TUTORIAL.read_text("utf-8"))
    assert len(buttons) > 8
    assert [name for name in buttons if name not in shown] == []


def test_the_pictures_of_the_tutorial_are_there_and_small():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TUTORIAL.read_text("utf-8"))

    assert len(pictures) == 5
    for picture in pictures:
        assert (TUTORIAL.parent / picture).stat().st_size < 120_000


def test_the_way_without_a_script(chromium, log, tmp_path):
    with window(chromium, tmp_path, script=False) as page:
        names = walk(page, "colleagues", log, tmp_path / "release", population="people")
        assert "release/log.tsv" in names
        assert page.locator("[data-copy]:visible").count() == 0


def to(page, place):
    """Move the focus there with the tab key, as people without a mouse do."""
    place = page.locator(place) if isinstance(place, str) else place
    for _ in range(80):
        if place.evaluate("one => one === document.activeElement"):
            assert page.evaluate(OUTLINED), page.evaluate("document.activeElement.outerHTML")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not lead to {place}")


def press(page, name, *, key="Enter", role="button"):
    to(page, page.get_by_role(role, name=name, exact=True))
    page.keyboard.press(key)


def fill(page, name, text):
    """Type into a field, over what is in it."""
    to(page, f"#{name}")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def slide(page):
    """Along the slider and back: it shows one budget at a time."""
    page.locator(".stop.now").wait_for()  # the script has begun
    to(page, "#stop")
    before = page.locator("[data-now]").inner_text()
    named = page.locator("section.panel:visible .person.named").count()
    page.keyboard.press("ArrowRight")
    assert page.locator("[data-now]").inner_text() != before
    assert page.locator("section.panel:visible .person.named").count() >= named
    assert page.locator("section.panel:visible").count() == 2
    assert page.locator(".stop.now").count() == 1
    page.keyboard.press("ArrowLeft")
    assert page.locator("[data-now]").inner_text() == before


def with_keys(page, log, folder):
    """From the list of logs to the zip, by keyboard alone."""
    press(page, "Load a log")
    fill(page, "source", str(log))
    press(page, "Load")
    page.locator("table.preview").wait_for()
    to(page, "#person-yes")
    page.keyboard.press("Space")
    press(page, "Next: inspect it")
    page.locator(".big-line").first.wait_for()
    press(page, "Next: who gets it?", role="link")
    to(page, "#to-web")
    page.keyboard.press("Space")
    fill(page, "new_population", "people")
    press(page, "Next: explore budgets")
    fill(page, "users", "400")
    page.keyboard.press("Enter")
    page.locator("#stop").wait_for()
    slide(page)
    press(page, "Choose this budget")
    fill(page, "output", str(folder))
    to(page, "#confirmed")
    page.keyboard.press("Space")
    press(page, "Release, once")
    page.locator(".verdict").wait_for()
    to(page, "#query-0")
    page.keyboard.press("Space")
    press(page, "Withhold the ticked queries")
    page.get_by_text("Withheld so far: 1").wait_for()
    with page.expect_download() as download:
        press(page, "Download release.zip", role="link")
    assert download.value.path()


def kept_by_the_browser(profile, text):
    """The files of a browser's profile that hold a text, in either of its encodings."""
    forms = (text.encode(), text.encode("utf-16-le"))
    return [
        file
        for file in profile.rglob("*")
        if file.is_file() and any(form in file.read_bytes() for form in forms)
    ]


def test_the_way_by_keyboard_leaves_no_query_in_the_profile_of_the_browser(chromium, tmp_path):
    """Neither in its cache and its history, nor in what it restores after a crash."""
    log = write(tmp_path / "clicks.tsv", [*rows(), *((f"{MARK}{k}", MARK, MARK, 1) for k in "ab")])
    profile = tmp_path / "profile"
    process, address = started(tmp_path)
    path = next(filter(None, map(shutil.which, BROWSERS)))
    with chromium.browser_type.launch_persistent_context(
        profile, executable_path=path, args=FLAGS, accept_downloads=True
    ) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Load a log").wait_for()
        with_keys(page, log, tmp_path / "release")
        titles = {page.title(), *(one.title() for one in context.pages)}
    process.terminate()
    process.wait(30)
    process.stdout.close()

    assert kept_by_the_browser(profile, "127.0.0.1")  # it was written
    for text in ("heron", MARK):
        assert kept_by_the_browser(profile, text) == []
        assert not [title for title in titles if text in title]
        assert text not in (tmp_path / "stderr.txt").read_text()


EVIL = """<!doctype html><title>evil</title><iframe src="{own}"></iframe>
<form method="post" action="{own}new" target="sink"><input name="form" value="{token}"></form>
<iframe name="sink"></iframe><img src="{own}icon.svg"><script src="{own}studio.js"></script>
<script>fetch("{own}new", {{method: "POST", mode: "no-cors", credentials: "include",
headers: {{"Content-Type": "application/x-www-form-urlencoded"}}, body: "form={token}"}}
).finally(() => {{ document.forms[0].submit();
setTimeout(() => {{ document.title = "done" }}, 500) }})
</script>"""


def test_a_page_of_another_server_of_this_machine_gets_nothing_and_does_nothing(chromium, tmp_path):
    """It knows the address and the token of forms, and the browser has the cookie."""
    with window(chromium, tmp_path) as page:
        token = page.locator("input[name=form]").first.get_attribute("value")
        text = EVIL.format(own=page.own, token=token).encode()

        class Evil(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("content-type", "text/html")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_words):
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            other, answers = page.context.new_page(), []
            other.on("response", lambda one: answers.append((one.url, one.status)))
            other.goto(f"http://127.0.0.1:{server.server_address[1]}/")
            other.wait_for_function("document.title === 'done'")
            assert not [frame for frame in other.frames if "Your logs" in frame.content()]
            server.shutdown()
        ours = [status for url, status in answers if url.startswith(page.own)]
        assert set(ours) == {403}
        page.reload()
        page.get_by_text("No log yet.").wait_for()


def test_the_studio_ends_with_its_tab(chromium, tmp_path):
    process, address = started(tmp_path)
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Load a log").click()  # another page of the same tab
        page.get_by_label("Path of the log").wait_for()
        time.sleep(1)
        assert process.poll() is None
        page.close(run_before_unload=True)
        process.wait(30)
    process.stdout.close()
    assert process.returncode == 0
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_dropped_file_is_copied_into_the_studio_and_read(chromium, log, tmp_path):
    with window(chromium, tmp_path) as page:
        page.get_by_role("button", name="Load a log").click()
        page.locator("input[type=file]").set_input_files(str(log))
        page.get_by_role("button", name="Load", exact=True).click()
        page.locator("table.preview").wait_for()
        [copy] = (tmp_path / "temporary").glob("*/uploads/*/clicks.tsv")
        assert copy.read_bytes() == log.read_bytes()
        assert (copy.parents[1].stat().st_mode & 0o777) == 0o700
        expect(page.locator("#command")).to_have_text("slogan inspect clicks.tsv --show-header")


def ubi_lines():
    """Searches, each with its click."""
    for number, (user, query, url, _) in enumerate(rows()):
        own = {"client_id": user, "query_id": f"{number:032x}", "timestamp": "2026-03-01T10:00:00Z"}
        yield own | {"user_query": query}
        clicked = {"object": {"object_id": url}, "position": {"ordinal": 1}}
        yield own | {"action_name": "click", "event_attributes": clicked}


SEMICOLONS = "Kundennummer;Suche;Ziel\n"


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "aol", "queries", "ubi"])
def test_other_logs_go_the_same_way(chromium, tmp_path, kind):
    reading = ()
    if kind == "csv":
        log = tmp_path / "log.csv"
        lines = (f"{u};{q};{w}\n" for u, q, w, n in rows() for _ in range(n))
        log.write_text("\ufeff" + SEMICOLONS + "".join(lines))
        reading = (("user", "Kundennummer"), ("query", "Suche"), ("url", "Ziel"))
    elif kind == "aol":
        log = tmp_path / "log.txt"
        lines = (
            f"{u[1:]}\t{q}\t2006-03-01 00:00:0{n}\t1\t{w}\n"
            for u, q, w, k in rows()
            for n in range(k)
        )
        log.write_text("AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "".join(lines))
    elif kind == "ubi":
        log = tmp_path / "log.ubi.jsonl"
        log.write_text("".join(f"{json.dumps(line)}\n" for line in ubi_lines()))
    else:
        log = tmp_path / "log.csv"
        log.write_text("user,query\n" + "".join(f"{u},{q}\n" for u, q, _, _ in rows()))
    with window(chromium, tmp_path) as page:
        names = walk(page, "web", log, tmp_path / "release", population="people", reading=reading)
        assert [name for name in names if name.startswith("release/log.")]
