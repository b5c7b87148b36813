"""Colours, odds and uses of a release follow from its manifest alone."""

import pytest
from tests.unit.report.test_html import SYNTHETIC, manifest

from slogan.manifest.strictness import odds_of, strictness_of
from slogan.manifest.uses import Use, Uses, declared_uses


def synthetic(epsilon="1", delta="1e-6", **outputs):
    budget = {"epsilon": epsilon, "exp_epsilon": None, "delta": delta}
    return manifest(**SYNTHETIC | {"budget": budget, "outputs": SYNTHETIC["outputs"] | outputs})


@pytest.mark.parametrize(
    ("release", "colour", "name"),
    [
        (synthetic(), "calm", "Strict protection"),
        (synthetic("3"), "calm", "Moderate protection"),
        (synthetic("3.1"), "amber", "Weak protection"),
        (synthetic(delta="1e-4", users=1_001), "amber", "Weak protection"),
        (synthetic("11"), "red", "Weak protection"),
        (synthetic(delta="0.01"), "red", "Weak protection"),
        (manifest(), "red", "Weak protection"),  # half of the people may be shown
        (
            manifest(budget={"epsilon": "1", "exp_epsilon": None, "delta": "0.1"}),
            "amber",
            "Limited protection",
        ),
        (
            manifest(
                budget={"epsilon": "1", "exp_epsilon": None, "delta": "0.1"}, pseudonyms="keep"
            ),
            "red",
            "Weak protection",
        ),
        (synthetic().model_copy(update={"test_run": True}), "red", "Weak protection"),
    ],
)
def test_the_colour_follows_from_the_budget_and_the_rows(release, colour, name):
    found = strictness_of(release)

    assert (found.colour, found.name) == (colour, name)
    assert found.reasons


def test_people_are_drawn_for_every_started_percent():
    assert odds_of(synthetic()).shown == 3  # e of 100
    assert odds_of(manifest()).shown == 51
    assert odds_of(synthetic("600")).shown == 100


def test_uses_follow_the_coverage_and_the_association():
    wide, narrow = declared_uses(synthetic(coverage=0.7)), declared_uses(synthetic(coverage=0.1))
    hidden = declared_uses(synthetic(association="independent"))
    shares, together = "shares of the released pairs", "which pairs go together"

    assert shares in [use.task for use in wide.good_for]
    assert shares in [use.task for use in narrow.partly]
    assert together in [use.task for use in narrow.partly]
    assert Use(together, "the noise would have hidden it") in hidden.not_for


def test_real_rows_are_not_for_the_web():
    assert "publication on the web" in [use.task for use in declared_uses(manifest()).not_for]


def test_measured_uses_replace_those_that_measures_decide():
    measured = Uses(not_for=(Use("studying rare searches", "0%"),))
    both = declared_uses(manifest()).decided_by(measured)

    assert [use.task for use in both.not_for].count("rare searches") == 0
    assert measured.not_for[0] in both.not_for
    assert "building and testing software" in [use.task for use in both.good_for]
