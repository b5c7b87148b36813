"""What was typed and what is seen: one row each, on logs that all rows share."""

import json

import duckdb
import pytest
from tests.commands import slogan
from tests.import_contracts import ROOT

PATHS = ("--user", "who.id", "--query", "search.q", "--url", "hit.url")
QUERIES = ("queries.csv", "--epsilon", "8", "--delta", "1e-3")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    (folder / "export.csv").write_text("Kunde;Wort;Ort;Preis\n1;a;b;2\n2;a;b;2\n")
    (folder / "queries.csv").write_text(
        "user,query,day\n" + "".join(f"{u},maps,monday\n" for u in range(400))
    )
    rows = "SELECT {'id': i, 'age': 30} AS who, {'q': 'a', 'lang': 'de'} AS search"
    table = duckdb.sql(f"{rows}, {{'url': 'b.com'}} AS hit FROM range(40) r(i)")
    table.write_parquet(f"{folder}/nested.parquet")
    with duckdb.connect(str(folder / "log.duckdb")) as sql:
        sql.execute("CREATE TABLE clicks (x INTEGER); CREATE TABLE other (x INTEGER)")

    return folder


@pytest.mark.parametrize(
    ("typed", "seen"),
    [
        (("export.csv",), "slogan inspect export.csv --show-header lists the columns"),
        (("nested.parquet", "--user", "who.idd", *PATHS[2:]), "did you mean 'who.id'?"),
        (("nested.parquet", "--user", "wo.id", *PATHS[2:]), "give --user 'who.id'"),
        (("log.duckdb",), "such as log.duckdb::clicks"),
        (("log.duckdb::clickz",), "give log.duckdb::clicks"),
        (("export.csv", "--delimiter", "semi"), "did you mean 'semicolon'?"),
        (("export.csv", "--encoding", "cp-1252"), "did you mean 'cp1252'?"),
        (("export.csv", "--format", "cvs"), "did you mean 'csv'?"),
        (("export.cvs",), "did you mean export.csv?"),
        (("export.csv", "--hlp"), "Did you mean --help?"),
        (("queries.csv", "--engine", "sprak"), "there is no engine 'sprak'"),
    ],
)
def test_a_wrong_word_is_answered_with_the_right_one(logs, typed, seen):
    done = slogan("inspect", *typed, cwd=logs)

    assert done.returncode == 2
    assert seen in done.stderr
    assert done.stdout == ""


def test_a_mistyped_association_is_answered_with_the_right_one(logs):
    done = slogan("synthesize", *QUERIES, "-o", "made", "--association", "pair", cwd=logs)

    assert done.returncode == 2
    assert "did you mean 'pairs'?" in done.stderr


def test_fields_that_come_back_empty_are_named_before_and_after(logs, tmp_path):
    lost = "Fields beside who.id, search.q, hit.url"
    words = (logs / "nested.parquet", *PATHS, "-o", "out", "--exp-epsilon", "2", "--delta", "0.5")
    done = slogan("sanitize", *words, "--solver", "relaxed", cwd=tmp_path)

    assert f"{lost} will come back empty." in done.stderr
    assert f"{lost} came back empty." in done.stdout
    assert "<code>who.id</code>" in (tmp_path / "out/public/report.html").read_text()
    assert "who.id, search.q, hit.url" in (tmp_path / "out/curator/memo.html").read_text()


def test_a_log_of_queries_is_measured_without_urls_and_its_noise_is_stated(logs, tmp_path):
    source, *budget = QUERIES
    words = (logs / source, "-o", "out", *budget, "--accept-weak-privacy")
    made = slogan("synthesize", *words, cwd=tmp_path)
    found = slogan("evaluate", logs / source, "out", cwd=tmp_path)

    assert "95% confidence" in made.stdout
    assert "urls" not in found.stdout
    assert "recommending" not in found.stdout


def test_quiet_prints_nothing_of_a_release(logs, tmp_path):
    source, *budget = QUERIES
    words = (logs / source, "-o", "out", *budget, "--accept-weak-privacy")
    done = slogan("synthesize", *words, "-q", cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_is_withheld_from_a_release_in_parts(logs, tmp_path):
    source, *budget = QUERIES
    slogan(
        *("synthesize", logs / source, "-o", "out", *budget, "--accept-weak-privacy"), cwd=tmp_path
    )
    released = tmp_path / "out/public/log.csv"
    text = released.read_bytes()
    released.unlink()
    released.mkdir()
    (released / "part-00000.csv").write_bytes(text)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    done = slogan("review", "out", "--withhold", "maps", "--json", cwd=tmp_path)

    assert done.returncode == 2
    assert "a folder of part files" in json.loads(done.stdout)["error"]
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_how_many_real_people_a_release_shows_is_stated_and_that_it_is_not_for_the_web(logs):
    clicks = [f"{u}\t{q}\t{q}.com\t1" for u in range(30) for q in "abc"]
    (logs / "clicks.tsv").write_text("user\tquery\turl\tcount\n" + "\n".join(clicks) + "\n")
    budget = ("--exp-epsilon", "2", "--delta", "0.5", "--solver", "relaxed")
    done = slogan("sanitize", "clicks.tsv", "-o", "rows", *budget, cwd=logs)
    manifest = json.loads((logs / "rows/public/manifest.json").read_text())

    assert done.returncode == 0, done.stderr
    assert "real people of 30 are expected to be in this release: it is not for the web" in (
        " ".join(done.stdout.split())
    )
    assert "real people of" not in json.dumps(manifest)


def test_the_first_page_leads_with_made_up_users_a_python_and_the_demo():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line for line in text.splitlines() if line.startswith("$ slogan ")]
    verbs = [command.split()[2] for command in commands]

    assert verbs.index("synthesize") < verbs.index("verify")
    assert "sanitize" not in verbs[: verbs.index("verify")]
    assert "Python 3.11 or later" in text
    assert "`slogan demo`" in text
    assert text.index("| recipient |") < text.index("$ slogan synthesize")


def test_the_demo_needs_the_core_alone():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    locked = (ROOT / "requirements-core.lock").read_text(encoding="utf-8")

    assert "\ndemo: $(CORE)\n" in makefile
    for heavy in ("pyspark", "playwright", "pandas", "polars", "pytest"):
        assert f"\n{heavy}==" not in f"\n{locked}"
