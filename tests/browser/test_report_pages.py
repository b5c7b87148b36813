"""The pages of every kind of release in a real browser: offline, dark, narrow, on paper."""

import re
import shutil
from contextlib import closing, contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import slogan
from slogan.manifest.manifest import Manifest
from slogan.report.public import public_page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHARTS = {
    "exact": ("frequency", "supports", "budget", "diff-ratio"),
    "laplace": ("frequency", "supports", "budget", "diff-ratio"),
    "private": ("frequency", "supports", "diff-ratio"),
    "synthetic": ("frequency", "supports"),
}
REPORTS = ("public/report", "curator/report")
PAGES = [(kind, page) for kind in CHARTS for page in (*REPORTS, "public/data-card", "curator/memo")]

HOSTILE = "\u202e\"'><script>document.title='run'</script><img src=//x.invalid/ onerror=run()>"
A4 = 718  # CSS pixels between margins of 1 cm
ON_EVERY_PAGE = pytest.mark.parametrize(("kind", "name"), PAGES, ids=map("-".join, PAGES))

UNREADABLE_TABLES = """() => [...document.querySelectorAll("table")].filter(table =>
  !table.caption || !table.caption.textContent.trim() || !table.querySelector("th")
  || [...table.querySelectorAll("th")].some(th => !th.scope)
  || [...table.tBodies[0].rows].some(
    row => row.innerText.trim() && !row.querySelector("th[scope=row]"))
  || (table.rows[0].cells.length > 2 && !table.tHead)).map(table => table.innerText)"""
STICKING_OUT = """() => [...document.querySelectorAll("body *")].filter(one =>
  !one.closest(".scroll, .skip, .unseen") && one.getBoundingClientRect().right > innerWidth + 1
  ).map(one => one.tagName + " " + one.className)"""
NAME = "one => one.getAttribute('href') || one.getAttribute('aria-label') || one.innerText"
FOCUSABLE = f"""() => [...document.querySelectorAll("a, summary, .scroll")].filter(
  one => one.checkVisibility()).map({NAME})"""
FOCUSED = f"() => ({NAME})(document.activeElement)"
OUTLINED = """() => { const style = getComputedStyle(document.activeElement);
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 }"""


def log_of(kind, file):
    """A small log on which this kind releases something, a hostile query among the first."""
    queries = [HOSTILE, *(f"zebra {n}" for n in range(1, 6))]
    if kind in ("private", "synthetic"):
        rows = [(f"u{k}", queries[k % 2], f"z{k % 2}.example", 1 + k % 3) for k in range(613)]
    else:
        rows = [(f"u{k}", q, f"z{n}.example", 1) for k in range(30) for n, q in enumerate(queries)]
        rows += [("heavy", queries[1], "z1.example", 25), ("u4", "only mine", "m.example", 4)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def release_of(kind, log):
    small = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    texts = dict.fromkeys(slogan.Labels.model_fields, "A long label " * 8)
    labels = slogan.Labels(**{**texts, "published": "2026-12-01"})
    if kind == "exact":
        return slogan.sanitize(log, small, solver="exact", labels=labels)
    if kind == "laplace":
        return slogan.sanitize(log, small, counts=slogan.LaplaceCounts(bound=2, epsilon=4))
    if kind == "private":
        budget = slogan.PrivacyBudget(epsilon=4, delta="0.5")
        return slogan.sanitize(log, budget, counts=slogan.PrivateCounts())
    return slogan.synthesize(log, slogan.PrivacyBudget(epsilon="8", delta="1e-3"))


@pytest.fixture(scope="session")
def releases(tmp_path_factory):
    """One evaluated release of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    for kind in CHARTS:
        log = log_of(kind, folder / f"{kind}.tsv")
        with closing(release_of(kind, log)) as made:
            made.save(folder / kind)
        slogan.evaluate(log, folder / kind, samples=3).save(folder / kind)
    return folder


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.fail("no Chromium here: `make test` installs it, or `apt-get install chromium`")
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=found, args=FLAGS) as started,
    ):
        yield started


@contextmanager
def opened(browser, file, *, width=1100, scheme="light"):
    """A page without a network, and what it asked for and complained about."""
    size = {"width": width, "height": 900}
    with browser.new_context(viewport=size, color_scheme=scheme, offline=True) as context:
        context.set_default_timeout(120_000)  # machines are shared and noisy
        page = context.new_page()
        page.asked, page.refused, page.said = [], [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("requestfailed", lambda it: page.refused.append((it.url, it.failure)))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(file.as_uri())
        yield page


def open_all(page):
    """Show the numbers behind every chart."""
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / (3 * 255)


def grave(page):
    """What axe calls serious or critical."""
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], node["target"])
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@ON_EVERY_PAGE
def test_a_page_opens_offline_and_asks_for_nothing(releases, browser, kind, name):
    file = releases / kind / f"{name}.html"
    with opened(browser, file) as page:
        open_all(page)
        charts = page.locator("svg.chart").all()
        boxes = [chart.bounding_box() for chart in charts]
        names = [chart.locator("title").get_attribute("id") for chart in charts]
        told = [chart.locator("desc").text_content() for chart in charts]

        assert page.locator(".verdict").is_visible()
        drawn = CHARTS[kind] if name == "curator/report" else ()
        people = page.locator("svg.people").count()
        assert names == [f"{one}-title" for one in drawn]
        assert people == (name != "public/data-card")
        assert page.get_by_role("img").count() == len(charts) + people
        assert all(box["width"] > 250 and box["height"] > 150 for box in boxes)
        assert all(told)
        assert page.evaluate(UNREADABLE_TABLES) == []
        assert (page.asked, page.said) == ([file.as_uri()], [])


@ON_EVERY_PAGE
def test_axe_finds_nothing_grave_in_light_and_dark(releases, browser, kind, name):
    with opened(browser, releases / kind / f"{name}.html") as page:
        open_all(page)
        by_day, day = grave(page), brightness(background(page))
        page.emulate_media(color_scheme="dark")
        by_night, night = grave(page), brightness(background(page))

        assert (by_day, by_night) == ([], [])
        assert night < 0.2
        assert day > 0.9


@ON_EVERY_PAGE
def test_a_page_fits_a_telephone_and_a_sheet_of_paper(releases, browser, kind, name):
    with opened(browser, releases / kind / f"{name}.html", scheme="dark") as page:
        page.emulate_media(media="print")
        page.set_viewport_size({"width": A4, "height": 1000})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= A4
        assert page.evaluate(STICKING_OUT) == []
        assert background(page) == "rgb(255, 255, 255)"
        assert not page.locator("nav").is_visible()
        sheets = len(re.findall(rb"/Type /Page\b", page.pdf(format="A4")))
        assert 1 <= sheets <= (1 if name == "curator/memo" else 9)

        open_all(page)
        page.emulate_media(media="screen")
        page.set_viewport_size({"width": 400, "height": 900})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 400
        assert page.evaluate(STICKING_OUT) == []


@pytest.mark.parametrize("side", ["public", "curator"])
def test_the_keyboard_reaches_everything(releases, browser, side):
    with opened(browser, releases / "exact" / side / "report.html") as page:
        expected = page.evaluate(FOCUSABLE)
        reached, outlined = [], []
        for _ in expected:
            page.keyboard.press("Tab")
            reached.append(page.evaluate(FOCUSED))
            outlined.append(page.evaluate(OUTLINED))
        sections = ["#privacy", "#flow", "#utility", "#checks", "#method"]

        assert reached == expected
        assert reached[:6] == ["#privacy", *sections]  # first of all the link that skips the rest
        assert all(outlined)


def test_the_keyboard_opens_the_numbers_behind_a_chart(releases, browser):
    with opened(browser, releases / "exact/curator/report.html") as page:
        numbers = page.locator("details").first
        numbers.locator("summary").focus()
        page.keyboard.press("Enter")

        assert numbers.locator("table").is_visible()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "scroll"


@pytest.mark.parametrize("kind", ["exact", "private", "synthetic"])
def test_a_hostile_query_can_be_released(releases, kind):
    """Not so with Laplace noise, which may have left none of its clicks."""
    assert HOSTILE in (releases / kind / "public/log.tsv").read_text()


@ON_EVERY_PAGE
def test_a_hostile_query_is_on_no_page(releases, browser, kind, name):
    with opened(browser, releases / kind / f"{name}.html") as page:
        shown = page.content()
        assert not [part for part in ("<script", "onerror", "\u202e", "zebra") if part in shown]


def test_hostile_columns_are_shown_and_do_nothing(releases, browser, tmp_path):
    told = (releases / "exact/public/manifest.json").read_bytes()
    manifest = Manifest.model_validate_json(told)
    log = manifest.log.model_copy(update={"columns": (HOSTILE, "query"), "user": HOSTILE})
    file = tmp_path / "report.html"
    file.write_text(public_page(manifest.model_copy(update={"log": log})))
    with opened(browser, file) as page:
        assert page.get_by_text(HOSTILE).count() == 2
        assert page.title().startswith("A long label")
        assert page.locator("script, img").count() == 0
        assert (page.asked, page.said) == ([file.as_uri()], [])


def test_the_policy_stops_what_should_not_be_there(releases, browser, tmp_path):
    """A script, an image and a style in the page itself: none runs, loads or counts."""
    added = "<script>document.title='run'</script><img src='http://x.invalid/i.png'>"
    added += "<style>h1 { display: none }</style></body>"
    file = tmp_path / "report.html"
    whole = (releases / "exact/public/report.html").read_text()
    file.write_text(whole.replace("</body>", added))
    with opened(browser, file) as page:
        assert page.title().startswith("A long label")
        assert page.locator("h1").is_visible()
        assert page.refused == [("http://x.invalid/i.png", "csp")]
        assert len(page.said) == 3
        assert all("Content Security Policy" in line for line in page.said)


def test_the_checks_see_what_they_look_for(releases, browser):
    with opened(browser, releases / "exact/curator/report.html", width=400) as page:
        page.evaluate("document.querySelector('.verdict').style.color = '#d0e0e0'")
        page.evaluate("document.querySelector('.fact').style.width = '900px'")
        page.evaluate("document.querySelector('caption').remove()")

        assert ("color-contrast", [".verdict"]) in grave(page)
        assert "DIV fact" in page.evaluate(STICKING_OUT)
        assert page.evaluate("document.scrollingElement.scrollWidth") > 400
        assert len(page.evaluate(UNREADABLE_TABLES)) == 1
