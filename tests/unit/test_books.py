"""The books of a ledger and the file they stand in: how they read, and what they show."""

import errno
import hashlib
import json
import math
import os
import threading
from fractions import Fraction

import pytest
from pydantic import ValidationError

from slogan.dp import chain
from slogan.dp.books import Booked, Books, CapSet, Costs, Opened, Settled
from slogan.dp.cap import Cap, account
from slogan.dp.chain import Chain, Link
from slogan.dp.ledger import Charge, Ledger, _words, settled
from slogan.dp.mechanisms import Cost
from slogan.errors import BudgetRefusedError, LedgerError, OptionError

CAP = Cap.of("1", "1e-6")
THIRD = Cost(mu_squared=CAP.limits.mu_squared / 3, delta=CAP.limits.delta / 3)


def cap_entry(cap=CAP):
    limits = Costs.of(cap.limits)
    return CapSet(epsilon=cap.epsilon, delta=cap.delta, limits=limits, raised=False)


def release_entry(cost=THIRD, *, test_run=False):
    return Booked(
        method="test",
        parameters={},
        cost=None if cost is None else Costs.of(cost),
        test_run=test_run,
        allow_unaccounted=False,
        manifest_sha256="0" * 64,
        target="/nowhere",
        token="a",
    )


def gone(release):
    return Settled(release=release, outcome="abandoned")


def books(*entries):
    links = []
    for entry in [Opened(population="us"), *entries]:
        said = entry.model_dump(mode="json")
        links.append(Link(number=len(links), time="now", previous=chain.head(links), entry=said))
    return Books("nowhere", tuple(links))


# --- what the books show ---


@pytest.mark.parametrize(
    ("entries", "first"),
    [
        ([cap_entry()], True),
        ([cap_entry(), release_entry()], True),
        ([cap_entry(), cap_entry(), release_entry()], True),
        ([cap_entry(), release_entry(), release_entry()], True),
        ([release_entry(), cap_entry()], False),
        ([cap_entry(), release_entry(), cap_entry()], False),
        ([release_entry(), cap_entry(), release_entry()], False),
        ([release_entry(), gone(1), cap_entry()], True),
        ([release_entry(), gone(1), cap_entry(), release_entry()], True),
        ([release_entry(), gone(1), release_entry(), cap_entry()], False),
    ],
)
def test_a_cap_came_first_if_nothing_was_released_before_the_last_one(entries, first):
    assert books(*entries).cap_came_first is first


def test_the_last_cap_is_in_force():
    low = Cap.of("1/2", "1e-7")

    assert books().cap is None
    assert books(cap_entry(), cap_entry(low)).cap == low
    assert books(cap_entry(low), cap_entry()).cap == CAP


def test_releases_are_counted_by_what_covers_them():
    kinds = [release_entry(), release_entry(None), release_entry(None, test_run=True)]
    shown = books(*kinds, release_entry(), gone(1)).summary()

    assert (shown["releases"], shown["unaccounted"], shown["test_runs"]) == (3, 1, 1)


def test_without_a_cap_the_costs_are_read_at_usual_numbers():
    spent = THIRD + Cost(epsilon=Fraction(1, 30), rho_of_epsilon=Fraction(1, 1800))
    shown = books(release_entry(spent)).summary()["composed"]

    assert (shown["epsilon"], shown["delta"]) == (1.0, 1e-6)
    assert Fraction(shown["delta_at_epsilon"]) > account(spent).delta(Fraction(1))
    assert Fraction(shown["epsilon_at_delta"]) > account(spent).epsilon(Fraction(1, 10**6))


def test_what_was_spent_is_shown_rounded_up_and_what_is_left_rounded_down():
    shown = books(cap_entry(), release_entry()).summary()
    spent, left = shown["spent"], shown["remaining"]
    composed, limits = shown["composed"], shown["cap"]["limits"]

    for part in ("mu_squared", "delta"):
        exact, limit = getattr(THIRD, part), getattr(CAP.limits, part)
        assert exact <= Fraction(spent[part]) <= exact * (1 + Fraction(1, 2**51))
        assert limit * (1 - Fraction(1, 2**51)) <= Fraction(limits[part]) <= limit
        rest = limit - exact
        assert rest * (1 - Fraction(1, 2**51)) <= Fraction(left[part]) <= rest
    assert Fraction(composed["delta_at_epsilon"]) >= account(THIRD).delta(CAP.epsilon)
    assert Fraction(composed["epsilon_at_delta"]) >= account(THIRD).epsilon(CAP.delta)


def test_an_entry_is_not_changed_once_it_was_read():
    [_, entry] = books(release_entry()).entries
    with pytest.raises(ValidationError):
        entry.cost = None


def test_nothing_is_said_in_words():
    assert _words(Cost()) == "nothing"
    assert _words(Cost(rho=Fraction(1, 8), delta=Fraction(1, 2**20))) == (
        "rho = 0.125, delta = 9.537e-07"
    )


# --- the file ---


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.locate("us", tmp_path / "private/us.ledger")
    made.create()
    return made


def test_a_ledger_of_the_first_version_is_read(tmp_path):
    """Every later version reads it: the first link names 64 zeros, and keys are in order."""
    file = tmp_path / "old.ledger"
    parts = {
        "entry": {"kind": "opened", "population": "us", "version": 1},
        "number": 0,
        "previous": "0" * 64,
        "time": "2026-01-01T00:00:00+00:00",
    }
    digest = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
    line = {"entry": parts.pop("entry"), "hash": digest, **parts}
    file.write_text(json.dumps(line, separators=(",", ":")) + "\n")

    [link] = Chain(file).read()
    assert link.hash == digest
    assert Ledger.locate(file=file).books().population == "us"


def test_what_is_no_number_in_json_is_not_written():
    with pytest.raises(ValueError, match="JSON"):
        Link(number=0, time="now", previous=chain.START, entry={"cost": math.nan}).line()


def test_an_empty_file_is_no_ledger(ledger):
    ledger.file.write_bytes(b"")
    with pytest.raises(LedgerError, match="empty"):
        Chain(ledger.file).read()


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="cannot use"):
        Chain(tmp_path).read()


def test_a_place_that_cannot_be_is_no_ledger(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match="cannot use"), Chain(tmp_path / "file/us").locked():
        pass


def test_what_a_killed_run_left_half_written_is_cleared(ledger):
    left = ledger.file.with_name(".us.ledger.new")
    left.write_text("half")
    with ledger._chain.locked():
        assert not left.exists()


def test_a_link_is_on_disk_before_it_has_its_name_and_the_name_before_it_counts(
    ledger, monkeypatch
):
    new, done = ledger.file.with_name(".us.ledger.new"), []
    real = os.replace
    monkeypatch.setattr(chain, "sync", lambda path: done.append(("sync", path)))
    monkeypatch.setattr(
        chain.Path, "replace", lambda a, b: (done.append(("replace", a)), real(a, b))
    )
    ledger.set_cap(CAP)

    assert done == [("sync", new), ("replace", new), ("sync", ledger.file.parent)]


def test_a_ledger_in_use_is_waited_for(ledger):
    held, go = threading.Event(), threading.Event()

    def hold():
        with ledger._chain.locked():
            held.set()
            go.wait(5)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(5)
    threading.Timer(0.1, go.set).start()
    assert ledger.books().population == "us"
    other.join()


def test_a_ledger_is_not_guessed():
    with pytest.raises(OptionError, match="a name or a place"):
        Ledger.locate()


def test_what_would_be_refused_in_the_end_is_refused_early(ledger):
    ledger.set_cap(CAP)
    ledger.check(Charge(method="test", parameters={}, cost=THIRD))
    with pytest.raises(BudgetRefusedError, match="exceed"):
        ledger.check(Charge(method="test", parameters={}, cost=CAP.limits + THIRD))


def test_a_ledger_is_settled_if_it_can_be_read_or_is_not_there(ledger):
    assert settled(ledger.file)
    assert settled(ledger.file.with_name("another"))
    ledger.file.write_text(json.dumps({}))
    assert not settled(ledger.file)


def test_a_full_disk_is_told_with_its_name(ledger, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(chain, "sync", full)
    with pytest.raises(LedgerError, match="No space left"):
        ledger.set_cap(CAP)
    monkeypatch.undo()
    assert ledger.books().cap is None
