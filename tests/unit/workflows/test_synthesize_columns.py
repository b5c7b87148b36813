"""synthesize() of logs with time, rank and session, from file to file."""

import json
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from tests.rows_in_time import people

import slogan
from slogan.errors import OptionError

PERIOD = "2026-02-01/2026-02-28"


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """A log of people who search, with searches without a click, as AOL writes logs."""
    file = tmp_path_factory.mktemp("timed") / "log.tsv"
    _, rows = people(1_500, pairs=30)
    begin = datetime(2026, 2, 1, tzinfo=UTC)
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    for user, pair, query, second, rank in zip(
        *(getattr(rows, name).tolist() for name in ("user", "pair", "query", "second", "rank")),
        strict=True,
    ):
        clicked = "\t" if pair < 0 else f"{rank}\tsite{pair}.example"
        moment = (begin + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S")
        lines.append(f"{user}\tquery {query}\t{moment}\t{clicked}")
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def released(log, folder, **options):
    with slogan.synthesize(log, epsilon=4, delta="1e-5", seed=3, **options) as release:
        release.save(folder)
        return release


def test_five_columns_in_and_five_filled_columns_out(timed, tmp_path):
    release = released(slogan.read(timed, period=PERIOD), tmp_path / "out")
    found = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t", infer_schema=False)
    clicked = found.filter(pl.col("ClickURL").is_not_null())

    assert found["QueryTime"].null_count() == 0
    assert found["QueryTime"].min() >= "2026-02-01 00:00:00"
    assert found["QueryTime"].max() <= "2026-02-28 23:59:59"
    assert len(clicked) == release.output.clicks < len(found)
    assert clicked["ItemRank"].null_count() == 0
    judged = slogan.verify(timed, tmp_path / "out")
    assert {check.name for check in judged.checks if not check.ok} == {"not_a_test_run"}


def test_the_page_and_the_manifest_say_what_columns_mean(timed, tmp_path):
    release = released(slogan.read(timed, period=PERIOD), tmp_path / "out")
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    page = (tmp_path / "out/public/report.html").read_text()

    assert set(manifest["outputs"]["fields"]["sums"]) == set(release.statistics.fields.noisy)
    assert len(manifest["outputs"]["fields"]["sums"]["hours"]) == 168
    assert manifest["parameters"]["session_gap"] == 1800
    assert "QueryTime: times are made up." in page
    assert "ItemRank: ranks are drawn" in page


def test_columns_that_noise_would_drown_are_empty_with_a_reason(tmp_path, timed):
    with slogan.synthesize(
        slogan.read(timed, period=PERIOD), epsilon="0.12", delta="1e-4", seed=3
    ) as release:
        release.save(tmp_path / "out")
    dropped, page = release.statistics.fields.dropped, tmp_path / "out/public/report.html"

    assert "ranks" in dropped
    assert "ItemRank: empty, because the noise would be" in page.read_text()
    assert {stage.name for stage in release.statistics.account.stages}.isdisjoint(dropped)


@pytest.mark.parametrize("column", ["QueryTime", "ItemRank"])
def test_a_column_without_readable_values_stays_empty(timed, tmp_path, column):
    lines = [line.split("\t") for line in timed.read_text().splitlines()]
    place = lines[0].index(column)
    rows = [[*line[:place], "?", *line[place + 1 :]] for line in lines[1:]]
    file = tmp_path / "log.tsv"
    file.write_text("".join("\t".join(line) + "\n" for line in [lines[0], *rows]))
    release = released(slogan.read(file, period=PERIOD), tmp_path / "out")
    found = pl.read_csv(tmp_path / "out/public/log.tsv", separator="\t", infer_schema=False)
    page = (tmp_path / "out/public/report.html").read_text()

    assert {"hours", "ranks"} <= set(release.statistics.fields.noisy)
    assert found[column].null_count() == len(found)
    assert f"{column}: empty, because what was measured is not clear of the noise" in page
    judged = slogan.verify(file, tmp_path / "out")
    assert {check.name for check in judged.checks if not check.ok} == {"not_a_test_run"}


def test_columns_cost_nothing_beside_the_budget(timed, tmp_path):
    plain = released(slogan.read(timed, time="none", rank="none"), tmp_path / "plain")
    whole = released(slogan.read(timed, period=PERIOD), tmp_path / "whole")
    costs = [
        sum(stage.cost.mu_squared for stage in r.statistics.account.stages) for r in (plain, whole)
    ]

    assert float(costs[1]) == pytest.approx(float(costs[0]), rel=1e-3)
    assert plain.statistics.fields is None
    assert (
        "fields" not in json.loads((tmp_path / "plain/public/manifest.json").read_text())["outputs"]
    )


def test_columns_with_one_pair_of_each_user_are_refused_before_anything_is_drawn(timed):
    with pytest.raises(OptionError, match="there is no time or rank to measure") as caught:
        slogan.synthesize(
            slogan.read(timed, period=PERIOD), epsilon=1, delta="1e-5", contributions="one"
        )
    assert "--time none --rank none" in caught.value.hint
