"""Command lines of slogan without the start of an interpreter and its imports for each.

Each runs in a separate process, a fork of a server that knows slogan already. Tests of the start
itself, of signals and of closed streams start a new interpreter instead.
"""

import atexit
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

SERVER = Path(__file__).with_name("command_server.py")
CLIENT = Path(__file__).with_name("command_client.py")


@cache
def server():
    """The socket of this test process's server, which ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="slogan-commands-")
    place = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, str(SERVER), place],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"

    def end():
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=60)
        folder.cleanup()

    atexit.register(end)
    return place


def command():
    """The words before those of a command line."""
    return [sys.executable, "-I", "-S", str(CLIENT), server()]


def slogan(*words, cwd, **env):
    """Run a command line; its exit code and output."""
    return subprocess.run(
        [*command(), *map(str, words)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def write_command(folder):
    """A program `slogan` in that folder, for a shell that has the folder in its PATH."""
    folder.mkdir()
    program = folder / "slogan"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    program.chmod(0o755)
    return folder
