"""A forged passport is refused, whatever else its forger makes fit; honest older releases pass."""

import json
import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

import slogan
from slogan.release.publication import write_checksums
from slogan.report import deployment
from slogan.verification.passport.plain_yaml import plain_yaml

OLDER = "0123456789abcdef"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("passports")
    rows = [f"person{u}\tq{n}\twww.{n}.com\t1" for u in range(20) for n in range(4)]
    log = folder / "clicks.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *rows]) + "\n")
    with slogan.sanitize(log, exp_epsilon=2, delta="0.5", solver="exact") as release:
        release.save(folder / "release")
    return folder


@pytest.fixture(params=["this version", "an older one"])
def release(made, tmp_path, request):
    """A release of this version, or one that looks as if made with other words."""
    folder = shutil.copytree(made / "release", tmp_path / "release")
    if request.param != "this version":
        file = folder / "public/manifest.json"
        manifest = json.loads(file.read_text(encoding="utf-8")) | {"wording": OLDER}
        file.write_bytes(to_json(manifest, indent=2) + b"\n")
        write_checksums(folder / "public")
    return folder


def failed(release):
    verdict = slogan.verify_public(release / "public")
    return {one.name for one in verdict.checks if not one.ok}


def forged(release, name, change):
    """The failed checks once a file was changed, and the checksums made to fit."""
    file = release / "public" / name
    text = file.read_text(encoding="utf-8")
    changed = change(text)
    assert changed != text
    file.write_text(changed, encoding="utf-8")
    write_checksums(release / "public")
    return failed(release)


def in_json(change):
    def changed(text):
        found = json.loads(text)
        change(found)
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"

    return changed


def test_honest_passports_pass(release):
    assert failed(release) == set()


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found.update(extra="x"),
        lambda found: found.update(url="https://elsewhere.example/"),
        lambda found: found.update(license="https://elsewhere.example/"),
        lambda found: found["distribution"].append(dict(found["distribution"][0], name="log.csv")),
        lambda found: found["distribution"][0].update(contentUrl="https://elsewhere.example/log"),
        lambda found: found["distribution"][0].update(sha256="0" * 64),
        lambda found: found["distribution"][0].update(contentSize="1 GB"),
        lambda found: found["recordSet"][0]["field"].pop(),
        lambda found: found["recordSet"].append(found["recordSet"][0]),
        lambda found: found.update({"rai:hasSyntheticData": True}),
        lambda found: found.update({"rai:dataBiases": "None in 999 years"}),
        lambda found: found["conformsTo"].append("http://mlcommons.org/croissant/2.0"),
        lambda found: found["@context"].update(sc="https://elsewhere.example/"),
        lambda found: found.update(datePublished="yesterday"),
        lambda found: found.update(datePublished="2026-02-30"),
        lambda found: found.update(datePublished="2026-12-01"),
    ],
)
def test_a_forged_croissant_is_refused(release, change):
    assert "passport" in forged(release, "croissant.json", in_json(change))


def test_a_field_that_is_there_twice_is_refused(release):
    twice = '"rai:hasSyntheticData": true,\n  "rai:hasSyntheticData": false'
    before = '"rai:hasSyntheticData": false'
    assert "passport" in forged(release, "croissant.json", lambda text: text.replace(before, twice))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"epsilon: .*", "epsilon: 0.1"),
        (r"epsilon: .*", "epsilon: 0.693147"),  # rounded in its own favour
        (r"epsilon: .*", "epsilon: 0.6935"),
        (r"epsilon: .*", "epsilon: !!float 0.693148"),
        (r"delta: .*", 'delta: "1e-6"'),
        (r"delta: .*", 'delta: "0.51"'),
        (r"variant_name: .*", "variant_name: Approximate DP"),
        (r"data_product_type: .*", "data_product_type: Synthetic data"),
        (r"tier: 3", "tier: 2"),
        (r'status: "Draft"', 'status: "Approved"'),
        (r"publication_date: .*", 'publication_date: "1980-02-30"'),
        (r"publication_date: .*", 'publication_date: "2026-12-01"'),
        (r"tier: 3", "tier: 3\nmore: x"),
        (r"tier: 3", "tier: 3\ntier: 3"),
        (r"tier: 3", "tier: &a 3"),
        (r"unprotected_quantities: \|-\n(      .*\n)+", 'unprotected_quantities: "Nothing."\n'),
        (r'region: ".*"', 'region: "https://elsewhere.example/"'),
        (r'region: ".*"', 'region: "All 999 of them"'),
        (r"# .*\n", ""),
        (r"$", "---\na: b\n"),
    ],
)
def test_a_forged_deployment_is_refused(release, pattern, text):
    changed = lambda before: re.sub(pattern, lambda _: text, before, count=1)  # noqa: E731
    assert "passport" in forged(release, "deployment.yaml", changed)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(text[:4], "0000", 1),
        lambda text: text + "0" * 64 + "  other.txt\n",
        lambda text: "".join(text.splitlines(keepends=True)[1:]),
        lambda text: "".join(reversed(text.splitlines(keepends=True))),
        lambda text: text + text,
        lambda text: text.rstrip("\n"),
        lambda text: "# note\n" + text,
        lambda text: text.replace("  log.tsv", "  ../public/log.tsv"),
        lambda text: text.replace("  log.tsv", " *log.tsv"),
    ],
)
def test_forged_checksums_are_refused(release, change):
    file = release / "public/SHA256SUMS"
    file.write_text(change(file.read_text()))

    assert failed(release) == {"checksum_file"}


def test_each_file_is_needed_by_this_version_and_optional_for_older_ones(release):
    older = json.loads((release / "public/manifest.json").read_bytes())["wording"] == OLDER
    for name in ("croissant.json", "deployment.yaml", "SHA256SUMS"):
        (release / "public" / name).unlink()
    verdict = slogan.verify_public(release / "public")
    details = {one.name: one.detail for one in verdict.checks}

    if older:
        assert verdict.ok
        assert "made by an earlier version" in details["passport"]
        assert "slogan passport RELEASE" in details["checksum_file"]
    else:
        assert failed(release) == {"words", "passport", "checksum_file", "nothing_else_public"}


def test_half_a_passport_is_refused(release):
    (release / "public/croissant.json").unlink()
    write_checksums(release / "public")

    assert "passport" in failed(release)


def test_a_name_of_the_log_in_a_passport_is_refused(made, release):
    file = release / "public/deployment.yaml"
    file.write_text(
        re.sub('data_product_region: ".*"', 'data_product_region: "person3"', file.read_text())
    )
    write_checksums(release / "public")
    verdict = slogan.verify(made / "clicks.tsv", release)

    assert any(
        one.name == "passport" and not one.ok and "names a user" in one.detail
        for one in verdict.checks
    )


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_reader_of_yaml_reads_what_is_quoted(text):
    assert plain_yaml(f"# x\na: {deployment.quoted(text)}\n") == {"a": text}
