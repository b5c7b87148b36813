"""The books of a ledger and the file they stand in: how they read, and what they show."""

import errno
import hashlib
import json
import math
import os
import threading
import time
from fractions import Fraction

import pytest
from pydantic import ValidationError
from tests.helpers import fill

from slogan.dp.accounting import Cost, delta_at, epsilon_at
from slogan.errors import BudgetRefusedError, LedgerError, OptionError
from slogan.ledger import hash_chain
from slogan.ledger.cap import Cap
from slogan.ledger.entries import Booked, Books, CameToNothing, CapSet, Costs, Opened, Settled
from slogan.ledger.hash_chain import Chain, Link
from slogan.ledger.ledger import Charge, Ledger, _words, publish_recorded, settled
from slogan.storage.atomic import Attempt

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


def nothing_entry(cost=THIRD):
    costs = None if cost is None else Costs.of(cost)
    return CameToNothing(method="test", parameters={}, cost=costs, test_run=cost is None)


def gone(release):
    return Settled(release=release, outcome="abandoned")


def books(*entries):
    links = []
    for entry in [Opened(population="us"), *entries]:
        said = entry.model_dump(mode="json")
        links.append(
            Link(number=len(links), time="now", previous=hash_chain.head(links), entry=said)
        )
    return Books("nowhere", tuple(links))


# --- runs that released nothing ---


def test_runs_that_released_nothing_count_like_releases():
    found = books(cap_entry(), release_entry(), nothing_entry(), nothing_entry(None))

    assert [number for number, _ in found.nothings] == [3, 4]
    assert found.spent == THIRD + THIRD
    assert found.to_dict()["nothings"] == 2
    assert found.to_dict()["releases"] == 1
    assert found.cap_came_first


@pytest.mark.parametrize(("before", "first"), [((), True), ((nothing_entry(),), False)])
def test_a_cap_after_a_run_that_released_nothing_was_not_first(before, first):
    assert books(*before, cap_entry()).cap_came_first is first


def test_a_run_that_released_nothing_is_on_disk(ledger):
    ledger.reserve(Charge(method="synthesize", parameters={}, cost=THIRD)).end(drawn=True)

    assert ledger.books().spent == THIRD
    assert len(ledger.books().nothings) == 1


# --- what no ledger of ours holds, although every link checks ---


def hostile(**changes):
    said = {**release_entry().model_dump(mode="json"), **changes}
    before = books().links
    link = Link(number=1, time="now", previous=hash_chain.head(before), entry=said)
    return Books("nowhere", (*before, link))


def folder_of(path):
    """A target under which an attempt has a path of this many bytes, made of short names."""
    longer = path - len(b"/b/.c.partial-a/replaced/public/manifest.json")
    return "/b" + "/d" * (longer // 2) + "e" * (longer % 2) + "/c"


@pytest.mark.parametrize(
    ("target", "ok"),
    [
        (f"/{'a' * 244}", True),  # .NAME.partial-a
        (f"/{'a' * 245}", False),
        (folder_of(4_095), True),
        (folder_of(4_096), False),
    ],
    ids=["name", "longer name", "path", "longer path"],
)
def test_a_path_is_as_long_as_a_path_can_be(target, ok):
    found = hostile(target=target, cost=None)
    if ok:
        assert found.to_dict()["releases"] == 1
    else:
        with pytest.raises(LedgerError, match="does not know"):
            found.to_dict()


@pytest.mark.parametrize(
    ("number", "ok"),
    [
        (Fraction(1, 2**8191), True),
        (Fraction(1, 2**8192), False),
        (f"{'1':0>4001}/{'1':0>4190}", True),  # 8,192 characters
        (f"{'1':0>4002}/{'1':0>4190}", False),
    ],
    ids=["bits", "more bits", "text", "more text"],
)
def test_a_fraction_has_as_many_digits_as_are_allowed(number, ok):
    parts = dict.fromkeys(Costs.model_fields, "0")
    if ok:
        assert Costs(**{**parts, "mu_squared": number}).mu_squared == Fraction(number)
    else:
        with pytest.raises(ValidationError):
            Costs(**{**parts, "mu_squared": number})


@pytest.mark.parametrize("name", ["a\0b.ledger", "a\ud800.ledger"])
def test_a_ledger_has_a_printable_name(name):
    with pytest.raises(OptionError, match="name of the ledger"):
        Ledger.open("us", name)


@pytest.mark.parametrize(
    "target",
    ["", "/", "/a/..", "a", "/a\0b", "/a\ud800", f"/{'a' * 300}", f"/{'a' * 250}", "/ab" * 2_000],
)
def test_a_release_was_to_appear_where_a_folder_can_be(target):
    with pytest.raises(LedgerError, match="does not know"):
        hostile(target=target, cost=None).to_dict()


def test_a_folder_of_another_user_does_not_make_it_fail(tmp_path, monkeypatch):
    def forbidden(*_, **__):
        raise PermissionError(errno.EACCES, "not yours")

    attempt = Attempt(tmp_path / "out", "a")
    monkeypatch.setattr(os, "stat", forbidden)
    attempt.clean_up()


@pytest.mark.parametrize(
    "number",
    [str(10**400), str(10**101), f"1/{2**9_000}", f"{2**9_000 - 1}/{2**9_000}", "0" * 9_000 + "1"],
)
def test_costs_are_numbers_of_reasonable_size(number):
    cost = {**Costs.of(THIRD).model_dump(mode="json"), "epsilon": number}
    with pytest.raises(LedgerError, match="does not know"):
        hostile(cost=cost).to_dict()


def test_limits_that_are_not_a_cap_are_not_taken_for_one():
    huge = dict.fromkeys(Costs.model_fields, "0") | {"epsilon": str(10**100)}
    said = {"kind": "cap", "epsilon": "1", "delta": "0", "limits": huge, "raised": False}
    link = Link(number=1, time="now", previous=books().head, entry=said)
    with pytest.raises(LedgerError, match="a cap that is none"):
        Books("nowhere", (*books().links, link)).to_dict()


def test_a_cost_of_too_many_digits_is_not_booked():
    with pytest.raises(LedgerError, match="more digits than a ledger keeps"):
        Costs.of(Cost(epsilon=Fraction(1, 3**9_000)))


def test_fractions_that_have_nothing_in_common_are_not_added_up():
    odd = [release_entry(Cost(epsilon=Fraction(1, 2**8_000 + n))) for n in range(1, 800, 2)]
    began = time.monotonic()
    with pytest.raises(LedgerError, match="too many digits to be added up"):
        _ = books(*odd).spent
    assert time.monotonic() - began < 10


def test_releases_of_many_different_budgets_add_up():
    costs = [Cost(mu_squared=Fraction(1, 2**100 + n)) for n in range(1, 1_000, 2)]
    assert books(*map(release_entry, costs)).spent.mu_squared == sum(c.mu_squared for c in costs)


@pytest.mark.parametrize("change", [{"time": 5}, {"time": None}, {"entry": []}, {"entry": "x"}])
def test_a_link_has_a_time_and_an_entry(tmp_path, change):
    parts = {"number": 0, "time": "now", "previous": hash_chain.START, "entry": {}, **change}
    (tmp_path / "web.ledger").write_bytes(Link(**parts).line())
    with pytest.raises(LedgerError, match="line 1 of 1"):
        Chain(tmp_path / "web.ledger").read()


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
    shown = books(*kinds, release_entry(), gone(1)).to_dict()

    assert (shown["releases"], shown["unaccounted"], shown["test_runs"]) == (3, 1, 1)


def test_without_a_cap_the_costs_are_read_at_usual_numbers():
    spent = THIRD + Cost(epsilon=Fraction(1, 30))
    shown = books(release_entry(spent)).to_dict()["composed"]

    assert (shown["epsilon"], shown["delta"]) == (1.0, 1e-6)
    assert Fraction(shown["delta_at_epsilon"]) > delta_at(Fraction(1), spent)
    assert Fraction(shown["epsilon_at_delta"]) > epsilon_at(Fraction(1, 10**6), spent)


def test_what_was_spent_is_shown_rounded_up_and_what_is_left_rounded_down():
    shown = books(cap_entry(), release_entry()).to_dict()
    spent, left = shown["spent"], shown["remaining"]
    composed, limits = shown["composed"], shown["cap"]["limits"]

    for part in ("mu_squared", "delta"):
        exact, limit = getattr(THIRD, part), getattr(CAP.limits, part)
        assert exact <= Fraction(spent[part]) <= exact * (1 + Fraction(1, 2**51))
        assert limit * (1 - Fraction(1, 2**51)) <= Fraction(limits[part]) <= limit
        rest = limit - exact
        assert rest * (1 - Fraction(1, 2**51)) <= Fraction(left[part]) <= rest
    assert Fraction(composed["delta_at_epsilon"]) >= delta_at(CAP.epsilon, THIRD)
    assert Fraction(composed["epsilon_at_delta"]) >= epsilon_at(CAP.delta, THIRD)


def test_an_entry_is_not_changed_once_it_was_read():
    [_, entry] = books(release_entry()).entries
    with pytest.raises(ValidationError):
        entry.cost = None


def test_no_cost_is_shown_as_nothing():
    assert _words(Cost()) == "nothing"
    assert _words(Cost(mu_squared=Fraction(1, 8), delta=Fraction(1, 2**20))) == (
        "mu squared = 0.125, delta = 9.537e-7"
    )


# --- the file ---


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("us", tmp_path / "private/us.ledger")
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
    assert Ledger.open(file=file).books().population == "us"


def test_what_is_not_a_number_in_json_is_not_written():
    with pytest.raises(ValueError, match="JSON"):
        Link(number=0, time="now", previous=hash_chain.START, entry={"cost": math.nan}).line()


def test_an_empty_file_is_not_a_ledger(ledger):
    ledger.file.write_bytes(b"")
    with pytest.raises(LedgerError, match="empty"):
        Chain(ledger.file).read()


def test_a_folder_is_not_a_ledger(tmp_path):
    with pytest.raises(LedgerError, match="cannot use"):
        Chain(tmp_path).read()


def test_an_impossible_place_is_not_a_ledger(tmp_path):
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
    monkeypatch.setattr(hash_chain, "sync", lambda path: done.append(("sync", path)))
    monkeypatch.setattr(
        hash_chain.Path, "replace", lambda a, b: (done.append(("replace", a)), real(a, b))
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


def test_a_release_names_its_ledger_before_it_is_booked(ledger, tmp_path, monkeypatch):
    named, really = [], Chain.append

    def append(hash_chain, links, entry):
        if entry["kind"] == "release":
            named.append(Attempt(tmp_path / "release", entry["token"]).ledger())
        return really(hash_chain, links, entry)

    monkeypatch.setattr(Chain, "append", append)
    charge = Charge(method="test", parameters={}, cost=THIRD)
    publish_recorded(tmp_path / "release", fill, force=False, charge=charge, ledger=ledger)

    assert named == [ledger.file]


def test_without_a_ledger_a_release_is_published_and_nothing_is_recorded(tmp_path):
    charge = Charge(method="test", parameters={}, cost=THIRD)
    told = publish_recorded(tmp_path / "release", fill, force=False, charge=charge, ledger=None)

    assert told is None
    assert (tmp_path / "release/public/manifest.json").exists()


def test_a_ledger_is_not_guessed():
    with pytest.raises(OptionError, match="a name or a place"):
        Ledger.open()


def test_what_would_be_refused_in_the_end_is_refused_early(ledger):
    ledger.set_cap(CAP)
    ledger.check(Charge(method="test", parameters={}, cost=THIRD))
    with pytest.raises(BudgetRefusedError, match="exceed"):
        ledger.check(Charge(method="test", parameters={}, cost=CAP.limits + THIRD))


def test_a_ledger_is_settled_if_it_can_be_read(ledger):
    assert settled(ledger.file)
    assert not settled(ledger.file.with_name("another"))
    ledger.file.write_text(json.dumps({}))
    assert not settled(ledger.file)


def test_a_full_disk_is_reported_with_its_name(ledger, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(hash_chain, "sync", full)
    with pytest.raises(LedgerError, match="No space left"):
        ledger.set_cap(CAP)
    monkeypatch.undo()
    assert ledger.books().cap is None
