"""price_figures(): the sentence names the budget to paste, and claims no more than was found."""

import re

import numpy as np
import pytest

import slogan
from slogan.budget import PrivacyBudget
from slogan.generation.generate import generate
from slogan.planning import planner
from slogan.planning.planner import Planner
from slogan.planning.prices import Larger, Prices, Relaxed, larger_budget
from slogan.report.prices import price_figures

TWO = PrivacyBudget(exp_epsilon=2, delta="0.5")
DELTA = PrivacyBudget(exp_epsilon="2.3", delta="0.5")
EPSILON = PrivacyBudget(epsilon="0.5", delta="0.5")
MARK = "zq7"
OPTIONS = {"time_limit": 10, "seed": 7}


def words(budget=TWO, *, value=110.0, bound=110.0, gap=0.0, limited="both", larger=None):
    found = Larger(budget=larger_budget(budget), value=value, bound=bound)
    priced = Prices(
        users_at_limit=3,
        limited_by=limited,
        relaxed=Relaxed(value=120.0, worth=np.array([100.0, 2.0, 0.0])),
        larger=larger or found,
    )
    return price_figures(priced, budget, 100.0, unit="released clicks", gap=gap).words


def test_a_proven_gain_is_one_figure():
    limited, gain = words()

    assert limited.startswith("ε and δ limit the budget per user alike")
    assert gain == (
        "A budget 10% larger (ε = 0.7625 in place of 0.6932 and δ = 0.5335 in place of 0.5) would "
        "give 10.0% more released clicks (110 in place of 100, found by solving again; the prices "
        "of the linear relaxation alone say 8.5%)."
    )


def test_a_gain_that_is_not_proven_has_two_ends_rounded_outward():
    _, gain = words(value=107.07, bound=112.92)
    assert "at least 7.0% and at most 12.0% more released clicks" in gain

    _, gain, caution = words(gap=0.021)
    assert "at least 10.0% and at most 10.0% more" in gain
    assert "a proven gap of 2.1%" in caution


def test_no_gain_is_reported_as_none():
    assert (
        "would not give more released clicks (100 in place of 100"
        in words(value=100.0, bound=100.0)[1]
    )


def test_the_one_that_limits_is_the_one_that_changes():
    limited, gain = words(DELTA, limited="delta")
    assert limited == "δ limits the budget per user: a larger ε alone changes nothing."
    assert "(δ = 0.5335 in place of 0.5)" in gain

    limited, gain = words(EPSILON, limited="epsilon")
    assert limited == "ε limits the budget per user: a larger δ alone changes nothing."
    assert "(ε = 0.55 in place of 0.5)" in gain


@pytest.mark.parametrize("why", ["time", "budget", "solver"])
def test_what_was_not_solved_is_reported_with_the_reason(why):
    assert words(larger=why)[1].startswith("Not solved again under a larger budget: ")


def test_without_prices_nothing_is_predicted_from_them():
    found = Larger(budget=larger_budget(TWO), value=110.0, bound=110.0)
    priced = Prices(users_at_limit=3, limited_by="both", relaxed=None, larger=found)
    figures = price_figures(priced, TWO, 100.0, unit="released clicks", gap=0.0)

    assert figures.relaxation is None
    assert "found by solving again)." in figures.words[1]
    assert "there are no prices" in figures.words[2]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A generated log in which every user-ID, query and url begins with the mark."""
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    generate(file, users=200, seed=5)
    head, *rows = (line.split("\t") for line in file.read_text().splitlines())
    marked = [[*(f"{MARK}{text}" for text in row[:3]), *row[3:]] for row in rows]
    file.write_text("".join("\t".join(row) + "\n" for row in [head, *marked]))
    return file


def released(log, target, budget=DELTA, **options):
    with slogan.sanitize(log, budget, **{**OPTIONS, **options}) as release:
        return release.save(target)


def test_json_and_page_have_the_figures_and_nothing_that_names_a_user(tmp_path, log):
    saved = released(log, tmp_path / "out")
    found = saved.to_dict()["prices"]
    page = (saved.folder / "curator/report.html").read_text()
    certificate = (saved.folder / "curator/certificate.json").read_text()

    assert found["limited_by"] == "delta"
    assert 0 < found["users_at_limit"] <= saved.summary.shared.users
    assert 0 < found["relaxation"]["users"] <= saved.summary.shared.users
    assert list(found["relaxation"]["top_shares"].values()) == sorted(
        found["relaxation"]["top_shares"].values()
    )
    for sentence in found["words"]:
        assert sentence in page
        assert sentence in certificate.encode().decode("unicode_escape")
    assert "What the budget is worth" in page
    for text in (str(saved.to_dict()), page, certificate):
        assert MARK not in text


@pytest.mark.parametrize("objective", ["output_size", "diversity"])
def test_the_sentence_equals_a_release_under_the_named_budget(
    tmp_path, log, monkeypatch, objective
):
    monkeypatch.setattr(planner, "_LEAST_FOR_PRICES", 10.0)
    saved = released(log, tmp_path / "out", objective=objective)
    found, value = saved.to_dict()["prices"], saved.summary.value
    delta = re.search(r"δ = (\S+) in place of 0.5\)", found["words"][1])[1]
    gain = float(re.search(r"give (\S+)% more", found["words"][1])[1])
    larger = PrivacyBudget(exp_epsilon="2.3", delta=delta)
    again = released(log, tmp_path / "more", larger, objective=objective)

    assert again.summary.status == saved.summary.status == "optimal"
    assert again.summary.value == found["larger_budget"]["value"]
    assert gain == pytest.approx(100 * (again.summary.value / value - 1), abs=0.051)


def test_public_files_do_not_depend_on_prices(tmp_path, log, monkeypatch):
    one = released(log, tmp_path / "one")
    monkeypatch.setattr(Planner, "prices", lambda *_: None)
    other = released(log, tmp_path / "other")

    files = [sorted((saved.folder / "public").iterdir()) for saved in (one, other)]
    assert [file.name for file in files[0]] == [file.name for file in files[1]]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(*files, strict=True))
    assert "prices" not in other.to_dict()
    assert "What the budget is worth" not in (other.folder / "curator/report.html").read_text()
    for file in files[0]:
        assert b"budget is worth" not in file.read_bytes()


def test_other_plans_have_no_prices(tmp_path, log):
    noisy = {"counts": slogan.LaplaceCounts(bound=2, epsilon=5), "objective": "output_size"}
    for n, options in enumerate([{"objective": "frequent_pairs"}, noisy]):
        assert "prices" not in released(log, tmp_path / str(n), **options).to_dict()


def test_a_required_utility_is_priced_at_the_budget_that_was_found(tmp_path, log):
    saved = released(log, tmp_path / "out", None, require=5)
    larger = saved.to_dict()["prices"]["larger_budget"]

    assert larger["budget_per_user"] == pytest.approx(1.1 * saved.summary.budget_needed, rel=2e-3)
    assert larger["value"] >= saved.summary.value >= 5
