"""Promise, pages and labels follow from the manifest, and older releases still pass."""

import json
import shutil

import pytest
from pydantic_core import to_json
from tests.helpers import write_pages

import slogan
from slogan.manifest.manifest import Manifest
from slogan.release.publication import write_checksums

OLDER = "0123456789abcdef"
LABELS = slogan.Labels(title="Clicks of spring", contact="person3@library.example")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    rows = [f"person{u}\tq{n}\twww.{n}.com\t1" for u in range(20) for n in range(4)]
    log = folder / "clicks.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *rows]) + "\n")
    with slogan.sanitize(log, exp_epsilon=2, delta="0.5", solver="exact", labels=LABELS) as release:
        release.save(folder / "release")
    return folder


@pytest.fixture
def release(made, tmp_path):
    return shutil.copytree(made / "release", tmp_path / "release")


def failed(made, release):
    write_checksums(release / "public")  # as a careful forger would
    return {one.name for one in slogan.verify(made / "clicks.tsv", release).checks if not one.ok}


def change(release, **changes):
    """Change the manifest, and the pages with it, as a careful forger would."""
    file = release / "public/manifest.json"
    manifest = json.loads(file.read_text()) | changes
    file.write_bytes(to_json(manifest, indent=2) + b"\n")
    write_pages(release / "public", Manifest.model_validate(manifest))


def test_labels_are_published_and_verified(made, release):
    assert failed(made, release) == set()
    for name in ("manifest.json", "report.html", "data-card.html"):
        text = (release / "public" / name).read_text()
        assert "Clicks of spring" in text
        assert "person3@library.example" in text


@pytest.mark.parametrize("page", ["report.html", "data-card.html"])
def test_an_edited_page_is_found(made, release, page):
    file = release / "public" / page
    file.write_text(file.read_text().replace("is not covered", "is covered"))
    assert failed(made, release) == {"words"}


def test_a_missing_card_is_found(made, release):
    (release / "public/data-card.html").unlink()
    assert failed(made, release) == {"words", "nothing_else_public"}


@pytest.mark.parametrize("title", ["person7 and friends", "two\nlines", "", "x" * 201])
def test_a_label_that_names_a_user_or_is_not_one_line_is_found(made, release, title):
    change(release, labels={**LABELS.model_dump(), "title": title})
    assert failed(made, release) == {"manifest_as_written"}


def test_a_release_made_with_other_words_passes_with_and_without_a_card(made, release):
    """Older releases have a report with links to its sections, and no card."""
    change(release, wording=OLDER)
    assert failed(made, release) == set()
    (release / "public/data-card.html").unlink()
    assert failed(made, release) == set()


@pytest.mark.parametrize(
    "added",
    [
        "<p>There are 2,987 users.</p>",
        "<p>person7</p>",
        "<script>1</script>",
        "<a href='https://x.example'>more</a>",
        "<!-- a note -->",
    ],
)
@pytest.mark.parametrize("page", ["report.html", "data-card.html"])
def test_other_words_hide_no_number_name_link_or_script(made, release, page, added):
    change(release, wording=OLDER)
    file = release / "public" / page
    file.write_text(file.read_text().replace("</body>", f"{added}</body>"))
    assert failed(made, release) == {"words"}
