"""What people type about the files they have, and what they see: the rows of a review."""

import json
import os
import re
import sqlite3
from contextlib import closing

import duckdb
import pytest

AOL = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "".join(
    f"{u}\tmaps\t2006-03-01 10:00:00\t1\twww.maps.com\n" for u in range(1, 9)
)
NAMED = ("--user", "Kundennummer", "--query", "Suchbegriff", "--url", "Geklickter Link")
EXPORT = "Kundennummer;Suchbegriff;Geklickter Link;Datum\r\n" + "".join(
    f'{u};"Schuhe; rot";www.laden.de/schuhe;1.2.2024\r\n' for u in range(1, 9)
)


@pytest.fixture
def save(tmp_path):
    def write(name, text, *, mark=b"", encoding="utf-8"):
        (tmp_path / name).write_bytes(mark + text.encode(encoding))
        return name

    return write


def test_aol_is_read_at_once(here, save):
    said = here("inspect", save("aol.tsv", AOL)).text

    assert "Read as TSV, 1 file." in said
    assert "user: AnonID, query: Query, url: ClickURL" in said


def test_semicolons_a_mark_and_windows_lines(here, save):
    file = save("export.csv", EXPORT, mark=b"\xef\xbb\xbf")
    said = here("inspect", file, *NAMED)

    assert said.returncode == 0
    assert "Read as CSV, semicolon between fields, 1 file." in said.text
    assert json.loads(here("inspect", file, *NAMED, "--json").stdout)["users"] == 8


@pytest.mark.parametrize("text", [EXPORT, EXPORT.replace(";", ",")])
def test_names_that_say_nothing_lead_to_the_list_of_columns(here, save, text):
    file = save("export.csv", text)
    said = here("inspect", file)

    assert said.returncode == 2
    assert "cannot tell which of the 4 columns is the user" in said.text
    assert "slogan inspect export.csv --show-header lists the columns" in said.text
    assert "Kundennummer" not in said.text  # the first line may be data


def test_show_header_lists_names_and_kinds_and_no_value(here, save):
    said = here("inspect", save("export.csv", EXPORT), "--show-header")

    assert said.returncode == 0
    for line in ("1 Kundennummer number", "2 Suchbegriff text", "3 Geklickter Link url"):
        assert line in said.text
    assert "4 Datum date or time" in said.text
    assert "Schuhe" not in said.text
    assert "laden" not in said.text


def test_show_header_says_what_each_column_is_read_as(here, save):
    told = json.loads(here("inspect", save("aol.tsv", AOL), "--show-header", "--json").stdout)

    roles = {column["name"]: column["role"] for column in told["columns"]}
    assert roles == {
        "AnonID": "user",
        "Query": "query",
        "QueryTime": "time",
        "ItemRank": "rank",
        "ClickURL": "url",
    }


@pytest.mark.parametrize(
    "header",
    [
        "customer_id,search term,clicked_link",
        "Visitor ID,Keyword,Item",
        "session,keywords,product_id",
        "memberId,Search-Query,Landing Page",
        "client,search_term,target",
        "device id,phrase,Document",
    ],
)
def test_names_in_the_words_people_use(here, save, header):
    file = save("log.csv", header + "\n" + "".join(f"{u},q,u\n" for u in range(5)))

    assert json.loads(here("inspect", file, "--json").stdout)["shared"]["pairs"] == 1


def test_people_come_before_sessions_and_clicks_before_items(here, save):
    text = "session_id,item,url,query,user_id\n" + "".join(f"{u},i,u,q,{u % 2}\n" for u in range(6))
    told = json.loads(here("inspect", save("log.csv", text), "--json").stdout)

    assert (told["users"], told["columns"]["url"]) == (2, "url")


@pytest.mark.parametrize("typed", ["Kundennumer", "kundennummer", "Kunden-Nummer"])
def test_a_typo_in_a_name(here, save, typed):
    said = here("inspect", save("export.csv", EXPORT), "--user", typed, *NAMED[2:])

    assert said.returncode == 2
    assert f"there is no column '{typed}'; did you mean 'Kundennummer'?" in said.text
    assert "give --user 'Kundennummer'" in said.text


def test_one_lf_among_crlf_is_just_read(here, save):
    file = save("mixed.csv", EXPORT.replace("\r\n", "\n", 2))

    assert json.loads(here("inspect", file, *NAMED, "--json").stdout)["clicks"] == 8


def test_windows_1252_is_read_and_its_option_named(here, save):
    text = EXPORT.replace("Schuhe", "Gürtel für 5 €")
    file = save("export.csv", text, encoding="cp1252")
    refused = here("inspect", file, *NAMED)

    assert refused.returncode == 2
    assert "export.csv, line 2: not UTF-8" in refused.text
    assert "--encoding cp1252" in refused.text
    read = here("inspect", file, *NAMED, "--encoding", "cp1252")
    assert "semicolon between fields, cp1252, 1 file." in read.text


def test_utf_16_is_named_with_the_command_that_converts_it(here, save):
    said = here("inspect", save("export.csv", EXPORT, encoding="utf-16"), *NAMED)

    assert "export.csv is in UTF-16" in said.text
    assert "iconv -f UTF-16 -t UTF-8 FILE > NEW" in said.text


def test_one_column_leads_to_the_delimiter(here, save):
    said = here("inspect", save("log.csv", "user:query:url\n1:q:u\n"))

    assert "found only one column" in said.text
    assert "separated by a comma, semicolon, pipe or tab: give --delimiter" in said.text


QUERIES = "visitor;keyword;when\n" + "".join(f"{u};shoes;2024\n" for u in range(1, 30))
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5", "--solver", "exact")


@pytest.mark.parametrize("option", [(), ("--url", "none"), ("--url", "")])
def test_a_log_without_urls_is_a_log_of_queries(here, save, option):
    said = here("inspect", save("noclick.csv", QUERIES), *option)

    assert said.returncode == 0
    assert "searches 29 29" in said.text
    assert "url: none" in said.text
    assert "Without a url column each query is an item" in said.text
    assert "pairs" not in said.text


def test_every_verb_uses_the_word_queries(here, save, tmp_path):
    many = "".join(f"{u};shoes;2024\n" for u in range(30, 1000))  # the noise hides fewer
    file = save("noclick.csv", QUERIES + many)
    said = [
        here("sanitize", file, "-o", "out", *BUDGET).text,
        here("verify", file, "out").text,
        here("evaluate", file, "out").text,
        here("synthesize", file, "-o", "made", "--epsilon", "3", "--delta", "1e-3").text,
        here(
            "frontier", file, "--on-log", "--exp-epsilons", "2", "--deltas", "0.5", "-o", "grid"
        ).text,
    ]
    pages = [p.read_text() for p in tmp_path.rglob("*.html")]
    texts = [re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL) for page in pages]
    manifests = [json.loads(p.read_text()) for p in tmp_path.rglob("manifest.json")]

    assert len(pages) == 9
    for text in [*said, *texts, *(" ".join(m["guarantees"]) for m in manifests)]:
        assert not re.search(r"\b(pairs?|clicks?|clicked)\b", text.replace("pairs_from", ""))
    assert (tmp_path / "out/public/log.csv").read_text().startswith("visitor;keyword;when\n")
    assert all(m["log"]["url"] is None for m in manifests)
    assert here("verify", file, "out").returncode == 0
    assert here("verify", file, "made").returncode == 0


def test_a_url_column_that_is_empty_is_an_error_that_names_the_option(here, save):
    file = save("shop.tsv", "user\tquery\turl\n" + "".join(f"{u}\tq\t\n" for u in range(27)))
    said = here("inspect", file)

    assert said.returncode == 2
    assert "none of the 27 rows has a clicked url" in said.text
    assert "if the log has queries only, add --url none" in said.text
    assert here("inspect", file, "--url", "none").returncode == 0


def test_a_wrong_url_column_shows(here, save):
    file = save("a.tsv", "user\tquery\ttime\n" + "".join(f"{u}\tq\t{u}\n" for u in range(9)))
    said = here("inspect", file, "--url", "time")

    assert "Nothing is shared, so nothing can be released." in said.text
    assert "Check that the columns above are the right ones" in said.text


def test_searches_without_a_click_are_left_out_or_kept(here, save, tmp_path):
    rows = "".join(f"{u}\tq\t{'u.com' if u % 2 else ''}\n" for u in range(40))
    file = save("a.tsv", "user\tquery\turl\n" + rows)
    left_out = here("inspect", file)

    assert "Skipped 20 searches without a click (--searches all keeps them)." in left_out.text
    kept = json.loads(here("inspect", file, "--searches", "all", "--json").stdout)
    assert (kept["clicks"], kept["pairs"], kept["urls"]) == (40, 2, 1)
    made = here("sanitize", file, "-o", "out", *BUDGET, "--searches", "all")
    assert made.returncode == 0
    assert not re.search(r"\bclicks\b", made.text)
    page = (tmp_path / "out/public/report.html").read_text()
    assert not re.search(r"\bclicks\b", re.sub(r"<style>.*?</style>|<[^>]+>", " ", page))
    released = (tmp_path / "out/public/log.tsv").read_text().splitlines()[1:]
    assert {line.partition("\t")[2] for line in released} == {"q\tu.com", "q\t"}
    assert here("verify", file, "out").returncode == 0
    assert here("evaluate", file, "out").returncode == 0


def test_sites_say_nothing_about_queries(here, save):
    asked = ("-o", "out", "--epsilon", "3", "--delta", "1e-3", "--association", "domains")
    said = here("synthesize", save("noclick.csv", QUERIES), *asked)

    assert said.returncode == 2
    assert "--association domains goes by urls, and the log has none" in said.text


def test_an_error_about_queries_uses_the_word_queries(here, save):
    rows = "".join(f"{u};query {u}\n" for u in range(9))
    said = here("sanitize", save("a.csv", "user;query\n" + rows), "-o", "out", *BUDGET)

    assert said.returncode == 3
    assert (
        "no query is shared by two users: each of the 9 queries of 9 users belongs to one user"
        in said.text
    )


def test_what_folding_would_gain_is_shown(here, save):
    rows = ("1,Amazon,https://a.com/", "2,amazon,a.com", "3,amazon ,a.com/", "4,AMAZON,a.com")
    text = "\n".join(["user,query,url", *rows])
    file = save("case.csv", text)
    said = here("inspect", file)

    assert "With --fold, shared pairs: 1 instead of 0; shared clicks: 4 instead of 0." in said.text
    folded = here("inspect", file, "--fold")
    assert "pairs 1 1" in folded.text
    assert "make no difference (--fold)" in folded.text
    assert "With --fold" not in folded.text


def test_columns_of_events_are_named_with_what_fills_them(here, save):
    file = save("aol.tsv", AOL)
    said = here("inspect", file).text

    assert "To fill QueryTime, give the first and last day of the log" in said
    assert "synthesize fills ItemRank (rank) unless noise would hide it" in said
    assert "sanitize leaves it empty" in said
    assert "rows have a time" not in said
    assert json.loads(here("inspect", file, "--json").stdout)["events"] is None


@pytest.mark.parametrize(
    ("moment", "period", "expected"),
    [
        ("2006-03-05 10:00:00", "2006-03-01/2006-03-31", "3 of 3 rows have a time."),
        ("2006-03-05 10:00:00", "2007-01-01/2007-01-31", "Check the period: --period FROM/TO."),
        ("5 March", "2006-03-01/2006-03-31", "Check how they are written: --time-format"),
    ],
)
def test_with_a_period_the_times_that_can_be_read_are_counted(here, save, moment, period, expected):
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    lines += [f"{user}\tq\t{moment}\t{rank}\tu" for user, rank in ((1, 1), (2, "x"))]
    file = save("aol.tsv", "\n".join([*lines, f"3\tq\t{moment}\t\t"]) + "\n")
    said = here("inspect", file, "--period", period)
    told = json.loads(here("inspect", file, "--period", period, "--json").stdout)["events"]

    assert expected in said.text
    assert "ItemRank: 1 of 2 clicks have a rank." in said.text
    assert (told["rows"], told["clicks"], told["with_rank"]) == (3, 2, 1)
    assert told["with_session"] is None


def test_user_ids_that_differ_in_spaces_or_zeros_are_counted(here, save):
    text = "user,query,url\n1,q,u\n 1,q,u\n01,q,u\n2,q,u\n0,q,u\n00,q,u\n"
    said = here("inspect", save("ids.csv", text))

    assert "5 user-IDs differ from another only in spaces or leading zeros" in said.text
    told = json.loads(here("inspect", "ids.csv", "--json").stdout)
    assert (told["users"], told["advice"]["similar_users"]) == (6, 5)


def test_columns_that_come_back_empty_are_named_before_and_after(here, save, tmp_path):
    file = save("aol.tsv", AOL)
    done = here("sanitize", file, "-o", "out", *BUDGET)

    assert done.stderr.startswith("2 other columns will come back empty: QueryTime, ItemRank.")
    assert "2 other columns came back empty: QueryTime, ItemRank." in done.text
    assert "1 other column comes back empty: QueryTime." in here("inspect", file).text
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    assert manifest["log"]["emptied"] == ["QueryTime", "ItemRank"]
    page = (tmp_path / "out/public/report.html").read_text()
    assert "<code>QueryTime</code>, <code>ItemRank</code>: emptied" in page
    assert here("verify", file, "out").returncode == 0


def test_sessions_are_not_people(here, save):
    said = here("inspect", save("s.csv", "session_id,query\n" + "".join(f"{u},q\n" for u in "ab")))

    assert "The user column looks like sessions" in said.text


def test_bad_rows_are_counted_with_their_users(here, save):
    bad = "7,q,u,-1\n7,q,u,0\n8,q,u,many\n9,q\n"
    good = "".join(f"{u},q,u,1\n" for u in range(5))
    file = save("bad.csv", "user,query,url,count\n" + good + bad)
    stopped = here("inspect", file)

    assert stopped.returncode == 2
    assert "bad.csv, line 7: the count is negative (4 bad rows of 3 users in all)" in stopped.text
    assert "--on-bad-row skip" in stopped.text
    skipped = here("inspect", file, "--on-bad-row", "skip")
    assert "Skipped 4 bad rows of 3 users" in skipped.text
    assert (
        json.loads(here("inspect", file, "--on-bad-row", "skip", "--json").stdout)["bad_users"] == 3
    )


CLICKS = "SELECT i AS user, 'q' AS query, 'u' AS url"


def test_extra_nested_columns_are_named(here, tmp_path):
    extras = "{'a': 1} AS shop, [1, 2] AS results, now() AS t, i AS session_id"
    duckdb.sql(f"{CLICKS}, {extras} FROM range(9) r(i)").write_parquet(f"{tmp_path}/sess.parquet")
    said = here("inspect", "sess.parquet").text

    assert "4 other columns come back empty: shop, results, t, session_id." in said


def test_a_user_inside_a_record_is_named_by_its_path(here, tmp_path):
    rows = "SELECT {'user': i} AS who, 'q' AS query, 'u' AS url FROM range(9) r(i)"
    duckdb.sql(rows).write_parquet(f"{tmp_path}/nested.parquet")

    refused = here("inspect", "nested.parquet")
    assert "cannot tell which of the 3 columns is the user" in refused.text
    assert "the columns are who, query, url" in refused.text
    assert (
        "there is no field 'who.usr'" in here("inspect", "nested.parquet", "--user", "who.usr").text
    )
    assert "users 9 9" in here("inspect", "nested.parquet", "--user", "who.user").text


def test_databases_are_read_and_a_mistyped_table_is_named(here, tmp_path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as sql:
        sql.execute(f"CREATE TABLE clicks AS {CLICKS} FROM range(9) r(i); CREATE TABLE x (y INT)")
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as sql:
        sql.execute("CREATE TABLE clicks (user INT, query TEXT, url TEXT)")
        sql.execute("INSERT INTO clicks VALUES (1, 'q', 'u'), (2, 'q', 'u')")
        sql.commit()

    assert (
        "Read as table clicks of a DuckDB database." in here("inspect", "log.duckdb::clicks").text
    )
    assert "users 2 2" in here("inspect", "log.sqlite").text
    assert "has 2 tables: clicks, x" in here("inspect", "log.duckdb").text
    mistyped = here("inspect", "log.duckdb::click").text
    assert "has no table 'click'; did you mean 'clicks'? hint: give log.duckdb::clicks" in mistyped
    wrong = here("inspect", "log.duckdb::clicks", "--format", "duckdb")
    assert "a database declares its columns and texts, so --format has no meaning" in wrong.text


@pytest.mark.parametrize(
    ("name", "problem", "command"),
    [
        ("book.xlsx", "is a workbook", "libreoffice --headless --convert-to csv book.xlsx"),
        ("log.zip", "is an archive", "unzip log.zip"),
        ("log.csv.xz", "is packed with xz", "unxz log.csv.xz"),
        ("arr.json", "line 1: not a JSON object", "jq -c '.[]' arr.json > arr.jsonl"),
    ],
)
def test_what_is_not_read_comes_with_the_command_that_converts_it(
    here, save, name, problem, command
):
    said = here("inspect", save(name, '[{"user": 1, "query": "q", "url": "u"}]'))

    assert said.returncode == 2
    assert problem in said.text
    assert command in said.text


@pytest.mark.parametrize(
    ("address", "problem", "command"),
    [
        ("postgresql://localhost:1/logs::clicks", "cannot be reached", "try psql"),
        ("mysql://localhost/logs", "mysql servers are not read", "mysql --batch -e"),
        ("https://example.org/a.csv", "only Spark reads https://", "curl -LO"),
    ],
)
def test_addresses_name_the_way_on(here, address, problem, command):
    said = here("inspect", address)

    assert said.returncode == 2
    assert problem in said.text
    assert command in said.text


def test_a_pipe_is_refused_with_a_reason(here, tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")

    assert "pipe.tsv is not a regular file" in here("inspect", "pipe.tsv").text
