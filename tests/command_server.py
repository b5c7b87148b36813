"""A process that imports slogan once and runs each command line in a fork of itself.

python command_server.py SOCKET

A client (command_client.py) sends its words, folder, environment and three open streams, and gets
the exit code back. The fork imports the command line again, so that the environment counts as it
does in a new process. The server ends when its standard input is closed.
"""

import array
import atexit
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import tempfile
import threading
import traceback
from contextlib import closing
from pathlib import Path

import cyclopts.config
import rich.progress
import rich.table

import slogan
from slogan.dp.selection import pooled
from slogan.planning.solvers import packing

LONGEST = 600
"""Seconds after which a command that hangs is ended."""
OWN = ("slogan.cli", "slogan.__main__")
"""What every fork imports for itself: its consoles read the environment."""
OPTIONAL = ("slogan.engines.spark", "slogan.reproduction.peers")


def import_all():
    """Import what verbs would import when they are called."""
    assert cyclopts.config
    assert rich.progress
    assert rich.table
    for module in pkgutil.walk_packages(slogan.__path__, "slogan."):
        if not module.name.startswith((*OWN, *OPTIONAL)):
            importlib.import_module(module.name)


def warm_up():
    """Load compiled loops and templates, by making and judging a release of each kind."""
    packing.warm_up()
    pooled.warm_up()
    rows = [f"{user}\tquery {n}\twww.s{n}.com\t1\n" for user in range(2000) for n in range(3)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "clicks.tsv"
        log.write_text("user\tquery\turl\tcount\n" + "".join(rows))
        kinds = {
            "real": slogan.sanitize(log, exp_epsilon=2, delta="0.5", solver="spe"),
            "synthetic": slogan.synthesize(log, epsilon=1, delta="1e-6"),  # a budget of many tests
        }
        for kind, made in kinds.items():
            with closing(made):
                made.save(folder / kind)
            slogan.verify(log, folder / kind)
            slogan.evaluate(log, folder / kind)
    assert threading.active_count() == 1, "a fork takes one thread along and no other"


def perform(order, streams):
    """One command, in the fork; does not return."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(order["folder"])
    os.umask(order["umask"])
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - a stream, for as long as it runs
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = ["slogan", *order["words"]]
    try:
        importlib.import_module("slogan.__main__").main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    atexit._run_exitfuncs()
    os._exit(code)


def received(connection):
    """An order: a line of JSON, with the streams beside its first bytes."""
    room = socket.CMSG_SPACE(3 * array.array("i").itemsize)
    data, beside, _, _ = connection.recvmsg(65536, room)
    streams = array.array("i")
    for _, _, handles in beside:
        streams.frombytes(handles)
    while not data.endswith(b"\n"):
        data += connection.recv(65536)
    return json.loads(data), streams.tolist()


def keep(order, streams, connection):
    """Run a command in a fork, and tell its client the exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if not pid:
        connection.close()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.alarm(LONGEST)
        perform(order, streams)
    for stream in streams:
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection.sendall(str(code).encode())
    os._exit(0)


def serve(listener):
    """Several commands may run at once: each has a keeper, and nothing waits for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if listener not in ready:
            return
        connection, _ = listener.accept()
        with connection:
            order, streams = received(connection)
            if not os.fork():
                try:
                    listener.close()
                    keep(order, streams, connection)
                finally:  # both end without coming here, unless something is wrong
                    traceback.print_exc()
                    os._exit(99)
            for stream in streams:
                os.close(stream)


def main(place):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest hears it and ends this process
    import_all()
    warm_up()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        serve(listener)


if __name__ == "__main__":
    main(*sys.argv[1:])
