"""Folding: a function of one text, the same twice as once."""

import re

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import nasty_text
from tests.unit.logs.test_rows_locality import rows_of

import slogan
from slogan.logs.fold import folded_query, folded_url
from slogan.logs.searchlog import read
from slogan.verification import plain_reader

urls = st.one_of(
    nasty_text,
    st.lists(
        st.sampled_from(["http://", "HTTPS://", "a", "/", " ", "\u00a0", "www.A.com", "É", "?"])
    ).map("".join),
)


def fold(sql, text):
    return duckdb.execute(f"SELECT {sql('$t')}", {"t": text}).fetchall()[0][0]


@pytest.mark.parametrize("text", ["Cheap  Flights ", "cheap flights", "\tCHEAP\u00a0flights"])
def test_case_and_spaces_of_queries_make_no_difference(text):
    assert fold(folded_query, text) == "cheap flights"


@pytest.mark.parametrize("text", ["https://A.com/", "http://a.com", "a.com//", " HTTP://a.COM/ "])
def test_scheme_and_last_slash_of_urls_make_no_difference(text):
    assert fold(folded_url, text) == "a.com"


@given(text=urls)
def test_folding_twice_is_folding_once(text):
    for sql in (folded_query, folded_url):
        once = fold(sql, text)
        assert fold(sql, once) == once
        assert once or not re.sub(r"[\s\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]", "", text)


def test_the_verifier_folds_every_character_alike():
    """Engine and verifier fold with separate code."""
    texts = [f"A{chr(n)} " for n in range(1, 0x110000) if not 0xD800 <= n < 0xE000]
    with duckdb.connect() as sql:
        sql.register("texts", {"t": np.array(texts, dtype=object)})
        found = sql.execute(
            f"SELECT t, {folded_query('t')}, {folded_url('t')} FROM texts"
        ).fetchall()
    assert [
        text
        for text, query, url in found
        if (query, url) != (plain_reader.folded_query(text), plain_reader.folded_url(text))
    ] == []


@given(text=urls)
def test_the_verifier_folds_urls_alike(text):
    assert plain_reader.folded_query(text) == fold(folded_query, text)
    assert plain_reader.folded_url(text) == fold(folded_url, text)


def test_a_url_that_is_nothing_but_a_scheme_stays_a_click():
    assert fold(folded_url, "HTTP://") == "http://"


def test_folding_is_local(tmp_path):
    """One user's spelling changes no other row, and no other user's."""
    header, others = "user\tquery\turl\tcount\n", [f"{u}\tMaps\tA.com/\t1\n" for u in range(9)]
    for name, lines in (("without", others), ("with", ["77\t MAPS \thttp://a.com\t1\n", *others])):
        (tmp_path / f"{name}.tsv").write_text(header + "".join(lines))
    without, with_her = (rows_of(tmp_path / f"{n}.tsv", fold=True) for n in ("without", "with"))

    assert with_her - without == {("77", "maps", "a.com", 1): 1}
    assert without <= with_her


def test_a_folded_release_has_folded_texts_and_verifies(tmp_path):
    spelled = ["Maps\thttp://A.com/", "maps \ta.com", "MAPS\tA.COM"]
    file = tmp_path / "log.tsv"
    rows = "".join(f"{u}\t{spelled[u % 3]}\n" for u in range(30))
    file.write_text("user\tquery\turl\n" + rows)
    with slogan.sanitize(read(file, fold=True), exp_epsilon=2, delta=0.5, solver="exact") as made:
        made.save(tmp_path / "out")

    lines = (tmp_path / "out/public/log.tsv").read_text().splitlines()[1:]
    assert {line.partition("\t")[2] for line in lines} == {"maps\ta.com"}
    assert slogan.verify(file, tmp_path / "out").ok
    assert slogan.evaluate(file, tmp_path / "out").precision == 1
