"""A run reserves before it draws: however runs end, in whatever order, the cap holds."""

import itertools
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule
from tests.commands import command

from slogan.dp.accounting import Cost
from slogan.errors import BudgetRefusedError, LedgerError
from slogan.ledger import ledger as module
from slogan.ledger.cap import Cap
from slogan.ledger.hash_chain import Chain
from slogan.ledger.ledger import Charge, Ledger, Reservation, publish_recorded
from slogan.storage import atomic
from slogan.storage.atomic import Attempt

CAP = Cap.of("1", "1e-6")
_serial = itertools.count()


def share(part):
    return Cost(mu_squared=CAP.limits.mu_squared * part, delta=CAP.limits.delta * part)


def charge(cost, *, test_run=False, **labels):
    return Charge(method="synthesize", parameters={}, cost=cost, test_run=test_run, **labels)


def fill(partial):
    for name in ("public", "curator"):
        (partial / name).mkdir()
    (partial / "public/manifest.json").write_text(json.dumps({"run": next(_serial)}))


def publish(reservation, cost, *, test_run=False):
    target = reservation.ledger.file.parent / f"release-{next(_serial)}"
    publish_recorded(
        target,
        fill,
        force=False,
        charge=charge(cost, test_run=test_run),
        ledger=reservation.ledger,
        reservation=reservation,
    )
    return target


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("web", tmp_path / "web.ledger")
    made.create()
    made.set_cap(CAP)
    return made


class KilledError(BaseException):
    """Stands for a kill: nothing of the run is done after it."""


def publish_and_die(reservation, cost, *, named):
    """A run that is killed just before or just after its release gets its name."""
    swap, settle, clear = Attempt.swap, Ledger._settle, atomic._clear

    def die(attempt, *, force):
        if named:
            swap(attempt, force=force)
        Ledger._settle = lambda self, books: books
        atomic._clear = lambda folder, settled: None
        raise KilledError

    Attempt.swap = die
    try:
        publish(reservation, cost)
    except KilledError:
        pass
    finally:
        Attempt.swap, Ledger._settle, atomic._clear = swap, settle, clear


# --- every order of everything that can happen to several runs ---


@dataclass
class Run:
    """What a plain model knows of a run."""

    held: Reservation
    planned: Cost
    cost: Cost
    counts: Cost
    over: bool = False
    saved: bool = False


PARTS = st.sampled_from([Fraction(1, n) for n in (1, 2, 3, 5)])


class Runs(RuleBasedStateMachine):
    """Several runs on one ledger, against a model that adds up what each has drawn."""

    runs = Bundle("runs")

    def __init__(self):
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.ledger = Ledger.open("web", Path(self.place.name) / "web.ledger")
        self.ledger.create()
        self.ledger.set_cap(CAP)
        self.known = []

    def teardown(self):
        self.place.cleanup()

    @property
    def spent(self):
        return sum((run.counts for run in self.known), Cost())

    @rule(target=runs, part=PARTS, used=PARTS)
    def start(self, part, used):
        planned = share(part)
        fits = CAP.admits(self.spent + planned)
        try:
            held = self.ledger.reserve(charge(planned))
        except BudgetRefusedError:
            assert not fits
            return None
        assert fits
        run = Run(held, planned, share(part * used), planned)
        self.known.append(run)
        return run

    @rule(run=runs)
    def fail_before_drawing(self, run):
        self._end(run, drawn=False, counts=Cost())

    @rule(run=runs)
    def fail(self, run):
        self._end(run, drawn=True, counts=run and run.planned)

    @rule(run=runs)
    def close_or_come_to_nothing(self, run):
        self._end(run, drawn=True, cost=run and run.cost, counts=run and run.cost)

    def _end(self, run, *, counts, **how):
        if run is None or (run.saved and not how["drawn"]):
            return
        run.held.end(**how)
        if not (run.over or run.saved):
            run.over, run.counts = True, counts

    @rule(run=runs)
    def save(self, run):
        if run is None:
            return
        if run.over:
            with pytest.raises(LedgerError, match="closed"):
                publish(run.held, run.cost)
            return
        publish(run.held, run.cost)
        run.saved, run.counts = True, run.cost

    @rule(run=runs)
    def fail_to_save(self, run):
        if run is None or run.over:
            return
        real = Path.rename

        def failing(path, target):
            if path.name == "release":
                raise OSError(28, "No space left on device")
            return real(path, target)

        Path.rename = failing
        try:
            with pytest.raises(Exception, match="No space"):
                publish(run.held, run.cost)
        finally:
            Path.rename = real

    @rule(run=runs, named=st.booleans())
    def kill_while_saving(self, run, named):
        if run is None or run.over:
            return
        publish_and_die(run.held, run.cost, named=named)
        if named:
            run.saved, run.counts = True, run.cost

    @invariant()
    def the_books_are_the_model(self):
        books = self.ledger.books()
        assert books.spent == self.spent
        assert CAP.admits(books.spent)
        waiting = [run.held.number for run in self.known if not (run.over or run.saved)]
        assert sorted(books.reserved) == waiting


Runs.TestCase.settings = settings(max_examples=10, stateful_step_count=15, deadline=None)
test_runs_in_any_order = Runs.TestCase


@pytest.mark.long
class TestManyRunsInAnyOrder(Runs.TestCase):
    """The same, with more orders tried."""

    settings = settings(max_examples=50, stateful_step_count=20, deadline=None)


# --- one by one ---


def test_a_reservation_counts_from_the_start_and_is_not_granted_twice(ledger):
    ledger.reserve(charge(share(1)))

    assert ledger.books().spent == share(1)
    with pytest.raises(BudgetRefusedError, match="no further release"):
        ledger.reserve(charge(share(Fraction(1, 100))))


def test_it_is_returned_only_if_nothing_was_drawn(ledger):
    returned, drawn = (ledger.reserve(charge(share(Fraction(1, 2)))) for _ in range(2))
    returned.end(drawn=False)
    drawn.end(drawn=True)
    drawn.end(drawn=False)

    books = ledger.books()
    assert books.spent == share(Fraction(1, 2))
    assert [entry.kind for entry in books.entries[2:]] == [
        *("reserved", "reserved", "returned", "nothing")
    ]
    assert books.reserved == {}


def test_a_release_costs_once_wherever_it_is_saved(ledger):
    held = ledger.reserve(charge(share(1)))
    cost = share(Fraction(1, 2))
    publish(held, cost)
    publish(held, cost)
    held.end(drawn=True)

    books = ledger.books()
    assert books.spent == cost
    assert len(books.releases) == 2
    assert {entry.reservation for entry in books.releases} == {held.number}


def test_a_release_that_costs_more_than_was_reserved_is_not_booked(ledger):
    held = ledger.reserve(charge(share(Fraction(1, 2))))
    for more in (Cost(epsilon=Fraction(1, 9)), share(Fraction(2, 3))):
        with pytest.raises(LedgerError, match="more than its run had reserved"):
            publish(held, more)

    assert ledger.books().spent == share(Fraction(1, 2))


def test_a_ledger_that_lost_the_reservation_books_nothing(ledger):
    before = ledger.file.read_bytes()
    held = ledger.reserve(charge(share(1)))
    ledger.file.write_bytes(before)
    ledger.reserve(charge(share(Fraction(1, 3))))
    held.end(drawn=False)
    with pytest.raises(LedgerError, match="does not hold the link"):
        publish(held, share(1))

    assert ledger.books().spent == share(Fraction(1, 3))


def test_a_cap_lowered_meanwhile_does_not_stop_what_was_granted_and_grants_no_more(ledger):
    held = ledger.reserve(charge(share(1)))
    ledger.set_cap(Cap.of("1/2", "1e-6"))
    publish(held, share(1))

    assert ledger.books().room is None
    assert not ledger.books().cap_came_first
    with pytest.raises(BudgetRefusedError):
        ledger.reserve(charge(share(Fraction(1, 1000))))


def test_a_test_run_cannot_get_past_a_cap_that_was_set_meanwhile(tmp_path):
    ledger = Ledger.open("web", tmp_path / "web.ledger")
    ledger.create()
    held = ledger.reserve(charge(share(1), test_run=True))
    assert ledger.books().spent == Cost()
    ledger.set_cap(CAP)
    with pytest.raises(BudgetRefusedError, match="protects no user"):
        publish(held, share(1), test_run=True)


def test_a_ledger_that_cannot_be_written_goes_on_to_count(ledger, monkeypatch):
    held = ledger.reserve(charge(share(1)))

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Chain, "_replace", full)
    held.end(drawn=False)
    monkeypatch.undo()
    assert ledger.books().spent == share(1)


def test_entries_that_refer_to_no_reservation_take_nothing_away(ledger):
    held = ledger.reserve(charge(share(Fraction(1, 2))))
    publish(held, share(Fraction(1, 2)))
    with ledger._chain.locked():
        links = ledger._chain.read()
        for number in (0, held.number, held.number + 1, 99):
            links = ledger._chain.append(links, {"kind": "returned", "reservation": number})

    assert ledger.books().spent == share(Fraction(1, 2))


def test_labels_are_kept(ledger):
    held = ledger.reserve(charge(share(1), title="Autumn", recipient="Institute"))
    entry = ledger.books().reserved[held.number]

    assert (entry.title, entry.recipient) == ("Autumn", "Institute")


# --- a folder of a team ---


def test_a_team_shares_a_folder(tmp_path, monkeypatch):
    folder = tmp_path / "team"
    folder.mkdir()
    folder.chmod(0o2770)
    monkeypatch.setenv("SLOGAN_LEDGER_DIR", str(folder))
    Ledger.open("web").create()

    assert module.folder() == folder
    assert [one.population for one in module.known()] == ["web"]
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == {
        "web.ledger": 0o660,
        ".web.ledger.lock": 0o660,
    }


def test_a_folder_that_is_merely_open_to_the_group_is_not_a_teams(tmp_path):
    tmp_path.chmod(0o770)
    Ledger.open("web", tmp_path / "web.ledger").create()

    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


# --- real runs ---


def few(tmp_path):
    """300 users who share nothing: no noise makes a pair pass the threshold."""
    file = tmp_path / "log.tsv"
    rows = [f"u{n}\tq{n}\turl{n}.com\t1\n" for n in range(300)]
    file.write_text("user\tquery\turl\tcount\n" + "".join(rows))
    return file


def test_of_parallel_runs_a_cap_for_one_admits_one(tmp_path, ledger):
    log = few(tmp_path)
    words = [*command(), "synthesize", str(log), "--epsilon", "1"]
    words += ["--delta", "1e-6", "--ledger", str(ledger.file), "--population", "web", "-o"]
    started = [
        subprocess.Popen(
            [*words, str(tmp_path / f"release-{n}")], stderr=subprocess.DEVNULL, env=os.environ
        )
        for n in range(6)
    ]
    codes = sorted(run.wait(timeout=300) for run in started)
    books = ledger.books()

    assert codes == [3, 5, 5, 5, 5, 5]
    assert len(books.nothings) == 1
    assert CAP.admits(books.spent)
    assert books.composed.delta_at_epsilon <= 1e-6
