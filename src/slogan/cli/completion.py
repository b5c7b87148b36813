"""`slogan completion`: what a shell needs to complete verbs and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from slogan.cli.terminal import Json, show

GROUP, RANK = "keep", 3


def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="bash, zsh or fish.")
    ],
    /,
    *,
    json: Json = False,
) -> None:
    """Print a script that lets your shell complete verbs and options.

    `slogan completion bash > ~/.local/share/bash-completion/completions/slogan`

    For zsh, write it to a file `_slogan` in a folder of `$fpath`; for fish, to
    `~/.config/fish/completions/slogan.fish`.
    """
    from slogan.cli.app import app

    show(_Script(shell, app.generate_completion(shell=shell)), _text, json=json)


@dataclass(frozen=True)
class _Script:
    shell: str
    script: str

    def to_dict(self) -> dict[str, Any]:
        return {"shell": self.shell, "script": self.script}


def _text(script: _Script) -> Text:
    return Text(script.script, no_wrap=True, overflow="ignore", end="")
