"""`slogan studio`: from a log to a published release, in a browser on this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from slogan.cli.terminal import Json, show, stderr
from slogan.errors import EngineError

GROUP, RANK = "look", 0


@dataclass(frozen=True)
class _Started:
    address: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def studio(
    log: Annotated[str, Parameter(name="LOG", help="A log to begin with.")] = "",
    /,
    *,
    port: int = 0,
    browser: Annotated[bool, Parameter(negative="--no-browser", show_default=False)] = True,
    demo: Annotated[bool, Parameter(negative="")] = False,
    json: Json = False,
) -> None:
    """Go from a log to a published release in the browser. Nothing leaves this machine.

    `slogan studio --demo`

    The address that is printed works once, in one browser, on this machine.
    The studio ends when its tab is closed, or after half an hour without a click.

    Parameters
    ----------
    port
        Port of the loopback address. By default a free one is taken.
    browser
        Open the browser. With --no-browser the address is printed only.
    demo
        Practise on a made-up log. Ledgers and releases of a demo are removed at its end.
    """
    try:
        from slogan.studio.server import serve
    except ModuleNotFoundError as cause:
        raise EngineError(
            f"the studio needs {cause.name}, which is not installed",
            hint="pip install 'slogan[studio]'",
        ) from cause

    def announce(address: str) -> None:
        if json:
            show(_Started(address), lambda _started: "", json=True)
            return
        stderr.print(
            f"The studio is at {address}\nIt works once. Ctrl-C ends the studio.",
            soft_wrap=True,
            highlight=False,
            markup=False,
        )

    serve(log, port=port, browser=browser, demo=demo, announce=announce)
