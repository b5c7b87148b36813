"""The two pages of a release: self-contained, readable by anybody, and the public one harmless."""

import ast
import base64
import hashlib
import inspect
import json
import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import slogan
from slogan.budget import PrivacyBudget
from slogan.manifest import command, coverage, promise, strictness, uses
from slogan.manifest.certificate import Certificate, PlannedCertificate, SyntheticCertificate
from slogan.manifest.manifest import Manifest
from slogan.measures import Results
from slogan.report import charts, curator, people, public
from slogan.report.curator import curator_page
from slogan.report.memo import memo_page
from slogan.report.public import Page, PublicPage, card_page, public_page

HOSTILE = """"><script>alert('x')</script><img src=x onerror=alert(1)>&{{ 7*7 }}"""
VOID = {"meta", "br", "hr", "img", "link", "input", "circle", "line", "rect", "path"}


def manifest(**changes):
    told = {
        "slogan_version": "0",
        "wording": "0123456789abcdef",
        "method": "sanitize",
        "counts": "exact",
        "promise": "given the counts",
        "guarantees": ["something"],
        "not_guaranteed": ["something else"],
        "budget": {"epsilon": None, "exp_epsilon": "2", "delta": "0.5"},
        "parameters": {"objective": "output_size", "gap": 0.1},
        "pseudonyms": "fresh",
        "test_run": False,
        "log": {
            "file": "log.tsv",
            "sha256": "0" * 64,
            "format": "tsv",
            "compression": "",
            "header": True,
            "columns": ["user", "query", "url", "count"],
            "user": "user",
            "query": "query",
            "url": "url",
            "count": "count",
        },
        "versions": {"python": "3"},
    }
    return Manifest.model_validate({**told, **changes})


ACCOUNT = {
    "stages": [
        {
            "name": "selection",
            "mechanism": "gaussian",
            "parameters": {"norm_squared": "1", "variance": "123456789/1234567"},
            "theorem": "Theorem S",
            "cost": {"mu_squared": "1/100"},
        }
    ],
    "cost": {"mu_squared": "1/100"},
    "delta_at_epsilon": 1e-6,
    "epsilon_at_delta": 1.0,
}
SYNTHETIC = {
    "method": "synthesize",
    "counts": "private",
    "pseudonyms": "synthetic",
    "budget": {"epsilon": "1", "exp_epsilon": None, "delta": "1e-6"},
    "account": ACCOUNT,
    "outputs": {
        "pairs_selected": 40,
        "coverage": 0.125,
        "clicks_released": 1.0,
        "clicks_other": 7.0,
        "clicks_counted": 2.0,
        "association": "domains",
        "association_kept": 0.75,
        "users": 70,
        "users_by_pairs": [2.0, 70.0] + [0.0] * 29,
    },
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A small release, evaluated."""
    folder = tmp_path_factory.mktemp("report")
    rows = [(u, f"q{n}", f"www.{n}.com", 1 + (u + n) % 3) for u in range(30) for n in range(5)]
    rows.append((1, "my secret", "www.only-me.com", 7))
    log = folder / "clicks.tsv"
    log.write_text(
        "user\tquery\turl\tcount\n" + "".join("\t".join(map(str, r)) + "\n" for r in rows)
    )
    made = slogan.sanitize(log, PrivacyBudget(exp_epsilon=2, delta="0.5"), solver="exact")
    try:
        made.save(folder / "release")
    finally:
        made.close()
    slogan.evaluate(log, folder / "release").save(folder / "release")
    return folder / "release"


def pages(folder):
    return {name: (folder / name / "report.html").read_text() for name in ("public", "curator")}


class Outline(HTMLParser):
    """The elements of a page, and whether they are properly nested."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.mark.parametrize("page", ["public", "curator"])
def test_a_page_loads_nothing_and_runs_nothing(release, page):
    text = pages(release)[page]
    outline = Outline(text)
    attributes = [item for _, attrs in outline.elements for item in attrs.items()]

    assert not {"script", "link", "img", "iframe", "object", "form"} & {
        t for t, _ in outline.elements
    }
    assert not [name for name, _ in attributes if name.startswith("on") or name in ("src", "style")]
    assert all(attrs["href"].startswith("#") for attrs in outline.all("a"))
    assert "url(" not in text
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\s\"<]+", text)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("page", ["public", "curator"])
def test_the_policy_allows_this_style_alone(release, page):
    text = pages(release)[page]
    policy = next(
        attrs["content"]
        for attrs in Outline(text).all("meta")
        if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    style = re.search(r"<style>(.*?)</style>", text, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()

    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("page", ["public", "curator"])
def test_a_page_can_be_read_without_seeing_it(release, page):
    outline = Outline(pages(release)[page])
    ids = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    pointed = [attrs[k] for _, attrs in outline.elements for k in attrs if k == "aria-labelledby"]
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h\d", tag)]

    assert outline.all("html")[0]["lang"] == "en"
    assert len(ids) == len(set(ids))
    assert {word for words in pointed for word in words.split()} <= set(ids)
    assert {a["href"][1:] for a in outline.all("a")} <= set(ids)
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    assert all("scope" in th for th in outline.all("th"))
    assert all(
        chart["role"] == "img" if chart["class"] != "share" else chart["aria-hidden"] == "true"
        for chart in outline.all("svg")
    )


def test_the_sections_are_in_their_order(release):
    for text in pages(release).values():
        ids = [attrs["id"] for attrs in Outline(text).all("section")]
        assert ids == ["privacy", "flow", "utility", "checks", "method"]
        assert text.index('class="verdict"') < text.index("Not for") < text.index('id="privacy"')


def test_every_chart_of_the_curator_has_its_table(release):
    text = pages(release)["curator"]
    outline = Outline(text)
    charts = [chart for chart in outline.all("svg") if chart["class"] == "chart"]

    folded = text.count("The numbers behind this chart")
    assert len(charts) == len(outline.all("figure")) - 1 == folded == 4
    assert outline.all("figure")  # the first one shows 100 people
    for name in ("frequency", "supports", "budget", "diff-ratio"):
        assert f'id="{name}-title"' in text


# --- nothing of the log reaches the public page ---


def test_the_public_page_is_made_of_the_manifest_alone():
    """Its types: one field, the manifest; and its files know no figure computed from a log."""
    assert list(inspect.signature(PublicPage).parameters) == ["manifest"]
    assert list(inspect.signature(public_page).parameters) == ["manifest"]
    assert list(inspect.signature(Page).parameters) == ["manifest"]
    allowed = {
        "slogan.budget",
        "slogan.logs.words",
        "slogan.manifest.command",
        "slogan.manifest.coverage",
        "slogan.manifest.fields",
        "slogan.manifest.manifest",
        "slogan.manifest.promise",
        "slogan.manifest.strictness",
        "slogan.manifest.uses",
        "slogan.modes",
        "slogan.report.charts",
        "slogan.report.html",
        "slogan.report.people",
    }
    for module in (public, promise, command, strictness, uses, people, coverage):
        tree = ast.parse(Path(module.__file__).read_text())
        imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        own = {name for name in imported if name.startswith("slogan")}
        assert own <= allowed


def marked(value):
    """The same object with every number replaced by one that is found nowhere else."""
    if isinstance(value, dict):
        return {name: marked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(marked(inner) for inner in value)
    if is_dataclass(value):
        inside = {one.name: marked(getattr(value, one.name)) for one in fields(value)}
        return replace(value, **inside)
    return 87654321 if isinstance(value, int | float) and not isinstance(value, bool) else value


def test_a_mark_on_every_private_number_never_shows_in_public(tmp_path, monkeypatch):
    """A taint: all that is computed from the log is 87,654,321, which only the curator sees."""
    from slogan.release.kinds import Release

    true_certificate, true_results = Release.certificate, Results.of

    def marked_certificate(self):
        return PlannedCertificate.model_validate(marked(true_certificate(self).to_dict()))

    def marked_results(comparison):
        return Results(marked(true_results(comparison).by_name))

    monkeypatch.setattr(Release, "certificate", marked_certificate)
    monkeypatch.setattr(Results, "of", marked_results)
    log = tmp_path / "clicks.tsv"
    rows = "".join(f"{u}\tq{n}\tw{n}\t1\n" for u in range(12) for n in range(3))
    log.write_text("user\tquery\turl\tcount\n" + rows)
    made = slogan.sanitize(log, PrivacyBudget(exp_epsilon=2, delta="0.5"), solver="exact")
    try:
        made.save(tmp_path / "release")
    finally:
        made.close()
    slogan.evaluate(log, tmp_path / "release").save(tmp_path / "release")

    def tainted(folder):
        files = [
            file.read_text(errors="replace") for file in (tmp_path / "release" / folder).iterdir()
        ]
        return sum(text.count("87654321") + text.count("87,654,321") for text in files)

    assert tainted("public") == 0
    assert tainted("curator") > 50


def test_evaluating_changes_nothing_in_public(release):
    told = Manifest.model_validate_json((release / "public/manifest.json").read_bytes())

    assert pages(release)["public"] == public_page(told)
    assert json.loads((release / "curator/evaluation.json").read_text())["yardstick"]
    assert {file.name for file in (release / "public").iterdir()} == {
        "SHA256SUMS",
        "croissant.json",
        "data-card.html",
        "deployment.yaml",
        "log.tsv",
        "manifest.json",
        "report.html",
    }


# --- hostile texts, both methods, and the words ---


def test_hostile_texts_are_shown_and_do_nothing(release):
    told = manifest(
        parameters={"objective": HOSTILE},
        guarantees=[HOSTILE],
        versions={HOSTILE: HOSTILE},
        labels={"title": HOSTILE, "contact": HOSTILE},
        log={**manifest().log.model_dump(), "columns": [HOSTILE], "user": HOSTILE, "file": HOSTILE},
    )
    certificate = json.loads((release / "curator/certificate.json").read_text())
    certificate["bad_rows"] = {HOSTILE: 1}
    certificate["inputs"] = [{"file": HOSTILE, "sha256": HOSTILE}]
    certificate["objective"] = certificate["solver"] = HOSTILE
    planned = PlannedCertificate(**certificate)
    rendered = (public_page(told), card_page(told), curator_page(told, planned))
    for text in (*rendered, memo_page(told, planned)):
        outline = Outline(text)
        assert not outline.all("script")
        assert not outline.all("img")
        assert any("alert('x')" in words for words in outline.text)
        assert "{{ 7*7 }}" in "".join(outline.text)


def test_hostile_words_in_a_chart_are_escaped():
    chart = charts.bar_chart(
        charts.Bars(names=[HOSTILE], values=[1], value_name=HOSTILE),
        name="x",
        title=HOSTILE,
        summary=HOSTILE,
        x_title=HOSTILE,
        y_title=HOSTILE,
    )

    tags = {node.tag.split("}")[1] for node in ET.fromstring(chart.svg).iter()}
    assert tags <= {"svg", "title", "desc", "text", "line", "rect"}


def test_both_methods_have_both_pages(release):
    synthetic = manifest(**SYNTHETIC)
    fields_of_both = json.loads((release / "curator/certificate.json").read_text())
    own = {"coverage": 0.125, "association": "domains", "weight_needed": 31.0, "budget_shares": {}}
    own |= {"pairs_possible": 1489.0001, "contributions": "several", "association_kept": 0.5}
    certificate = SyntheticCertificate(
        **{n: v for n, v in fields_of_both.items() if n in Certificate.model_fields},
        **own,
    ).model_copy(update={"clicks_by_fate": {"not_selected": 5, "represented": 7}})
    text = public_page(synthetic)
    Outline(text)
    said = "".join(Outline(curator_page(synthetic, certificate)).text)
    assert "No row belongs to a real user." in said
    assert "too few users for the noise" in said
    assert "of at most 1,490 that any method with this guarantee can release" in said

    assert "12.50% of all clicks" in text
    assert "selection" in text
    assert "name at most 2.72 of 100 people" in text  # e·1 % + 10⁻⁶
    assert "At most 3 of 100 people can be named" in text
    assert "name at most 51 of 100 people" in public_page(manifest())  # 1 % + δ


def test_stages_are_shown_in_the_symbols_of_their_theorem():
    stage, *said = PublicPage(manifest(**SYNTHETIC)).stages[0]

    assert stage.name == "selection"
    assert said == ["Δ² = 1, σ² ≈ 100", "μ² = 1/100", 100]


@pytest.mark.parametrize("cost", ["nothing", "1/0", "-1/100", "", "7/100"])
def test_the_bar_of_a_strange_cost_stays_in_its_place(cost):
    stage = {**ACCOUNT["stages"][0], "cost": {"mu_squared": cost}}
    told = manifest(**{**SYNTHETIC, "account": {**ACCOUNT, "stages": [stage]}})

    assert PublicPage(told).stages[0][-1] in (None, 100)
    Outline(public_page(told))


@pytest.mark.parametrize("value", ["1/0 and a long text", "x/yyyyyyyyyyyyyyy", "9" * 500 + "/1"])
def test_a_strange_fraction_in_a_manifest_is_shown_as_it_is(value):
    stage = {**ACCOUNT["stages"][0], "parameters": {"variance": value}}

    text = public_page(manifest(**{**SYNTHETIC, "account": {**ACCOUNT, "stages": [stage]}}))

    assert value in text


def test_a_test_run_says_so_first():
    text = public_page(manifest(test_run=True))

    assert "protects no user" in text
    assert text.index("Test run.") < text.index('class="verdict"')


@pytest.mark.parametrize(
    ("chance", "words"),
    [
        (0.5, "1 in 2"),
        (1e-6, "1 in 1,000,000"),
        (0.3, "30 in 100"),
        (0.05, "1 in 20"),
        (0.65, "65 in 100"),
        (0.0, "never"),
    ],
)
def test_odds_are_written_as_people_say_them(chance, words):
    assert promise.one_in(chance) == words


def test_a_chance_whose_inverse_is_not_a_float_is_rounded_up():
    budget = {"epsilon": "1", "exp_epsilon": None, "delta": "1e-200/1e115"}

    text = public_page(manifest(budget=budget))

    assert "1 in 10^315" in text


# --- charts ---


def test_a_curve_falls_and_ends_with_the_last_pair():
    import numpy as np

    drawn = curator.figures(np.array([5, 0, 100, 7]), np.array([1, 0, 0, 2]))

    assert drawn.frequency_before == [(1, 100), (2, 7), (3, 5)]
    assert drawn.frequency_after == [(1, 2), (2, 1)]
    assert drawn.supports[0] == (100 / 112, 0.0)


def test_every_click_has_one_outcome():
    import numpy as np

    before, after = np.array([10, 8, 6, 4]), np.array([3, 0, 0, 9])
    found = curator.clicks_by_fate(before, after, np.array([3, 0, 2, 9]))

    assert found == {"too_dear": 8, "not_chosen": 6, "thinned": 7, "kept": 7}
    assert sum(found.values()) == 28
    assert sum(curator.clicks_by_selection(before, after).values()) == 28
    drawn = curator.clicks_by_draw(before, after, np.array([0, 1, 3]))
    assert drawn == {"not_selected": 6, "not_drawn": 15, "kept": 7}


def test_use_of_the_budget_in_tenths():
    import numpy as np

    charge = np.array([0.0, 0.05, 0.1, 0.11, 0.95, 1.0])

    assert curator.budget_use(charge, 1.0) == [1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 2]


def test_a_scale_has_round_ticks_from_end_to_end():
    linear = charts.Scale(0, 103, 0, 100)
    logarithmic = charts.log_scale([3, 4_000], 0, 100)

    assert linear.ticks() == [0, 50, 100]
    assert logarithmic.ticks() == [1, 10, 100, 1_000, 10_000]
    assert (linear(0), linear(103), linear(500)) == (0, 100, 100)
    assert logarithmic(100) == pytest.approx(50)


@pytest.mark.parametrize(
    "chart",
    [
        charts.frequency_chart([], []),
        charts.frequency_chart([(1, 1)], []),
        charts.support_chart([]),
        charts.support_chart([(0.5, 0.0)]),
        charts.budget_chart([0] * 11),
        charts.frontier_chart([], charts.Line(name="m·b", points=[]), utility="clicks"),
    ],
    ids=lambda chart: chart.name,
)
def test_charts_of_nothing_are_drawn(chart):
    ET.fromstring(chart.svg)
    assert "nan" not in chart.svg.lower()


NEAR = [(1, 0), (2, 0), (3, 0.1), (4, 99), (5, 99.5), (6, 100), (7, 100)]


def test_the_frontier_names_each_line_and_tells_every_point():
    lines = [
        charts.Line(name="δ = 0.1", points=[(0.1, 5), (1, 9)]),
        charts.Line(name="δ = 0.5", points=[(0.1, 5), (1, 20)]),
    ]
    chart = charts.frontier_chart(
        lines, charts.Line(name="bound m·b", points=[(0.1, 10), (1, 100)]), utility="clicks"
    )

    assert chart.headings[1:] == ("δ = 0.1", "δ = 0.5", "bound m·b")
    assert chart.rows == (("0.1", "5", "5", "10"), ("1", "9", "20", "100"))
    assert all(line.name in chart.svg for line in lines)


def test_names_of_lines_do_not_touch_each_other_nor_the_axis():
    lines = [charts.Line(name=f"δ = {n}", points=[(0.1, 1), (1, high)]) for n, high in NEAR]
    chart = charts.frontier_chart(lines, None, utility="clicks")
    texts = ET.fromstring(chart.svg).iter("{http://www.w3.org/2000/svg}text")
    places = sorted(float(t.get("y")) for t in texts if (t.text or "").startswith("δ"))

    assert len(places) == len(NEAR)
    assert all(b - a >= 13 for a, b in pairwise(places))
    assert places[0] > 0
    assert places[-1] < charts.HEIGHT - 46


def test_a_narrow_axis_has_more_ticks_than_powers_of_ten():
    assert charts.Scale(0.3, 3, 0, 100, logarithmic=True).ticks() == [0.5, 1, 2]
    assert charts.Scale(0.3, 0.9, 0, 100, logarithmic=True).ticks() == pytest.approx(
        [0.4, 0.6, 0.8]
    )


def test_pages_are_the_same_every_time():
    assert public_page(manifest()) == public_page(manifest())
