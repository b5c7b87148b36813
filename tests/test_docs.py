"""Documentation is tested: pages are complete, links lead somewhere, commands and snippets run."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tests.commands import write_command
from tools.transcripts import run

import slogan
from slogan import errors, measures
from slogan.dp import selection
from slogan.planning import objectives, solvers
from slogan.report import curator
from tools import manpage, python_reference, transcripts

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "slogan"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
VERBS = (
    "advise",
    "audit",
    "completion",
    "config",
    "demo",
    "evaluate",
    "frontier",
    "generate",
    "inspect",
    "ledger",
    "passport",
    "reproduce",
    "review",
    "sanitize",
    "studio",
    "synthesize",
    "verify",
)


def page(name):
    return (DOCS / name).read_text(encoding="utf-8")


def pages_of(folder):
    """The pages of a folder without its index."""
    return sorted(path for path in (DOCS / folder).glob("*.md") if path.stem != "index")


def title(path):
    return str(path.relative_to(ROOT))


def fences(text, language):
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, flags=re.MULTILINE | re.DOTALL)


def commands(text):
    """The lines that a reader of the page would type."""
    lines = [line.strip() for block in fences(text, "console") for line in block.splitlines()]
    assert all(line.startswith("$ ") for line in lines), "console blocks hold commands only"
    return [line.removeprefix("$ ") for line in lines]


def headings(text):
    return set(re.findall(r"^## (\S+)$", text, flags=re.MULTILINE))


# --- reference pages are complete ---


REGISTRIES = {
    "objectives": objectives.names,
    "solvers": solvers.names,
    "selection": selection.names,
    "measures": lambda: [measure.name for measure in measures.all_measures()],
}


def section_names(kind):
    """The objectives, solvers, selectors or measures that the reference has a section of."""
    return headings(page(f"reference/{'selectors' if kind == 'selection' else kind}.md"))


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_file_of_a_registry_has_its_section(kind):
    assert set(REGISTRIES[kind]()) <= section_names(kind)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_in_the_reference(verb):
    assert f"## slogan {verb}\n" in page("reference/cli.md")
    assert f"## slogan {verb} --json\n" in page("reference/json.md")


def test_the_command_line_page_is_up_to_date_whatever_the_terminal():
    code = "import reference as page; print(page.verbs()); print(page.rendered(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT / "tools",
        env={**os.environ, "COLUMNS": "47", "FORCE_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    listed, rendered = done.stdout.split("\n", 1)

    assert tuple(ast.literal_eval(listed)) == VERBS
    assert rendered == page("reference/cli.md"), "run `make docs`"


def test_the_manual_page_is_up_to_date():
    assert manpage.rendered() == page("reference/slogan.1"), "run `make docs`"


def test_every_error_is_listed_with_its_exit_code():
    found = dict(re.findall(r"^\| [– ]*`(\w+)` \| (\d) \|", page("reference/exit-codes.md"), re.M))
    raised = {
        name: str(kind.exit_code)
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.SloganError)
    }

    assert found == raised


def fields(value, prefix=""):
    """The dotted names of everything in a JSON object, lists and free-form objects as one."""
    for name, inner in value.items():
        if isinstance(inner, dict) and inner and f"{prefix}{name}" not in ("versions", "seconds"):
            yield from fields(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def documented(name, text):
    """Whether a field is in backticks, whole or below a field that is explained as one."""
    parts = name.split(".")
    whole = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
    return any(f"`{part}`" in text for part in whole)


# --- what pages say about other places ---


def test_every_label_of_the_paper_is_pinned():
    notation = page("explanation/notation.md")
    sources = "\n".join(p.read_text(encoding="utf-8") for p in SOURCE.rglob("*.py"))
    labels = {" ".join(label.split()) for label in re.findall(r"\[(Hong12[^\]]*)\]", sources)}
    # "Hong12, Thm 1, condition 1" is pinned by "Hong12, Thm 1".
    missing = {n for n in labels if f"[{', '.join(n.split(', ')[:2])}]" not in notation}

    assert labels
    assert missing == set()
    for word in ("Hong", "Vaidya", "Lu", "Wu", "Optimal Output Utility", "EDBT", "2012"):
        assert word in notation


def test_every_word_of_the_notation_has_its_idea_and_its_module():
    text = page("explanation/notation.md").split("\n## One word per idea\n")[1]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `([^`|]+)` \|$", text, re.MULTILINE)
    words, ideas, _ = zip(*rows, strict=True)

    assert len(rows) == len(re.findall(r"^\|", text, re.MULTILINE)) - 2  # its head
    assert len(rows) == len(set(words)) == len(set(ideas)) >= 30
    for word, _, module in rows:
        place = SOURCE / module
        assert place.suffix == ".py" or (place / "__init__.py").is_file(), module
        files = place.glob("*.py") if place.is_dir() else [place]
        code = "\n".join([module, *(file.read_text(encoding="utf-8") for file in files)])
        assert re.search(word.replace(" ", "[ _]?"), code, re.IGNORECASE), (word, module)


def test_contributing_names_files_and_code_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    quoted = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    paths = [q for q in quoted if re.fullmatch(r"(src|docs|tests|tools|engines)/[\w./-]+", q)]
    names = [q for q in quoted if re.fullmatch(r"[A-Za-z]\w*[A-Z_]\w*|[A-Z]{5,}", q)]
    files = [*SOURCE.rglob("*.py"), *(ROOT / "tools").glob("*.py"), Path(__file__)]
    code = "\n".join(file.read_text(encoding="utf-8") for file in files)

    assert len(paths) > 15
    assert len(names) > 10
    for path in paths:
        place = (SOURCE if path.startswith("engines/") else ROOT) / path
        concrete = place.parent if place.name.startswith(("NAME", "VERB")) else place
        assert concrete.exists(), path
    assert [name for name in names if name != "NAME" and not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize("path", PAGES, ids=title)
def test_links_lead_to_files_that_exist(path):
    text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", text)
    relative = [t for t in targets if not re.match(r"[a-z]+:", t)]

    assert [t for t in relative if not (path.parent / t).exists()] == []


def defined(file):
    """Functions, classes and methods of a file, methods also as Class.method."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield from (inner.name, f"{node.name}.{inner.name}")
                elif isinstance(inner, ast.AnnAssign):
                    yield ast.unparse(inner.target)


@pytest.mark.parametrize("path", pages_of("proofs"), ids=title)
def test_proofs_name_functions_that_exist(path):
    text = path.read_text(encoding="utf-8")
    section = text.split("## Functions")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.+) \| `(src/[^`]+)` \|$", section, flags=re.MULTILINE)

    assert rows
    for functions, file in rows:
        names = re.findall(r"`([^`]+)`", functions)
        assert set(names) <= set(defined(ROOT / file)), file
    for heading in ("Precondition", "Statement", "Argument"):
        assert f"\n## {heading}\n" in text
    for heading in ("What the implementation must not do", "Which tests check it"):
        assert f"\n## {heading}\n" in text
    tests = text.split("## Which tests check it")[1]
    assert all((ROOT / t).exists() for t in re.findall(r"`(tests/[^`]+)`", tests))


@pytest.mark.parametrize("path", pages_of("decisions"), ids=title)
def test_decisions_are_numbered_dated_and_reject_something(path):
    text = path.read_text(encoding="utf-8")

    assert text.startswith(f"# {int(path.name[:4])}. ")
    assert re.search(r"^Accepted, \d{4}-\d\d-\d\d\.", text, flags=re.MULTILINE)
    for heading in ("Context", "Decision", "Rejected", "Consequences"):
        assert f"\n## {heading}\n" in text


@pytest.mark.parametrize("path", PAGES, ids=title)
def test_prose_has_one_sentence_a_line_and_neither_simply_nor_just(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    prose = [line for line in text.splitlines() if line and line[0] not in "|#>"]
    two = [line for line in prose if re.search(r"[a-z0-9)`]{3}[.?!] [A-Z][a-z]+ [a-z]", line)]

    assert not re.search(r"\b(simply|just)\b", text, flags=re.IGNORECASE)
    assert two == []


# --- what pages tell a reader to run ---


@pytest.fixture(params=["fork", pytest.param("new interpreter", marks=pytest.mark.long)])
def programs(request, tmp_path_factory):
    """The folders of programs that come first: with a `slogan` that starts fast, or none."""
    if request.param == "fork":
        return [write_command(tmp_path_factory.mktemp("programs") / "bin")]
    return []


@pytest.mark.parametrize("path", transcripts.PAGES, ids=title)
def test_the_tutorial_runs_and_prints_its_transcripts(tmp_path, programs, path):
    blocks = list(transcripts.blocks(path.read_text(encoding="utf-8")))

    assert len(blocks) >= 5
    for block in blocks:
        output = ""
        for line in block.commands:
            done = run(line, tmp_path, *programs)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            output += transcripts.printed(done, tmp_path)
        if block.compared:
            expected, actual = map(transcripts.shape, (block.transcript, output))
            assert expected == actual, "run `make transcripts`"


def test_transcripts_are_compared_without_numbers_and_line_breaks():
    text = "```console\n$ slogan inspect a\n```\n\n```text\nusers  1,304\n```\n"
    [block] = transcripts.blocks(text)

    assert block.commands == ["slogan inspect a"]
    assert transcripts.shape(block.transcript) == transcripts.shape("users\n 9.5e-7")
    assert transcripts.shape(block.transcript) != transcripts.shape("queries 1,304")


def test_transcripts_have_the_paths_of_a_readers_machine(tmp_path):
    done = subprocess.CompletedProcess([], 0, f"{tmp_path}/home/a.ledger  \n{tmp_path}/r\n", "")

    assert transcripts.printed(done, tmp_path) == "~/.local/share/a.ledger\nr\n"


ROWS = [(u, f"query {n}", f"www.s{n}.com", 1 + u % 2) for u in range(1, 201) for n in range(4)]


def text_of(rows, separator, header):
    lines = [separator.join(map(str, row)) for row in rows]
    return "".join(f"{line}\n" for line in ([header] if header else []) + lines)


def prepare(folder):
    """The files that the how-to pages use."""
    head = "user\tquery\turl\tcount"
    (folder / "logs").mkdir()
    (folder / "clicks.tsv").write_text(text_of(ROWS, "\t", head))
    (folder / "visits.csv").write_text(text_of(ROWS, ",", "who,what,where,n"))
    (folder / "visits.tsv").write_text(text_of(ROWS, "\t", head))
    (folder / "raw.tsv").write_text(text_of(ROWS, "\t", None))
    accented = text_of([(u, f"café {q}", w, n) for u, q, w, n in ROWS], "\t", head)
    (folder / "old.tsv").write_text(accented, encoding="latin-1")
    for name, rows in (("day1", ROWS[::2]), ("day2", ROWS[1::2]), ("logs/a", ROWS)):
        (folder / f"{name}.tsv").write_text(text_of(rows, "\t", head))
    (folder / "export").mkdir()
    for index in ("ubi_queries", "ubi_events"):
        (folder / f"export/{index}.json").write_text(hits(index))
    for block in fences(page("how-to/configure.md"), "toml"):
        (folder / "slogan.toml").write_text(block)


def hits(index):
    """The documents of an index of UBI, as an export has them."""
    lines = []
    for n, (user, query, url, _) in enumerate(ROWS):
        document = {"client_id": f"c{user}", "query_id": f"q{n}"}
        if index == "ubi_queries":
            document |= {"user_query": query}
        else:
            attributes = {"object": {"object_id": url}, "position": {"ordinal": 1}}
            document |= {"action_name": "click", "event_attributes": attributes}
        lines.append(json.dumps({"_index": index, "_id": str(n), "_source": document}))
    return "".join(f"{line}\n" for line in lines)


def save_release(folder, **options):
    budget = slogan.PrivacyBudget(exp_epsilon="2", delta="0.5")
    release = slogan.sanitize(folder / "clicks.tsv", budget, time_limit=5)
    try:
        return release.save(folder / "release", **options).to_dict()
    finally:
        release.close()


def how_to_pages():
    """Those of Spark and audit are long; other tests have the same verbs with the same options."""
    for path in pages_of("how-to"):
        spark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.long]
        marks = {"run-on-spark": spark, "audit": [pytest.mark.long]}.get(path.stem, [])
        yield pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [*how_to_pages()])
def test_the_commands_of_how_to_pages_run(tmp_path, programs, path):
    prepare(tmp_path)
    lines = commands(path.read_text(encoding="utf-8"))
    if not any("sanitize" in shlex.split(line) for line in lines):
        save_release(tmp_path)

    assert lines
    for line in lines:
        done = run(line, tmp_path, *programs)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


# --- Python ---


def snippets():
    """The Python code of all pages; that of the reference by the name it is an example of."""
    for path in PAGES:
        if path != python_reference.PAGE:
            for number, code in enumerate(fences(path.read_text(encoding="utf-8"), "python")):
                yield f"{path.stem}_{number}".replace("-", "_"), code
    # names of classes and functions may differ in case only, as files may not
    for number, (name, code) in enumerate(python_reference.examples().items()):
        yield f"example_{number}_{name}", code


IN_FOLDERS = """
import os, runpy
from pathlib import Path
for file in sorted(Path.cwd().glob("*/snippet.py")):
    os.chdir(file.parent)
    print(file.parent.name, flush=True)
    runpy.run_path(str(file), run_name="__main__")
"""


def test_python_snippets_run(tmp_path):
    """One process for all of them, each in its own folder."""
    names = set()
    for name, code in snippets():
        (tmp_path / name).mkdir()
        prepare(tmp_path / name)
        (tmp_path / name / "snippet.py").write_text(code)
        names.add(name)
    (tmp_path / "all.py").write_text(IN_FOLDERS)
    rdflib = "ignore:ConjunctiveGraph is deprecated:DeprecationWarning"  # mlcroissant has it
    done = run(f"python -W error -W '{rdflib}' all.py", tmp_path)

    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    assert names <= set(done.stdout.splitlines())


def test_python_snippets_are_well_typed(tmp_path):
    """As a user's own checker sees them: with basedpyright in its standard mode."""
    for name, code in snippets():
        (tmp_path / f"{name}.py").write_text(code)
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT / "src")]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    checker = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*checker, "-p", tmp_path], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    complaints = [
        (Path(one["file"]).stem, one["range"]["start"]["line"] + 1, one["message"])
        for one in report["generalDiagnostics"]
    ]

    assert report["summary"]["filesAnalyzed"] == len(list(tmp_path.glob("*.py")))
    assert complaints == []


def public_classes():
    return [kind for name in slogan.__all__ if isinstance(kind := getattr(slogan, name), type)]


def test_the_python_page_is_up_to_date_and_has_every_public_name_with_an_example():
    listed = [name for names in python_reference.GROUPS.values() for name in names]

    assert sorted(listed) == slogan.__all__
    assert set(slogan.__all__) - set(python_reference.examples()) == set()
    assert page("reference/python.md") == python_reference.rendered(), "run `make docs`"


def test_every_public_attribute_and_method_is_explained_in_one_place():
    added = {
        (kind, name) for kind, texts in python_reference.attributes().items() for name in texts
    }
    for kind in public_classes():
        members = python_reference.members(kind)
        bases = {base.__name__ for base in kind.__mro__}
        here = {(base, name) for base, name in added if base in bases}

        assert [member.name for member in members if not member.text] == [], kind.__name__
        assert {name for _, name in here} <= {member.name for member in members}
        added -= here

    assert added == set(), "texts of classes that no public class is or is derived from"


def test_every_field_of_a_release_is_documented(tmp_path):
    prepare(tmp_path)
    summary = save_release(tmp_path)
    text = page("reference/release-folder.md")
    manifest = json.loads((tmp_path / "release/public/manifest.json").read_text())
    certificate = json.loads((tmp_path / "release/curator/certificate.json").read_text())
    release = (tmp_path / "release").rglob("*")

    assert [n for n in fields(manifest) if not documented(n, text)] == []
    assert [n for n in fields(certificate) if not documented(n, text)] == []
    assert [n for n in fields(summary) if not documented(n, page("reference/json.md"))] == []
    for file in release:
        assert file.name.replace("log.tsv", "log.<format>") in text


def test_every_reason_to_lose_a_click_is_documented():
    text = page("reference/release-folder.md")

    assert [reason for reason in curator._REASONS if f"| `{reason}` |" not in text] == []


def test_the_fields_of_inspect_are_documented(tmp_path):
    prepare(tmp_path)
    found = slogan.inspect(tmp_path / "clicks.tsv").to_dict()

    assert [n for n in fields(found) if not documented(n, page("reference/json.md"))] == []


def told_of(verb):
    return page("reference/json.md").split(f"## slogan {verb} --json")[1].split("\n## ")[0]


@pytest.mark.parametrize("mode", ["sanitize", "synthesize"])
def test_the_fields_of_frontier_are_documented(mode):
    found = slogan.frontier(
        users=200, mode=mode, epsilons=["1"], deltas=["0.1"], time_limit=1
    ).to_dict()

    assert [n for n in fields(found) if not documented(n, told_of("frontier"))] == []
    assert [n for n in found["points"][0] if f"`{n}`" not in told_of("frontier")] == []


def test_the_fields_of_advise_are_documented():
    found = slogan.advise(users=50, clicks_per_user=4, recipient="web").to_dict()

    assert [n for n in fields(found) if not documented(n, told_of("advise"))] == []
    assert [n for n in found["budgets"][0] if f"`{n}`" not in told_of("advise")] == []


def test_the_fields_of_reproduce_are_documented(tmp_path):
    prepare(tmp_path)
    told = slogan.reproduce(
        tmp_path / "pages", only=["table3"], log=tmp_path / "clicks.tsv"
    ).to_dict()
    inner = {*told["pages"][0], *told["pages"][0]["verdicts"][0]}

    assert [n for n in fields(told) if not documented(n, told_of("reproduce"))] == []
    assert [n for n in inner if f"`{n}`" not in told_of("reproduce")] == []


def test_the_fields_of_ledger_are_documented(tmp_path):
    ledger = slogan.Ledger.open("web", tmp_path / "web.ledger")
    ledger.create()
    prepare(tmp_path)
    save_release(tmp_path, ledger=ledger)
    told = ledger.set_cap(slogan.Cap.of("1", "1e-6")).to_dict()
    text = page("reference/json.md").split("## slogan ledger --json")[1].split("\n## ")[0]

    assert [n for n in fields(told) if not documented(n, text)] == []
    for entry in told["entries"]:
        assert [name for name in entry if f"`{name}`" not in text] == []


def test_the_fields_of_evaluate_are_documented(tmp_path):
    """Those of a measure in its own section, the others where all verbs have theirs."""
    prepare(tmp_path)
    save_release(tmp_path)
    evaluation = slogan.evaluate(tmp_path / "clicks.tsv", tmp_path / "release")
    rest = evaluation.to_dict()
    assert rest.pop("yardstick").keys() <= rest.keys()
    for measure in measures.all_measures():
        text = page("reference/measures.md").split(f"\n## {measure.name}\n")[1].split("\n## ")[0]
        found = measure.to_dict(evaluation.release[measure])
        assert [n for n in fields(found) if not documented(n, text)] == [], measure.name
        rest = {n: value for n, value in rest.items() if n not in found}

    assert [n for n in fields(rest) if not documented(n, told_of("evaluate"))] == []


def test_every_check_of_verify_is_documented(tmp_path):
    prepare(tmp_path)
    save_release(tmp_path)
    verdict = slogan.verify(tmp_path / "clicks.tsv", tmp_path / "release")

    assert verdict.ok
    for check in verdict.checks:
        assert f"| `{check.name}` |" in page("how-to/publish.md")


def test_every_field_and_check_of_a_synthetic_release_is_documented(tmp_path):
    prepare(tmp_path)
    budget = slogan.PrivacyBudget(epsilon="8", delta="1e-3")
    release = slogan.synthesize(tmp_path / "clicks.tsv", budget)
    try:
        summary = release.save(tmp_path / "release").to_dict()
    finally:
        release.close()
    text = page("reference/release-folder.md")
    manifest = json.loads((tmp_path / "release/public/manifest.json").read_text())
    certificate = json.loads((tmp_path / "release/curator/certificate.json").read_text())
    verdict = slogan.verify(tmp_path / "clicks.tsv", tmp_path / "release")

    assert [n for n in fields(manifest) if not documented(n, text)] == []
    assert [n for n in fields(certificate) if not documented(n, text)] == []
    assert [n for n in fields(summary) if not documented(n, page("reference/json.md"))] == []
    for check in verdict.checks:
        assert check.ok
        assert f"| `{check.name}` |" in page("how-to/publish.md")
