"""Claims are functions of the budget, never round in their own favour, and weak ones are refused.

Numbers are compared as rationals with bounds from code that makes no release.
"""

import json
import re
from contextlib import closing
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import write

import slogan
from slogan.budget import PrivacyBudget, at_most, exact
from slogan.errors import BudgetError, OptionError
from slogan.manifest.manifest import Manifest
from slogan.manifest.promise import one_in, promise_of, weaknesses, wording_of
from slogan.manifest.strictness import odds_of
from slogan.modes import ReleaseKind
from slogan.report.public import Page
from slogan.verification.conditions import exp_below

NUMBER = r"(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
PATTERNS = {
    "ratio": rf"(?:at most|factor of) {NUMBER}(?: times|\.|,|$)",
    "delta": rf"δ = {NUMBER}",
    "epsilon": rf"ε = {NUMBER}",
    "chance": r"(\d+ in (?:10\^\d+|\d[\d,]*))",
}
_small = st.builds(
    lambda digits, power: f"{digits}e-{power}", st.integers(1, 10**9 - 1), st.integers(9, 290)
)
_share = st.fractions(Fraction(1, 10**6), Fraction(999_999, 10**6)).map(str)
_epsilon = st.one_of(
    st.fractions(Fraction(1, 10**5), 600, max_denominator=10**6).map(str),
    st.builds(lambda digits, power: f"{digits}e-{power}", st.integers(1, 600), st.integers(0, 40)),
)
_ratio = st.fractions(Fraction(10**6 + 1, 10**6), 10**9, max_denominator=10**6).map(str)
BUDGETS = st.one_of(
    st.builds(PrivacyBudget, epsilon=_epsilon, delta=st.one_of(_small, _share)),
    st.builds(PrivacyBudget, exp_epsilon=_ratio, delta=st.one_of(_small, _share)),
)


def number(text):
    return Fraction(text.replace(",", ""))


def chance(text):
    part, _, whole = text.partition(" in ")
    base, _, power = whole.partition("^")
    return Fraction(int(part), int(base) ** int(power) if power else int(number(whole)))


def texts(kind, budget, users):
    parameters = {"laplace_bound": "d", "laplace_epsilon": "e"}
    promise, words = promise_of(kind, parameters, budget), wording_of(kind, budget)
    yield from (promise.name, *promise.guarantees, *promise.not_guaranteed)
    for value in (getattr(words, name) for name in words.__slots__):
        yield from value if isinstance(value, tuple) else [value]
    yield from (weakness.text for weakness in weaknesses(kind, budget, users))


@given(budget=BUDGETS, kind=st.sampled_from(list(ReleaseKind)), users=st.integers(1, 10**7))
def test_every_number_of_every_text_is_on_the_safe_side(budget, kind, users):
    delta = exact(budget.delta)
    # exp_below is at most e^ε, by less than one part in 10^100; no printed number lies between.
    ratio = exp_below(exact(budget.epsilon)) if budget.epsilon else exact(budget.exp_epsilon)
    found = dict.fromkeys(PATTERNS, 0)
    for text in texts(kind, budget, users):
        for name, pattern in PATTERNS.items():
            for printed in re.findall(pattern, text):
                found[name] += 1
                if name == "chance":
                    assert delta <= chance(printed) <= 10 * delta
                elif name == "delta":
                    assert delta <= number(printed) <= delta * (1 + Fraction(1, 10**4))
                elif name == "ratio":
                    assert ratio <= number(printed) <= ratio * (1 + Fraction(1, 900))
                elif budget.epsilon:
                    assert number(printed) >= exact(budget.epsilon)
                else:
                    assert exp_below(number(printed)) * (1 + Fraction(1, 10**99)) >= ratio
    assert min(found["chance"], found["ratio"], found["delta"]) > 0


@given(budget=BUDGETS, kind=st.sampled_from(list(ReleaseKind)))
def test_the_tiles_of_both_pages_are_on_the_safe_side(budget, kind):
    manifest = Manifest.model_construct(
        budget=slogan.manifest.manifest.Budget(**budget.parameters()),
        method=kind.method,
        counts=kind.counts,
        outputs=None,
        parameters={},
    )
    tiles = {fact.name: fact.value for fact in Page(manifest).privacy_facts}
    ratio = exp_below(exact(budget.epsilon)) if budget.epsilon else exact(budget.exp_epsilon)
    delta = exact(budget.delta)
    best = min(1, (ratio if kind.end_to_end else 1) / Fraction(100) + delta)

    named = re.search(rf"at most {NUMBER} of 100", Page(manifest).attack)[1]
    tile = next(value for name, value in tiles.items() if name.endswith("δ"))
    assert odds_of(manifest).shown >= number(named) >= 100 * best
    assert number(tile) >= delta
    assert exp_below(number(tiles["Privacy budget ε"])) * (1 + Fraction(1, 10**99)) >= ratio


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (Fraction(271828, 100000), 4, "2.719"),
        (2, 4, "2"),
        (Fraction(22026465, 1000), 4, "22,030"),
        (Fraction(1, 10**6), 6, "1e-6"),
        (Fraction(2, 3), 6, "0.666667"),
        (Fraction(9999_1, 10000), 4, "10"),
        (Fraction(1, 3 * 10**300), 6, "3.33334e-301"),
        (10**40 + 1, 4, "1.001e40"),
        (0.5, 6, "0.5"),
    ],
)
def test_numbers_are_rounded_up_and_short(value, digits, shown):
    assert at_most(value, digits) == shown


def test_odds_are_never_rounded_down():
    assert one_in(Fraction(65, 100)) == "65 in 100"  # it was "about 1 in 2"
    assert one_in(Fraction(1, 10**20) * 9) == "1 in 10^19"
    for n in range(1, 2000):
        assert chance(one_in(Fraction(n, 2000))) >= Fraction(n, 2000)


REFUSED = [
    {"epsilon": 1, "delta": "0.5"},
    {"epsilon": 1, "delta": "0.0010000001"},
    {"epsilon": "10.00000001", "delta": "1e-6"},
    {"exp_epsilon": "22026.4658", "delta": "1e-6"},  # e^10 = 22026.46579…
    {"epsilon": 600, "delta": "0.999999"},
]
TAKEN = [
    {"epsilon": 10, "delta": "1e-3"},
    {"exp_epsilon": "22026.4657", "delta": "1/1000"},
    {"epsilon": "0.1", "delta": "1e-9"},
]


@pytest.mark.parametrize("budget", REFUSED)
def test_synthesize_refuses_weak_budgets_before_it_looks_for_the_log(tmp_path, budget):
    with pytest.raises(BudgetError, match="protects too little") as refused:
        slogan.synthesize(tmp_path / "nowhere.tsv", **budget)
    assert refused.value.exit_code == 2
    assert "--accept-weak-privacy" in refused.value.hint
    with pytest.raises(slogan.errors.LogNotFoundError):
        slogan.synthesize(tmp_path / "nowhere.tsv", **budget, accept_weak_privacy=True)


@pytest.mark.parametrize("budget", TAKEN)
def test_synthesize_takes_what_is_at_a_limit(tmp_path, budget):
    with pytest.raises(slogan.errors.LogNotFoundError):
        slogan.synthesize(tmp_path / "nowhere.tsv", **budget)


def test_for_real_rows_delta_is_a_share_and_epsilon_has_the_same_limit(tmp_path):
    log = tmp_path / "nowhere.tsv"
    for options in (
        {"epsilon": 10, "delta": "0.9", "counts": "private"},
        {"epsilon": 99, "delta": "0.9"},
    ):
        with pytest.raises(slogan.errors.LogNotFoundError):
            slogan.sanitize(log, **options)
    with pytest.raises(BudgetError, match="ε = 11 is above 10"):
        slogan.sanitize(log, epsilon=11, delta="1e-6", counts="private")
    with pytest.raises(OptionError, match="nothing to accept"):
        slogan.sanitize(log, epsilon=1, delta="0.5", accept_weak_privacy=True)


def test_weaknesses_by_budget_and_number_of_users():
    kind = ReleaseKind.SYNTHETIC_USERS
    strict, loose = PrivacyBudget(epsilon=3, delta="1e-4"), PrivacyBudget(epsilon=4, delta="0.5")

    assert weaknesses(kind, strict) == weaknesses(kind, strict, 1000) == ()
    assert [one.refused for one in weaknesses(kind, strict, 1001)] == [False]
    assert "1/(10 × 1,001)" in weaknesses(kind, strict, 1001)[0].text
    assert [one.refused for one in weaknesses(kind, loose, 5)] == [False, True]
    assert [one.refused for one in weaknesses(ReleaseKind.PRIVATE_ROWS, loose, 5)] == [False]
    assert weaknesses(ReleaseKind.EXACT_COUNTS, loose, 5) == ()


def made(folder, *, epsilon, delta, **options):
    rows = [(f"u{k}", f"zebra {k % 2}", f"z{k % 2}.example", 1) for k in range(900)]
    folder.mkdir()
    log = write(folder / "clicks.tsv", rows)
    with closing(slogan.synthesize(log, epsilon=epsilon, delta=delta, **options)) as release:
        saved = release.save(folder / "release")
    page = (folder / "release/public/report.html").read_text()
    manifest = json.loads((folder / "release/public/manifest.json").read_text())
    return log, saved, page, manifest


def strength(log, saved):
    verdict = slogan.verify(log, saved.folder)
    return verdict.ok, next(check for check in verdict.checks if check.name == "strength")


def test_an_overridden_refusal_is_in_manifest_page_summary_and_verify(tmp_path):
    log, saved, page, manifest = made(
        tmp_path / "weak", epsilon=2, delta="0.5", accept_weak_privacy=True
    )

    assert manifest["parameters"]["accept_weak_privacy"] == "yes"
    assert any("δ = 0.5 is above 1/1000" in line for line in manifest["not_guaranteed"])
    assert '<header class="red">' in page
    assert "<strong>Weak protection.</strong> δ = 0.5 is above 1/1000" in page
    assert "--accept-weak-privacy" in page
    assert "hardly depends" not in page
    assert "1/1000" in saved.summary.warnings[0]
    ok, check = strength(log, saved)
    assert ok
    assert check.detail.startswith("WEAK: made with --accept-weak-privacy. δ = 0.5")


def test_verify_refuses_a_weak_release_that_hides_that_it_was_accepted(tmp_path):
    log, saved, _, manifest = made(
        tmp_path / "weak", epsilon=2, delta="0.5", accept_weak_privacy=True
    )
    del manifest["parameters"]["accept_weak_privacy"]
    (saved.folder / "public/manifest.json").write_text(json.dumps(manifest))
    ok, check = strength(log, saved)

    assert not ok
    assert not check.ok


def test_a_warned_budget_is_amber_and_a_strict_one_is_neither(tmp_path):
    log, saved, page, manifest = made(tmp_path / "warned", epsilon=8, delta="1e-3")
    quiet, strict, plain, told = made(tmp_path / "strict", epsilon=3, delta="1e-6")

    assert '<header class="amber">' in page
    assert "Weak protection." in page
    assert "ε = 8 is above 3" in saved.summary.warnings[0]
    assert "δ = 0.001 is above 1/(10 ×" in saved.summary.warnings[1]
    assert "accept_weak_privacy" not in manifest["parameters"]
    assert strength(log, saved)[1].detail.startswith("WEAK: ε = 8 is above 3")
    assert '<header class="calm">' in plain
    assert "Moderate protection." in plain
    assert "Weak protection" not in plain
    assert "by at most a factor of 20.09, except with a chance of 1 in 1,000,000." in plain
    assert strict.summary.warnings == ()
    assert not any("above" in line for line in told["not_guaranteed"])
    assert strength(quiet, strict) == (True, strength(quiet, strict)[1])


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_what_the_promise_rests_on_is_listed(kind):
    parameters = {"laplace_bound": "2", "laplace_epsilon": "1"}
    budget = PrivacyBudget(epsilon=1, delta="1e-6")
    lines = promise_of(kind, parameters, budget).not_guaranteed

    assert any("as it was read from the file" in line for line in lines)
    assert any("Columns, their types and the format" in line for line in lines)


def test_original_ids_warn_and_what_they_look_like_is_for_the_curator(tmp_path):
    ids = ["al@x.org", "bo@y.org", "+49 30 123456", "030-1234567", "Ada Lovelace", "123456", "x1"]
    rows = [(user, f"zebra {n}", f"z{n}.example", 1) for user in ids * 2 for n in range(3)]
    log = write(tmp_path / "clicks.tsv", rows)
    budget = {"epsilon": 3, "delta": "0.9", "solver": "exact"}
    warned = False
    for n in range(50):
        with closing(slogan.sanitize(log, **budget, pseudonyms="keep")) as release:
            saved = release.save(tmp_path / f"kept{n}")
        public = "".join(file.read_text() for file in (saved.folder / "public").iterdir())
        manifest = json.loads((saved.folder / "public/manifest.json").read_text())
        assert any("--pseudonyms keep" in line for line in manifest["not_guaranteed"])
        assert "--pseudonyms keep" in saved.summary.warnings[0]
        assert "look like" not in public
        certificate = json.loads((saved.folder / "curator/certificate.json").read_text())
        assert tuple(certificate["warnings"]) == saved.summary.warnings
        assert slogan.verify(log, saved.folder).ok
        if warned := any("look like e-mail addresses" in w for w in saved.summary.warnings):
            break
    assert warned


def test_ids_that_name_people_are_recognised(tmp_path):
    from slogan.release.base import id_warnings

    ids = ["al@x.org", "bo@y.org", "+49 30 123456", "030-1234567", "Ada Lovelace", "jo.doe"]
    plain = ["123456", "1234567890", "x1", "user_17", "550e8400-e29b-41d4-a716-446655440000", "ada"]
    log = write(tmp_path / "log.tsv", [(i, "q", "u", 1) for i in ids + plain])
    none = write(tmp_path / "none.tsv", [(i, "q", "u", 1) for i in plain])

    assert id_warnings(log, slogan.read(log)) == [
        "2 of 12 released user-IDs look like e-mail addresses.",
        "2 of 12 released user-IDs look like phone numbers.",
        "2 of 12 released user-IDs look like names of people.",
    ]
    assert id_warnings(none, slogan.read(none)) == []
