"""Every kind of release has both pages in its own words, and can be evaluated."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from tests.helpers import write

import slogan
from slogan.budget import at_most
from slogan.manifest.manifest import Manifest
from slogan.manifest.promise import BUDGET_FROM_LOG, PLAN_FROM_LOG, promise_of, wording_of
from slogan.modes import ReleaseKind
from slogan.release.base import Release
from slogan.report.public import public_page

KINDS = ("exact", "laplace", "private", "synthetic")
SANITIZED = ("exact", "laplace", "private")
MARK = 87654321


def release_of(kind, folder, *, more=0):
    """A small log on which this kind releases something, and the release."""
    folder.mkdir()
    few = [(f"u{k}", f"zebra {j}", f"z{j}.example", 1) for k in range(30 + more) for j in range(6)]
    # A user who sways the counts, and a pair that is left to one user when they are removed.
    few += [("heavy", "zebra 0", "z0.example", 25), ("heavy", "okapi", "o.example", 2)]
    few += [("u3", "okapi", "o.example", 1), ("u4", "only mine", "m.example", 4)]
    many = [(f"u{k}", f"zebra {k % 2}", f"z{k % 2}.example", 1 + k % 3) for k in range(613 + more)]
    log = write(folder / "clicks.tsv", many if kind in ("private", "synthetic") else few)
    small = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    if kind == "exact":
        made = slogan.sanitize(log, small, solver="exact")
    elif kind == "laplace":
        made = slogan.sanitize(log, small, counts=slogan.LaplaceCounts(bound=2, epsilon=4))
    elif kind == "private":
        budget = slogan.PrivacyBudget(epsilon=4, delta="0.5")
        made = slogan.sanitize(log, budget, counts=slogan.PrivateCounts())
    else:
        made = slogan.synthesize(log, slogan.PrivacyBudget(epsilon="8", delta="1e-3"))
    with closing(made):
        made.save(folder / "release")
    return log, folder / "release"


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    return {kind: release_of(kind, folder / kind) for kind in KINDS}


@pytest.fixture(scope="module")
def evaluations(releases):
    """Each release measured; its curator's page shows it from here on."""
    found = {}
    for kind, (log, release) in releases.items():
        found[kind] = slogan.evaluate(log, release, samples=3)
        found[kind].save(release)
    return {kind: one.to_dict() for kind, one in found.items()}


def page(release, side):
    text = (release / side / "report.html").read_text()
    body = re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split()).replace("&#39;", "'")


def certificate(release):
    return json.loads((release / "curator/certificate.json").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_verified_with_its_public_page(releases, evaluations, kind):
    """Evaluating changes nothing in public, and the curator's page shows what was found."""
    log, release = releases[kind]
    told = Manifest.model_validate_json((release / "public/manifest.json").read_bytes())

    assert (release / "public/report.html").read_text() == public_page(told)
    assert slogan.verify(log, release).ok
    assert "Beside a random sample of the same size" in page(release, "curator")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_measured(releases, evaluations, kind):
    found, told = evaluations[kind], certificate(releases[kind][1])

    assert found["method"] == ("synthesize" if kind == "synthetic" else "sanitize")
    assert found["size"] == told["clicks_out"]
    assert found["yardstick"]["size"] == min(told["clicks_out"], told["clicks_in"])
    assert found["log"]["clicks"] == told["clicks_in"]
    assert found["unknown_pairs"] == 0
    assert (found["coverage"] is None) == (kind != "synthetic")
    assert found["users_matched"] == (kind != "synthetic")


def test_users_are_drawn_again_only_as_the_release_drew_them(evaluations):
    """With noise some users were removed, or drawn less often: the release stands for itself."""
    ratios = {kind: found["diff_ratio_histogram"] for kind, found in evaluations.items()}

    assert ratios.pop("synthetic") is None
    assert {kind: one["samples"] for kind, one in ratios.items()} == {
        "exact": 3,
        "laplace": 1,
        "private": 1,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_click_of_the_log_has_an_outcome(releases, kind):
    told = certificate(releases[kind][1])
    fates = told["clicks_by_fate"]

    assert sum(fates.values()) == told["clicks_in"]
    assert all(clicks >= 0 for clicks in fates.values())
    assert fates.get("removed_users", 0) == (28 if kind == "laplace" else 0)
    assert fates.get("unique_pairs", 0) == (4 if kind in ("exact", "laplace") else 0)
    assert told["figures"]["frequency_after"]


@pytest.mark.parametrize("side", ["public", "curator"])
def test_pages_say_what_each_kind_is(releases, side):
    """In the pages of one kind are the words of its promise, and not those of another."""
    said = {kind: page(releases[kind][1], side) for kind in KINDS}
    own = {
        "heuristic without an end-to-end proof": {"laplace"},
        "rows belong to real people": set(SANITIZED),
        "users in this file are made up": {"synthetic"} if side == "public" else set(),
        "any two logs that differ in one user": {"private", "synthetic"},
        "the largest chance that any row of a given person is shown": set(SANITIZED),
        "Given the counts, an attacker": {"exact", "laplace"},
        "counts exact: without noise": {"exact"},
        "counts private: measured with noise": {"private", "synthetic"},
        "Theorem R": {"private"},
        "Budget per stage": {"private", "synthetic"},
        "Remove: users whose absence": {"laplace"},
        "Cap: users who would": {"private"},
    }
    for words, those in own.items():
        assert {kind for kind in KINDS if words in said[kind]} == those, words


def test_the_first_line_in_public_is_the_promise(releases):
    said = {kind: page(releases[kind][1], "public") for kind in KINDS}

    assert "The numbers themselves are not private." in said["exact"]
    assert "they are not proven to be private" in said["laplace"]
    assert "Private from end to end, with ε = 4 and δ = 0.5. But the rows" in said["private"]
    assert said["private"].index("Rows of real people: of about") < said["private"].index("Weak")
    assert "The log may be short, or empty." in said["private"]
    assert "2 pairs could be drawn." in said["private"]
    assert "no row belongs to a real one" in said["synthetic"]
    assert "of all clicks of the original. Multiply the share" in said["synthetic"]


def test_the_curator_reads_who_was_removed_and_how_far_a_cap_goes(releases):
    said = {kind: page(releases[kind][1], "curator") for kind in KINDS}
    capped = certificate(releases["private"][1])

    assert "removed beforehand because of a large influence on some count: 1." in said["laplace"]
    assert "Of users who were removed" in said["laplace"]
    assert "removed beforehand" not in said["exact"] + said["private"] + said["synthetic"]
    assert f"the cap allows {at_most(capped['exposed_users_at_most'])} at most" in said["private"]
    assert "2 that could be drawn" in said["private"]
    assert "Exposure" not in said["synthetic"]
    assert "proven gap" not in said["private"] + said["synthetic"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_on_every_number_of_the_certificate_never_shows_in_public(
    tmp_path, monkeypatch, kind
):
    true_certificate = Release.certificate

    def marked_certificate(self):
        true = true_certificate(self)
        return type(true).model_validate(marked(true.to_dict()))

    monkeypatch.setattr(Release, "certificate", marked_certificate)
    _, release = release_of(kind, tmp_path / kind)

    def count(side):
        texts = [file.read_text(errors="replace") for file in Path(release / side).iterdir()]
        return sum(text.count(f"{MARK}") + text.count(f"{MARK:,}") for text in texts)

    assert count("public") == 0
    assert count("curator") > 20


def marked(value):
    if isinstance(value, dict):
        return {name: marked(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [marked(inner) for inner in value]
    return MARK if isinstance(value, int | float) and not isinstance(value, bool) else value


@pytest.mark.parametrize("kind", KINDS)
def test_another_log_changes_nothing_in_public_but_what_the_mechanism_gave(
    releases, tmp_path, kind
):
    """Whatever is published beside the log and its checksum is chosen, or an output with noise."""

    def told(release):
        manifest = json.loads((release / "public/manifest.json").read_text())
        return manifest.pop("outputs"), manifest["log"].pop("sha256"), manifest

    outputs, checksum, rest = told(releases[kind][1])
    other_outputs, other_checksum, other_rest = told(release_of(kind, tmp_path / kind, more=97)[1])

    assert rest == other_rest
    assert checksum != other_checksum
    assert (outputs is None) == (kind in ("exact", "laplace")) == (other_outputs is None)


def test_an_empty_release_can_be_evaluated(tmp_path):
    """Rarely drawn rows may be none at all."""
    rows = [(f"u{k}", "zebra", "z.example", 1) for k in range(600)]
    log = write(tmp_path / "clicks.tsv", rows)
    budget = slogan.PrivacyBudget(epsilon=4, delta="0.5")
    counts = slogan.PrivateCounts(sampling_share="1e-9")
    with closing(slogan.sanitize(log, budget, counts=counts)) as made:
        made.save(tmp_path / "release")
    found = slogan.evaluate(log, tmp_path / "release")
    found.save(tmp_path / "release")

    assert found.to_dict()["size"] == 0
    assert "0 clicks are released" in page(tmp_path / "release", "curator")


def test_no_kind_shares_its_promise_with_another():
    every = [wording_of(kind, slogan.PrivacyBudget(epsilon=1, delta="0.5")) for kind in ReleaseKind]

    assert len({kind.verdict for kind in every}) == len({kind.steps for kind in every}) == 4


def test_a_budget_chosen_on_the_log_is_not_covered_and_the_manifest_says_so():
    budget = slogan.PrivacyBudget(epsilon=1, delta="0.5")
    kind = ReleaseKind.EXACT_COUNTS
    plain, chosen = promise_of(kind, {}, budget), promise_of(kind, {"require": 9}, budget)
    added = set(chosen.not_guaranteed) - set(plain.not_guaranteed)

    assert chosen.guarantees == plain.guarantees
    assert added == {BUDGET_FROM_LOG}
    assert BUDGET_FROM_LOG.startswith("The budget was chosen on the log")


def test_a_plan_chosen_on_the_log_under_a_given_budget_says_so():
    budget = slogan.PrivacyBudget(epsilon=1, delta="0.5")
    kind = ReleaseKind.EXACT_COUNTS
    few = {"require": 9, "minimize": "exposure"}
    plain, chosen = promise_of(kind, {}, budget), promise_of(kind, few, budget)

    assert chosen.guarantees == plain.guarantees
    assert set(chosen.not_guaranteed) - set(plain.not_guaranteed) == {PLAN_FROM_LOG}
