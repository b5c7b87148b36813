"""verify() on synthetic releases: each check is fed with what it guards against."""

import json
import math
import shutil
from contextlib import closing
from fractions import Fraction

import mpmath
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json
from tests.helpers import write_pages

import slogan
from slogan.dp.accounting import gaussian_delta
from slogan.manifest.manifest import Manifest
from slogan.storage.atomic import sha256_of
from slogan.verification.accounting import delta_at_most, log_at_most

PAIRS = [(f"query {n}", f"www.site{n}.com") for n in range(40)]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    rows = [(u, *PAIRS[(u * 11 + n * n) % 40], 1) for u in range(1000) for n in range(6)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in dict.fromkeys(rows))]
    (folder / "log.tsv").write_text("".join(f"{line}\n" for line in lines))
    budget = slogan.PrivacyBudget(epsilon="4", delta="1e-5")
    with closing(slogan.synthesize(folder / "log.tsv", budget)) as release:
        release.save(folder / "release")
    return folder


@pytest.fixture
def release(made, tmp_path):
    shutil.copytree(made / "release", tmp_path / "release")
    return tmp_path / "release"


def rewrite(release, change):
    """Change the manifest, and the public page with it, as a careful forger would."""
    file = release / "public/manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest)
    file.write_bytes(to_json(manifest, indent=2) + b"\n")
    write_pages(release / "public", Manifest.model_validate(manifest))


def failed(made, release, **options):
    verdict = slogan.verify(made / "log.tsv", release, **options)
    names = {check.name for check in verdict.checks if not check.ok}
    return names - {"manifest_as_written"}  # test_forgeries.py is about it


def stage(manifest, name):
    return next(s for s in manifest["account"]["stages"] if s["name"] == name)


def test_an_honest_release_passes(made, release):
    assert failed(made, release) == set()
    looser = slogan.PrivacyBudget(epsilon="5", delta="1e-4")
    assert failed(made, release, budget=looser) == set()


def test_a_stricter_budget_than_the_releases_own_is_not_met(made, release):
    stricter = slogan.PrivacyBudget(epsilon="3", delta="1e-5")

    assert failed(made, release, budget=stricter) == {"budget", "account"}


def test_less_noise_than_the_budget_allows_is_found(made, release):
    def change(manifest):
        parameters = stage(manifest, "sizes")["parameters"]
        parameters["variance"] = str(Fraction(parameters["variance"]) * Fraction(9, 10))

    rewrite(release, change)
    assert failed(made, release) == {"account", "scales"}


def test_a_larger_norm_than_published_is_found(made, release):
    def change(manifest):
        stage(manifest, "counts")["parameters"]["norm_squared"] = "35"

    rewrite(release, change)
    assert failed(made, release) == {"constants", "scales"}


def test_noise_scales_that_may_depend_on_the_log_are_found(made, release):
    """All stages a bit noisier than needed: private, but who chose the scale?"""

    def change(manifest):
        for one in manifest["account"]["stages"]:
            parameters = one["parameters"]
            parameters["variance"] = str(Fraction(parameters["variance"]) * Fraction(101, 100))

    rewrite(release, change)
    assert failed(made, release) == {"scales"}


def test_a_parameter_other_than_the_published_one_is_found(made, release):
    rewrite(release, lambda m: m["parameters"].update(sizes_largest=31))
    assert failed(made, release) == {"constants"}


@pytest.mark.parametrize("variance", ["0", "-1", "x", "1e-400000000", "1/0", ""])
def test_invalid_stages_are_found(made, release, variance):
    def change(manifest):
        stage(manifest, "counts")["parameters"]["variance"] = variance

    rewrite(release, change)
    assert failed(made, release) >= {"account", "scales", "noise"}


def test_an_unknown_mechanism_is_refused(made, release):
    rewrite(release, lambda m: stage(m, "counts").update(mechanism="magic"))
    assert "account" in failed(made, release)


def test_a_release_without_an_account_is_found(made, release):
    file = release / "public/manifest.json"
    manifest = json.loads(file.read_text())
    manifest["account"] = None
    file.write_text(json.dumps(manifest))

    assert failed(made, release) == {"manifest"}


def change_log(release, change):
    file = release / "public/log.tsv"
    rows = change(pl.read_csv(file, separator="\t", infer_schema=False))
    rows.write_csv(file, separator="\t", quote_style="never")
    rewrite(release, lambda m: m["log"].update(sha256=sha256_of(file)))


def test_counts_without_noise_are_found(made, release):
    """True counts, dealt to the synthetic users: what noise alone would not give."""
    true = pl.read_csv(made / "log.tsv", separator="\t").group_by("query", "url").len()

    def change(rows):
        first = rows.unique(["query", "url"], keep="first").drop("count")
        counted = first.join(true, on=["query", "url"]).rename({"len": "count"})
        return counted.select("user", "query", "url", "count").sort("user")

    change_log(release, change)
    assert failed(made, release) >= {"noise"}


@pytest.mark.parametrize("real", [20, 900])
def test_real_ids_are_found(made, release, real):
    def change(rows):
        ids = rows["user"].unique().sort().head(real)
        renamed = {fresh: str(number) for number, fresh in enumerate(ids.to_list())}
        return rows.with_columns(pl.col("user").replace(renamed))

    change_log(release, change)
    assert failed(made, release) >= {"user_ids"}


@pytest.mark.parametrize("user_type", [pl.Int32, pl.Decimal(10, 0), pl.Int64])
def test_new_ids_may_equal_real_ones_in_a_small_type(made, tmp_path, user_type):
    log = pl.read_csv(made / "log.tsv", separator="\t").cast({"user": user_type})
    log.write_parquet(tmp_path / "log.parquet")
    budget = slogan.PrivacyBudget(epsilon="4", delta="1e-5")
    with closing(slogan.synthesize(tmp_path / "log.parquet", budget)) as release:
        release.save(tmp_path / "release")

    assert slogan.verify(tmp_path / "log.parquet", tmp_path / "release").ok


def test_ids_that_reveal_something_are_found(made, release):
    change_log(release, lambda rows: rows.with_columns(user=pl.lit("ann ") + pl.col("user")))
    assert failed(made, release) >= {"user_ids"}


def test_pairs_that_no_user_has_are_found(made, release):
    change_log(release, lambda rows: rows.with_columns(query=pl.col("query") + "!"))
    assert "pairs_from_log" in failed(made, release)


def test_more_users_than_the_manifest_states_are_found(made, release):
    rewrite(release, lambda m: m["outputs"].update(users=3))
    assert failed(made, release) == {"synthetic_users"}


def test_an_extra_file_in_public_is_found(made, release):
    (release / "public/raw.tsv").write_text("")
    assert failed(made, release) == {"nothing_else_public", "checksum_file"}


# --- verify's own arithmetic ---

rationals = st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6)


@settings(max_examples=30)
@given(rationals, st.fractions(min_value=Fraction(1, 10**4), max_value=50, max_denominator=10**6))
def test_delta_is_rounded_up_by_a_tiny_margin(epsilon, mu_squared):
    with mpmath.workdps(60):
        e, mu = (
            mpmath.mpf(epsilon.numerator) / epsilon.denominator,
            mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator),
        )
        true = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
        found = delta_at_most(epsilon, mu_squared)
        error = mpmath.mpf(found.numerator) / found.denominator - true

        assert abs(error) <= mpmath.mpf(10) ** -50
    assert found > 0
    # what made the release rounds up too, a little further
    assert found <= gaussian_delta(epsilon, mu_squared)


def test_logarithms_are_rounded_down():
    assert log_at_most(Fraction(1)) == 0
    assert log_at_most(Fraction(2)) < Fraction(math.log(2)) + Fraction(1, 10**16)
    assert float(log_at_most(Fraction(2))) == math.log(2)
