"""Server: listen on the loopback address until the person is done, and leave nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from slogan.errors import OptionError
from slogan.storage.folders import scratch_folder
from slogan.studio.app import application
from slogan.studio.choices import LogChoice
from slogan.studio.guard import Gate
from slogan.studio.screens.load import load
from slogan.studio.state import Studio
from slogan.studio.work.jobs import Workshop

_HOST = "127.0.0.1"
_LOOK_EVERY = 0.5
_LATER = ("slogan.ledger.ledger", "slogan.logs.searchlog", "slogan.studio.work.tasks")
"""What later screens need, loaded while the first one is read."""


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """How long a server waits for its browser, in seconds."""

    idle: float = 1800.0
    """Without a request."""
    left: float = 10.0
    """After the last tab was closed: another page may be on its way."""


class _Protocol(H11Protocol):
    """HTTP; what is not a request is not answered, since the guard's headers would be missing."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  its name is uvicorn's
        self.transport.close()


def serve(
    log: str = "",
    *,
    port: int = 0,
    browser: bool = True,
    demo: bool = False,
    announce: Callable[[str], None],
    waiting: Waiting = Waiting(),  # noqa: B008  frozen
) -> None:
    """Run the studio until its tab is closed, it has been idle, or it is interrupted.

    Args:
        log: A log to begin with.
        port: The port; 0 for one that is free.
        browser: Whether to open a browser.
        demo: Make up a log, and keep ledgers and releases in a private folder.
        announce: Gets the address to open.
        waiting: How long to wait for the browser.
    """
    for name in ("python_multipart", "uvicorn.error", "asyncio"):  # they may quote a request
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    with _listening(port) as listener, scratch_folder() as folder:
        for name in ("uploads", "work"):
            (folder / name).mkdir(mode=0o700)
        studio = Studio(
            gate=Gate(port=listener.getsockname()[1]),
            folder=folder,
            workshop=Workshop(folder / "work"),
            demo=demo,
            ledgers=folder / "ledgers" if demo else None,
        )
        if studio.ledgers is not None:
            studio.ledgers.mkdir(mode=0o700)
        server = uvicorn.Server(
            uvicorn.Config(
                application(studio),
                access_log=False,
                log_config=None,
                http=_Protocol,
                lifespan="off",
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=1 << 16,
                ws="none",
            )
        )
        try:
            studio.workshop.prepare()
            _begin(studio, log)
            announce(studio.gate.address)
            if browser:
                threading.Thread(
                    target=webbrowser.open, args=(studio.gate.address,), daemon=True
                ).start()
            threading.Thread(target=_load_the_rest, daemon=True).start()
            asyncio.run(_run(server, listener, studio, waiting))
        finally:
            studio.workshop.close()


def _listening(port: int) -> socket.socket:
    """A socket on the loopback address, and on no other."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen()  # a browser that is faster than the server waits
    except (OSError, OverflowError) as cause:
        listener.close()
        raise OptionError(
            f"port {port} cannot be used: {getattr(cause, 'strerror', None) or 'not a port'}",
            hint="leave --port out, and a free one is taken",
        ) from None
    return listener


def _begin(studio: Studio, log: str) -> None:
    """The first log of the list."""
    if log:
        case = studio.new_case()
        load(studio, case, LogChoice(source=log))
    elif studio.demo:
        from slogan.studio.work.tasks import MakeUp

        case, file = studio.new_case(), studio.folder / "clicks.tsv"
        case.log = LogChoice(source=str(file))

        studio.start(
            case,
            "Making up a log",
            MakeUp(file=file),
            keep=lambda _result: None,
            following=lambda: load(studio, case, case.log),
        )


async def _run(
    server: uvicorn.Server, listener: socket.socket, studio: Studio, waiting: Waiting
) -> None:
    watcher = asyncio.create_task(_watch(server, studio, waiting))
    try:
        await server.serve(sockets=[listener])
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def _watch(server: uvicorn.Server, studio: Studio, waiting: Waiting) -> None:
    """End the server when the person is done."""
    while not server.should_exit:
        await asyncio.sleep(_LOOK_EVERY)
        now, running = time.monotonic(), studio.workshop.running
        idle = now - studio.gate.last_request > waiting.idle and not running
        gone = (
            studio.left is not None
            and now - max(studio.left, studio.gate.last_request) > waiting.left
            and not any(job.essential for job in running)
        )
        server.should_exit = server.should_exit or studio.ending or idle or gone


def _load_the_rest() -> None:
    time.sleep(1)
    for name in _LATER:
        import_module(name)
