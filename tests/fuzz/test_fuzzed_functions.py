"""What reads names, headers, numbers and options, fed with rubbish by the hundred thousand.

Each takes it or raises an error of ours, with a hint. SLOGAN_FUZZ=SEED runs that seed alone.
"""

import json
import os
from pathlib import Path
from random import Random

import duckdb
import pytest
from pydantic import ValidationError
from tests.fuzz.mutation import mutated, shrunk
from tests.helpers import seeds

from slogan.budget import PrivacyBudget, exact
from slogan.cli import config
from slogan.cli.app import VERBS
from slogan.dp.grouping import host_of, read_taxonomy, registrable
from slogan.errors import BudgetError, LedgerError, SloganError
from slogan.ledger.entries import Books
from slogan.ledger.hash_chain import START, Chain, Link
from slogan.logs.columns import assign_roles
from slogan.logs.files import format_of, identifier, plain_glob
from slogan.logs.rows import json_pointer, literal
from slogan.logs.searchlog import read
from slogan.logs.text import layout
from slogan.manifest.manifest import Manifest

BATCH = 1_000
NAMES = (
    b"clicks.tsv.gz",
    b"user-ct-01.txt",
    b"a.parquet",
    b".json",
    b"a.b.c.csv.zst",
    b"[x]*?.tsv",
)
HEADERS = (
    b"user\tquery\turl\tcount",
    b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL",
    b'"user","the ""query""",url,clicks',
    b'{"user": 1, "query": "q", "url": "u", "count": 2}',
)
NUMBERS = (b"0.5", b"1/500", b"1e-6", b"2", b"-1", b"1e300", b"0x1p3", b"1_0", b"NaN", b"1/0", b"e")
URLS = (
    b"https://anna:secret@www.a.co.uk:80/p?q#f",
    b"a.com",
    b"10.0.0.1",
    b"",
    b"//",
    b"[::1]:80/",
)
CONFIGURATION = b"""[sanitize]
epsilon = "0.5"
delta = 0.1
objective = "output_size"
[ledger]
file = 'x' # why
list = [1, 2.5, {a = "b"}]
[synthesize.more]
"""
TAXONOMY = b"a.com\tnews\nwww.b.co.uk\tshopping\n\n\nc.org\tnews\n"


def manifest():
    told = {
        "slogan_version": "0",
        "wording": "0123456789abcdef",
        "method": "sanitize",
        "counts": "exact",
        "promise": "p",
        "guarantees": ["g"],
        "not_guaranteed": [],
        "budget": {"epsilon": None, "exp_epsilon": "2", "delta": "0.5"},
        "parameters": {"objective": "output_size", "gap": 0.1, "output_size": 5},
        "pseudonyms": "fresh",
        "test_run": False,
        "log": {
            **dict.fromkeys(("file", "sha256", "format", "compression"), "x"),
            "header": True,
            "columns": ["user", "query", "url", "count"],
            **{name: name for name in ("user", "query", "url", "count")},
        },
        "versions": {"python": "3"},
    }
    return json.dumps(told).encode()


def chain():
    """A ledger with an entry of every kind, whose lines check."""
    zero = dict.fromkeys(("mu_squared", "epsilon", "delta"), "0")
    entries = [
        {"kind": "opened", "version": 1, "population": "web"},
        {"kind": "cap", "epsilon": "1", "delta": "1/1000", "limits": zero, "raised": False},
        {
            "kind": "release",
            "method": "synthesize, private counts",
            "parameters": {"epsilon": "1", "exp_epsilon": None, "users": 7},
            "cost": {**zero, "mu_squared": "1/7", "delta": "1/2000"},
            "test_run": False,
            "allow_unaccounted": False,
            "manifest_sha256": "0" * 64,
            "target": "/nowhere/at/all",
            "token": "0123456789abcdef",
        },
        {"kind": "nothing", "method": "m", "parameters": {}, "cost": zero, "test_run": False},
        {"kind": "outcome", "release": 2, "outcome": "abandoned"},
        {"kind": "reserved", "method": "m", "parameters": {}, "cost": zero, "test_run": False},
        {"kind": "returned", "reservation": 5},
    ]
    return b"".join(link.line() for link in linked(entries))


def linked(entries):
    links = []
    for entry in entries:
        before = links[-1].hash if links else START
        links.append(
            Link(number=len(links), time="2026-01-01T00:00:00+00:00", previous=before, entry=entry)
        )
    return links


def ours(call, *allowed):
    """Whether a call returns, or raises an error of ours that says how to go on."""
    try:
        call()
    except SloganError as error:
        if not (error.problem and error.hint):
            raise
    except allowed:
        pass


def names(data, folder):
    text = data.decode(errors="replace")
    ours(lambda: format_of((Path(text),), given=None))
    plain = plain_glob(Path(text))
    assert plain.replace("[*]", "*").replace("[?]", "?").replace("[[]", "[") == str(
        Path(text).absolute()
    )


def paths(data, folder):
    """Names that exist nowhere, with what only a file system can hold."""
    name = os.fsdecode(data[:200]).replace("..", ".").lstrip("/")
    ours(lambda: read(f"{folder}/{name}"))


def headers(data, folder):
    text = data.decode(errors="replace").replace("\n", " ")
    given = dict.fromkeys(("user", "query", "url", "count"))
    for kind, sign in (("tsv", None), ("csv", None), ("csv", ";"), ("csv", "\t")):
        ours(
            lambda kind=kind, sign=sign: assign_roles(
                layout(text, kind, sign, fixed=False, where="log")[2], given, show=False
            )
        )


def header_files(data, folder):
    for kind in ("tsv", "csv", "jsonl"):
        file = folder / f"log.{kind}"
        file.write_bytes(data)
        ours(lambda file=file: read(file))


def numbers(data, folder):
    text = data.decode(errors="replace")
    ours(lambda: exact(text))
    ours(lambda: PrivacyBudget(epsilon=text, delta="0.5"))
    ours(lambda: PrivacyBudget(exp_epsilon=2, delta=text))


def urls(data, folder):
    host = host_of(data.decode(errors="replace"))
    site = registrable(host)
    assert not {"/", "?", "#", ":", "@"} & set(host)
    assert host.endswith(site)
    assert registrable(site) == site
    assert host == host.lower()


def configurations(data, folder):
    file = folder / "slogan.toml"
    file.write_bytes(data)
    ours(lambda: config.Session.of(config.load(file, VERBS).get("session", {}), "slogan.toml"))


def taxonomies(data, folder):
    file = folder / "taxonomy.tsv"
    file.write_bytes(data)
    ours(lambda: read_taxonomy(file))


def manifests(data, folder):
    ours(lambda: Manifest.model_validate_json(data), ValidationError)


def ledgers(data, folder):
    """Any change of a byte is noticed, but for one that leaves the file as it was."""
    file = folder / "web.ledger"
    file.write_bytes(data)
    if data == CHAIN or (data and CHAIN.startswith(data) and data.endswith(b"\n")):
        Books(file, tuple(Chain(file).read())).to_dict()
        return
    with pytest.raises(LedgerError):
        Chain(file).read()


def entries(data, folder):
    """Made-up entries, linked as they should be."""
    try:
        made = [json.loads(line)["entry"] for line in data.splitlines()]
        links = linked(made)
        [link.hash for link in links]
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    books = Books(folder / "web.ledger", tuple(links))
    ours(books.to_dict)
    ours(lambda: looked_for(books))


def looked_for(books):
    """What is done with releases that were left open."""
    for _, entry in books.booked():
        entry.attempt.outcome(entry.manifest_sha256)
        entry.attempt.clean_up()


CHAIN = chain()
WHAT = {
    # name: (what is done, with what, how many batches in the long run)
    "names": (names, NAMES, 150),
    "paths": (paths, NAMES, 20),
    "headers": (headers, HEADERS, 100),
    "header_files": (header_files, HEADERS, 10),
    "numbers": (numbers, NUMBERS, 100),
    "urls": (urls, URLS, 100),
    "configurations": (configurations, (CONFIGURATION,), 20),
    "taxonomies": (taxonomies, (TAXONOMY,), 20),
    "manifests": (manifests, (manifest(),), 60),
    "ledgers": (ledgers, (CHAIN,), 20),
    "entries": (entries, (CHAIN,), 20),
}


def survive(what, seed, number, folder):
    """Feed one function; returns how many bytes it was given."""
    call, samples, _ = WHAT[what]
    rng, size = Random(f"{what} {seed}"), 0
    for _ in range(number):
        data = mutated(rng.choice(samples), rng, rng.choice((1, 1, 2, 3, 8)))
        size += len(data)
        try:
            call(data, folder)
        except Exception as error:  # noqa: BLE001 – whatever it is, its seed is reported

            def fails(less, kind=type(error)):
                try:
                    call(less, folder)
                except kind:
                    return True
                except Exception:  # noqa: BLE001 – another failure than the one to be shrunk
                    return False
                return False

            pytest.fail(
                f"{shrunk(data, fails)!r}: {error!r}\nrepeat: SLOGAN_FUZZ={seed} python -m pytest "
                f"{__file__} -k '[{what}]'"
            )
    return size


@pytest.mark.parametrize("what", WHAT)
def test_rubbish_is_taken_or_refused_in_our_words(tmp_path, ladder, what):
    number = 250
    size = sum(survive(what, seed, number, tmp_path) for seed in seeds(0, 1))
    ladder.count("cases tried", number)
    ladder.count("bytes fuzzed", size)


@pytest.mark.long
@pytest.mark.parametrize("what", WHAT)
def test_much_rubbish_is_taken_or_refused_in_our_words(tmp_path, ladder, what):
    batches = WHAT[what][2]
    size = sum(survive(what, seed, BATCH, tmp_path) for seed in seeds(1, batches))
    ladder.count("cases tried", batches * BATCH)
    ladder.count("bytes fuzzed", size)


@pytest.mark.parametrize("texts", [pytest.param(400, id="some")])
def test_any_text_is_a_literal_an_identifier_and_a_key(ladder, texts):
    """What goes into SQL comes out as it was, whatever it holds."""
    rng = Random(5)
    made = [mutated(b'it\'s "x"; DROP', rng, 4).decode(errors="ignore") for _ in range(texts)]
    made = list(dict.fromkeys(text.replace("\x00", "") or "x" for text in made))
    with duckdb.connect() as sql:
        found = sql.execute("SELECT " + ", ".join(map(literal, made))).fetchall()[0]
        assert list(found) == made
        for text in made:
            columns = sql.execute(f"SELECT 1 AS {identifier(text)}").description
            assert columns[0][0] == text
        asked = [[json.dumps({text: "found"}), json_pointer(text)] for text in made]
        for document, pointer in asked:
            at = f"SELECT json_extract_string($1, {literal(pointer)})"
            assert sql.execute(at, [document]).fetchall()[0][0] == "found"
    ladder.count("cases tried", 3 * len(made))


def test_deep_nesting_and_long_numbers_do_not_stall(tmp_path):
    deep = b"[" * 100_000
    for data in (deep, b'{"a":' * 50_000, b'{"user": ' + b"9" * 1_000_000 + b"}"):
        header_files(data, tmp_path)
        manifests(data, tmp_path)
        ledgers(data, tmp_path)
    configurations(b"a = " + deep, tmp_path)
    configurations(b"a." * 50_000 + b"b = 1", tmp_path)
    for text in (
        "1e999999999999",
        "-1e-999999999",
        "9" * 10_000,
        "1/" + "9" * 10_000,
        "0e99999999",
    ):
        with pytest.raises(BudgetError):
            exact(text)
