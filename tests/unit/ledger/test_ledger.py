"""The ledger: what it records, what it refuses, and that no change goes unnoticed."""

import errno
import itertools
import json
import os
import stat
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Account, Approximate, CappedSampling, Cost, Gaussian
from slogan.errors import BudgetRefusedError, LedgerError, OptionError, PopulationError
from slogan.ledger import hash_chain
from slogan.ledger.cap import Cap
from slogan.ledger.hash_chain import Chain, Link
from slogan.ledger.ledger import Charge, Ledger, folder, known, publish_recorded
from slogan.storage.atomic import sha256_of

CAP = Cap.of("1", "1e-6")
BUDGET = PrivacyBudget(epsilon="1", delta="1e-6")
QUARTER = Cost(mu_squared=CAP.limits.mu_squared / 4, delta=CAP.limits.delta / 4)
_serial = itertools.count()


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("web-users", tmp_path / "private/web.ledger")
    made.create()
    return made


def fill(partial):
    for name in ("public", "curator"):
        (partial / name).mkdir()
    (partial / "public/manifest.json").write_text(json.dumps({"run": next(_serial)}))


def release(ledger, cost=QUARTER, *, test_run=False, filled=fill, **options):
    target = ledger.file.parent.parent / f"release-{next(_serial)}"
    charge = Charge(method="test", parameters={"gap": 0.5}, cost=cost, test_run=test_run)
    publish_recorded(target, filled, force=False, charge=charge, ledger=ledger, **options)
    return target


# --- what is recorded ---


def test_a_release_is_recorded_with_its_cost_and_its_manifest(ledger):
    target = release(ledger)
    books = ledger.books()
    [(number, entry)] = books.booked()

    assert entry.manifest_sha256 == sha256_of(target / "public/manifest.json")
    assert entry.target == str(target)
    assert entry.cost.cost == QUARTER == books.spent
    assert entry.parameters == {"gap": "0.5"}
    assert books.outcomes == {number: "published"}


def test_files_are_closed_to_others(ledger):
    release(ledger)
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in ledger.file.parent.iterdir()}

    assert modes == {"web.ledger": 0o600, ".web.ledger.lock": 0o600}
    assert stat.S_IMODE(ledger.file.parent.stat().st_mode) == 0o700


def test_a_clock_that_runs_backwards_changes_nothing(ledger, monkeypatch):
    real, hours = hash_chain.datetime, itertools.count()

    class Backwards:
        @staticmethod
        def now(zone):
            return real(2026, 1, 1, 23 - next(hours), tzinfo=zone)

    monkeypatch.setattr(hash_chain, "datetime", Backwards)
    for _ in range(3):
        release(ledger)
    times = [link.time for link in ledger.books().links[1:]]

    assert times == sorted(times, reverse=True)
    assert ledger.books().spent == QUARTER + QUARTER + QUARTER


stages = st.one_of(
    st.builds(
        Gaussian,
        name=st.just("sum"),
        norm_squared=st.integers(1, 9),
        variance=st.fractions(1, 99),
        slack=st.sampled_from(["0", "1e-7", "1/3000"]),
    ),
    st.builds(Approximate, name=st.just("any"), epsilon=st.fractions(0, 2), delta=st.just("1e-9")),
    st.builds(CappedSampling, name=st.just("rows"), cap=st.fractions("1/100", 1)),
)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.lists(stages, max_size=3), st.booleans()), max_size=4))
def test_what_was_spent_is_the_account_of_all_stages(releases):
    with tempfile.TemporaryDirectory() as place:
        ledger = Ledger.open("any", Path(place) / "private/any.ledger")
        ledger.create()
        together = Account()
        for composed, fails in releases:
            account = Account(tuple(composed))
            if fails:
                with pytest.raises(ZeroDivisionError):
                    release(ledger, account.cost, filled=lambda partial: 1 / 0)
            else:
                release(ledger, account.cost)
                together += account
        books = ledger.books()

    assert books.spent == together.cost
    assert books.to_dict()["composed"]["delta_at_epsilon"] >= together.delta(1)
    assert books.to_dict()["releases"] == sum(not fails for _, fails in releases)


# --- runs that release nothing ---


def come_to_nothing(ledger, *, cost, test_run=False):
    charge = Charge(
        method="synthesize", parameters=BUDGET.parameters(), cost=cost, test_run=test_run
    )
    ledger.reserve(charge).end(drawn=True)


def test_a_run_that_released_nothing_is_spent(ledger):
    ledger.set_cap(CAP)
    cost = Cost(mu_squared=CAP.limits.mu_squared)
    come_to_nothing(ledger, cost=cost)

    [(_, entry)] = ledger.books().nothings
    assert entry.parameters == BUDGET.parameters()
    assert (entry.method, entry.test_run) == ("synthesize", False)
    assert ledger.books().spent == cost
    assert ledger.books().to_dict()["remaining"]["one_release"] is None


def test_a_test_run_that_releases_nothing_costs_nothing(ledger):
    come_to_nothing(ledger, cost=QUARTER, test_run=True)

    [(_, entry)] = ledger.books().nothings
    assert entry.test_run
    assert entry.cost is None


# --- what is refused ---


def test_the_cap_is_used_up_to_the_end_and_not_beyond(ledger):
    ledger.set_cap(CAP)
    for _ in range(4):
        release(ledger)
    with pytest.raises(BudgetRefusedError, match="no further release") as refused:
        release(ledger)

    assert refused.value.exit_code == 5
    assert ledger.books().spent == Cost(mu_squared=CAP.limits.mu_squared, delta=CAP.limits.delta)
    assert len(list(ledger.file.parent.parent.glob("release-*"))) == 4


def test_a_refusal_says_what_remains(ledger):
    ledger.set_cap(CAP)
    release(ledger)
    charge = Charge(method="test", parameters={}, cost=CAP.limits)
    room = ledger.books().to_dict()["remaining"]["one_release"]
    with pytest.raises(BudgetRefusedError) as refused:
        ledger.check(charge)

    assert f"epsilon = {room['epsilon']:g} and delta = 7.5e-7" in str(refused.value)
    assert 0.5 < room["epsilon"] < 1
    assert room["delta"] == 0.75e-6
    assert len(ledger.books().links) == 4


def test_what_no_accounting_covers_is_refused_unless_allowed(ledger):
    release(ledger, cost=None)
    ledger.set_cap(CAP)
    with pytest.raises(BudgetRefusedError, match="no accounting"):
        release(ledger, cost=None)
    release(ledger, cost=None, allow_unaccounted=True)
    books = ledger.books()

    assert books.spent == Cost()
    assert books.to_dict()["unaccounted"] == 2


def test_a_test_run_is_recorded_as_one_and_refused_under_a_cap(ledger):
    release(ledger, test_run=True)
    ledger.set_cap(CAP)
    for allowed in (False, True):
        with pytest.raises(BudgetRefusedError, match="protects no user"):
            release(ledger, test_run=True, allow_unaccounted=allowed)
    books = ledger.books()

    assert books.to_dict()["test_runs"] == 1
    assert books.to_dict()["unaccounted"] == 0
    assert books.spent == Cost()


def test_a_release_on_an_unknown_population_is_refused(tmp_path):
    """A name with a typing error must not open a ledger without a cap."""
    with pytest.raises(PopulationError, match="no ledger") as refused:
        release(Ledger.open("web-user", tmp_path / "private/typo.ledger"))

    assert refused.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_belongs_to_one_population(ledger):
    other = Ledger.open("others", ledger.file)
    with pytest.raises(PopulationError, match="'web-users', not of 'others'"):
        release(other)
    with pytest.raises(PopulationError, match="already exists"):
        other.create()

    assert Ledger.open(file=ledger.file) == ledger


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 101, "é", "a\n"])
def test_names_that_lead_elsewhere_are_refused(name):
    with pytest.raises(OptionError):
        Ledger.open(name)
    with pytest.raises(OptionError):
        Ledger.open()


def test_ledgers_are_found_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert known() == []
    for name in ("web", "shop.2026"):
        Ledger.open(name).create()

    assert [one.population for one in known()] == ["shop.2026", "web"]
    assert folder() == tmp_path / "slogan/ledgers"


def test_ledgers_are_in_the_home_folder_or_nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / ".local/share/slogan/ledgers"

    def unknown(number):
        raise KeyError(number)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    with pytest.raises(LedgerError, match="no home folder"):
        Ledger.open("web")
    assert Ledger.open(file=tmp_path / "web.ledger").population == "web"


# --- the cap itself ---


def test_a_cap_is_lowered_freely_and_raised_only_on_demand_and_on_record(ledger):
    low = Cap.of("1/2", "1e-6")
    ledger.set_cap(CAP)
    assert len(ledger.set_cap(CAP).links) == 2
    ledger.set_cap(low)
    with pytest.raises(BudgetRefusedError, match="raise"):
        ledger.set_cap(CAP)
    books = ledger.set_cap(CAP, allow_raise=True)

    assert [e.raised for e in books.entries[1:]] == [False, False, True]
    assert books.cap == CAP


def test_a_cap_set_after_a_release_is_not_shown_as_first(ledger):
    ledger.set_cap(CAP)
    assert ledger.books().to_dict()["cap"]["came_first"] is True
    release(ledger)
    assert ledger.books().to_dict()["cap"]["came_first"] is True
    ledger.set_cap(Cap.of("1/2", "1e-6"))
    assert ledger.books().to_dict()["cap"]["came_first"] is False


def test_an_overdrawn_cap_leaves_nothing(ledger):
    release(ledger, CAP.limits + CAP.limits)
    left = ledger.set_cap(CAP).to_dict()["remaining"]

    assert left == {"mu_squared": 0, "epsilon": 0, "delta": 0, "one_release": None}


# --- changes to the file ---


def damaged(ledger, content):
    ledger.file.write_bytes(content)
    try:
        Chain(ledger.file).read()
    except LedgerError:
        return True
    return False


@pytest.fixture
def written(ledger):
    ledger.set_cap(CAP)
    release(ledger)
    release(ledger)
    return ledger.file.read_bytes()


def test_every_change_of_a_single_byte_is_found(ledger):
    release(ledger)
    written = ledger.file.read_bytes()
    assert not damaged(ledger, written)
    for at in range(len(written)):
        other = written[at] ^ (1 << at % 8)
        assert damaged(ledger, written[:at] + bytes([other]) + written[at + 1 :]), at


def chained(entries):
    links = []
    for entry in entries:
        links.append(
            Link(number=len(links), time="now", previous=hash_chain.head(links), entry=entry)
        )
    return [link.line() for link in links]


LINES = chained([{"n": n} for n in range(5)])
CONTENT = b"".join(LINES)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.tuples(st.integers(0, len(CONTENT)), st.integers(0, 400)), new=st.binary(max_size=3))
def test_any_other_content_is_found_unless_it_is_a_shorter_chain(ledger, cut, new):
    start, length = cut
    changed = CONTENT[:start] + new + CONTENT[start + length :]
    honest = {b"".join(LINES[:n]) for n in range(1, len(LINES) + 1)}

    assert damaged(ledger, changed) == (changed not in honest)


def test_lines_cannot_be_reordered_repeated_or_left_out(ledger, written):
    lines = written.splitlines(keepends=True)
    for order in itertools.permutations(range(len(lines)), len(lines)):
        content = b"".join(lines[n] for n in order)
        assert damaged(ledger, content) == (content != written)
    for n in range(len(lines)):
        assert damaged(ledger, b"".join([*lines[: n + 1], *lines[n:]]))
    for n in range(len(lines) - 1):
        assert damaged(ledger, b"".join([*lines[:n], *lines[n + 1 :]]))


def test_a_link_that_was_made_to_look_right_breaks_the_next_one(ledger, written):
    lines = written.splitlines(keepends=True)
    old = Chain(ledger.file).read()[2]
    forged = Link(
        number=old.number,
        time=old.time,
        previous=old.previous,
        entry={**old.entry, "cost": None},
    )

    assert damaged(ledger, b"".join([*lines[:2], forged.line(), *lines[3:]]))
    assert not damaged(ledger, b"".join([*lines[:2], forged.line()]))


def test_a_tail_that_was_cut_off_is_found_with_a_noted_head(ledger, written):
    noted = ledger.books().head
    lines = written.splitlines(keepends=True)
    ledger.books().require_link(noted)

    assert not damaged(ledger, b"".join(lines[:-2]))
    with pytest.raises(LedgerError, match="does not hold the link"):
        ledger.books().require_link(noted)


@pytest.mark.parametrize("content", [b"", b"\n", b"{}\n", b"[" * 10_000, b"\xff\xfe", b"null\n"])
def test_a_damaged_ledger_grants_nothing_and_is_left_as_it_is(ledger, content):
    ledger.file.write_bytes(content)
    with pytest.raises(LedgerError) as refused:
        release(ledger)

    assert refused.value.exit_code == 1
    assert ledger.file.read_bytes() == content
    assert list(ledger.file.parent.parent.glob("*release*")) == []


def test_an_entry_of_a_later_version_is_refused(ledger):
    with ledger._chain.locked():
        ledger._chain.append(ledger._chain.read(), {"kind": "merge", "with": "others"})
    with pytest.raises(LedgerError, match="version"):
        release(ledger)


@pytest.mark.parametrize("cost", ["-1/2", "1/0", "0.5", "NaN", 1, None])
def test_a_cost_that_is_not_a_fraction_is_refused(ledger, cost):
    release(ledger)
    with ledger._chain.locked():
        links = ledger._chain.read()
        forged = json.loads(json.dumps(links[1].entry))
        forged["cost"]["mu_squared"] = cost
        ledger._chain.append(links, forged)
    with pytest.raises(LedgerError):
        ledger.books()


# --- what else can go wrong ---


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP], ids=errno.errorcode.get)
def test_a_file_system_without_locks_is_a_clear_error(ledger, monkeypatch, number):
    def no_locks(handle, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(hash_chain.fcntl, "flock", no_locks)
    with pytest.raises(LedgerError, match=os.strerror(number)) as told:
        ledger.books()

    assert "local disk" in told.value.hint


def test_a_full_disk_before_the_release_means_no_release(ledger, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Chain, "_replace", full)
    with pytest.raises(LedgerError, match="No space left"):
        release(ledger)

    assert list(ledger.file.parent.parent.glob("*release*")) == []


def test_a_full_disk_after_the_release_leaves_it_booked(ledger, monkeypatch):
    honest, calls = Chain._replace, itertools.count()

    def full(self, content):
        if next(calls):
            raise OSError(errno.ENOSPC, "No space left on device")
        honest(self, content)

    monkeypatch.setattr(Chain, "_replace", full)
    with pytest.raises(LedgerError, match="No space left"):
        release(ledger)
    monkeypatch.undo()
    books = ledger.books()

    assert books.spent == QUARTER
    assert list(books.outcomes.values()) == ["published"]


def test_a_ledger_in_use_is_waited_for_and_then_given_up(ledger, monkeypatch):
    monkeypatch.setattr(hash_chain, "_PATIENCE", 0.05)
    with ledger._chain.locked(), pytest.raises(LedgerError, match="in use"):
        ledger.books()

    assert ledger.books()


def test_a_release_that_cannot_be_found_counts_as_spent(ledger, monkeypatch):
    """It was moved or replaced between the crash and the next start: it was published."""
    monkeypatch.setattr(Ledger, "_settle", lambda self, books: books)
    moved, replaced = release(ledger), release(ledger)
    moved.rename(moved.with_name("elsewhere"))
    (replaced / "public/manifest.json").write_text("{}")
    monkeypatch.undo()
    books = ledger.books()

    assert list(books.outcomes.values()) == ["in doubt", "in doubt"]
    assert books.spent == QUARTER + QUARTER


def test_hundreds_of_releases_with_unlike_costs_add_up(ledger):
    release(ledger)
    opened, booked, _ = (link.entry for link in Chain(ledger.file).read())
    costs = [Fraction(n + 1, 2**61 + 2 * n + 1) for n in range(300)]
    entries = [
        {**booked, "cost": {**booked["cost"], "mu_squared": str(cost)}, "target": "/nowhere"}
        for cost in costs
    ]
    ends = [{"kind": "outcome", "release": n + 1, "outcome": "published"} for n in range(300)]
    ledger.file.write_bytes(b"".join(chained([opened, *entries, *ends])))
    summary = ledger.books().to_dict()

    assert summary["releases"] == 300
    assert summary["spent"]["mu_squared"] == pytest.approx(float(sum(costs)), rel=1e-15)
