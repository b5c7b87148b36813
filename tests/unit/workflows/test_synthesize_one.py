"""synthesize() where one pair of each user counts: the whole verb, and replay on neighbours."""

import json
from contextlib import closing
from unittest.mock import patch

import numpy as np
import pytest
from tests.helpers import write

import slogan
from slogan.dp import one_pair
from slogan.errors import OptionError, TooFewUsersError
from slogan.verification.verify import verify

BUDGET = slogan.PrivacyBudget(epsilon="1", delta="1e-6")
HOLDERS = (300, 200, 120, 60, 30, 12, 1, 1)


def log_of(folder, *, without=None, extra=()):
    rows = [
        (1000 * pair + n, f"query {pair}", f"www.s{pair}.com", 1)
        for pair, holders in enumerate(HOLDERS)
        for n in range(holders)
    ]
    return write(folder / "log.tsv", [row for row in [*rows, *extra] if row[0] != without])


def released(log, folder, budget=BUDGET, **options):
    with closing(slogan.synthesize(log, budget, contributions="one", **options)) as made:
        made.save(folder)
        return made


def test_a_release_is_verified_and_says_what_it_is(tmp_path):
    log = log_of(tmp_path)
    made = released(log, tmp_path / "out")
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    stages = {stage["name"]: stage for stage in manifest["account"]["stages"]}
    clicks = made.output.count
    holders = np.array(HOLDERS)[made.statistics.pairs]

    assert verify(log, tmp_path / "out").ok
    assert manifest["parameters"]["contributions"] == "one"
    assert "selector" not in manifest["parameters"]
    assert stages.keys() == {"draw", "users"}
    assert (clicks == 1).all()
    assert made.output.users == made.output.clicks == manifest["outputs"]["users"]
    assert (np.abs(made.statistics.clicks - holders) <= 14).all()
    assert len(made.statistics.pairs) >= 4
    assert made.summary.contributions == "one"
    assert made.summary.budget_shares == {"draw": 0.995, "users": 0.005}


def runs(folder, noise, **which):
    """What a run with known noise publishes: the number of each pair, by its text, and users."""
    folder.mkdir()
    log = log_of(folder, **which)
    with (
        patch.object(
            one_pair, "truncated_geometric", lambda r, *_, **__: np.array(noise[: len(r)])
        ),
        patch.object(one_pair, "discrete_laplace", lambda n, *_, **__: np.zeros(n, np.int64)),
    ):
        made = released(log, folder / "out", seed=1)
    text = (folder / "out/public/log.tsv").read_text().splitlines()[1:]
    names, numbers = np.unique([line.split("\t")[1] for line in text], return_counts=True)
    return dict(zip(names.tolist(), numbers.tolist(), strict=True)), made.statistics.everyone


@pytest.mark.parametrize("user", [0, 1000, 4029, 5011, 6000, 7000])
def test_with_the_same_noise_a_neighbour_differs_by_one_user_of_one_pair(tmp_path, user):
    noise = [3, -2, 5, 0, 7, 14, 0, 0]
    whole, everyone = runs(tmp_path / "whole", noise)
    gone = user // 1000
    noise = [n for pair, n in enumerate(noise) if pair != gone or HOLDERS[pair] > 1]
    less, others = runs(tmp_path / "less", noise, without=user)
    whole[f"query {gone}"] = whole.get(f"query {gone}", 1) - 1

    assert everyone - others == 1
    assert {name: n for name, n in whole.items() if n} == less


def test_of_a_user_with_many_pairs_one_counts(tmp_path):
    hoarder = [(99_999, f"query {pair}", f"www.s{pair}.com", 1000) for pair in range(8)]
    whole, everyone = runs(tmp_path / "whole", [0] * 8)
    more, others = runs(tmp_path / "more", [0] * 8, extra=hoarder)

    assert others - everyone == 1
    assert sum(more.values()) - sum(whole.values()) <= 1
    assert sum(more.get(name, 0) != n for name, n in whole.items()) <= 1


@pytest.mark.parametrize("options", [{"association": "domains"}, {"selector": "weighted_gaussian"}])
def test_options_without_effect_are_refused(tmp_path, options):
    with pytest.raises(OptionError, match="one pair of each user"):
        slogan.synthesize(log_of(tmp_path), BUDGET, contributions="one", **options)


def test_unknown_contributions_are_refused(tmp_path):
    with pytest.raises(OptionError, match="contributions"):
        slogan.synthesize(log_of(tmp_path), BUDGET, contributions="two")


def test_a_small_log_is_refused_with_its_cost(tmp_path):
    log = write(tmp_path / "small.tsv", [(u, "q", "u.com", 1) for u in range(3)])
    with pytest.raises(TooFewUsersError) as refused:
        slogan.synthesize(log, slogan.PrivacyBudget(epsilon=1, delta="1e-9"), contributions="one")
    assert 0.99 < refused.value.cost.epsilon < 1
