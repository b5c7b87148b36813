"""verify on releases of one pair of each user: honest ones pass, others do not."""

import json
from contextlib import closing
from unittest.mock import patch

import numpy as np
import pytest
from tests.helpers import write, write_pages

import slogan
from slogan.dp import one_pair
from slogan.manifest.manifest import Manifest
from slogan.storage.atomic import sha256_of
from slogan.verification.verify import verify

BUDGET = slogan.PrivacyBudget(epsilon="1", delta="1e-4")
PAIRS = 200
one_pair_noise = one_pair.truncated_geometric


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """200 pairs of 30 to 38 users who hold nothing else, and pairs of a single user."""
    rows = [
        (100 * pair + n, f"query {pair}", f"www.s{pair}.com", 1)
        for pair in range(PAIRS)
        for n in range(30 + pair % 9)
    ]
    rows += [(50_000 + n, f"alone {n}", f"www.t{n}.com", 1) for n in range(20)]
    return write(tmp_path_factory.mktemp("one") / "log.tsv", rows)


def failed(log, folder):
    return {check.name for check in verify(log, folder).checks if not check.ok}


def made(log, folder, **noise):
    """A release, with other noise if given."""
    names = {"truncated_geometric": one_pair_noise} | noise
    with (
        patch.multiple(one_pair, **names),
        closing(slogan.synthesize(log, BUDGET, contributions="one")) as release,
    ):
        release.save(folder)
    return folder


def test_honest_releases_are_verified(log, tmp_path):
    assert failed(log, made(log, tmp_path / "out")) == set()


def quiet(reach, rng, *, epsilon):
    return np.zeros_like(reach)


def doubled(reach, rng, *, epsilon):
    return one_pair_noise(reach, rng, epsilon=epsilon / 3)


def far(reach, rng, *, epsilon):
    return 3 * reach


def low(reach, rng, *, epsilon):
    return np.maximum(one_pair_noise(reach, rng, epsilon=epsilon), 6)


@pytest.mark.parametrize(
    ("noise", "check"),
    [(quiet, "noise"), (doubled, "noise"), (low, "noise"), (far, "selectable")],
)
def test_other_noise_is_refused(log, tmp_path, noise, check):
    folder = made(log, tmp_path / "out", truncated_geometric=noise)

    assert check in failed(log, folder)


def test_another_number_of_users_is_refused(log, tmp_path):
    many = lambda n, *_, **__: np.full(n, 5_000)  # noqa: E731

    folder = made(log, tmp_path / "out", discrete_laplace=many, truncated_geometric=quiet)
    assert "outputs" in failed(log, folder)


def merged(folder, pairs):
    """Make users who hold several pairs of the released ones; all else stays."""
    file, manifest = folder / "public/log.tsv", folder / "public/manifest.json"
    header, *rows = file.read_text().splitlines()
    rows = [row.split("\t") for row in rows]
    of_pair = {row[1]: row for row in reversed(rows)}
    for row in list(of_pair.values())[1:pairs]:
        row[0] = next(iter(of_pair.values()))[0]
    rows.sort(key=lambda row: (int(row[0]), *map(str.encode, row[1:3])))
    file.write_text("".join(f"{line}\n" for line in [header, *map("\t".join, rows)]))
    told = json.loads(manifest.read_text())
    told["log"]["sha256"] = sha256_of(file)
    made = Manifest.model_validate(told)
    manifest.write_text(made.model_dump_json(indent=2) + "\n")
    write_pages(folder / "public", made)
    return folder


def test_a_user_of_several_pairs_is_refused(log, tmp_path):
    """A user of the log's own pairs among made-up ones, who have one each."""
    made(log, tmp_path / "out")
    assert failed(log, merged(tmp_path / "out", 1)) == set()
    assert failed(log, merged(tmp_path / "out", 2)) == {"outputs"}


def edited(folder, change):
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def shorter_reach(manifest):
    stage = manifest["account"]["stages"][0]["parameters"]
    stage["reach"] = str(int(stage["reach"]) - 1)


def other_share(manifest):
    manifest["parameters"]["share_draw"] = "1/2"


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (shorter_reach, "account"),
        (other_share, "constants"),
    ],
)
def test_an_edited_account_is_refused(log, tmp_path, change, check):
    folder = made(log, tmp_path / "out")
    edited(folder, change)

    assert check in failed(log, folder)
