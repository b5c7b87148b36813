"""Texts that an attacker chose: queries, IDs, columns, file names are data everywhere."""

import csv
import json
import os
from contextlib import closing
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import slogan
from slogan import __main__ as command
from slogan.cli.app import app
from slogan.errors import SloganError
from slogan.logs.searchlog import read

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
HOSTILE = [
    "<script>alert(1)</script>",
    "</style></title><h1>x",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE rows; --",
    '"; DROP TABLE rows; --',
    "=cmd|'/C calc'!A0",
    "@SUM(1+1)",
    "$(touch /tmp/x) `id` ; rm -rf ~",
    "../../etc/passwd",
    "{{ 7*7 }} {% raw %} ${7*7}",
    "nul\x00inside",
    "\x1b]0;title\x07\x1b[2J\x9b31m",
    "\u202egnp.exe\u2066",
    "%s %n {0} \\x41 \\",
    "\ufeffbom\u200b",
    "x" * 100_000,
]
COLUMNS = ["'; DROP--", '"><img src=x onerror=a>', "a\"b'c", "\u202e\x1b[31m{{7*7}}", "[/red]*?"]


def rows():
    """Every hostile text is a query and a url that twelve users share."""
    texts = list(enumerate(HOSTILE))
    return [(f"u{k}{t[:9]}", t, f"{n}{t}", 1) for n, t in texts for k in range(12)]


def write(file, names=("user", "query", "url", "count")):
    if file.suffix == ".parquet":
        import polars as pl

        pl.DataFrame(rows(), schema=list(names), orient="row").write_parquet(file)
        return file
    with file.open("w", encoding="utf-8", newline="") as out:
        if file.suffix == ".csv":
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows([names, *rows()])
        elif file.suffix == ".jsonl":
            out.writelines(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in rows())
        else:
            out.writelines("\t".join(map(str, r)) + "\n" for r in [names, *rows()])
    return file


def released(file):
    """The pairs of a released file, read without slogan and without DuckDB."""
    if file.suffix == ".parquet":
        import polars as pl

        return {row[1:3] for row in pl.read_parquet(file).rows()}
    text = file.read_bytes().decode()
    if file.suffix == ".csv":
        csv.field_size_limit(10**6)
        return {
            tuple(row[1:3]) for row in list(csv.reader(text.split("\n"), strict=True))[1:] if row
        }
    if file.suffix == ".jsonl":
        return {tuple(json.loads(line).values())[1:3] for line in text.split("\n") if line}
    return {tuple(line.split("\t")[1:3]) for line in text.split("\n")[1:] if line}


class Elements(HTMLParser):
    """The elements of a page with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, tuple(name for name, _ in attrs)))


def harmless(page):
    elements = Elements(page).found
    names = {name for _, attrs in elements for name in attrs}
    assert not {"script", "img", "iframe", "object", "form", "link"} & {tag for tag, _ in elements}
    assert not [name for name in names if name.startswith("on")]
    assert "{{" not in page.replace("{{7*7}}", "").replace("{{ 7*7 }}", "")
    assert "49" not in "".join(page.split("{{")[1:])[:40]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_hostile_texts_come_back_as_they_were_and_do_nothing(tmp_path, kind):
    log = write(tmp_path / f"log.{kind}")
    with closing(slogan.sanitize(log, BUDGET, solver="exact", time_limit=10)) as made:
        made.save(tmp_path / "out")
    slogan.evaluate(log, tmp_path / "out", samples=1).save(tmp_path / "out")
    asked = {(query, url) for _, query, url, _ in rows()}
    shown = released(tmp_path / f"out/public/log.{kind}")

    assert len(shown) > len(HOSTILE) // 2
    assert shown <= asked
    for side in ("public", "curator"):
        harmless((tmp_path / "out" / side / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_hostile_column_names(tmp_path, kind):
    names = COLUMNS[:4]
    log = write(tmp_path / f"log.{kind}", names)
    roles = dict(zip(("user", "query", "url", "count"), names, strict=True))
    with closing(slogan.sanitize(read(log, **roles), BUDGET, solver="exact")) as made:
        made.save(tmp_path / "out")

    told = json.loads((tmp_path / "out/public/manifest.json").read_text(encoding="utf-8"))
    assert told["log"]["columns"] == names
    assert released(tmp_path / f"out/public/log.{kind}")
    for side in ("public", "curator"):
        harmless((tmp_path / "out" / side / "report.html").read_text(encoding="utf-8"))
    failed = [
        c.name for c in slogan.verify(read(log, **roles), tmp_path / "out").checks if not c.ok
    ]
    assert failed == []


def run(capsys, monkeypatch, *words):
    """The command line in this process: exit code, standard output, standard error."""
    told = SimpleNamespace(meta=lambda: app.meta([str(word) for word in words]))
    monkeypatch.setattr(command, "app", told)
    try:
        command.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err


def quiet(text):
    """Nothing in it steers a terminal."""
    return all(c == "\n" or c.isprintable() for c in text)


STEERING = "\x1b]0;gone\x07\x1b[2J\u202e [bold]\x9b31m"
MARKUP = f"[/red]{STEERING}"


@pytest.mark.parametrize(
    "words", [["inspect"], ["sanitize", "-o", "out", "--epsilon", "1", "--delta", ".1"]]
)
@pytest.mark.parametrize("there", [True, False])
def test_names_of_files_and_columns_do_not_steer_the_terminal(
    tmp_path, monkeypatch, capsys, words, there
):
    monkeypatch.chdir(tmp_path)
    name = f"{STEERING}.tsv"
    if there:
        (tmp_path / name).write_text(f"user\tquery\turl\t{MARKUP}\n1\tq\tu\t-1\n")
    verb, *rest = words
    code, out, err = run(capsys, monkeypatch, verb, name, "--count", MARKUP, *rest)

    assert code == 2, err
    assert "\\x1b" in err
    assert quiet(out)
    assert quiet(err)


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_result_does_not_steer_the_terminal(tmp_path, monkeypatch, capsys, json_too):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k}\tq\tu\t1" for k in range(5)]
    (tmp_path / f"{STEERING}.tsv").write_text("\n".join([f"user\tquery\turl\t{MARKUP}", *lines]))
    name = f"{STEERING}.tsv"
    code, out, err = run(capsys, monkeypatch, "inspect", name, "--count", MARKUP, *json_too)
    assert (code, quiet(out), quiet(err)) == (0, True, True)
    target = f"out{STEERING}"
    budget = ["--exp-epsilon", "2", "--delta", ".5", "-o", target]
    code, out, err = run(
        capsys, monkeypatch, "sanitize", name, "--count", MARKUP, *budget, *json_too
    )
    assert (code, quiet(out), quiet(err)) == (0, True, True)
    if json_too:
        assert json.loads(out)["release"] == target
    code, out, err = run(capsys, monkeypatch, "generate", f"made{STEERING}.tsv", "--users", 5)
    assert (code, quiet(err)) == (0, True)


def test_options_that_do_not_exist_do_not_steer_the_terminal(monkeypatch, capsys):
    code, out, err = run(capsys, monkeypatch, "inspect", f"--{STEERING}", "x.tsv")

    assert code != 0
    assert quiet(out.replace("\x1b[0m", ""))
    assert quiet(err)


def log_of(file):
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ["user\tquery\turl\tcount", *(f"{k}\tq\tu\t1" for k in range(9))]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.mark.parametrize(
    "name",
    ["-o.tsv", "--json.tsv", "[a-z].tsv", "a*?b.tsv", 'it\'s "x".tsv', "a\nb.tsv", "%41 #?.tsv"],
)
def test_names_that_look_like_something_else(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    log_of(tmp_path / name)
    log_of(tmp_path / "b.tsv").write_text("user\tquery\turl\tcount\nevil\tq\tu\t-1\n")

    assert slogan.inspect(tmp_path / name).to_dict()["users"] == 9
    assert slogan.inspect(name).to_dict()["users"] == 9


def test_names_that_are_not_text_are_refused_in_our_words(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xfe.tsv"
    with open(name, "wb") as file:  # noqa: PTH123 – no text, no Path of one
        file.write(b"user\tquery\turl\tcount\n1\tq\tu\t1\n")
    for source in (os.fsdecode(name), str(tmp_path), str(tmp_path / "*.tsv"), "a\x00b.tsv"):
        with pytest.raises(SloganError, match="hint:"):
            read(source)
    with (
        closing(slogan.sanitize(log_of(tmp_path / "ok/a.tsv"), BUDGET)) as made,
        pytest.raises(SloganError, match="UTF-8"),
    ):
        made.save(os.fsdecode(os.fsencode(tmp_path) + b"/out\xff"))


def test_a_plain_name_in_a_folder_that_is_not_text_is_refused_too(tmp_path, monkeypatch):
    log = log_of(tmp_path / "a.tsv")
    folder = tmp_path / os.fsdecode(b"\xff")
    folder.mkdir()
    monkeypatch.chdir(folder)
    with (
        closing(slogan.sanitize(log, BUDGET)) as made,
        pytest.raises(SloganError, match="UTF-8"),
    ):
        made.save("out")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd.tsv", "http://x.invalid/a.tsv", "s3://b/c.csv"]
)
def test_addresses_are_not_followed(address):
    with pytest.raises(SloganError, match="Spark"):
        read(address)


def test_a_linked_input_is_read_and_a_linked_target_is_never_followed(tmp_path):
    real = log_of(tmp_path / "real.tsv")
    (tmp_path / "link.tsv").symlink_to(real)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with closing(slogan.sanitize(tmp_path / "link.tsv", BUDGET)) as made:
        for target in ("out", "dangling"):
            for force in (False, True):
                with pytest.raises(slogan.errors.ReleaseExistsError):
                    made.save(tmp_path / target, force=force)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_below_a_linked_parent_a_release_is_as_closed_as_anywhere(tmp_path):
    log = log_of(tmp_path / "real.tsv")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "parent").symlink_to(tmp_path / "elsewhere")
    with closing(slogan.sanitize(log, BUDGET)) as made:
        made.save(tmp_path / "parent/out")

    assert (tmp_path / "elsewhere/out/curator").stat().st_mode & 0o777 == 0o700
    assert sorted(p.name for p in (tmp_path / "elsewhere").iterdir()) == ["out"]
