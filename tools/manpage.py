"""Write docs/reference/slogan.1, the manual page, from the verbs and options themselves."""

from __future__ import annotations

import inspect
from pathlib import Path

from slogan.cli.app import GROUPS, VERBS, app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "slogan.1"
OPENING = """\
.TH SLOGAN 1 "" slogan "User commands"
.SH NAME
slogan \\- search-log anonymization
.SH SYNOPSIS
.B slogan
.I VERB
[options]
.SH DESCRIPTION
"""
CLOSING = """\
.SH EXIT STATUS
0 done; 1 failed; 2 wrong usage or bad input; 3 nothing can be released under this budget;
4 verification failed; 5 the budget is refused by the ledger.
.SH ENVIRONMENT
.TP
.B SLOGAN_CONFIG
The configuration file, in place of \\-\\-config.
.TP
.B SLOGAN_VERB_OPTION
An option of a verb, such as SLOGAN_INSPECT_USER.
.TP
.B SLOGAN_THREADS, SLOGAN_MEMORY_LIMIT
In place of \\-\\-threads and \\-\\-memory\\-limit.
.TP
.B SLOGAN_LEDGER_DIR
The folder of ledgers.
.TP
.B NO_COLOR, TMPDIR
No colours; where private temporary folders go.
"""


def rendered() -> str:
    """The whole page."""
    order = sorted(VERBS, key=lambda verb: (_group(verb), _escaped(verb)))
    verbs = "".join(_verb(verb) for verb in order)
    options = f".SH OPTIONS OF EVERY VERB\n{_options(app.meta)}"
    return f"{OPENING}{_escaped(str(app.help))}\n.SH VERBS\n{verbs}{options}{CLOSING}"


def _group(verb: str) -> tuple[int, int]:
    module = inspect.getmodule(app[verb].default_command)
    name, rank = getattr(module, "GROUP", "study"), getattr(module, "RANK", len(VERBS))
    return list(GROUPS).index(name), rank


def _verb(verb: str) -> str:
    about = inspect.getdoc(app[verb].default_command) or ""
    parts = about.partition("\nParameters\n")[0].strip().split("\n\n")
    paragraphs = "".join(f".PP\n{_escaped(' '.join(part.split()))}\n" for part in parts)
    return f".SS slogan {verb}\n{paragraphs}{_options(app[verb])}"


def _options(command: object) -> str:
    lines: list[str] = []
    for argument in command.assemble_argument_collection(parse_docstring=True):
        if not argument.children and argument.show and argument.parameter.help:
            names = ", ".join(_escaped(name) for name in argument.names)
            words = _escaped(" ".join(argument.parameter.help.split()))
            lines.append(f".TP\n.B {names}\n{words}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    """Text that roff takes for text: hyphens that can be copied, no macro at a line's beginning."""
    safe = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


if __name__ == "__main__":
    PAGE.write_text(rendered(), encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(VERBS)} verbs")
