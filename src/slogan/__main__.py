"""`python -m slogan` and the `slogan` command."""

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    Token,
    UnknownOptionError,
    UnusedCliTokensError,
)

from slogan.cli.app import app
from slogan.cli.terminal import UNHEARD, complain, fail, session, stderr
from slogan.errors import SloganError, suggestion
from slogan.storage.folders import Stopped, remove_scratches, stoppable
from slogan.storage.limits import out_of_memory

_INTERRUPTED = "The release is either complete or absent; temporary files were removed."


def main() -> NoReturn:
    """Run the command line; turn every failure into one clean message and its exit code."""
    try:
        with stoppable():
            app.meta()
    except SloganError as error:
        _end("error", error.problem, error.hint, error.exit_code)
    except CycloptsError as error:
        _end("error", *_usage(error), 2)
    except Stopped as stopped:
        _stop(stopped)
    except Exception as error:
        if os.environ.get("SLOGAN_DEBUG"):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        _end(
            "internal error",
            f"{type(error).__name__} at {where}",
            "please report it; SLOGAN_DEBUG=1 shows the traceback, which may quote the log",
            1,
        )
    sys.exit(UNHEARD if session.unheard else 0)


def _end(what: str, problem: str, hint: str, exit_code: int) -> NoReturn:
    if session.log:
        hint = hint.replace("slogan inspect LOG ", f"slogan inspect {session.log} ")
    if "--json" in sys.argv[1:]:
        fail(problem, hint, exit_code)
    complain(what, problem, hint)
    sys.exit(exit_code)


def _usage(error: CycloptsError) -> tuple[str, str]:
    """What is wrong with the words that were typed, and where to look."""
    words = " ".join(str(error).split())
    if isinstance(error, UnknownOptionError) and _meant_help(error.token):
        words = f"{words.partition(' Did you mean')[0]} Did you mean --help?"
    verb = f"slogan {session.verb}".strip()
    help = f"{verb} --help lists the options"
    if isinstance(error, UnusedCliTokensError):
        words = f"{verb} does not know what to do with {' '.join(error.unused_tokens or ())}"
        if session.verb == "ledger":
            help = f"name the population with --population NAME; {help}"
    elif isinstance(error, MissingArgumentError) and error.argument and not error.keyword:
        name = error.argument.name
        words = f"{name} is missing"
        help = f"add -o FOLDER; {help}" if name == "--output" else help
    return words, help if session.verb else "slogan --help lists the verbs"


def _meant_help(token: Token) -> bool:
    """Whether an unknown option is a mistyped --help, which no verb lists as its own."""
    return suggestion(token.keyword or token.value, ["--help"]) is not None


def _stop(stopped: Stopped) -> NoReturn:
    """End at once: HiGHS's idle threads would abort an ordinary exit."""
    remove_scratches()
    code, error = stopped.exit_code, out_of_memory()
    if error is not None:
        code = error.exit_code
        complain("error", error.problem, error.hint)
    else:
        stderr.print(f"Interrupted. {_INTERRUPTED}", soft_wrap=True)
    if "--json" in sys.argv[1:]:
        problem = "interrupted" if error is None else error.problem
        fail(problem, _INTERRUPTED if error is None else error.hint, code)
    with suppress(OSError, AttributeError):  # a pipe that broke, or that was never there
        sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
