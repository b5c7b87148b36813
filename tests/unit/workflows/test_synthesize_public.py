"""Releases with public knowledge: a vocabulary, an earlier release; verify and audit know both."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest
from tests.commands import slogan as command
from tests.helpers import write

import slogan
from slogan.errors import OptionError
from slogan.verification.verify import verify

BUDGET = slogan.PrivacyBudget(epsilon="1", delta="1e-6")


def log_of(folder, holders=18, pairs=8):
    """Pairs of a few users who hold nothing else: too few for a pair that is not public."""
    rows = [
        (100 * pair + n, f"site{pair}", f"www.site{pair}.org", 1)
        for pair in range(pairs)
        for n in range(holders)
    ]
    rows += [(50_000 + n, "all know it", "www.known.org", 1) for n in range(400)]
    return write(folder / "log.tsv", rows)


def sites(folder, *names):
    file = folder / "sites.txt"
    file.write_text("".join(f"{name}\n" for name in names))
    return file


def released(log, folder, **options):
    with closing(slogan.synthesize(log, BUDGET, **options)) as made:
        made.save(folder)
        return made


def manifest_of(folder):
    return json.loads((folder / "public/manifest.json").read_text())


def failed(log, folder, **options):
    return {check.name for check in verify(log, folder, **options).checks if not check.ok}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log, its list of sites, a release with the list and one with hints of that."""
    folder = tmp_path_factory.mktemp("public")
    log = log_of(folder, holders=30)
    listed = sites(folder, *(f"www.site{n}.org" for n in range(8)), "www.without-a-user.org")
    first = released(log, folder / "first", vocabulary=listed)
    second = released(log, folder / "second", hints=folder / "first")
    return folder, log, listed, first, second


def test_public_pairs_need_fewer_users(made, tmp_path):
    _, log, _, first, _ = made
    plain = released(log, tmp_path / "plain")

    assert first.summary.pairs_out >= plain.summary.pairs_out + 2
    assert first.statistics.account.stages[:2] == plain.statistics.account.stages[:2]


def test_the_manifest_names_list_and_release_with_checksums(made):
    folder, *_ = made
    first, second = (manifest_of(folder / name) for name in ("first", "second"))

    assert first["parameters"]["vocabulary"] == "sites.txt"
    assert len(first["parameters"]["vocabulary_sha256"]) == 64
    assert first["parameters"]["public_pairs"] == 27
    assert second["parameters"]["hints"] == "first"
    assert second["parameters"]["public_pairs"] == len(released_pairs(folder / "first"))
    assert "rests on the list sites.txt" in " ".join(first["not_guaranteed"])
    assert "rests on the earlier release first" in " ".join(second["not_guaranteed"])
    assert "and that was not declared public" in " ".join(first["not_guaranteed"])
    page = (folder / "first/public/report.html").read_text()
    assert "sites.txt" in page
    assert "--vocabulary VOCABULARY" in page
    assert "--hints HINTS" in (folder / "second/public/report.html").read_text()


def released_pairs(folder):
    lines = (folder / "public/log.tsv").read_text().splitlines()[1:]
    return {tuple(line.split("\t")[1:3]) for line in lines}


def test_verify_reads_both_again(made, tmp_path):
    folder, log, listed, *_ = made

    assert failed(log, folder / "first", vocabulary=listed) == set()
    assert failed(log, folder / "second", hints=folder / "first") == set()
    assert failed(log, folder / "second", hints=folder / "first/public") == set()


def test_verify_refuses_other_files(made, tmp_path):
    folder, log, listed, *_ = made
    other = sites(tmp_path, *(f"www.site{n}.org" for n in range(9)))
    copy = shutil.copytree(folder / "first", tmp_path / "copy")
    with (copy / "public/log.tsv").open("a") as file:
        file.write("1\tq\twww.q.org\t1\n")

    for name, files in (
        ("first", {}),
        ("first", {"vocabulary": other}),
        ("first", {"vocabulary": tmp_path / "none"}),
        ("first", {"vocabulary": listed, "hints": folder / "second"}),
        ("second", {}),
        ("second", {"hints": folder / "second"}),
        ("second", {"hints": copy}),
        ("second", {"hints": folder / "first", "vocabulary": listed}),
    ):
        assert "public_pairs" in failed(log, folder / name, **files)


def edited(folder, change):
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    change(manifest["parameters"])
    file.write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def fewer(parameters):
    parameters["public_pairs"] -= 1


def unnamed(parameters):
    del parameters["vocabulary_sha256"]


def none_at_all(parameters):
    for name in ("vocabulary", "vocabulary_sha256", "public_pairs"):
        del parameters[name]


@pytest.mark.parametrize("change", [fewer, unnamed, none_at_all])
def test_an_edited_list_is_refused(made, tmp_path, change):
    folder, log, listed, *_ = made
    copy = shutil.copytree(folder / "first", tmp_path / "copy")
    edited(copy, change)

    assert failed(log, copy, vocabulary=listed) & {"public_pairs", "words"}
    assert failed(log, copy)


def test_a_list_that_was_used_and_is_not_named_is_refused(tmp_path):
    """Pairs of three users, half of which a list makes releasable, have too few without it."""
    log = log_of(tmp_path, holders=3, pairs=40)
    listed = sites(tmp_path, *(f"www.site{n}.org" for n in range(40)))
    budget = slogan.PrivacyBudget(epsilon="8", delta="1e-6")
    with closing(slogan.synthesize(log, budget, vocabulary=listed)) as release:
        release.save(tmp_path / "out")

    assert failed(log, tmp_path / "out", vocabulary=listed) == set()
    edited(tmp_path / "out", none_at_all)
    assert "selectable" in failed(log, tmp_path / "out")


def test_a_pair_without_a_holder_may_be_released_and_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr("slogan.dp.selection.pooled.FEWEST_LISTED", 1)
    log, listed = log_of(tmp_path), sites(tmp_path, *(f"www.x{n}.org" for n in range(2)))
    for n in range(40):
        made = released(log, tmp_path / f"out{n}", vocabulary=listed)
        if made.summary.public_pairs.released and made.summary.pairs_out > 1:
            break
        shutil.rmtree(tmp_path / f"out{n}")

    pairs = released_pairs(tmp_path / f"out{n}")
    assert any(query.startswith(("x", "www.x")) for query, _ in pairs)
    assert "pairs_from_log" not in failed(log, tmp_path / f"out{n}", vocabulary=listed)


def test_a_list_made_from_the_log_is_warned_of_for_the_curator_only(tmp_path):
    log = log_of(tmp_path, holders=1)
    listed = tmp_path / "pairs.txt"
    listed.write_text("".join(f"site{n}\twww.site{n}.org\n" for n in range(8)))
    made = released(log, tmp_path / "out", vocabulary=listed)
    public = "".join(f.read_text() for f in (tmp_path / "out/public").iterdir())

    assert "8 of 8 public pairs are in the log, and 8 of them" in made.summary.warnings[0]
    assert "8 of one user only" in (tmp_path / "out/curator/report.html").read_text()
    assert "by one user only" not in public.replace("or one user only", "")
    listed.write_text("".join(f"site{n}\twww.site{n}.org\n" for n in range(17)))
    assert released(log, tmp_path / "wide", vocabulary=listed).summary.warnings == ()


def test_the_command_line_warns_and_succeeds(tmp_path):
    log = log_of(tmp_path, holders=1)
    listed = sites(tmp_path, *(f"www.site{n}.org" for n in range(2)))
    listed.write_text("site1\twww.site1.org\n")
    budget = ["--epsilon", "1", "--delta", "1e-6"]
    done = command("synthesize", log, "-o", "out", *budget, "--vocabulary", listed, cwd=tmp_path)
    checked = command("verify", log, "out", "--vocabulary", listed, cwd=tmp_path)

    assert (done.returncode, checked.returncode) == (0, 0)
    assert "Was the list made from this log?" in done.stdout + done.stderr
    assert "Of 1 public pairs 1 are in the log" in done.stdout
    assert command("verify", log, "out", cwd=tmp_path).returncode == 4


def test_queries_are_listed_where_the_log_has_no_urls(tmp_path):
    rows = [(100 * q + n, f"query {q}") for q in range(6) for n in range(30)]
    log = write(tmp_path / "log.tsv", rows, header=("user", "query"))
    listed = tmp_path / "queries.txt"
    listed.write_text("".join(f"query {q}\n" for q in range(6)))
    source = slogan.read(log, url="")
    made = released(source, tmp_path / "out", vocabulary=listed)

    assert made.summary.public_pairs.listed == made.summary.public_pairs.in_log == 6
    assert failed(source, tmp_path / "out", vocabulary=listed) == set()
    listed.write_text("query 1\twww.x.org\n")
    with pytest.raises(OptionError, match="no urls"):
        slogan.synthesize(source, BUDGET, vocabulary=listed)


def test_a_list_is_folded_as_the_log_is(tmp_path):
    rows = [(n, "Site One", "HTTPS://www.One.org/", 1) for n in range(400)]
    log = write(tmp_path / "log.tsv", rows)
    listed = tmp_path / "pairs.txt"
    listed.write_text("SITE  one\thttp://WWW.one.org\nsite one\twww.one.org/\n")
    source = slogan.read(log, fold=True)
    made = released(source, tmp_path / "out", vocabulary=listed)

    assert made.summary.public_pairs.listed == made.summary.public_pairs.in_log == 1
    assert failed(source, tmp_path / "out", vocabulary=listed) == set()


@pytest.mark.parametrize(
    "options",
    [{"selector": "weighted_gaussian"}, {"contributions": "one"}, {"contributions": "auto"}],
)
def test_options_that_would_ignore_a_list_are_refused(made, options):
    _, log, listed, *_ = made
    with pytest.raises(OptionError, match="vocabulary= and hints= need"):
        slogan.synthesize(log, BUDGET, vocabulary=listed, **options)


def test_hints_are_private_releases_of_the_same_kind(made, tmp_path):
    folder, log, *_ = made
    with closing(slogan.sanitize(log, exp_epsilon=2, delta="0.5")) as exact:
        exact.save(tmp_path / "exact")
    shutil.copytree(folder / "first", tmp_path / "broken")
    with (tmp_path / "broken/public/log.tsv").open("a") as file:
        file.write("1\tq\twww.q.org\t1\n")
    with closing(slogan.synthesize(log, BUDGET, seed=1)) as test_run:
        test_run.save(tmp_path / "test_run")
    for name, problem in (
        ("exact", "not private end to end"),
        ("test_run", "not private end to end"),
        ("broken", "is not the one that its manifest names"),
        ("none", "not a release"),
    ):
        with pytest.raises(OptionError, match=problem):
            slogan.synthesize(log, BUDGET, hints=tmp_path / name)


def test_a_column_that_is_not_text_is_refused_before_anything_is_drawn(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"user": np.arange(50).astype(str), "query": 7, "url": "www.a.org"})
    listed = tmp_path / "pairs.txt"
    listed.write_text("weather\twww.a.org\n")
    with pytest.raises(OptionError, match="column query is not text"):
        slogan.synthesize(slogan.read(frame), BUDGET, vocabulary=listed)


def test_files_end_up_nowhere_if_a_list_is_refused(made, tmp_path):
    _, log, *_ = made
    bad = tmp_path / "bad.txt"
    bad.write_text("a\tb\tc\n")
    with pytest.raises(OptionError, match="line 1"):
        slogan.synthesize(log, BUDGET, vocabulary=bad, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()
