"""Find the words of tools/words.toml in what people read; `make lint` runs it.

`python -m tools.words --all` also lists the parts that are not rewritten yet.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_name("words.toml")
READ = {".md", ".py", ".html", ".toml", ""}
"""Suffixes of files with texts for people; a file without one is the Makefile or a script."""
NOT_READ = {"LICENSE", ".gitignore"}


class Passage(NamedTuple):
    """A line of text that people read, or a name."""

    line: int
    text: str
    is_name: bool = False


class Violation(NamedTuple):
    """A word of the list in a file."""

    path: str
    line: int
    word: str
    instead: str

    @property
    def package(self) -> str:
        """The folder to group by: one per package of src/slogan and per folder of tests/unit."""
        folders = self.path.split("/")[:-1]
        return "/".join(folders[:3]) or "."

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r}: write {self.instead}"


@dataclass(frozen=True)
class Rule:
    """A pattern, and what to write instead."""

    pattern: re.Pattern[str]
    instead: str


@dataclass(frozen=True)
class Exemption:
    """Where the list does not apply, and why."""

    path: str
    reason: str
    text: str = ""

    def covers(self, path: str, passage: Passage) -> bool:
        """Whether this passage of a file is exempt."""
        return path.startswith(self.path) and self.text in passage.text


class Words:
    """The list, and what it finds."""

    def __init__(self, listed: dict[str, Any]) -> None:
        self.rules = [
            Rule(re.compile(rule["pattern"], re.IGNORECASE), rule["instead"])
            for rule in listed["rule"]
        ]
        self.names = set(listed.get("names", ()))
        self.exemptions = [Exemption(**entry) for entry in listed.get("allow", ())]
        unfinished = listed.get("unfinished", {})
        self._unfinished = tuple(unfinished.get("paths", ()))
        self._finished = tuple(unfinished.get("finished", ()))

    def unfinished(self, path: str) -> bool:
        """Whether a file is listed as not rewritten yet."""
        return path.startswith(self._unfinished) and not path.startswith(self._finished)

    def check(self, path: str, text: str) -> Iterator[tuple[Violation, Exemption | None]]:
        """Every word of the list in a file, with the exemption that allows it."""
        for passage in passages(path, text):
            for word, instead in self._words(passage):
                covers = (entry for entry in self.exemptions if entry.covers(path, passage))
                yield Violation(path, passage.line, word, instead), next(covers, None)

    def _words(self, passage: Passage) -> Iterator[tuple[str, str]]:
        if passage.is_name:
            if passage.text in self.names:
                yield passage.text, "a noun for the value, such as manifest or selected_pairs"
            return
        for rule in self.rules:
            for match in rule.pattern.finditer(passage.text):
                yield match[0], rule.instead


def passages(path: str, text: str) -> Iterator[Passage]:
    """What people read of a file: every line, or of Python its texts, comments and names."""
    if not path.endswith(".py"):
        for number, line in enumerate(text.splitlines(), 1):
            yield Passage(number, line)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                yield Passage(number, line)
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield Passage(node.lineno, node.name.replace("_", " "))
    if path.startswith("src/"):
        yield from _names(tree)


def _names(tree: ast.AST) -> Iterator[Passage]:
    """Names where they are given: of functions, parameters and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield Passage(node.lineno, node.name.strip("_"), is_name=True)
        elif isinstance(node, ast.arg):
            yield Passage(node.lineno, node.arg.strip("_"), is_name=True)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Passage(node.lineno, node.id.strip("_"), is_name=True)


def files_read() -> Iterator[tuple[str, str]]:
    """Each tracked file with texts for people, and its content."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for path in listed.splitlines():
        file = ROOT / path
        if file.suffix in READ and file.is_file() and path not in NOT_READ:
            yield path, file.read_text("utf-8")


def grouped(violations: Iterable[Violation]) -> str:
    """Violations by package, each with their number."""
    by_package: dict[str, list[Violation]] = defaultdict(list)
    for violation in violations:
        by_package[violation.package].append(violation)
    return "\n".join(
        "\n".join([f"{package}: {len(some)}", *(f"  {violation}" for violation in some)])
        for package, some in sorted(by_package.items())
    )


def main(arguments: Sequence[str]) -> int:
    """Print what is found; 1 if a finished part has a word of the list."""
    words = Words(tomllib.loads(LIST.read_text("utf-8")))
    findings = [finding for path, text in files_read() for finding in words.check(path, text)]
    unfinished = "--all" in arguments
    violations = [
        violation
        for violation, exemption in findings
        if exemption is None and (unfinished or not words.unfinished(violation.path))
    ]
    if violations:
        print(grouped(violations))
    stale = set(words.exemptions) - {exemption for _, exemption in findings}
    for entry in stale:
        print(f"tools/words.toml: no line needs the exception for {entry.path} {entry.text!r}")
    return int(bool(violations or stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
