"""Release.open: rows, manifest and figures of a saved release, or a clear error."""

import json
import shutil

import pytest
from tests.kinds_of_logs import FORMS

import slogan
from slogan.errors import SloganError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    rows = [f"u{u}\tsecret q{n}\twww.{n}.com\t2" for u in range(20) for n in range(4)]
    log = folder / "clicks.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *rows]) + "\n")
    labels = slogan.Labels(title="Clicks")
    with slogan.sanitize(log, exp_epsilon=8, delta="0.9", solver="exact", labels=labels) as release:
        release.save(folder / "release")
        rows = release.to_polars()
    return folder, rows


def test_a_release_is_read_back_whole_and_from_its_public_half(saved, tmp_path):
    folder, rows = saved
    alone = shutil.copytree(folder / "release/public", tmp_path / "downloaded")
    for place in (folder / "release", str(folder / "release/public"), alone):
        opened = slogan.Release.open(place)

        assert opened.to_polars().rows() == rows.rows()
        assert opened.to_arrow().num_rows == len(opened.to_pandas()) == len(rows)
        assert opened.manifest.labels.title == "Clicks"
        assert opened.summary.rows == len(rows)
        assert opened.summary.clicks_out == rows["count"].sum()
        assert opened.summary.users_out == rows["user"].n_unique()
        assert opened.summary.pairs_out == rows.select("query", "url").n_unique()
        assert (opened.summary.delta, opened.summary.test_run) == ("0.9", False)
        assert opened.summary.to_dict()["kind"] == "sanitize, exact counts"


def test_what_is_shown_of_it_has_no_rows(saved):
    opened = slogan.Release.open(saved[0] / "release")
    shown = f"{opened!r} {opened} {opened.summary!r} {opened._repr_html_()} {opened.manifest!r}"

    assert "secret" not in shown
    assert "Clicks" in repr(opened)


def test_verify_and_evaluate_accept_it(saved):
    folder, _ = saved
    opened = slogan.Release.open(folder / "release")
    by_folder = slogan.evaluate(folder / "clicks.tsv", folder / "release").to_dict()
    by_object = slogan.evaluate(folder / "clicks.tsv", opened).to_dict()

    assert slogan.verify(folder / "clicks.tsv", opened).ok
    assert by_object | {"seconds": 0} == by_folder | {"seconds": 0}
    assert slogan.verify_public(opened.public).ok


def test_a_public_half_cannot_be_verified_against_a_log(saved):
    opened = slogan.Release.open(saved[0] / "release/public")
    with pytest.raises(SloganError, match="public half") as refused:
        slogan.verify(saved[0] / "clicks.tsv", opened)
    assert "verify_public" in (refused.value.hint or "")


@pytest.mark.parametrize("name", ["query log", "nested JSON Lines", "nested Parquet"])
def test_any_kind_of_log_is_read_back(tmp_path, name):
    form = FORMS[name]
    form.write(tmp_path)
    log = slogan.read(tmp_path / form.name, **form.told)
    with slogan.sanitize(log, exp_epsilon=8, delta="0.9", solver="exact") as release:
        release.save(tmp_path / "out")
        expected = release.to_arrow().to_pylist()
    opened = slogan.Release.open(tmp_path / "out/public")

    assert opened.to_arrow().to_pylist() == expected
    assert opened.summary.rows == len(expected)
    assert slogan.verify_public(opened.public).ok


def broken(release, name, change):
    file = release / "public" / name
    file.write_bytes(change(file.read_bytes()))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: broken(r, "log.tsv", lambda b: b[:-2]), "damaged: it has another checksum"),
        (lambda r: broken(r, "manifest.json", lambda b: b[:99]), "damaged: it is not a manifest"),
        (lambda r: (r / "public/log.tsv").unlink(), "is missing"),
        (lambda r: (r / "public/manifest.json").unlink(), "has no public/manifest.json"),
        (
            lambda r: broken(
                r,
                "manifest.json",
                lambda b: json.dumps(json.loads(b) | {"manifest_version": 99}).encode(),
            ),
            "newer slogan",
        ),
        (shutil.rmtree, "no release at"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(saved, tmp_path, spoil, message):
    release = shutil.copytree(saved[0] / "release", tmp_path / "release")
    spoil(release)
    with pytest.raises(SloganError, match=message) as refused:
        slogan.Release.open(release)
    assert refused.value.hint
    assert "secret" not in f"{refused.value} {refused.value.hint}"


def test_other_folders_and_files_are_refused_with_what_was_meant(saved):
    folder, _ = saved
    for place, meant in (
        (folder / "release/curator", str(folder / "release")),
        (folder / "release/public/log.tsv", str(folder / "release/public")),
        (folder / "releas", str(folder / "release")),
    ):
        with pytest.raises(SloganError) as refused:
            slogan.Release.open(place)
        assert meant in (refused.value.hint or "")
