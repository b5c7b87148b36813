"""Where a release may go: never over its own log, into it, or over what is not a release."""

from contextlib import closing

import pytest
from tests.helpers import write
from tests.unit.cli.commands import BUDGET, ROWS, slogan

import slogan as library
from slogan.errors import OptionError, ReleaseExistsError
from slogan.ledger.ledger import Ledger
from slogan.release.destination import require_place

SPEND = library.PrivacyBudget(exp_epsilon=2, delta="0.5")
SYNTHESIS = ("--epsilon", "1", "--delta", "1e-3")


@pytest.fixture
def log(tmp_path):
    (tmp_path / "data").mkdir()
    file = tmp_path / "data/clicks.tsv"
    write(file, ROWS)
    return file


@pytest.fixture
def release(tmp_path, log):
    with closing(library.sanitize(log, SPEND, time_limit=5)) as made:
        made.save(tmp_path / "out")
    return tmp_path / "out"


def files_in(folder):
    return {f: f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def refused(tmp_path, *words):
    before = files_in(tmp_path)
    done = slogan(*words, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert files_in(tmp_path) == before
    return done.stderr


@pytest.mark.parametrize("verb", [("sanitize", *BUDGET), ("synthesize", *SYNTHESIS)])
@pytest.mark.parametrize("place", ["out/mine.tsv", "out/public/log.tsv", "out/curator/mine.tsv"])
def test_force_does_not_replace_the_folder_that_holds_the_log(tmp_path, log, release, verb, place):
    (tmp_path / place).write_bytes(log.read_bytes())

    said = refused(tmp_path, verb[0], place, "-o", "out", "--force", *verb[1:])
    assert "a file of the log, or the ledger, is inside out" in said


def test_force_does_not_delete_what_is_not_the_releases(tmp_path, log, release):
    (release / "thesis.txt").write_text("years of work")

    said = refused(tmp_path, "sanitize", log, "-o", "out", "--force", *BUDGET)
    assert "more than public/ and curator/" in said
    assert "thesis" not in said


def test_a_release_that_was_evaluated_is_replaced(tmp_path, log, release):
    library.evaluate(log, release).save(release)
    with closing(library.sanitize(log, SPEND, time_limit=5)) as made:
        made.save(release, force=True)

    assert not (release / "curator/evaluation.json").exists()


@pytest.mark.parametrize("verb", [("sanitize", *BUDGET), ("synthesize", *SYNTHESIS)])
@pytest.mark.parametrize("place", ["data", "data/out", "data/deep/out", "link/out"])
def test_a_release_does_not_become_a_part_of_its_log(tmp_path, log, verb, place):
    (tmp_path / "link").symlink_to("data")

    said = refused(tmp_path, verb[0], "data", "-o", place, *verb[1:])
    assert ("inside a directory given as log" in said) or ("is inside data" in said)


def test_beside_a_log_that_was_named_is_a_good_place(tmp_path, log):
    require_place(log.parent / "out", library.read(log), force=False)
    require_place(tmp_path / "out", library.read(log.parent), force=False)
    require_place(tmp_path / "database", library.read(log.parent), force=False)


def test_links_do_not_hide_where_the_log_is(tmp_path, log, release):
    (release / "public/linked.tsv").symlink_to(log)
    (tmp_path / "elsewhere.tsv").symlink_to(release / "public/log.tsv")
    for file in (release / "public/linked.tsv", tmp_path / "elsewhere.tsv"):
        with pytest.raises(OptionError, match="a file of the log"):
            require_place(release, library.read(file), force=True)


def test_save_looks_too_and_sees_the_ledger(tmp_path, log, release):
    ledger = Ledger.open("web", release / "curator/web.ledger")
    ledger.create()
    with closing(library.sanitize(log, SPEND, time_limit=5)) as made:
        with pytest.raises(OptionError, match="the ledger"):
            made.save(release, force=True, ledger=ledger)
        with pytest.raises(OptionError, match="a file of the log"):
            made.save(log.parent)
    assert ledger.books().population == "web"


def test_an_existing_target_is_refused_before_anything_is_counted(tmp_path, log, release):
    write(log, [(1, "a", "b", "no number")])

    assert "already exists" in refused(tmp_path, "sanitize", log, "-o", "out", *BUDGET)


@pytest.mark.parametrize("place", ["/", "data/..", "..", "a\0b", "a\udcffb"])
def test_what_is_no_name_of_a_folder_is_refused(tmp_path, log, place):
    with pytest.raises(OptionError, match="name"):
        require_place(tmp_path / place, library.read(log), force=True)


def test_a_folder_that_cannot_be_read_is_not_replaced(tmp_path, log, release, monkeypatch):
    def forbidden(folder):
        raise PermissionError(13, "no")

    monkeypatch.setattr(type(release), "iterdir", forbidden)
    with pytest.raises(ReleaseExistsError, match="not a release"):
        require_place(release, library.read(log), force=True)
