"""Checkpoints of a run that was killed: gone with the next release of that name, however made."""

import shutil
from contextlib import closing

import pytest

import slogan
from slogan.errors import ReleaseExistsError
from slogan.storage import folders
from slogan.storage.folders import OURS

EXACT = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
PRIVATE = slogan.PrivacyBudget(epsilon=8, delta="0.1")
MAKERS = {
    "sanitize": lambda log: slogan.sanitize(log, EXACT, solver="spe"),
    "private": lambda log: slogan.sanitize(log, PRIVATE, counts=slogan.PrivateCounts()),
    "synthesize": lambda log: slogan.synthesize(log, PRIVATE, accept_weak_privacy=True),
}


@pytest.fixture
def log(tmp_path):
    rows = [f"{u}\tquery {n}\twww.site{n}.com\n" for u in range(200) for n in range(3)]
    file = tmp_path / "clicks.tsv"
    file.write_text("user\tquery\turl\n" + "".join(rows))
    return file


def left_for(target):
    """What a run that solved for this release left when it was killed."""
    folder = folders.place(target)
    (folder / "0123/step-000010").mkdir(parents=True)
    (folder / "0123/step-000010/part.parquet").write_text("numbers of the log")
    (folder / OURS).touch()
    return folder


@pytest.mark.parametrize("maker", MAKERS)
def test_a_release_leaves_no_checkpoints_beside_itself(tmp_path, log, maker):
    mine, other = left_for(tmp_path / "release"), left_for(tmp_path / "other")
    with closing(MAKERS[maker](log)) as made:
        made.save(tmp_path / "release")

    assert not mine.exists()
    assert (other / "0123/step-000010/part.parquet").exists()


def test_a_run_that_publishes_nothing_leaves_them(tmp_path, log):
    mine = left_for(tmp_path / "release")
    (tmp_path / "release").mkdir()
    with closing(MAKERS["sanitize"](log)) as made, pytest.raises(ReleaseExistsError):
        made.save(tmp_path / "release")

    assert (mine / "0123/step-000010/part.parquet").exists()


def test_a_folder_of_others_is_left_alone(tmp_path):
    folder = left_for(tmp_path / "release")
    (folder / OURS).unlink()
    folders.remove(folder)

    assert (folder / "0123/step-000010/part.parquet").exists()


def test_who_is_killed_while_removing_leaves_the_rest_to_the_next(tmp_path, monkeypatch):
    folder, rmtree = left_for(tmp_path / "release"), shutil.rmtree

    def killed(path):
        rmtree(path / "step-000010")
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        folders.remove(folder)
    monkeypatch.undo()
    assert (folder / OURS).exists()
    folders.remove(folder)

    assert not folder.exists()
