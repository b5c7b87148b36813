"""synthesize(): one budget for everything, the schema of the log, and nothing else in public."""

import json
from contextlib import closing
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.helpers import table, write

import slogan
from slogan import errors
from slogan.dp import statistics
from slogan.dp.accounting import Account, Gaussian
from slogan.dp.selection import names as selectors

# With four hundred secrets, a δ at which none is likely ever to be seen in a test.
BUDGET = slogan.PrivacyBudget(epsilon="8", delta="1e-9")
PAIRS = [(f"query {n}", f"www.site{n % 7}.com/{n}") for n in range(12)]


def clicks(users=400):
    """Users who hold some of twelve pairs, and each one pair that no other user has."""
    rows = [(u, *PAIRS[(u * 7 + n) % 12], 1 + (u + n) % 3) for u in range(users) for n in range(4)]
    return [*rows, *((u, f"secret of {u}", "www.only-me.com", 2) for u in range(users))]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write(tmp_path_factory.mktemp("log") / "clicks.tsv", clicks())


def saved(log, target, budget=BUDGET, **options):
    with closing(slogan.synthesize(log, budget, **options)) as release:
        return release.save(target).to_dict()


def test_the_release_has_only_shared_pairs_and_the_contracts_fields(log, tmp_path):
    done = saved(log, tmp_path / "out")
    rows = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t")

    assert {"epsilon", "delta", "pairs_out", "users_out", "clicks_out", "coverage"} <= done.keys()
    assert {"association", "budget_shares", "seconds", "release"} <= done.keys()
    assert not rows["query"].str.contains("secret").any()
    assert done["pairs_out"] == len(rows.unique(["query", "url"])) == 12
    assert done["users_out"] == rows["user"].n_unique()
    assert done["clicks_out"] == rows["count"].sum()
    assert 300 < done["users_out"] < 500
    assert rows.sort("user", "query", "url").equals(rows)


def test_totals_of_the_file_are_the_private_counts(log, tmp_path):
    with closing(slogan.synthesize(log, BUDGET)) as release:
        release.save(tmp_path / "out")
        counts = np.rint(np.maximum(release.statistics.counts.values, 0)).astype(int)
    rows = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t")
    found = rows.group_by("query", "url").agg(pl.col("count").sum()).sort("query", "url")

    assert sorted(found["count"]) == sorted(c for c in counts.tolist() if c)


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl", "parquet", "tsv.gz", "csv.zst"])
def test_the_output_has_columns_types_and_format_of_the_input(tmp_path, suffix):
    schema = {"note": pl.String, "user": pl.Int32, "query": pl.String}
    schema |= {"count": pl.Int32, "url": pl.String}
    rows = [("x", u, q, n, w) for u, q, w, n in clicks()]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    source = tmp_path / f"in.{suffix}"
    options = {
        "tsv": "DELIMITER '\t', QUOTE '', ESCAPE '', FORMAT csv",
        "csv": "FORMAT csv",
        "jsonl": "FORMAT json",
        "parquet": "FORMAT parquet",
        "tsv.gz": "DELIMITER '\t', QUOTE '', ESCAPE '', FORMAT csv, COMPRESSION gzip",
        "csv.zst": "FORMAT csv, COMPRESSION zstd",
    }[suffix]
    duckdb.sql("FROM frame").write_parquet(str(tmp_path / "p.parquet"))
    duckdb.sql(f"COPY (FROM '{tmp_path / 'p.parquet'}') TO '{source}' ({options})")
    assert len(frame)
    declared = tuple(schema) if suffix == "jsonl" else None
    saved(slogan.read(source, columns=declared), tmp_path / "out")
    target = tmp_path / f"out/public/log.{suffix}"

    assert table(target).columns == table(source).columns
    if suffix == "parquet":
        assert table(target).types == table(source).types
    assert slogan.verify(source, tmp_path / "out").ok


def test_a_log_of_events_comes_back_as_events(tmp_path):
    names = ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
    rows = [(u, q, "2006-03-01 00:00:00", 1, w) for u, q, w, n in clicks() for _ in range(n)]
    lines = ["\t".join(names), *("\t".join(map(str, row)) for row in rows)]
    source = tmp_path / "events.tsv"
    source.write_text("".join(f"{line}\n" for line in lines))
    done = saved(source, tmp_path / "out")
    found = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t")

    assert found.columns == names
    assert len(found) == done["clicks_out"]
    assert found["QueryTime"].null_count() == len(found)  # without a period
    assert found["ItemRank"].min() >= 1
    assert slogan.verify(source, tmp_path / "out").ok


def test_user_ids_do_not_depend_on_real_ones(tmp_path):
    source = write(tmp_path / "in.tsv", [(f"name-{u}", q, w, n) for u, q, w, n in clicks()])
    saved(source, tmp_path / "out")
    found = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t", infer_schema=False)

    assert found["user"].str.contains(r"^\d+$").all()
    assert slogan.verify(source, tmp_path / "out").ok


@pytest.mark.parametrize("selector", selectors())
def test_every_selector_keeps_the_budget_and_is_verified(log, tmp_path, selector):
    done = saved(log, tmp_path / "out", selector=selector)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())

    assert done["pairs_out"] > 0
    assert manifest["parameters"]["selector"] == selector
    assert manifest["account"]["delta_at_epsilon"] <= 1e-9
    verdict = slogan.verify(log, tmp_path / "out")
    assert [check for check in verdict.checks if not check.ok] == []


@pytest.mark.parametrize("association", ["domains", "pairs", "independent"])
def test_the_budget_is_spent_by_the_stages_that_are_listed(log, tmp_path, association, monkeypatch):
    monkeypatch.setattr(statistics, "visible", lambda categories, *_: float(categories > 0))
    monkeypatch.setattr(statistics, "FEWEST_PAIRS", 0)
    saved(log, tmp_path / "out", association=association)
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    stages = [stage["name"] for stage in manifest["account"]["stages"]]
    shares = [v for k, v in manifest["parameters"].items() if k.startswith("share_")]

    assert ("association" in stages) == (association != "independent")
    assert {"counts", "sizes", "coverage"} <= set(stages)
    assert sum(map(Fraction, shares)) == 1
    assert slogan.verify(log, tmp_path / "out").ok


def test_nothing_is_written_beyond_the_budget(log, tmp_path, monkeypatch):
    spent = Account((Gaussian(name="counts", norm_squared=100, variance=1),))
    monkeypatch.setattr("slogan.dp.statistics.Account", lambda stages: spent)
    with pytest.raises(errors.BudgetError, match="the budget has"):
        saved(log, tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_an_error_about_a_small_log_names_the_users_needed(tmp_path):
    source = write(tmp_path / "in.tsv", clicks(users=30))
    strict = slogan.PrivacyBudget(epsilon="1", delta="1e-6")
    with pytest.raises(errors.TooFewUsersError, match="of these 30 users") as caught:
        saved(source, tmp_path / "out", strict)

    assert caught.value.exit_code == 3
    assert "users of this kind" in caught.value.hint
    assert "larger delta" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_public_says_nothing_of_the_raw_log(log, tmp_path):
    """A number of the log would be in every release; noise meets it in one of many."""
    told = []
    for seed in range(3):
        saved(log, tmp_path / str(seed), seed=seed)
        public = tmp_path / str(seed) / "public"
        told.append("".join((public / n).read_text() for n in ("manifest.json", "report.html")))
    counted = slogan.inspect(log).to_dict()

    for number in (counted["users"], counted["clicks"], counted["pairs"]):
        assert not all(f" {number:,} " in public for public in told)
        assert not all(f" {number}" in public for public in told)


def test_the_order_of_the_file_says_nothing(log, tmp_path):
    """The same coins on the same log in another order give the same release."""
    rows = log.read_text().splitlines()
    shuffled = tmp_path / "shuffled.tsv"
    shuffled.write_text("\n".join([rows[0], *reversed(rows[1:])]) + "\n")
    for name, source in (("a", log), ("b", shuffled)):
        saved(source, tmp_path / name, seed=5)
    first, second = ((tmp_path / n / "public/log.tsv").read_bytes() for n in "ab")

    assert first == second


def test_a_seeded_run_is_marked_and_refused(log, tmp_path):
    done = saved(log, tmp_path / "out", seed=1)
    verdict = slogan.verify(log, tmp_path / "out")

    assert done["test_run"]
    assert [check.name for check in verdict.checks if not check.ok] == ["not_a_test_run"]


def test_the_number_of_users_is_noisy(log):
    """The raw number of users is used nowhere: two runs differ."""
    found = set()
    for seed in range(4):
        with closing(slogan.synthesize(log, BUDGET, seed=seed)) as release:
            found.add(release.statistics.sizes.users)

    assert len(found) > 1


def test_a_wrong_option_opens_no_log(tmp_path):
    with pytest.raises(errors.OptionError):
        slogan.synthesize(tmp_path / "nothing.tsv", BUDGET, association="none such")
    with pytest.raises(errors.OptionError):
        slogan.synthesize(tmp_path / "nothing.tsv", BUDGET, selector="none such")


def communities(users=6_000):
    """Users of four communities, each with its own ten sites, and some clicks of others."""
    draw = np.random.default_rng(0)
    user = np.repeat(np.arange(users), 5)
    own = np.where(draw.random(len(user)) < 0.8, user % 4, draw.integers(4, size=len(user)))
    pair = own * 10 + draw.integers(10, size=len(user))
    return sorted({(int(u), f"q{p}", f"www.s{p}.com", 1) for u, p in zip(user, pair, strict=True)})


def together(file):
    """Of two pairs of one synthetic user, how often both are of one community; by chance 1/4."""
    sql = f"""
        SELECT avg(CASE WHEN a.url[6:-5]::INT // 10 = b.url[6:-5]::INT // 10 THEN 1 ELSE 0 END)
        FROM '{file}' a JOIN '{file}' b USING ("user") WHERE a.url < b.url"""
    return duckdb.sql(sql).fetchall()[0][0]


@pytest.mark.parametrize("association", ["taxonomy", "pairs", "independent"])
def test_what_users_hold_together_is_kept_if_it_is_clear_of_the_noise(tmp_path, association):
    log = write(tmp_path / "clicks.tsv", communities())
    kinds = tmp_path / "kinds.tsv"
    kinds.write_text("".join(f"s{p}.com\tcommunity {p // 10}\n" for p in range(40)))
    taxonomy = kinds if association == "taxonomy" else None
    budget = slogan.PrivacyBudget(epsilon="4", delta="1e-6")
    done = saved(log, tmp_path / "out", budget, association=association, taxonomy=taxonomy)
    found = together(tmp_path / "out/public/log.tsv")

    assert done["pairs_out"] == 40
    assert done["association"] == association
    if association == "independent":
        assert done["association_kept"] == 0
        assert found == pytest.approx(0.25, abs=0.03)
    else:
        assert 0.5 < done["association_kept"] <= 1
        assert found > 0.8 * together(log)
        assert found > 0.4
