"""Ask one question of the benchmark, or all: `python -m bench [QUESTION] [options]`."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path

_HERE = Path(__file__).parent


def questions() -> dict[str, str]:
    """Every public file of this folder that defines `main`, with its first line; none imported."""
    found = {}
    for path in sorted(_HERE.glob("[!_]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main(argv: list[str]) -> None:
    """The first word is the question; what follows belongs to it. Options alone go to all."""
    known = questions()
    if "--list" in argv:
        for name, asks in known.items():
            print(f"{name:10} {asks}")
        return
    named = argv[:1] if argv and not argv[0].startswith("-") else []
    if named and named[0] not in known:
        sys.exit(f"there is no question {named[0]!r}; choose one of: {', '.join(known)}")
    if not named and argv[:1] in (["-h"], ["--help"]):
        print(__doc__, f"questions: {', '.join(known)}", sep="\n")
        return
    for name in named or known:
        import_module(f"bench.{name}").main(argv[len(named) :])


if __name__ == "__main__":
    main(sys.argv[1:])
