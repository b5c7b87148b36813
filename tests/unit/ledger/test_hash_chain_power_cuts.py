"""What a power cut must not undo is on disk before anything relies on it, and so is its name."""

import errno
import os
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.helpers import fill

from slogan.dp.accounting import Cost
from slogan.errors import LedgerError
from slogan.ledger.ledger import Charge, Ledger, publish_recorded, settled
from slogan.storage import atomic
from slogan.storage.atomic import Attempt, clear_attempts, make_folder, write_private

CHARGE = Charge(method="test", parameters={}, cost=Cost())


@pytest.fixture
def happened(monkeypatch):
    """What was made, put on disk or given its name, in order."""
    told, fsync, mkdir, replace = [], os.fsync, Path.mkdir, Path.replace

    def synced(handle):
        told.append(("sync", Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def made(path, *args, **options):
        told.append(("make", path))
        mkdir(path, *args, **options)

    def replaced(path, other):
        told.append(("replace", other))
        return replace(path, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "mkdir", made)
    monkeypatch.setattr(Path, "replace", replaced)
    return told


def made_and_synced(*folders):
    return [event for f in folders for event in (("make", f), ("sync", f.parent))]


MAKERS = {
    "ledger": lambda place: Ledger.open("web-users", place / "web.ledger").create(),
    "release": lambda place: publish_recorded(
        place / "release", fill, force=False, charge=CHARGE, ledger=None
    ),
    "report": lambda place: write_private(place, {"report.html": "<html>"}),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_folders_that_are_made_on_the_way_are_on_disk(tmp_path, happened, kind):
    MAKERS[kind](tmp_path / "a/b/c")
    way = made_and_synced(tmp_path / "a", tmp_path / "a/b", tmp_path / "a/b/c")

    assert happened[: len(way)] == way


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path, happened):
    make_folder(tmp_path, mode=0o700)

    assert happened == []


def test_the_mode_is_that_of_the_last_folder(tmp_path):
    make_folder(tmp_path / "a/b", mode=0o700)

    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o777 & ~umask()


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


def test_what_is_not_a_folder_is_not_taken_for_one(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(FileExistsError):
        make_folder(tmp_path / "a")


@pytest.fixture
def ledger(tmp_path):
    """The ledger of a release whose run was killed when it had given it its name."""
    made = Ledger.open("web-users", tmp_path / "private/web.ledger")
    made.create()

    def run():
        Attempt.keep_name = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        publish_recorded(tmp_path / "release", fill, force=False, charge=CHARGE, ledger=made)

    killed = get_context("fork").Process(target=run)
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    return made


def test_a_name_is_on_disk_before_the_ledger_says_that_it_was_given(tmp_path, ledger, happened):
    outcomes = ledger.books().outcomes

    assert list(outcomes.values()) == ["published"]
    assert happened.index(("sync", tmp_path)) < happened.index(("replace", ledger.file))


def test_a_disk_that_fails_leaves_the_decision_and_its_evidence_to_later(
    tmp_path, ledger, monkeypatch
):
    def failing(handle):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(atomic.os, "fsync", failing)
        with pytest.raises(LedgerError, match="Input/output error"):
            ledger.books()
        clear_attempts(tmp_path, settled)
    assert len(list(tmp_path.glob(".release.partial-*"))) == 1

    assert list(ledger.books().outcomes.values()) == ["published"]
    assert list(tmp_path.glob(".release.partial-*")) == []
