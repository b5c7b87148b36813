"""The form of a release follows from declared things: one user's rows cannot change it.

Two logs that differ by one user are published; everything but the rows must be the same.
"""

import json
from contextlib import closing

import pandas as pd
import pytest

import slogan
from slogan.errors import BadRowError, LogFormatError

PEOPLE = [(user, f"q{pair}", f"u{pair}.com", 2) for user in range(1, 41) for pair in range(3)]
NAMES = ("user", "query", "url", "count")


def form_of(log, folder, verb=slogan.synthesize):
    """What a seeded release says of its columns, and the types of the values in it."""
    delta = "1e-3" if verb is slogan.synthesize else "0.5"
    with closing(verb(log, epsilon=8, delta=delta, seed=1)) as release:
        release.save(folder)
    manifest = json.loads((folder / "public/manifest.json").read_text())
    described = {k: v for k, v in manifest["log"].items() if k != "sha256"}
    file = folder / "public" / manifest["log"]["file"]
    if file.suffix == ".parquet":
        import polars as pl

        return described, pl.read_parquet_schema(file)
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return described, {tuple((key, type(value)) for key, value in row.items()) for row in rows}


def jsonl(file, rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize(
    "hers",
    [
        {"user": "7a", "query": "q0", "url": "u0.com", "count": 2, "clinic_referral": "yes"},
        {"clinic_referral": 1, "count": "2", "url": "u0.com", "query": "q0", "user": "7a"},
        {"user": 7.5, "query": 12, "url": "u0.com", "count": 2.0},
    ],
)
@pytest.mark.parametrize("verb", [slogan.synthesize, slogan.sanitize])
def test_no_object_of_json_lines_declares_a_column_or_a_type(tmp_path, hers, verb):
    """Not even the first: half of the others have numbers as IDs, so that every row could tip."""
    rows = [
        dict(zip(NAMES, (user if user % 2 else str(user), *rest), strict=True))
        for user, *rest in PEOPLE
    ]
    without = form_of(jsonl(tmp_path / "a.jsonl", rows), tmp_path / "without", verb)
    with_her = form_of(jsonl(tmp_path / "b.jsonl", [hers, *rows]), tmp_path / "with", verb)

    assert with_her == without


@pytest.mark.parametrize("value", ["7a", 7, 7.5])
def test_no_object_of_a_frame_declares_a_type(tmp_path, value):
    rows = [(user, query, url, count, None) for user, query, url, count in PEOPLE]
    more = [(value, "q0", "u0.com", 2, {"clinic_referral": "yes"})]
    frames = [
        pd.DataFrame(some, columns=[*NAMES, "more"]).astype({"user": object, "more": object})
        for some in (rows, more + rows)
    ]
    without, with_her = (form_of(frame, tmp_path / str(n)) for n, frame in enumerate(frames))

    assert with_her == without


def test_an_object_of_a_frame_that_is_not_a_value_is_refused():
    frame = pd.DataFrame([({"id": 7}, "q", "u", 1)], columns=NAMES)
    with pytest.raises(LogFormatError, match="column of the user holds a nested value"):
        slogan.inspect(frame)


def test_parquet_files_of_different_types_are_refused(tmp_path):
    import polars as pl

    for name, kind in (("a", pl.Int64), ("b", pl.String)):
        users = pl.Series("user", [1, 2]).cast(kind)
        pl.DataFrame({"user": users, "query": ["q", "q"], "url": ["u", "u"]}).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    with pytest.raises(LogFormatError, match=r"b\.parquet has other columns than a\.parquet"):
        slogan.read(tmp_path / "*.parquet")


def test_columns_of_json_lines_can_be_declared(tmp_path):
    rows = [{"who": u, "q": q, "url": w, "n": n, "day": "x"} for u, q, w, n in PEOPLE]
    file = jsonl(tmp_path / "a.jsonl", rows)
    names = ("day", "who", "q", "url", "n")
    log = slogan.read(file, columns=names, user="who", count="n")
    described, kinds = form_of(log, tmp_path / "out", slogan.sanitize)

    assert described["columns"] == list(names)
    assert kinds == {(("day", type(None)), ("who", str), ("q", str), ("url", str), ("n", int))}
    with pytest.raises(BadRowError, match="user=") as caught:
        slogan.inspect(file)
    assert "--user" in caught.value.hint
