"""`python -m slogan` and the `slogan` command."""

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from slogan.cli.app import app
from slogan.cli.terminal import complain, stderr
from slogan.errors import SloganError
from slogan.storage.folders import Stopped, remove_scratches, stoppable


def main() -> None:
    """Run the command line; turn every failure into one clean message and its exit code."""
    try:
        with stoppable():
            app.meta()
    except SloganError as error:
        complain("error", error.problem, error.hint)
        sys.exit(error.exit_code)
    except Stopped as stopped:
        remove_scratches()
        stderr.print("stopped; a release is there whole or not at all, and nothing else is left")
        # HiGHS's idle threads would abort an ordinary exit.
        with suppress(OSError, AttributeError):  # a pipe that broke, or that was never there
            sys.stdout.flush()
        os._exit(stopped.exit_code)
    except Exception as error:
        if os.environ.get("SLOGAN_DEBUG"):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        complain(
            "internal error",
            f"{type(error).__name__} at {where}",
            "please report it; SLOGAN_DEBUG=1 shows the traceback, which may quote the log",
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
