"""A job: what is closed and booked if nothing comes of it, and where a release may go.

A release never goes over its own log, into it, or over what is not a release.
"""

from contextlib import closing
from fractions import Fraction
from importlib import import_module
from unittest.mock import Mock

import pytest
from tests.helpers import write
from tests.unit.cli.commands import BUDGET, ROWS, slogan

import slogan as library
from slogan.dp.accounting import Cost
from slogan.dp.synthesis import generator_of
from slogan.errors import (
    EmptyPlanError,
    LedgerError,
    NothingLeftError,
    OptionError,
    ReleaseExistsError,
    StorageError,
    TooFewUsersError,
)
from slogan.ledger.ledger import Ledger, Reservation
from slogan.manifest.labels import Labels
from slogan.modes import ReleaseKind
from slogan.progress import silent
from slogan.release.job import Destination, started_job
from slogan.workflows.demo import demo

SPEND = library.PrivacyBudget(exp_epsilon=2, delta="0.5")
PLANNED = Cost(epsilon=Fraction(1, 2))
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
    Destination(folder=log.parent / "out", force=False).require(library.read(log))
    Destination(folder=tmp_path / "out", force=False).require(library.read(log.parent))
    Destination(folder=tmp_path / "database", force=False).require(library.read(log.parent))


def test_links_do_not_hide_where_the_log_is(tmp_path, log, release):
    (release / "public/linked.tsv").symlink_to(log)
    (tmp_path / "elsewhere.tsv").symlink_to(release / "public/log.tsv")
    for file in (release / "public/linked.tsv", tmp_path / "elsewhere.tsv"):
        with pytest.raises(OptionError, match="a file of the log"):
            Destination(folder=release, force=True).require(library.read(file))


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


@pytest.fixture
def published(tmp_path):
    """What a release is known by."""
    (tmp_path / "out/curator/deep").mkdir(parents=True)
    (tmp_path / "out/public").mkdir()
    (tmp_path / "out/public/manifest.json").write_text("{}")
    (tmp_path / "link").symlink_to("out/public")
    return tmp_path / "out"


@pytest.mark.parametrize(
    "place", ["out/x", "out/public/x", "out/curator/deep/x", "link/x", "out/public/../x"]
)
def test_a_release_does_not_go_into_another(tmp_path, log, published, place):
    for force in (False, True):
        with pytest.raises(OptionError, match="which is a release of slogan"):
            Destination(folder=tmp_path / place, force=force).require(library.read(log))


@pytest.mark.parametrize(
    "words",
    [
        ("sanitize", "data/clicks.tsv", "-o", "out/x", "--force", *BUDGET),
        ("synthesize", "data/clicks.tsv", "-o", "out/x", *SYNTHESIS),
        ("frontier", "data/clicks.tsv", "-o", "out/x"),
        ("frontier", "data/clicks.tsv", "-o", "out", "--force"),
        ("reproduce", "-o", "out/public"),
        ("generate", "out/public/log.tsv"),
    ],
    ids=lambda words: words[0],
)
def test_nothing_is_written_into_a_release(tmp_path, log, published, words):
    write(log, [(1, "a", "b", "no number")])  # nor is the log read before

    assert "which is a release of slogan" in refused(tmp_path, *words)


def test_a_demo_does_not_go_into_a_release(published):
    with pytest.raises(OptionError, match="which is a release of slogan"):
        demo(published / "demo")


def test_beside_a_release_is_a_good_place(tmp_path, log, release):
    Destination(folder=tmp_path / "out-2").require(library.read(log))
    Destination(folder=release / ".." / "other").require(library.read(log))
    Destination(folder=release, force=True).require(library.read(log))


@pytest.mark.parametrize("place", ["/", "data/..", "..", "a\0b", "a\udcffb"])
def test_what_is_not_a_name_of_a_folder_is_refused(tmp_path, log, place):
    with pytest.raises(OptionError, match="name"):
        Destination(folder=tmp_path / place, force=True).require(library.read(log))


def test_a_folder_that_cannot_be_read_is_not_replaced(tmp_path, log, release, monkeypatch):
    def forbidden(folder):
        raise PermissionError(13, "no")

    monkeypatch.setattr(type(release), "iterdir", forbidden)
    with pytest.raises(ReleaseExistsError, match="not a release"):
        Destination(folder=release, force=True).require(library.read(log))


# --- a job of which no release comes ---


@pytest.fixture
def engines(monkeypatch):
    """The engines that were started, watched."""
    made, start = [], library.DuckDB.start

    def watched(self, progress=silent):
        made.append(Mock(wraps=start(self, progress)))
        return made[-1]

    monkeypatch.setattr(library.DuckDB, "start", watched)
    return made


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("web", tmp_path / "web.ledger")
    made.create()
    return made


def started(log, ledger):
    return started_job(
        ReleaseKind.SYNTHETIC_USERS,
        log,
        SPEND,
        destination=Destination(ledger=ledger),
        planned_cost=PLANNED,
        seed=None,
        engine="duckdb",
        progress=None,
    )


FAILURES = [
    EmptyPlanError(limit=0.1, cheapest=0.2),
    NothingLeftError("nothing is left", hint="none"),
    StorageError("the disk is full", hint="none"),
    MemoryError(),
    KeyboardInterrupt(),
]


def fail(failure, log, ledger, act=lambda job: None):
    """A job that does something, and then fails."""
    with started(log, ledger) as job:
        act(job)
        raise failure


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
@pytest.mark.parametrize("drawn", [False, True], ids=["before it draws", "after it drew"])
def test_a_job_that_fails_pays_if_it_drew_and_closes_its_engine(
    log, ledger, engines, failure, drawn
):
    def act(job):
        assert ledger.books().spent == PLANNED
        if drawn:
            job.rng.words(1)

    with pytest.raises(type(failure)):
        fail(failure, log, ledger, act)

    books = ledger.books()
    assert [e.kind for e in books.entries[1:]] == ["reserved", "nothing" if drawn else "returned"]
    assert books.spent == (PLANNED if drawn else Cost())
    [host] = engines
    host.close.assert_called_once_with()


def test_words_drawn_for_another_generator_count_as_drawn(log, ledger):
    with pytest.raises(RuntimeError):
        fail(RuntimeError(), log, ledger, lambda job: generator_of(job.rng).random())

    assert ledger.books().spent == PLANNED


def test_a_job_that_waits_for_a_release_holds_its_reservation(log, ledger, engines):
    with started(log, ledger) as job:
        job.rng.words(1)

    assert ledger.books().spent == PLANNED
    assert [*ledger.books().reserved] == [job.reservation.number]
    engines[0].close()


def test_a_job_with_too_few_users_books_what_its_noise_cost_and_closes_its_engine(
    log, ledger, engines
):
    failure = TooFewUsersError(users=3, share=0.1, needed=50, cost=Cost(epsilon=Fraction(1, 4)))

    with pytest.raises(TooFewUsersError):
        fail(failure, log, ledger, lambda job: job.rng.words(1))

    [(_, nothing)] = ledger.books().nothings
    assert nothing.cost.cost == failure.cost == ledger.books().spent
    [host] = engines
    host.close.assert_called_once_with()


def test_the_failure_is_reported_and_the_reservation_stays_if_the_ledger_cannot_be_written(
    log, ledger, engines, monkeypatch
):
    def damaged(*_):
        raise LedgerError("the ledger is damaged", hint="none")

    full = StorageError("the disk is full", hint="none")
    with pytest.raises(StorageError, match="disk is full"):
        fail(full, log, ledger, lambda _: monkeypatch.setattr(Ledger, "_add", damaged))
    monkeypatch.undo()

    assert ledger.books().spent == PLANNED
    [host] = engines
    host.close.assert_called_once_with()


def test_the_engine_is_closed_even_if_settling_fails(log, ledger, engines, monkeypatch):
    monkeypatch.setattr(Reservation, "end", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt), started(log, ledger):
        raise TooFewUsersError(users=3, share=0.1, needed=50, cost=Cost())

    [host] = engines
    host.close.assert_called_once_with()


@pytest.mark.parametrize("label", ["two\nlines", "x" * 201, "a\x1b[2J", " ", "\u202eabc"])
def test_a_label_is_one_short_line(label):
    with pytest.raises(OptionError, match="one line"):
        Destination(labels=Labels(licence=label)).ledger_labels()
    with pytest.raises(OptionError, match="one line"):
        Destination(recipient=label).ledger_labels()


def test_the_engine_stays_open_for_the_release_that_comes_of_a_job(log, ledger, engines):
    with started(log, ledger):
        pass

    [host] = engines
    host.close.assert_not_called()
    host.close()


def test_a_synthesis_that_breaks_before_it_draws_costs_nothing(log, ledger, engines, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(import_module("slogan.workflows.synthetic_users"), "make_users", broken)
    with pytest.raises(RuntimeError):
        library.synthesize(log, epsilon=1, delta="1e-6", ledger=ledger)

    assert ledger.books().spent == Cost()
    assert ledger.books().entries[-1].kind == "returned"
    engines[0].close.assert_called_once_with()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("slogan.release.job", "fresh_pseudonyms"),
        ("slogan.workflows.synthesize", "SyntheticRelease"),
    ],
)
def test_a_synthesis_that_breaks_after_it_drew_is_charged(
    tmp_path, ledger, monkeypatch, module, name
):
    """Such as where the noisy number of users does not fit the type of the user-IDs."""
    log = write(tmp_path / "many.tsv", [(n, "a", "b.com", 1) for n in range(500)])

    def broken(*_, **__):
        raise OptionError("too few fresh user-IDs", hint="none")

    monkeypatch.setattr(import_module(module), name, broken)
    for tries in (1, 2):
        with pytest.raises(OptionError, match="too few"):
            library.synthesize(log, epsilon=8, delta="1e-3", ledger=ledger)
        assert len(ledger.books().nothings) == tries

    [first, second] = [nothing.cost.cost for _, nothing in ledger.books().nothings]
    assert first == second
    assert ledger.books().spent == first + second
