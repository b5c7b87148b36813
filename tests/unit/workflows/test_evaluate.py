"""evaluate(): any release folder or log beside the log, and nothing of it in public."""

import io
import json
import shutil
import sys
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest
from rich.console import Console
from tests.helpers import write
from tests.import_contracts import ROOT

import slogan
from slogan import engines, errors, measures
from slogan.cli.evaluate import text
from slogan.logs.searchlog import read
from slogan.measures import association, supports

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
PAIRS = [(f"query {n // 2}", f"www.site{n}.com") for n in range(6)]
SECRET = (1001, "my secret illness", "www.only-me.com", 2)


def rows():
    """Forty users who share six pairs of three queries, and one pair that no other user has."""
    shared = [
        (1000 + u, *PAIRS[n], 1 + (u + n) % 3)
        for u in range(40)
        for n in range(6)
        if u % 3 != n % 3
    ]
    return [*shared, SECRET]


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "clicks.tsv", rows())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One release, made once."""
    folder = tmp_path_factory.mktemp("made")
    release = slogan.sanitize(write(folder / "clicks.tsv", rows()), BUDGET, solver="exact")
    try:
        release.save(folder / "release")
    finally:
        release.close()
    return folder / "release"


@pytest.fixture
def release(tmp_path, made):
    """A copy of it that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "release"))


def test_the_log_beside_itself_is_perfect(log):
    found = slogan.evaluate(log, log, min_support=["1/10", "1/100"]).to_dict()

    assert (found["precision"], found["recall"], found["diversity"]) == (1, 1, 1)
    assert found["sum_support_distance"] == found["average_support_distance"] == 0
    assert found["size_ratio"] == 1
    assert found["method"] is found["counts"] is None
    assert found["users_matched"]
    assert found["diff_ratio_histogram"]["below"][0] == found["diff_ratio_histogram"]["triplets"]
    assert [one["min_support"] for one in found["frequent_pairs"]] == ["1/10", "1/100"]
    # A sample as large as the log is the log.
    assert found["yardstick"]["recall"] == 1


def test_a_release_is_measured_with_its_pseudonyms(log, release):
    found = slogan.evaluate(log, release, samples=7).to_dict()
    clicks = duckdb.sql(f"SELECT sum(count) FROM '{release}/public/log.tsv'").fetchall()[0][0]

    assert (found["method"], found["users_matched"], found["coverage"]) == ("sanitize", True, None)
    assert found["counts"] == "exact"
    assert found["size"] == found["yardstick"]["size"] == clicks
    assert found["size_ratio"] == clicks / (sum(r[3] for r in rows()) - 2)
    assert found["log"]["shared"]["pairs"] == 6
    assert found["log"]["pairs"] == 7
    assert found["diff_ratio_histogram"]["samples"] == 7
    assert found["unknown_pairs"] == 0


def test_without_the_table_of_pseudonyms_triplets_are_still_drawn_again(log, release):
    (release / "curator" / "pseudonyms.parquet").unlink()

    found = slogan.evaluate(log, release).to_dict()

    assert not found["users_matched"]
    assert found["diff_ratio_histogram"]["samples"] == 10


def synthetic(release, coverage):
    """The release made to look like one of synthetic users."""
    file = release / "public" / "manifest.json"
    told = json.loads(file.read_text())
    account = {"stages": [], "cost": {}, "delta_at_epsilon": 0.0, "epsilon_at_delta": 0.0}
    measured = {"clicks_released": 1.0, "clicks_other": 1.0, "users_by_pairs": [0.0, 1.0]}
    measured |= {"pairs_selected": 1, "clicks_counted": 1.0}
    outputs = {"coverage": coverage, "association": "domains", "association_kept": 0.5, "users": 1}
    outputs |= measured
    told |= {"method": "synthesize", "counts": "private", "pseudonyms": "synthetic"}
    file.write_text(json.dumps({**told, "account": account, "outputs": outputs}))


def test_synthetic_users_are_nobodys_and_supports_are_of_the_whole_log(log, release):
    synthetic(release, 0.5)
    whole = sum(row[3] for row in rows())
    found = slogan.evaluate(log, release, min_support="1/100").to_dict()

    assert (found["method"], found["coverage"], found["users_matched"]) == (
        "synthesize",
        0.5,
        False,
    )
    assert found["counts"] is None
    assert found["diff_ratio_histogram"] is None
    assert found["yardstick"]["diff_ratio_histogram"] is not None
    assert found["size_ratio"] == found["size"] / whole
    # All clicks are 1 and the release has them all on pairs of D: κ = 1/2 leaves half away.
    assert found["all_pairs"]["sum_support_distance"] >= 0.5


@pytest.mark.parametrize("coverage", [1.5, -0.1, float("nan")])
def test_a_coverage_that_is_not_a_share_is_refused(log, release, coverage):
    synthetic(release, coverage)
    with pytest.raises(errors.LogFormatError):
        slogan.evaluate(log, release)


def test_the_supports_of_the_release_come_first(tmp_path, log):
    made = slogan.sanitize(
        log,
        BUDGET,
        objective=slogan.FrequentPairs(min_support="1/7", output_size=5),
        solver="exact",
    )
    try:
        made.save(tmp_path / "frequent")
    finally:
        made.close()

    found = slogan.evaluate(log, tmp_path / "frequent").to_dict()

    assert found["frequent_pairs"][0]["min_support"] == "1/7"
    assert found["sum_support_distance"] == pytest.approx(made.value)


def test_the_same_seed_gives_the_same_figures(log, release):
    first, again, other = (slogan.evaluate(log, release, seed=n).to_dict() for n in (1, 1, 2))
    for found in (first, again, other):
        del found["seconds"]

    assert first == again != other


def test_a_log_with_its_own_pairs_and_people(tmp_path, log):
    """What the log does not have is counted, and hurts precision."""
    strange = [(7, "query 0", "www.elsewhere.com", 50), (7, "new", "www.new.com", 50), rows()[0]]
    found = slogan.evaluate(
        log, write(tmp_path / "other.tsv", strange), min_support="1/20"
    ).to_dict()

    assert found["unknown_pairs"] == 2
    assert (found["frequent_pairs"][0]["frequent_after"], found["precision"]) == (2, 0)
    assert found["users_matched"]


def test_an_empty_release_is_measured_as_nothing(tmp_path, log):
    found = slogan.evaluate(log, write(tmp_path / "none.tsv", [])).to_dict()

    assert (found["size"], found["recall"], found["diversity"]) == (0, 0, 0)
    assert found["yardstick"]["size"] == 0


@pytest.mark.parametrize("options", [{"samples": 0}, {"min_support": "2"}, {"min_support": []}])
def test_options_that_make_no_sense_are_refused(log, options):
    with pytest.raises(errors.OptionError):
        slogan.evaluate(log, log, **options)


def test_a_folder_that_is_not_a_release_is_refused(tmp_path, log):
    (tmp_path / "folder").mkdir()
    with pytest.raises(errors.LogFormatError):
        slogan.evaluate(log, tmp_path / "folder")


# --- the engine numbers a second log like the first ---


def counted(log, other, users):
    host = engines.resolve("duckdb").start()
    try:
        first = host.count(read(log), unique_pairs=True).hist
        return first, host.count_beside(read(other), users).hist
    finally:
        host.close()


def clicks(hist):
    return dict(
        zip(zip(hist.user.tolist(), hist.pair.tolist(), strict=True), hist.count, strict=True)
    )


def test_the_same_log_gets_the_same_numbers(log):
    first, second = counted(log, log, "same")

    assert clicks(first) == clicks(second)
    assert (first.query == second.query).all()


def test_other_people_get_their_own_numbers(log):
    first, second = counted(log, log, "others")

    assert second.user.min() == first.users
    assert second.pair_total.tolist() == first.pair_total.tolist()


def test_a_table_of_pseudonyms_leads_back(tmp_path, log):
    masked = write(tmp_path / "masked.tsv", [(f"p{u}", q, w, n) for u, q, w, n in rows()])
    names = tmp_path / "it's names.parquet"
    duckdb.sql(
        f"COPY (SELECT u AS \"user\", 'p' || u AS pseudonym FROM range(1000, 1040) t(u)) TO "
        f"'{str(names).replace(chr(39), chr(39) * 2)}'"
    )
    first, second = counted(log, masked, names)

    assert clicks(first) == clicks(second)


def test_new_pairs_and_queries_come_after(tmp_path, log):
    new = [(1, "query 1", "www.b.com", 1), (1, "zzz", "www.a.com", 2), (1, "zzz", "www.b.com", 3)]
    first, second = counted(log, write(tmp_path / "new.tsv", [*new, rows()[0]]), "same")
    queries = int(first.query.max()) + 1

    assert second.pairs == first.pairs + 3
    assert second.query[: first.pairs].tolist() == first.query.tolist()
    known = first.query[[q for q, _ in sorted({r[1:3] for r in rows()})].index("query 1")]
    assert second.query[first.pairs :].tolist() == [known, queries, queries]
    assert second.pair_total[first.pairs :].tolist() == [1, 2, 3]


def test_texts_that_break_readers_are_matched(tmp_path):
    import polars as pl

    texts = ["it's", '"', "a\tb", "été", "%s $1", "nul\x00inside", " lead and trail ", "NULL"]
    queries = sorted(texts * 2)
    frame = pl.DataFrame({"user": ["ann", "bob"] * len(texts), "query": queries, "url": "u"})
    found = slogan.evaluate(read(frame), read(frame.reverse())).to_dict()

    assert found["unknown_pairs"] == 0
    assert found["recall"] == 1


def test_figures_are_exact_fractions_of_what_was_asked(log):
    """A support typed as a float is the decimal that was typed."""
    found = slogan.evaluate(log, log, min_support=0.1)

    assert found.release[supports.SUPPORTS].first.min_support == str(Fraction(1, 10))
    assert np.isfinite(found.size_ratio)


# --- the typed result ---


def test_the_figures_of_the_reference_are_properties(log, release):
    found = slogan.evaluate(log, release)
    fields = found.to_dict()

    for name in ("size_ratio", "precision", "recall", "diversity"):
        assert getattr(found, name) == fields[name]
    assert found.sum_support_distance == fields["sum_support_distance"]
    assert found.average_support_distance == fields["average_support_distance"]
    assert asdict(found.diff_ratio_histogram) == fields["diff_ratio_histogram"]
    assert found.lift.correlation == fields["lift"]["correlation"]
    assert asdict(found.also_clicked) == fields["also_clicked"]
    beside = found.yardstick[association.ALSO_CLICKED]
    assert beside.hit_at_10 == fields["yardstick"]["also_clicked"]["hit_at_10"]
    assert found.about.log.shared.pairs == 6


def test_an_evaluation_shows_itself_in_a_line_and_as_a_table(log, release):
    found = slogan.evaluate(log, release)
    table = found._repr_html_()

    assert repr(found).startswith("<Evaluation of a release by sanitize: size_ratio=")
    assert len(repr(found)) < 150
    assert repr(found.release) == "<Results of 11 measures>"
    assert table.count("<tr>") == 1 + len(found.headlines())
    assert all(row.sample in table for row in found.headlines())
    assert "Clicks kept" in table
    assert "Not for: " in table
    texts = [SECRET[1], SECRET[2], *(text for pair in PAIRS for text in pair)]
    assert not [text for text in texts if text in table + repr(found)]


TOY = """
from dataclasses import dataclass
from slogan.measures import Comparison, Headline, Measure

@dataclass(frozen=True)
class Toy:
    shown: int

MEASURE = Measure[Toy](
    name="toy",
    order=15,
    take=lambda comparison: Toy(len(set(comparison.output.user.tolist()))),
    headlines=(Headline("Users <shown>", lambda toy: toy.shown, ",d", "higher", "Users"),),
)
"""


def test_a_new_measure_is_one_file(tmp_path, monkeypatch, log, release):
    """JSON, terminal, notebook and the curator's report show it, with no line elsewhere."""
    folder = tmp_path / "toys"
    folder.mkdir()
    (folder / "toy.py").write_text(TOY)
    monkeypatch.setattr(measures, "__path__", [*measures.__path__, str(folder)])
    try:
        found = slogan.evaluate(log, release)
        found.save(release)
        console = Console(width=80, file=io.StringIO())
        console.print(text(found))
        fields, labels = found.to_dict(), [row.label for row in found.headlines()]
        table = found._repr_html_()
    finally:
        sys.modules.pop("slogan.measures.toy", None)
    lines = (release / "public/log.tsv").read_text().splitlines()[1:]
    users = len({line.split("\t")[0] for line in lines})

    assert fields["toy"] == {"shown": users}
    # The sample is drawn apart from the release: either may show more of the log's 40 users.
    assert 0 < fields["yardstick"]["toy"]["shown"] <= 40
    assert labels[-3] == "Users <shown>"
    assert f"Users <shown> higher {users}" in " ".join(console.file.getvalue().split())
    assert "Users &lt;shown&gt;</td><td style='text-align:left'>higher</td>" in table
    assert "Users &lt;shown&gt;" in (release / "curator/report.html").read_text()


@pytest.fixture(scope="module")
def with_times(tmp_path_factory):
    """A generated log with time, rank and session, and one whose times, ranks and queries moved."""
    folder = tmp_path_factory.mktemp("times")
    log, moved = folder / "log.parquet", folder / "moved.parquet"
    slogan.generate(log, users=400, seed=3, clicks_per_user=40, events=True)
    duckdb.execute(f"""
        COPY (SELECT "user", query, url, TIMESTAMP '2006-03-03' + to_seconds(rowid * 37) AS time,
                     1 + rowid % 10 AS rank, NULL::VARCHAR AS session
              FROM (SELECT *, row_number() OVER (ORDER BY hash(query), "user") AS rowid
                    FROM '{log}' WHERE url IS NOT NULL)) TO '{moved}' (FORMAT parquet)""")
    return [
        slogan.read(path, time="time", rank="rank", period="2006-03-01/2006-05-31")
        for path in (log, moved)
    ]


def test_time_rank_and_session_are_measured_where_both_have_them(with_times):
    log, moved = with_times
    found = slogan.evaluate(log, log).to_dict()
    worse = slogan.evaluate(log, moved).to_dict()

    for basis in ("whole_log", "released_pairs"):
        assert found["times"][basis]["hour_of_day"] == found["times"][basis]["day"] == 0
        assert found["ranks"][basis]["variation"] == 0
        users = found["sessions"][basis]
        assert users["per_user"] == users["per_user_of_original"] > 3
    models = found["click_models"]["position_based"], found["click_models"]["cascade"]
    for model in models:
        assert model["perplexity"] == model["perplexity_of_original"] > 1
    assert found["next_query"]["hit_at_10"] == found["next_query"]["hit_at_10_of_original"] > 0.1
    assert found["trends"]["recall_at_10"] == 1
    assert found["yardstick"]["ranks"]["whole_log"]["variation"] == 0
    assert worse["times"]["whole_log"]["hour_of_day"] > 0.1
    assert worse["ranks"]["whole_log"]["variation"] > 0.2
    assert worse["trends"]["recall_at_10"] < 0.5
    assert worse["click_models"]["position_based"]["perplexity"] > models[0]["perplexity"]
    labels = {row["label"] for row in found["headlines"]}
    assert {"Hours of the day (0 = same)", "Next query among ten suggested"} <= labels


def test_without_such_columns_there_are_no_such_figures(with_times, log):
    log_alone = slogan.read(with_times[0].files[0])

    for found in (slogan.evaluate(log, log), slogan.evaluate(log_alone, with_times[1])):
        assert not {"times", "ranks", "sessions", "click_models"} & set(found.to_dict())
        assert all(row.group != "Time, ranks and sessions" for row in found.headlines())
        assert "training click models" not in str(found.uses.to_dict())


def test_the_fields_of_such_columns_are_documented(with_times):
    page = (ROOT / "docs/reference/measures.md").read_text(encoding="utf-8")
    evaluation = slogan.evaluate(*with_times)
    with_events = [m for m in measures.all_measures() if m.order >= 120]

    assert len(with_events) == 6
    for measure in with_events:
        section = page.split(f"\n## {measure.name}\n")[1].split("\n## ")[0]
        for field, value in measure.to_dict(evaluation.release[measure])[measure.name].items():
            inner = value if isinstance(value, dict) else {}
            names = [f".{field}`", *(f".{name}`" for name in inner)]
            assert [name for name in names if name not in section] == [], measure.name
