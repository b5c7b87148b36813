"""python -m tools.transcripts: write what the commands of the tutorials print into their pages.

A ```text block that follows a ```console block is the transcript of its commands. The tests run
the same commands and compare the transcripts, numbers apart: noise makes them differ in each run.
A block below the line `<!-- varies -->` is written here and not compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for page in (ROOT / "docs/tutorial").glob("*.md")
    if "```console" in page.read_text("utf-8")
)
WIDTH = 90
VARIES = "<!-- varies -->\n\n"
BLOCK = re.compile(
    rf"^```console\n(?P<commands>.*?)^```\n(?:\n(?P<varies>{re.escape(VARIES)})?"
    r"```text\n(?P<transcript>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)
NUMBER = re.compile(r"[-+−]?\d[\d,.]*(e[-+−]?\d+)?")


@dataclass(frozen=True)
class Block:
    """Commands of a page, with the transcript that is below them, if any."""

    commands: list[str]
    transcript: str | None
    compared: bool


def blocks(text: str) -> Iterator[Block]:
    """The console blocks of a page, in order."""
    for found in BLOCK.finditer(text):
        lines = found["commands"].splitlines()
        compared = found["transcript"] is not None and not found["varies"]
        yield Block([line.removeprefix("$ ") for line in lines], found["transcript"], compared)


def run(command: str, folder: Path, *first: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a page as a shell would, with `slogan` and `python` of this environment.

    Programs of the folders `first` are preferred.
    """
    path = os.pathsep.join([*map(str, first), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {name: value for name, value in os.environ.items() if not name.startswith("SLOGAN_")}
    env |= {"PATH": path, "NO_COLOR": "1", "COLUMNS": str(WIDTH)}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**env, "XDG_DATA_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def printed(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """Results, or messages of a command without results, with the paths of a user's machine."""
    output = (done.stdout or done.stderr).replace(str(folder / "home"), "~/.local/share")
    lines = output.replace(f"{folder}/", "").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines)


def shape(transcript: str) -> str:
    """The words of a transcript, without its numbers and line breaks."""
    return " ".join(NUMBER.sub("0", transcript).split())


def refreshed(text: str, folder: Path) -> str:
    """The page with the transcripts of a run in an empty folder."""

    def written(found: re.Match[str]) -> str:
        [block] = blocks(found[0])
        done = [run(command, folder) for command in block.commands]
        for command, one in zip(block.commands, done, strict=True):
            if one.returncode:
                raise SystemExit(f"{command}\n{one.stderr}")
        if block.transcript is None:
            return found[0]
        head, _ = found[0].split("```text\n")
        return f"{head}```text\n{''.join(printed(one, folder) for one in done)}```\n"

    return BLOCK.sub(written, text)


def main() -> None:
    """Write all transcripts again."""
    for page in PAGES:
        with TemporaryDirectory() as folder:
            page.write_text(refreshed(page.read_text("utf-8"), Path(folder)), "utf-8")
        print(f"wrote {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
