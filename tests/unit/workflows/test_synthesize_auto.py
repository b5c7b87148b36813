"""synthesize(contributions="auto"): a private look decides, and is paid for."""

import json
from contextlib import closing
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from tests.helpers import write

import slogan
from slogan.dp import contributions
from slogan.errors import OptionError
from slogan.ledger.cap import Cap
from slogan.ledger.ledger import Ledger
from slogan.verification.verify import verify

BUDGET = slogan.PrivacyBudget(epsilon="2", delta="1e-5")
HOLDERS = (600, 500, 400, 300, 250)


def log_of(folder, pairs_each):
    rows = [
        (1000 * pair + n, f"query {(pair + k) % 9}", f"www.s{(pair + k) % 9}.com", 1)
        for pair, holders in enumerate(HOLDERS)
        for n in range(holders)
        for k in range(pairs_each)
    ]
    return write(folder / f"log{pairs_each}.tsv", rows)


def released(log, folder, **options):
    with closing(slogan.synthesize(log, BUDGET, contributions="auto", **options)) as made:
        made.save(folder)
        return made


def manifest_of(folder):
    return json.loads((folder / "public/manifest.json").read_text())


@pytest.mark.parametrize(("pairs_each", "way"), [(1, "one"), (4, "several")])
def test_the_look_takes_the_way_that_fits_and_pays(tmp_path, pairs_each, way):
    log = log_of(tmp_path, pairs_each)
    made = released(log, tmp_path / "out")
    manifest = manifest_of(tmp_path / "out")
    stages = {stage["name"]: stage for stage in manifest["account"]["stages"]}

    assert made.summary.contributions == way
    assert manifest["parameters"]["contributions"] == "auto"
    assert manifest["parameters"]["share_contributions"] == "1/100"
    assert next(iter(stages)) == "contributions"
    assert 0.0199 < Fraction(stages["contributions"]["cost"]["epsilon"]) < 0.02
    assert ("draw" in stages) == (way == "one")
    assert [c.name for c in verify(log, tmp_path / "out").checks if not c.ok] == []
    assert "--contributions auto" in (tmp_path / "out/public/report.html").read_text()


@pytest.mark.parametrize("pairs_each", [1, 4])
def test_a_look_that_decided_against_the_log_is_refused(tmp_path, pairs_each):
    log = log_of(tmp_path, pairs_each)
    far = 40_000 if pairs_each == 1 else -40_000
    with patch.object(contributions, "discrete_laplace", lambda *_, **__: np.array([far])):
        released(log, tmp_path / "out")
    failed = {check.name for check in verify(log, tmp_path / "out").checks if not check.ok}

    assert "selectable" in failed


def edited(folder, change):
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def without_look(manifest):
    del manifest["account"]["stages"][0]


def declared(manifest):
    manifest["parameters"]["contributions"] = "one"


def cheaper(manifest):
    stage = manifest["account"]["stages"][0]
    stage["parameters"]["epsilon"] = stage["cost"]["epsilon"] = "1/100"


@pytest.mark.parametrize("change", [without_look, declared, cheaper])
@pytest.mark.parametrize("pairs_each", [1, 4])
def test_an_edited_look_is_refused(tmp_path, change, pairs_each):
    log = log_of(tmp_path, pairs_each)
    released(log, tmp_path / "out")
    edited(tmp_path / "out", change)

    assert not verify(log, tmp_path / "out").ok


def test_the_ledger_reserves_the_more_expensive_way_and_counts_what_was_spent(tmp_path):
    ledger = Ledger.open("people", tmp_path / "people.jsonl")
    ledger.create()
    ledger.set_cap(Cap.of(5, "1e-3", epsilon_aside=3))
    made = released(log_of(tmp_path, 4), tmp_path / "out", ledger=ledger)
    spent = ledger.books().spent

    assert spent == made.cost
    assert spent.epsilon < 0.03
    assert spent.mu_squared > 0


def test_options_of_several_pairs_may_be_given(tmp_path):
    made = released(log_of(tmp_path, 1), tmp_path / "out", association="domains")

    assert made.summary.contributions == "one"
    assert manifest_of(tmp_path / "out")["parameters"]["association"] == "independent"
    with pytest.raises(OptionError, match="one pair of each user"):
        slogan.synthesize(tmp_path / "x", BUDGET, contributions="one", association="domains")
