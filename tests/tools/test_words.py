"""The list of words to avoid: what it refuses, what it accepts, and where it applies."""

import tomllib

import pytest
from tools.words import LIST, Words

from tools import words

LISTED = tomllib.loads(LIST.read_text("utf-8"))
RULES = Words({**LISTED, "allow": []})


def found(text, path="README.md"):
    return [violation.word for violation, _ in RULES.check(path, text)]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("the chance is told by the manifest", "told"),
        ("As said above", "said"),
        ("which pairs each user speaks for", "speaks for"),
        ("If the noise lets nothing through", "lets nothing through"),
        ("what is accountable comes to δ = 4e-05", "comes to"),
        ("the dearest pair goes first", "dearest"),
        ("the fate of a release", "fate"),
        ("Whoever looks sees the old file", "Whoever"),
        ("nobody adds this release to others", "nobody"),
        ("at most so many pairs", "so many"),
        ("a database of one's own", "of one's own"),
        ("with code of its own", "of its own"),
        ("stages that are no noisy sums", "are no"),
        ("this mode has not the second one", "has not the"),
        ("computed anew", "anew"),
        ("counts that give users away", "give users away"),
        ("the release keeps its promise", "keeps its promise"),
        ("Keep this page in the house.", "in the house"),
        ("tsv, 1 file(s)", "file(s)"),
        ("it has 1 columns", "1 columns"),
    ],
)
def test_a_word_of_the_list_is_refused(text, word):
    assert found(text) == [word]


@pytest.mark.parametrize(
    "text",
    [
        "There is no release at this path.",
        "There are no rows; the folder is no longer needed, and ε is no larger than 1.",
        "so many pairs that some are expected",
        "11 columns, 2,001 rows and 0.1 users",
        "house prices in the suburbs",
        "its own database, and the user's own rows",
        "The release has no rows. It does not have a manifest.",
        "one file, several files",
        "Users outside the log are not counted.",
    ],
)
def test_plain_text_is_accepted(text):
    assert found(text) == []


def test_of_python_texts_comments_and_names_are_read():
    source = (
        '"""What is told."""\n'
        "speaks = for_ = 1  # nobody\n"
        "def test_nothing_is_said(): ...\n"
        "def report(told): ...\n"
    )
    assert found(source, "src/slogan/x.py") == ["told", "nobody", "said", "told"]
    assert found(source, "tests/x.py") == ["told", "nobody", "said"]


def test_an_exception_is_for_its_path_and_text_alone():
    entry = {"path": "docs/", "text": "fate", "reason": "a quotation"}
    listed = Words({**LISTED, "allow": [entry]})

    def allowed(path, text):
        return [exemption is not None for _, exemption in listed.check(path, text)]

    assert allowed("docs/a.md", "the fate of nobody\nnobody") == [True, True, False]
    assert allowed("README.md", "the fate") == [False]


def test_an_unfinished_folder_may_have_finished_parts():
    parts = {"paths": ["src/", "README.md"], "finished": ["src/slogan/dp/"]}
    listed = Words({**LISTED, "unfinished": parts})

    assert listed.unfinished("src/slogan/cli/app.py")
    assert listed.unfinished("README.md")
    assert not listed.unfinished("src/slogan/dp/noise.py")
    assert not listed.unfinished("tools/words.py")


def test_violations_are_grouped_by_package_and_fail(tmp_path, monkeypatch, capsys):
    (tmp_path / "words.toml").write_text(LIST.read_text("utf-8").partition("# --- exceptions")[0])
    monkeypatch.setattr(words, "LIST", tmp_path / "words.toml")
    files = [("src/slogan/dp/a.py", "# told\n"), ("src/slogan/dp/selection/b.py", "# plain\n")]
    monkeypatch.setattr(words, "files_read", lambda: files)

    assert words.main([]) == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "src/slogan/dp: 1"
    assert shown[1].startswith("  src/slogan/dp/a.py:1: 'told': write reported")
    files.pop(0)
    assert words.main([]) == 0
