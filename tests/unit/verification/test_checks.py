"""The checks that every release must pass, on folders made by hand."""

import hashlib
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.logs.searchlog import Columns, SearchLog
from slogan.manifest.manifest import Manifest, published_log
from slogan.manifest.promise import promise_of
from slogan.modes import ReleaseKind
from slogan.report.html import wording_digest
from slogan.report.pages import PASSPORT, PUBLIC_PAGES
from slogan.report.public import card_page, public_page
from slogan.verification import checks, wording
from slogan.verification.comparison import Counted
from slogan.verification.conditions import Bounds
from slogan.verification.evidence import NotPossibleError


def found(check, **seen):
    return check(SimpleNamespace(**seen))


# --- the manifest and the counted logs ---


def test_a_seeded_release_is_refused():
    expected = [
        found(
            checks._not_a_test_run,
            manifest=SimpleNamespace(test_run=test_run),
            curators=lambda _: None,
        )
        for test_run in (False, True)
    ]
    assert expected == [
        (True, "the manifest states that the random draws did not come from a seed"),
        (False, "the random draws came from a seed, so this release protects no user"),
    ]


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        ('{"seed": null, "test_run": false}', "the manifest states that the random draws did not"),
        ('{"seed": 7, "test_run": false}', "the curator's certificate states"),
        ('{"seed": null, "test_run": true}', "the curator's certificate states"),
        ('{"seed": null}', "the curator's certificate states"),
        ("[]", "the curator's certificate cannot be read"),
        ("{", "the curator's certificate cannot be read"),
    ],
)
def test_a_seed_in_the_curators_certificate_is_refused(tmp_path, certificate, expected):
    (tmp_path / "certificate.json").write_text(certificate)
    ok, detail = found(
        checks._not_a_test_run,
        manifest=SimpleNamespace(test_run=False),
        curators=tmp_path.joinpath,
    )
    assert detail.startswith(expected)
    assert ok == expected.startswith("the manifest states")


def test_every_pair_must_be_known():
    for unknown in (0, 1, 2):
        compared = SimpleNamespace(unknown_pairs=unknown, pairs=3)
        detail = (
            f"{unknown} of 3 released pairs are not in the input log"
            if unknown
            else "all released pairs are in the input log"
        )
        assert found(checks._pairs_from_log, compared=compared) == (unknown == 0, detail)


def test_the_agreed_budget_must_be_kept():
    two, three = (Bounds(likelihood=Fraction(n), appearance=Fraction(2)) for n in (2, 3))

    written = SimpleNamespace(model_dump=lambda: {"exp_epsilon": "2", "delta": "0.5"})
    manifest = SimpleNamespace(budget=written)
    assert found(checks._budget, promised=two, agreed=None, manifest=manifest) == (
        True,
        "checked against the manifest's own (e^ε = 2, δ = 0.5); to check what was agreed, add "
        "--epsilon and --delta",
    )
    assert found(checks._budget, promised=two, agreed=two)[0]
    assert found(checks._budget, promised=two, agreed=three)[0]
    ok, detail = found(checks._budget, promised=three, agreed=two)
    assert (ok, detail) == (False, "the manifest's budget is looser than the agreed one")


# --- the released file ---


def named(tmp_path, file="log.tsv", sha256=""):
    (tmp_path / "public").mkdir(exist_ok=True)
    log = SimpleNamespace(file=file, sha256=sha256)
    manifest = SimpleNamespace(log=log, wording=wording_digest())
    return SimpleNamespace(public=tmp_path / "public", manifest=manifest)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def test_the_checksum_is_that_of_the_file(tmp_path):
    evidence = named(tmp_path, sha256=sha256(b"rows"))
    (tmp_path / "public/log.tsv").write_bytes(b"rows")

    assert checks._checksum(evidence) == (True, "the released log has the manifest's checksum")
    (tmp_path / "public/log.tsv").write_bytes(b"other")
    assert checks._checksum(evidence) == (
        False,
        "the released log does not have the manifest's checksum",
    )


def test_the_checksum_of_a_log_in_parts_is_that_of_their_list(tmp_path):
    """The same as `sha256sum * | sha256sum`."""
    lines = [f"{sha256(data)}  part-{n}\n" for n, data in enumerate([b"a", b"b"])]
    evidence = named(tmp_path, sha256=sha256("".join(lines).encode()))
    folder = tmp_path / "public/log.tsv"
    folder.mkdir()
    for name, data in (("part-1", b"b"), ("part-0", b"a")):
        (folder / name).write_bytes(data)

    assert checks._checksum(evidence)[0]
    (folder / "part-1").rename(folder / "part-2")
    assert not checks._checksum(evidence)[0]
    (folder / "part-2").write_bytes(b"c")
    (folder / "part-2").rename(folder / "part-1")
    assert not checks._checksum(evidence)[0]


@pytest.mark.parametrize("file", ["log.tsv", "../log.tsv", "link.tsv"])
def test_a_missing_log_has_no_checksum(tmp_path, file):
    evidence = named(tmp_path, file=file, sha256=sha256(b""))
    (tmp_path / "log.tsv").write_bytes(b"")
    (tmp_path / "public/link.tsv").symlink_to(tmp_path / "log.tsv")

    with pytest.raises(NotPossibleError, match="not in public/"):
        checks._checksum(evidence)


def empty_file(place):
    place.write_bytes(b"")


def in_parts(*names):
    def make(place):
        place.mkdir()
        for name in names:
            (place / name).write_bytes(b"")

    return make


def to_elsewhere(place):
    place.symlink_to(__file__)


def to_a_folder(place):
    elsewhere = place.parents[1] / "parts"
    elsewhere.mkdir()
    (elsewhere / "part-00000.tsv").write_bytes(b"")
    place.symlink_to(elsewhere)


def with_a_part(make):
    """A folder whose second part is made by a function."""

    def parts(place):
        in_parts("part-00000.tsv")(place)
        make(place / "part-00001.tsv")

    return parts


@pytest.mark.parametrize(
    ("changed", "extra", "missing"),
    [
        ({}, 0, 0),
        ({".notes": empty_file}, 1, 0),
        ({".notes": in_parts()}, 1, 0),
        ({".notes": to_elsewhere}, 1, 0),
        ({"report.html": None}, 0, 1),
        ({"data-card.html": None}, 0, 1),
        ({"croissant.json": None, "SHA256SUMS": None}, 0, 2),
        ({"report.html": in_parts()}, 1, 1),
        ({"report.html": to_elsewhere}, 1, 1),
        ({"report.html": None, "Report.html": empty_file}, 1, 1),
        ({"log.tsv": None}, 0, 1),
        ({"log.tsv": to_elsewhere}, 1, 1),
        ({"log.tsv": to_a_folder}, 1, 1),
        ({"log.tsv": in_parts()}, 0, 0),
        ({"log.tsv": in_parts("part-00000.tsv", "part-00001.tsv")}, 0, 0),
        ({"log.tsv": in_parts("part-00000.tsv"), "notes": empty_file}, 1, 0),
        ({"log.tsv": in_parts("part-00001.tsv")}, 1, 0),
        ({"log.tsv": in_parts("part-00000.csv")}, 1, 0),
        ({"log.tsv": in_parts("part-00000.tsv", "part-00002.tsv")}, 1, 0),
        ({"log.tsv": in_parts("_SUCCESS", "part-00000.tsv")}, 2, 0),
        ({"log.tsv": with_a_part(empty_file)}, 0, 0),
        ({"log.tsv": with_a_part(in_parts())}, 1, 0),
        ({"log.tsv": with_a_part(to_elsewhere)}, 1, 0),
    ],
)
def test_unexpected_entries_in_public_are_counted(tmp_path, changed, extra, missing):
    evidence = named(tmp_path)
    files = ["log.tsv", "manifest.json", *PUBLIC_PAGES, "SHA256SUMS"]
    usual = dict.fromkeys(files, empty_file)
    for name, make in (usual | changed).items():
        if make:
            make(tmp_path / "public" / name)

    expected = f"public/ holds {extra} unexpected entries and lacks {missing} expected files"
    if extra + missing == 0:
        expected = "public/ holds exactly the expected files"
    assert checks._nothing_else_public(evidence) == (extra + missing == 0, expected)


# --- the schema ---

NAMES = ("user", "query", "url", "clicks", "note")
COLUMNS = Columns(names=NAMES, user="user", query="query", url="url", count="clicks")
TEXT = SearchLog(format="tsv", columns=COLUMNS)
TABLE = SearchLog(format="parquet", columns=COLUMNS)
TYPES = ("VARCHAR",) * 5


def columns(shown=TEXT, *, bad=0, **listed):
    """The finding about a released log, given what the manifest lists."""
    log = SimpleNamespace(**{"columns": NAMES, "compression": "", **listed})
    released = Counted(log=shown, types=TYPES, bad_rows=bad)
    return found(checks._columns, manifest=SimpleNamespace(log=log), released=released)


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        ({}, None),
        ({"columns": NAMES[::-1]}, "columns other than those of the manifest"),
        ({"compression": ".gz"}, "a compression other than that of the manifest"),
        ({"bad": 1}, "rows without a positive number of clicks: 1"),
    ],
)
def test_columns_and_rows_are_those_of_the_manifest(case, fault):
    detail = fault or "5 columns, every row readable"
    assert columns(**case) == (fault is None, f"the released log has {detail}")


def schema(shown=TEXT, clicked=TEXT, types=TYPES):
    return found(
        checks._schema,
        logs=lambda: (
            Counted(log=clicked, types=TYPES, bad_rows=0),
            Counted(log=shown, types=types, bad_rows=0),
        ),
    )


@pytest.mark.parametrize("log", [TEXT, TABLE])
def test_the_schema_of_the_input_is_accepted(log):
    assert schema(log, log) == (True, "same columns, types and format as the input log")
    assert schema(TEXT, TEXT, types=("BIGINT",) * 5)[0]  # a text file declares none


@pytest.mark.parametrize(
    ("case", "fault"),
    [
        ({"shown": replace(TEXT, columns=replace(COLUMNS, user="query", query="user"))}, "columns"),
        ({"shown": replace(TEXT, header=False)}, "a format"),
        ({"clicked": replace(TEXT, compression=".gz")}, "a format"),
        ({"shown": TABLE}, "a format"),
        ({"shown": TABLE, "clicked": TABLE, "types": ("BIGINT", *TYPES[1:])}, "column types"),
    ],
)
def test_another_schema_is_found(case, fault):
    detail = f"the released log has {fault} other than those of the input log"
    assert schema(**case) == (False, detail)


# --- the words ---


def fields(*, method="sanitize", counts="exact", delta="0.5", parameters=None, **changes):
    budget = {"epsilon": None, "exp_epsilon": "2", "delta": delta}
    parameters = {"laplace_bound": 2, "laplace_epsilon": 4} if parameters is None else parameters
    expected = {"name": "", "guarantees": (), "not_guaranteed": ()}
    with suppress(BudgetError, KeyError):  # then nothing can be promised
        expected = promise_of(ReleaseKind.of(method, counts), parameters, PrivacyBudget(**budget))
        expected = {
            name: getattr(expected, name) for name in ("name", "guarantees", "not_guaranteed")
        }
    manifest = {
        "slogan_version": "1",
        "wording": wording_digest(),
        "method": method,
        "counts": counts,
        "promise": expected.pop("name"),
        **expected,
        "budget": budget,
        "parameters": parameters,
        "pseudonyms": "fresh",
        "test_run": False,
        "log": published_log(TEXT, file="log.tsv", sha256="").model_dump(),
        "versions": {},
        **changes,
    }
    return Manifest.model_validate(manifest)


def words(folder, manifest, page=None, card=None):
    public = folder / "public"
    public.mkdir(exist_ok=True)
    (public / "report.html").write_bytes(page or public_page(manifest).encode())
    with suppress(BudgetError):  # then no card can be rendered
        (public / "data-card.html").write_bytes(card or card_page(manifest).encode())
    with suppress(BudgetError):
        for name, made in PASSPORT.items():
            (public / name).write_text(made(manifest), encoding="utf-8")
    return found(wording.words, public=public, clicked="", manifest=manifest)


@pytest.mark.parametrize("counts", ["exact", "laplace"])
def test_the_texts_that_the_budget_allows_are_accepted(tmp_path, counts):
    expected = "manifest and pages state what the budget allows"
    assert words(tmp_path, fields(counts=counts)) == (True, expected)


@pytest.mark.parametrize(
    "claim",
    [
        {"promise": "end to end"},
        {"guarantees": ("No user can ever be recognised.",)},
        {"not_guaranteed": ()},
    ],
)
def test_another_promise_is_found(tmp_path, claim):
    expected = "the promise in the manifest is not the one its budget allows"
    assert words(tmp_path, fields(**claim)) == (False, expected)


def test_another_report_is_found(tmp_path):
    manifest = fields()
    page = public_page(manifest).encode()

    assert words(tmp_path, manifest, page[:-1]) == (
        False,
        "manifest and pages do not state what the budget allows",
    )
    unreadable = (False, "public/report.html is missing or cannot be read")
    assert words(tmp_path, manifest, page + b"\xff") == unreadable
    (tmp_path / "public/report.html").unlink()
    assert (
        found(wording.words, public=tmp_path / "public", clicked="", manifest=manifest)
        == unreadable
    )


@pytest.mark.parametrize("case", [{"delta": "1"}, {"counts": "laplace", "parameters": {}}])
def test_texts_need_a_valid_budget_and_parameters(tmp_path, case):
    with pytest.raises(NotPossibleError, match="no valid budget or parameters"):
        words(tmp_path, fields(**case), b"page")
