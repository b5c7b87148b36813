"""The check of a budget's strength: refused, accepted explicitly, warned of, or without a word."""

from types import SimpleNamespace

import pytest

from slogan.manifest.promise import ACCEPTED
from slogan.modes import ReleaseKind
from slogan.verification.evidence import NotPossibleError
from slogan.verification.private_checks import SYNTHETIC_USERS_ACCOUNT

strength = SYNTHETIC_USERS_ACCOUNT["strength"]


def judged(epsilon="1", delta="1e-6", users=50_000.0, **parameters):
    budget = {"epsilon": epsilon, "delta": delta}
    manifest = SimpleNamespace(
        kind=ReleaseKind.SYNTHETIC_USERS,
        budget=SimpleNamespace(model_dump=lambda: budget),
        outputs=None if users is None else SimpleNamespace(users=users),
        parameters=parameters,
    )
    return strength(SimpleNamespace(manifest=manifest, promised=None))


def test_a_strict_budget_passes_without_a_warning():
    assert judged() == (True, "slogan has no warning for this budget")
    assert judged(users=None) == (True, "slogan has no warning for this budget")


@pytest.mark.parametrize(("epsilon", "delta"), [("11", "1e-6"), ("1", "0.01"), ("11", "0.01")])
def test_a_budget_that_slogan_refuses_fails_unless_it_was_accepted(epsilon, delta):
    ok, detail = judged(epsilon, delta)
    assert not ok
    assert detail.startswith("slogan refuses this budget without --accept-weak-privacy. ")

    ok, detail = judged(epsilon, delta, **{ACCEPTED: "yes"})
    assert ok
    assert detail.startswith("WEAK: made with --accept-weak-privacy. ")
    assert not judged(epsilon, delta, **{ACCEPTED: "no"})[0]


def test_one_refused_weakness_among_warnings_is_enough_to_fail():
    assert not judged("4", "0.01")[0]


def test_a_budget_that_is_only_warned_of_passes_and_says_so():
    ok, detail = judged("4")
    assert ok
    assert detail.startswith("WEAK: ")
    assert "--accept-weak-privacy" not in detail


def test_delta_is_compared_with_the_published_number_of_users():
    """1e-5 is below 1/(10 × users) for five thousand users, and above it for fifty thousand."""
    assert not judged(delta="1e-5", users=5_000.0)[1].startswith("WEAK")
    assert judged(delta="1e-5")[1].startswith("WEAK")


def test_a_strict_budget_that_was_accepted_as_weak_says_so():
    assert judged(**{ACCEPTED: "yes"}) == (True, "made with --accept-weak-privacy.")


def test_a_budget_that_is_none_is_not_possible():
    with pytest.raises(NotPossibleError, match="the manifest's budget"):
        judged(delta="2")
