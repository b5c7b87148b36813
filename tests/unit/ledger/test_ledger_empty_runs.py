"""A run whose noise left nothing to release costs what it drew: trying again is not free."""

import json

import pytest
from tests.commands import slogan as command

import slogan
from slogan.dp.accounting import Cost, spendable
from slogan.ledger.cap import Cap
from slogan.ledger.ledger import Ledger

BUDGET = slogan.PrivacyBudget(epsilon="1", delta="1e-6")
SYNTHESIZE = ("synthesize",)
PRIVATE = ("sanitize", "--counts", "private")


@pytest.fixture
def log(tmp_path):
    """Three users: far too few."""
    file = tmp_path / "log.tsv"
    rows = [f"{u}\tshared\ta.com\t1\n" for u in range(3)]
    file.write_text("user\tquery\turl\tcount\n" + "".join(rows))
    return file


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.open("few", tmp_path / "few.ledger")
    made.create()
    return made


def run(log, ledger, verb, *more):
    options = ("-o", log.with_name("release"), "--epsilon", "1", "--delta", "1e-6")
    where = ("--population", ledger.population, "--ledger", ledger.file)
    return command(*verb, log, *options, *where, *more, cwd=log.parent)


@pytest.mark.parametrize("verb", [SYNTHESIZE, PRIVATE])
def test_every_try_is_charged(log, ledger, verb):
    for tries in (1, 2):
        done = run(log, ledger, verb)
        books = ledger.books()
        charged = [nothing.cost.cost for _, nothing in books.nothings]

        assert done.returncode == 3
        assert "costs as much again" in done.stderr
        assert len(charged) == tries
        assert books.spent == sum(charged, Cost())
        assert charged[0].mu_squared > 0
        assert 0 < charged[0].delta < spendable(BUDGET)[1]
        assert not log.with_name("release").exists()


def test_a_cap_ends_the_tries(log, ledger):
    ledger.set_cap(Cap.of("1", "1e-6"))
    codes = [run(log, ledger, SYNTHESIZE).returncode for _ in range(4)]

    # half of the budget goes to selection
    assert codes[0] == 3
    assert codes[-1] == 5
    assert set(codes) == {3, 5}
    assert ledger.books().cap.admits(ledger.books().spent)


def test_a_test_run_is_noted_and_costs_nothing(log, ledger):
    run(log, ledger, SYNTHESIZE, "--seed", "1")
    [(_, nothing)] = ledger.books().nothings

    assert nothing.test_run
    assert nothing.cost is None
    assert ledger.books().spent == Cost()


def test_the_curator_is_shown_it(log, ledger):
    run(log, ledger, SYNTHESIZE)
    words = ("ledger", "--ledger", ledger.file)
    shown = command(*words, cwd=log.parent)
    told = command(*words, "--json", cwd=log.parent)

    assert shown.returncode == told.returncode == 0
    assert "nothing" in shown.stderr + shown.stdout
    assert json.loads(told.stdout)["nothings"] == 1
    assert json.loads(told.stdout)["releases"] == 0
