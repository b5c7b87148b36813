"""advise(): three budgets by recipient, on a made-up log; a small output never raises ε."""

import pytest
from tests.helpers import write

import slogan
from slogan.errors import InputError, OptionError
from slogan.workflows.advise import EPSILONS, LOOKED, delta_for, people_named


@pytest.fixture(scope="module")
def advice():
    return slogan.advise(users=2_000, clicks_per_user=20, recipient="web")


@pytest.mark.parametrize(
    ("users", "delta"),
    [(1, "1e-6"), (2_500, "1e-6"), (100_000, "1e-6"), (100_001, "1e-7"), (10**7, "1e-8")],
)
def test_delta_is_a_power_of_ten_below_one_in_ten_times_the_users(users, delta):
    assert delta_for(users) == delta
    assert float(delta) * 10 * users <= 1


@pytest.mark.parametrize(("epsilon", "named"), [("0.5", "1.65"), ("1", "2.72"), ("3", "20.1")])
def test_people_named_are_rounded_up(epsilon, named):
    assert people_named(slogan.PrivacyBudget(epsilon=epsilon, delta="1e-6")) == named


def test_a_larger_budget_keeps_more_and_protects_less(advice):
    strict, usual, loose = advice.budgets

    assert [b.name for b in advice.budgets] == [*EPSILONS]
    assert strict.pairs <= usual.pairs < loose.pairs
    assert strict.users_for_100_pairs > usual.users_for_100_pairs > loose.users_for_100_pairs
    assert float(strict.attacker_names) < float(usual.attacker_names)
    assert 0 < loose.share_of_clicks < 1
    assert repr(advice).startswith("<Advice for 2,000 users; released pairs: strict")


def test_a_small_output_asks_for_users_and_not_for_budget():
    small = slogan.advise(users=20, clicks_per_user=5, recipient="web")

    assert [b.pairs for b in small.budgets][:2] == [0, 0]
    assert small.budgets[1].users_for_100_pairs > 10_000
    assert small.recommendation.budget == "usual"


def test_the_number_of_users_needed_is_about_right(advice):
    needed = advice.budgets[2].users_for_100_pairs
    enough = slogan.advise(users=needed, clicks_per_user=20)

    assert 70 <= enough.budgets[2].pairs <= 140


def test_a_log_gives_its_size_and_a_mark(tmp_path):
    rows = [(u, f"q{n}", "www.a.com", 2) for u in range(5) for n in range(3)]
    file = write(tmp_path / "clicks.tsv", rows)
    advice = slogan.advise(file)

    assert (advice.users, advice.clicks_per_user) == (5, 6.0)
    assert advice.looked_at_log
    assert advice.to_dict()["note"] == LOOKED
    assert advice.command == f"slogan synthesize {file} -o release --epsilon 1 --delta 1e-6"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"clicks_per_user": 20},
        {"log": "clicks.tsv", "users": 5},
        {"users": 5, "recipient": "aunt"},
    ],
    ids=str,
)
def test_options_that_do_not_fit_are_refused(wrong):
    with pytest.raises(OptionError):
        slogan.advise(**wrong)


@pytest.mark.parametrize(
    "wrong", [{"users": 0}, {"users": 10**12}, {"users": 5, "clicks_per_user": 0.5}], ids=str
)
def test_sizes_that_no_log_has_are_refused(wrong):
    with pytest.raises(InputError):
        slogan.advise(**wrong)
