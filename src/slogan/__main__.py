"""`python -m slogan` and the `slogan` command."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path

from slogan.cli import app
from slogan.errors import SloganError
from slogan.terminal import complain, stderr


def main() -> None:
    """Run the command line; turn every failure into one clean message and its exit code."""
    try:
        app.meta()
    except SloganError as error:
        complain("error", error.problem, error.hint)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        stderr.print("stopped; nothing was published")
        # Everything is cleaned up by now; HiGHS's idle threads would abort an ordinary exit.
        sys.stdout.flush()
        os._exit(130)
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
