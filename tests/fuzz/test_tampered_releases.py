"""Releases that were changed: verify finds it or refuses in our words, and never falls over."""

import json
import os
import resource
import shutil
import time
from contextlib import closing, suppress
from random import Random

import pytest
from tests.fuzz.mutation import mutated
from tests.helpers import seeds

import slogan
from slogan.errors import LogFormatError, SloganError
from slogan.manifest.manifest import Manifest

WEIRD = (
    *(
        "",
        "x",
        "1e999999999",
        "-1e999999999",
        "9" * 5_000,
        "1/0",
        "0/0",
        "nan",
        "inf",
        "-1",
        "1e-9",
    ),
    *("\x00", "../..", "..", ".", "/etc", "/etc/passwd", "a/b", "public", "manifest.json"),
    *("x" * 300, "\u202e", "<script>", "'; DROP TABLE shown", "{ratio}", "{0.__class__}", "%s"),
    *("parquet", "jsonl", "csv", ".gz", ".zst", "latin-1", "utf-16", "skip", "laplace", "private"),
    *(None, True, False, 0, -1, 10**400, 1e308, -1e308, [], {}, ["x"], {"x": "y"}, [[[]]]),
)
MOST_SECONDS = 20.0  # of processors
MOST_MEMORY = 8 << 30


def log_of(file, users):
    lines = [f"{k}\tq{n}\tu{n}\t1" for k in range(users) for n in range(3)]
    file.write_text("\n".join(["user\tquery\turl\tcount", *lines]) + "\n")
    return file


@pytest.fixture(autouse=True)
def bounded():
    """What would read without end fails instead of taking all memory."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A release of each kind and its log."""
    folder = tmp_path_factory.mktemp("tampered")
    small, many = log_of(folder / "small.tsv", 12), log_of(folder / "many.tsv", 400)
    budget = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    large = slogan.PrivacyBudget(epsilon=4, delta="0.5")
    made = {
        "exact": (small, slogan.sanitize(small, budget, solver="exact")),
        "laplace": (
            small,
            slogan.sanitize(
                small, budget, solver="exact", counts=slogan.LaplaceCounts(bound=9, epsilon=4)
            ),
        ),
        "private": (many, slogan.sanitize(many, large, counts=slogan.PrivateCounts())),
        "synthetic": (many, slogan.synthesize(many, large, accept_weak_privacy=True)),
    }
    for name, (_, release) in made.items():
        with closing(release):
            release.save(folder / name)
    return {name: (log, folder / name) for name, (log, _) in made.items()}


def change_a_value(folder, rng):
    """Another value somewhere in the manifest, of the same type or of any."""
    file = folder / "public/manifest.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    inside = told
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = rng.choice(keys)
        if isinstance(inside[key], dict | list) and inside[key] and rng.random() < 0.9:
            inside = inside[key]
        else:
            break
    inside[key] = rng.choice(WEIRD)
    file.write_text(json.dumps(told))


def change_bytes(folder, rng):
    file = rng.choice([path for path in sorted(folder.rglob("*")) if path.is_file()])
    file.write_bytes(mutated(file.read_bytes(), rng, rng.choice((1, 2, 8))))


def change_the_folder(folder, rng):
    path = rng.choice([folder, *sorted(folder.rglob("*"))][1:])
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    kind = rng.randrange(6)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        path.symlink_to("/dev/zero")
    elif kind == 2:
        os.mkfifo(path)
    elif kind == 3:
        path.write_bytes(b"")
    elif kind == 4:
        path.symlink_to(path)


def said(folder):
    """What public/ says: its files, and the manifest by its meaning."""
    files = {path.name: path.read_bytes() for path in (folder / "public").iterdir()}
    files["manifest.json"] = Manifest.model_validate_json(files["manifest.json"])
    return files


CHANGES = (change_a_value, change_a_value, change_bytes, change_the_folder)


def tamper(originals, seed, place):
    rng = Random(seed)
    log, original = originals[rng.choice(list(originals))]
    folder = place / "release"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    change = rng.choice(CHANGES)
    change(folder, rng)
    start = time.process_time()
    repeat = f"repeat: SLOGAN_FUZZ={seed} python -m pytest {__file__} -k verified"
    try:
        passed = slogan.verify(log, folder).ok
        assert not passed or said(folder) == said(original), f"not noticed; {repeat}"
        if seed % 10 == 0:
            slogan.evaluate(log, folder, samples=1)
    except SloganError as error:
        if not (error.problem and error.hint):
            raise
    except Exception as error:  # noqa: BLE001 – whatever it is, its seed is reported
        pytest.fail(f"{change.__name__} on {original.name}: {error!r}\n{repeat}")
    assert time.process_time() - start < MOST_SECONDS, repeat


def test_what_was_changed_is_verified_without_falling_over(tmp_path, ladder, originals):
    for seed in seeds(0, 15):
        tamper(originals, seed, tmp_path)
    ladder.count("cases tried", 15)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1_000, 2_500, 150))
def test_what_was_changed_often_is_verified_without_falling_over(
    tmp_path, ladder, originals, first
):
    for seed in seeds(first, 150):
        tamper(originals, seed, tmp_path)
    ladder.count("cases tried", 150)


def test_honest_releases_pass(originals):
    for log, folder in originals.values():
        assert [check for check in slogan.verify(log, folder).checks if not check.ok] == []


@pytest.mark.parametrize("number", ["1e999999999", "9" * 5_000])
def test_a_number_that_would_stall_the_verifier_does_not(tmp_path, originals, number):
    log, original = originals["synthetic"]
    shutil.copytree(original, tmp_path / "release")
    file = tmp_path / "release/public/manifest.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    told["account"]["cost"]["mu_squared"] = number
    for stage in told["account"]["stages"]:
        stage["cost"] = dict.fromkeys(stage["cost"], number)
    file.write_text(json.dumps(told))
    start = time.process_time()

    assert not slogan.verify(log, tmp_path / "release").ok
    assert time.process_time() - start < MOST_SECONDS


def test_a_damaged_table_of_pseudonyms_is_refused_in_our_words(tmp_path, originals):
    log, original = originals["exact"]
    shutil.copytree(original, tmp_path / "release")
    table = tmp_path / "release/curator/pseudonyms.parquet"
    whole = table.read_bytes()
    for at in range(4, len(whole) - 8, len(whole) // 12):
        table.write_bytes(whole[:at] + bytes(8) + whole[at + 8 :])
        with suppress(SloganError):
            slogan.evaluate(log, tmp_path / "release", samples=1)


@pytest.mark.parametrize("name", ["public/manifest.json", "curator/certificate.json"])
@pytest.mark.parametrize("kind", ["endless", "nothing", "nonsense", "deep", "{}", "[]", "5"])
def test_evaluate_reads_nothing_without_end_and_refuses_in_our_words(
    tmp_path, originals, name, kind
):
    log, original = originals["synthetic"]
    shutil.copytree(original, tmp_path / "release")
    found = slogan.evaluate(log, tmp_path / "release", samples=1)
    file = tmp_path / "release" / name
    file.unlink()
    if kind == "endless":
        file.symlink_to("/dev/zero")
    else:
        file.write_text({"nothing": "", "nonsense": "{", "deep": "[" * 100_000}.get(kind, kind))
    with pytest.raises(LogFormatError, match="is not the"):
        found.save(tmp_path / "release")
    assert not (tmp_path / "release/curator/evaluation.json").exists()


@pytest.mark.parametrize("kind", ["exact", "laplace", "private", "synthetic"])
def test_a_certificate_with_one_field_changed_is_refused_in_our_words_or_does_not_matter(
    tmp_path, originals, kind
):
    log, original = originals[kind]
    shutil.copytree(original, tmp_path / "release")
    found = slogan.evaluate(log, tmp_path / "release", samples=1)
    file = tmp_path / "release/curator/certificate.json"
    whole = json.loads(file.read_text(encoding="utf-8"))
    refused = 0
    for name in whole:
        for value in (None, [], {}, "text", {"text": "text"}):
            file.write_text(json.dumps({**whole, name: value}))
            try:
                found.save(tmp_path / "release")
            except LogFormatError:
                refused += 1
    assert refused > len(whole)


def test_evaluate_does_not_write_where_a_link_leads(tmp_path, originals):
    log, original = originals["exact"]
    shutil.copytree(original, tmp_path / "release")
    (tmp_path / "release/curator").rename(tmp_path / "elsewhere")
    (tmp_path / "release/curator").symlink_to(tmp_path / "elsewhere")
    found = slogan.evaluate(log, tmp_path / "release", samples=1)
    with pytest.raises(LogFormatError, match="is a link"):
        found.save(tmp_path / "release")
    assert not (tmp_path / "elsewhere/evaluation.json").exists()
