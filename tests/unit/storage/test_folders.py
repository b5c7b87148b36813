"""Folders of a run: those of running processes stay, those of killed ones are removed."""

import os
import signal
import time
from pathlib import Path

import pytest
from tests.helpers import ended

from slogan.errors import StorageError
from slogan.ledger import hash_chain
from slogan.ledger.cap import Cap
from slogan.ledger.ledger import Charge, Ledger, publish_recorded
from slogan.storage import folders
from slogan.storage.folders import scratch, scratch_folder


def in_a_fork(act):
    """The exit code of a process that does this."""
    pid = os.fork()
    if not pid:
        try:
            act()
        except BaseException:  # noqa: BLE001 - the exit code tells
            os._exit(1)
        os._exit(0)
    return pid


def left_by_a_killed_run(place):
    def work():
        (scratch(place).path / "spilled").write_text("private")
        os.kill(os.getpid(), signal.SIGKILL)

    assert ended(in_a_fork(work)) == -signal.SIGKILL
    return next(place.iterdir())


def test_a_folder_is_for_its_owner_alone_and_gone_afterwards(tmp_path):
    with scratch_folder(tmp_path) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", [0, 4_102_444_800])
def test_the_folder_of_a_killed_run_goes_whatever_the_clock_says(tmp_path, moment):
    left = left_by_a_killed_run(tmp_path)
    os.utime(left, (moment, moment))
    with scratch_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("moment", [0, 4_102_444_800])
def test_the_folder_of_a_living_run_stays_whatever_the_clock_says(tmp_path, moment):
    with scratch_folder(tmp_path) as mine:
        os.utime(mine, (moment, moment))
        assert ended(in_a_fork(lambda: scratch(tmp_path).remove())) == 0
        with scratch_folder(tmp_path):
            assert mine.is_dir()


def test_nothing_that_others_made_is_touched(tmp_path):
    """Other names, and names of ours that are files or lead elsewhere."""
    token = "0" * 16
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("years of work")
    names = ["slogan-private", f".slogan-private-{token}0", ".slogan-private-", f"x{token}"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / f".slogan-private-{token}").symlink_to(precious)
    (tmp_path / f".slogan-private-{'1' * 16}").write_text("a file")
    before = sorted(tmp_path.iterdir())
    with scratch_folder(tmp_path):
        pass

    assert sorted(tmp_path.iterdir()) == before
    assert (precious / "thesis").exists()


def test_a_folder_of_another_account_is_left_alone(tmp_path, monkeypatch):
    left = left_by_a_killed_run(tmp_path)
    monkeypatch.setattr(folders.os, "geteuid", lambda: left.stat().st_uid + 1)
    with scratch_folder(tmp_path):
        assert left.exists()


def test_where_there_are_no_locks_nothing_is_removed(tmp_path, monkeypatch):
    def no_locks(handle, how):
        raise OSError(95, "Operation not supported")

    left = left_by_a_killed_run(tmp_path)
    monkeypatch.setattr(folders.fcntl, "flock", no_locks)
    with scratch_folder(tmp_path) as folder:
        assert left.exists()
    assert not folder.exists()


def crowd(place, seconds):
    """Whether processes that make folders and clear up all the time kept their own ones."""

    def work():
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            held = scratch(place)
            (held.path / "mine").write_text("mine")
            time.sleep(0.0005)
            assert (held.path / "mine").read_text() == "mine"
            held.remove()

    return [ended(pid) for pid in [in_a_fork(work) for _ in range(4)]]


def test_runs_at_once_do_not_remove_each_others_folders(tmp_path):
    assert crowd(tmp_path, 1.0) == [0] * 4
    assert list(tmp_path.iterdir()) == []


def test_without_the_lock_they_would(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.fcntl, "flock", lambda handle, how: None)

    assert any(crowd(tmp_path, 1.0))


def test_a_place_that_cannot_be_used_is_a_clear_error(tmp_path):
    with pytest.raises(StorageError, match="no private folder"):
        scratch(tmp_path / "nowhere")


def filled(partial):
    for name in ("public", "curator"):
        (partial / name).mkdir()
    (partial / "public/manifest.json").write_text(os.urandom(8).hex())


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("web-users", tmp_path / "private/web.ledger")
    made.create()
    made.set_cap(Cap.of("1", "1e-6"))
    return made


CHARGE = Charge(method="test", parameters={}, cost=Cap.of("1", "1e-6").limits)


def killed_when_booked(ledger, target, monkeypatch):
    """The whole cap is booked, and the run killed before its release has a name."""

    def kill(self, other):
        if self.name == "release":
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, other)

    rename = Path.rename
    monkeypatch.setattr(Path, "rename", kill)
    act = lambda: publish_recorded(target, filled, force=False, charge=CHARGE, ledger=ledger)  # noqa: E731
    assert ended(in_a_fork(act)) == -signal.SIGKILL
    monkeypatch.setattr(Path, "rename", rename)


def test_a_run_without_a_ledger_asks_that_of_a_killed_run_before_it_clears_up(
    tmp_path, ledger, monkeypatch
):
    """Were the evidence gone, the ledger would have to count the release as published."""
    killed_when_booked(ledger, tmp_path / "release", monkeypatch)
    publish_recorded(tmp_path / "other", filled, force=False, charge=CHARGE, ledger=None)

    assert sorted(p.name for p in tmp_path.iterdir()) == ["other", "private"]
    assert list(ledger.books().outcomes.values()) == ["abandoned"]
    publish_recorded(tmp_path / "again", filled, force=False, charge=CHARGE, ledger=ledger)


def test_the_evidence_stays_while_its_ledger_cannot_be_used(tmp_path, ledger, monkeypatch):
    killed_when_booked(ledger, tmp_path / "release", monkeypatch)
    kept = ledger.file.read_bytes()
    ledger.file.write_bytes(b"damaged")
    publish_recorded(tmp_path / "other", filled, force=False, charge=CHARGE, ledger=None)
    left = [p for p in tmp_path.iterdir() if p.name.startswith(".")]

    assert len(left) == 1
    ledger.file.write_bytes(kept)
    assert list(ledger.books().outcomes.values()) == ["abandoned"]
    assert not left[0].exists()


def test_the_evidence_stays_while_its_ledger_cannot_be_found(tmp_path, ledger, monkeypatch):
    """Such as on a disk that is not there: what it says is not known until it is back."""
    killed_when_booked(ledger, tmp_path / "release", monkeypatch)
    private = ledger.file.parent.rename(tmp_path / "unmounted")
    publish_recorded(tmp_path / "other", filled, force=False, charge=CHARGE, ledger=None)
    left = [p for p in tmp_path.iterdir() if p.name.startswith(".")]

    assert len(left) == 1
    private.rename(ledger.file.parent)
    assert list(ledger.books().outcomes.values()) == ["abandoned"]
    assert not left[0].exists()


def test_a_clock_that_goes_backwards_changes_nothing_but_the_times(tmp_path, ledger, monkeypatch):
    class Backwards(hash_chain.datetime):
        years = iter(range(2030, 1970, -1))

        @classmethod
        def now(cls, tz=None):
            return cls(next(cls.years), 1, 1, tzinfo=tz)

    monkeypatch.setattr(hash_chain, "datetime", Backwards)
    publish_recorded(tmp_path / "release", filled, force=False, charge=CHARGE, ledger=ledger)
    books = ledger.books()
    times = [link.time for link in books.links][2:]

    assert [link.number for link in books.links] == list(range(len(books.links)))
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == 2
    assert len(books.releases) == 1
    with pytest.raises(Exception, match="cap"):
        publish_recorded(tmp_path / "more", filled, force=False, charge=CHARGE, ledger=ledger)
