"""UBI: an event meets a query of the same user, and no other."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ubi_lines import (
    click,
    query,
    random_lines,
    read_by_duckdb,
    read_plainly,
    written,
)
from tests.unit.logs.test_rows_locality import HOSTILE

import slogan
from slogan.errors import BadRowError, EmptyLogError, LogFormatError, OptionError
from slogan.logs.searchlog import read

HOW = ({}, {"searches": "all"}, {"url": "none"}, {"fold": True, "searches": "all"})
READERS = (read_by_duckdb, read_plainly)
LINES = {
    "an event meets the query of its user": (
        [query("a", "1", "maps"), click("a", "1", "o")],
        {("a", "maps", "o"): 1},
    ),
    "whatever their order": (
        [click("a", "1", "o"), query("a", "1", "maps")],
        {("a", "maps", "o"): 1},
    ),
    "not the query of another user": (
        [query("b", "1", "maps"), click("a", "1", "o")],
        {"no click": 1, "query missing": 1},
    ),
    "each user its own query": (
        [query("a", "1", "x"), query("b", "1", "y"), click("a", "1", "o"), click("b", "1", "o")],
        {("a", "x", "o"): 1, ("b", "y", "o"): 1},
    ),
    "an event without a query has its own": (
        [click("a", "1", "o", user_query="own"), click("a", None, "p", user_query="own")],
        {("a", "own", "o"): 1, ("a", "own", "p"): 1},
    ),
    "the query counts before the words of an event": (
        [query("a", "1", "maps"), click("a", "1", "o", user_query="other")],
        {("a", "maps", "o"): 1},
    ),
    "a query_id twice with one text is one search": (
        [query("a", "1", "x"), query("a", "1", "x"), click("a", "1", "o"), click("a", "1", "o")],
        {("a", "x", "o"): 2},
    ),
    "a query_id with two texts is unclear": (
        [query("a", "1", "x"), query("a", "1", "y"), click("a", "1", "o")],
        {"query unclear": 1},
    ),
    "other events are not rows": (
        [query("a", "1", "x"), click("a", "1", "o", "view"), click(["a"], "1", "o", "view")],
        {"no click": 1},
    ),
    "an event of two kinds is an event": (
        [click("a", "1", "o", user_query="x", query_response_id="y")],
        {("a", "x", "o"): 1},
    ),
    "hits of an index": (
        [b'{"_id":"1","_source":%s}' % line for line in (query("a", "1", "x"), click("a", "1", 7))],
        {("a", "x", "7"): 1},
    ),
    "the first of two values of a key": (
        [b'{"client_id":"a","client_id":"b","query_id":"1","user_query":"x"}', click("a", "1", 7)],
        {("a", "x", "7"): 1},
    ),
    "a nested user": ([query({"id": "a"}, "1", "x")], {"nested": 1}),
    "a long object_id": (
        [click("a", None, "o" * 257, user_query="x"), click("a", None, "ü" * 256, user_query="x")],
        {"object long": 1, ("a", "x", "ü" * 256): 1},
    ),
    "a long user": ([click("a" * 101, None, "o", user_query="x")], {"user long": 1}),
    "a long query": (
        [query("a", "1", "x" * 10**6), click("a", "1", "o")],
        {("a", "x" * 10**6, "o"): 1},
    ),
    "no user": ([click(None, "1", "o", user_query="x")], {"user missing": 1}),
    "no object": ([click("a", "1", None, user_query="x")], {"no click": 1}),
    "attributes that are not an object": (
        [b'{"action_name":"click","client_id":"a","event_attributes":[1],"user_query":"x"}'],
        {"no click": 1},
    ),
    "not an object": ([b"[1]", b"click", b'{"client_id":"a"'], {"unreadable": 3}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("lines", "rows"), LINES.values(), ids=LINES)
def test_lines_are_joined(tmp_path, lines, rows, reader):
    assert reader(written(tmp_path, lines)) == rows
    assert reader(written(tmp_path, *([line] for line in lines))) == rows


@pytest.mark.parametrize("reader", READERS)
def test_searches_are_counted_once(tmp_path, reader):
    """A search with a click is a click; one without an ID is a search by itself."""
    lines = [query("a", "1", "x"), click("a", "1", "o"), click("a", "1", None)]
    lines += [query("a", "2", "y"), query("a", "2", "y"), query("a", None, "y")]
    files = written(tmp_path, lines)

    assert reader(files, searches="all") == {
        ("a", "x", "o"): 1,
        ("a", "y", ""): 2,
        "no click": 1,
    }
    assert reader(files, url="none") == {("a", "x", ""): 1, ("a", "y", ""): 2}
    assert reader(files, click_action="buy,view", searches="all") == {
        ("a", "x", ""): 1,
        ("a", "y", ""): 2,
    }


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_both_readers_agree_on_any_lines(tmp_path, seed, how):
    lines = random_lines(Random(seed), 400)
    files = written(tmp_path, lines[:150], lines[150:])

    assert read_by_duckdb(files, **how) == read_plainly(files, **how)


@pytest.mark.parametrize("reader", READERS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), how=st.sampled_from(HOW), gone=st.sampled_from("abc"))
def test_the_lines_of_a_user_decide_about_rows_of_that_user(
    tmp_path_factory, reader, seed, how, gone
):
    """The log is the log without a user's lines, and those lines alone."""
    lines = random_lines(Random(seed), 60)
    own = [line for line in lines if user_of(line) == gone]
    rest = [line for line in lines if user_of(line) != gone]
    folder = tmp_path_factory.mktemp("log")

    whole = reader(written(folder, lines), **how)
    alone = reader(written(folder, own), **how)
    assert whole == reader(written(folder, rest), **how) + alone
    assert {row[0] for row in alone if isinstance(row, tuple)} <= {gone}


def user_of(line):
    try:
        # as in the log, the first of several values counts
        found = json.loads(line, object_pairs_hook=lambda pairs: dict(reversed(pairs)))
        found = found["_source"] if isinstance(found.get("_source"), dict) else found
    except (ValueError, AttributeError, RecursionError):
        return None
    return found.get("client_id")


def test_names_of_files_show_that_they_are_ubi(tmp_path):
    for name in (
        "a.ubi.jsonl",
        "ubi_queries.json",
        "ubi_events-2026.ndjson.gz",
        "UBI_events.jsonl",
    ):
        (tmp_path / name).write_bytes(b"")
    assert read(tmp_path / "a.ubi.jsonl").format == "ubi"
    assert read([tmp_path / "ubi_queries.json", tmp_path / "UBI_events.jsonl"]).format == "ubi"
    (tmp_path / "clicks.jsonl").write_bytes(b"")
    assert read(tmp_path / "clicks.jsonl").format == "jsonl"
    assert read(tmp_path / "clicks.jsonl", format="ubi").suffix == ".ubi.jsonl"
    with pytest.raises(LogFormatError, match="different kinds"):
        read([tmp_path / "clicks.jsonl", tmp_path / "a.ubi.jsonl"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"user": "who.id"}, "queries and events share"),
        ({"user": "user_query"}, "queries and events share"),
        ({"query": "text"}, "calls the query user_query"),
        ({"url": "link"}, "object_id"),
        ({"count": "n"}, "no counts"),
        ({"columns": ("a",)}, "--columns"),
        ({"delimiter": "tab"}, "no delimiter"),
        ({"encoding": "latin-1"}, "not read as latin-1"),
        ({"click_action": ""}, "1 to 100"),
        ({"click_action": "a,a"}, "different"),
        ({"click_action": "a\nb"}, "printable"),
    ],
    ids=str,
)
def test_options_that_ubi_does_not_have_are_refused(tmp_path, options, words):
    (file,) = written(tmp_path, [])
    with pytest.raises(OptionError) as refused:
        read(file, **options)
    assert words in refused.value.problem


def test_other_formats_have_no_actions(tmp_path):
    (tmp_path / "log.tsv").write_text("user\tquery\n1\tx\n")
    with pytest.raises(OptionError, match="no action_name"):
        read(tmp_path / "log.tsv", click_action="click")


def test_a_bad_line_is_named(tmp_path):
    """Also if it is bad for what other files have."""
    first = [b"", query("a", "1", "x"), query("b", "1", "y")]
    files = written(tmp_path, first, [click("a", "1", "o"), b"", click("b", "2", "o")])
    with pytest.raises(BadRowError, match=r"1\.ubi\.jsonl, line 3: an event has no user_query"):
        slogan.inspect(files)
    found = slogan.inspect(read(files, on_bad_row="skip"))
    assert found.counted.bad_rows == {"query missing": 1}


def test_a_log_without_clicks_says_how_to_name_them(tmp_path):
    files = written(tmp_path, [query("a", "1", "x"), click("a", "1", "o", "product_click")])
    with pytest.raises(EmptyLogError, match="click_action="):
        slogan.inspect(files)
    assert slogan.inspect(read(files, click_action="product_click")).whole.clicks == 1


@pytest.mark.parametrize("place", [0, 11])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_touches_no_other(tmp_path, hostile, place):
    """Neither its search nor its click, wherever it stands between them."""
    others = [
        line for n in range(8) for line in (query(f"u{n}", "1", "x"), click(f"u{n}", "1", "o"))
    ]
    alone, with_it = (
        read_by_duckdb(written(tmp_path, lines))
        for lines in (others, [*others[:place], hostile, *others[place:]])
    )

    assert sum(alone.values()) == 8
    assert alone <= with_it
    assert not any("injected" in row for row in with_it - alone)


def test_half_a_character_is_a_bad_line(tmp_path):
    files = written(tmp_path, [query("a", "1", "x"), b'{"user_query":"\xf0\x9f"}'])
    with pytest.raises(BadRowError, match="line 2: not UTF-8"):
        slogan.inspect(read(files, searches="all"))
    found = slogan.inspect(read(files, searches="all", on_bad_row="skip"))
    assert (found.whole.clicks, found.counted.bad_rows) == (1, {"not UTF-8": 1})
