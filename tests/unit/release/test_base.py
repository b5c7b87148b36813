"""A release is judged where it was saved, and in a private folder if it was not."""

import stat
from contextlib import closing

import pytest
from tests.helpers import write
from tests.unit.cli.commands import ROWS

import slogan
from slogan.dp.accounting import Cost
from slogan.errors import LogNotFoundError, OptionError, ReleaseExistsError

CASES = {
    "exact": (slogan.sanitize, {"exp_epsilon": 2, "delta": "0.5", "time_limit": 5}),
    "private": (slogan.sanitize, {"counts": "private", "epsilon": 8, "delta": "0.5"}),
    "synthetic": (slogan.synthesize, {"epsilon": 8, "delta": "0.5", "accept_weak_privacy": True}),
}


@pytest.fixture
def log(tmp_path):
    rows = [(1000 * n + user, *row) for n in range(20) for user, *row in ROWS]
    return write(tmp_path / "clicks.tsv", rows)


@pytest.fixture(params=CASES)
def release(log, request):
    make, options = CASES[request.param]
    with make(log, **options) as made:
        yield made


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary files go."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def test_a_release_is_judged_before_and_after_it_is_saved(tmp_path, log, place, release):
    before = slogan.verify(log, release)
    kept = slogan.evaluate(log, release)

    assert before.ok, before
    assert release.folder is None
    assert "not saved" in repr(release)
    assert [*place.glob(".slogan-private-*/release")] == []

    folder = release.save(tmp_path / "out").folder
    assert slogan.verify(log, release) == before == slogan.verify(log, folder)
    figures = [found.to_dict() for found in (kept, slogan.evaluate(log, release))]
    assert {**figures[0], "seconds": None} == {**figures[1], "seconds": None}


def test_a_saved_release_is_judged_where_it_is(tmp_path, log, release):
    release.save(tmp_path / "out")
    release.close()
    assert slogan.verify(log, release).ok

    with (tmp_path / "out/public/log.tsv").open("a") as rows:
        rows.write("1\tnever\tasked.com\t1\n")
    assert not slogan.verify(log, release).ok

    (tmp_path / "out").rename(tmp_path / "elsewhere")
    with pytest.raises(LogNotFoundError):
        slogan.verify(log, release)


def test_the_last_place_counts(tmp_path, release):
    for name in ("first", "second"):
        release.save(tmp_path / name)
    with release.in_folder() as folder:
        assert folder == tmp_path / "second"


def test_only_its_owner_can_open_what_was_not_saved(place, release):
    with release.in_folder() as folder:
        assert folder.parent.parent == place
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert (folder / "public/manifest.json").is_file()
    assert not folder.parent.exists()


def test_nothing_stays_after_an_error(place, release):
    with pytest.raises(RuntimeError), release.in_folder() as folder:
        raise RuntimeError
    assert not folder.parent.exists()


def test_nothing_stays_of_a_release_that_cannot_be_written(place, release, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = {*place.iterdir()}
    monkeypatch.setattr(type(release), "certificate", full)
    with pytest.raises(OSError, match="No space"), release.in_folder():
        pass
    assert {*place.iterdir()} == before


@pytest.fixture
def ledger(tmp_path):
    made = slogan.Ledger.open("web", tmp_path / "web.ledger")
    made.create()
    return made


def kinds(ledger):
    return [entry.kind for entry in ledger.books().entries[1:]]


@pytest.mark.parametrize("case", CASES)
def test_judging_books_nothing_and_saving_books_once(tmp_path, log, ledger, case):
    make, options = CASES[case]
    with closing(make(log, ledger=ledger, **options)) as made:
        before = ledger.file.read_bytes()
        assert slogan.verify(log, made).ok
        slogan.evaluate(log, made)
        assert ledger.file.read_bytes() == before

        made.save(tmp_path / "out")
        booked = ledger.file.read_bytes()
        assert slogan.verify(log, made).ok
        slogan.evaluate(log, made)
    assert ledger.file.read_bytes() == booked != before
    assert len(ledger.books().releases) == 1
    assert ledger.books().spent == (made.cost or Cost())
    assert kinds(ledger) == ["reserved"] * (case != "exact") + ["release", "outcome"]


@pytest.mark.parametrize("case", ["private", "synthetic"])
def test_a_release_costs_once_it_is_drawn_saved_or_not(tmp_path, log, ledger, case):
    make, options = CASES[case]
    with make(log, ledger=ledger, **options) as made:
        planned = ledger.books().spent
        assert planned.covers(made.cost)
        made.to_arrow()
    assert ledger.books().spent == made.cost
    made.close()
    assert kinds(ledger) == ["reserved", "nothing"]

    with make(log, ledger=ledger, labels=slogan.Labels(title="Autumn"), **options) as more:
        for name in ("first", "second"):
            more.save(tmp_path / name)
    assert ledger.books().spent == made.cost + more.cost
    assert [entry.title for entry in ledger.books().releases] == ["Autumn", "Autumn"]


@pytest.mark.parametrize("case", CASES)
def test_a_ledger_that_was_not_asked_before_the_draw_takes_no_release_with_a_cost(
    tmp_path, log, ledger, case
):
    make, options = CASES[case]
    with make(log, **options) as made:
        if case == "exact":
            made.save(tmp_path / "out", ledger=ledger)
            assert len(ledger.books().releases) == 1
            return
        with pytest.raises(OptionError, match="before its cost was reserved") as refused:
            made.save(tmp_path / "out", ledger=ledger)

    assert "ledger=" in refused.value.hint
    assert ledger.books().releases == []
    assert not (tmp_path / "out").exists()


def test_a_release_that_cannot_be_saved_counts(tmp_path, log, ledger):
    (tmp_path / "out").mkdir()
    make, options = CASES["synthetic"]
    with pytest.raises(ReleaseExistsError), make(log, ledger=ledger, **options) as made:
        made.save(tmp_path / "out")

    assert ledger.books().spent == made.cost
    assert kinds(ledger) == ["reserved", "nothing"]


def test_what_was_closed_is_not_saved_any_more(tmp_path, log, ledger):
    make, options = CASES["synthetic"]
    made = make(log, ledger=ledger, **options)
    made.close()
    with pytest.raises(Exception, match="closed"):
        made.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_neither_a_release_nor_a_path_is_refused(log):
    with pytest.raises(TypeError):
        slogan.verify(log, 7)
