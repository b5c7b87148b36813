"""slogan reproduce: what it prints of its pages."""

import io
from pathlib import Path
from types import SimpleNamespace

from rich.console import Console

from slogan.cli.reproduce import text
from slogan.reproduction.pages import Kind, Verdict
from slogan.reproduction.reproduce import Reproduction


def test_verdicts_and_the_place_of_the_pages_are_shown():
    verdicts = [
        Verdict(kind=Kind.UNREACHABLE, why="a bound"),
        Verdict(kind=Kind.POSSIBLE, why="no"),
    ]
    written = SimpleNamespace(
        experiment=SimpleNamespace(title="Table 4: output size"),
        page=SimpleNamespace(verdicts=verdicts),
    )
    done = Reproduction(
        output=Path("reproduction"),
        made_up=False,
        quick=True,
        sizes=(None, None),
        pages=(written,),
        computed=("one", "two"),
        reused=(),
        seconds=12.3,
    )
    console = Console(width=100, file=io.StringIO())
    console.print(text(done))
    lines = console.file.getvalue().splitlines()

    assert lines[0].split() == ["Table", "4", "not", "reachable", "a", "bound"]
    assert lines[1].split() == ["not", "excluded", "no"]
    assert lines[3:6] == [
        "Wrote 1 pages to reproduction.",
        "Computed 2 parts; 0 were there from an earlier run.",
        "Took 12 s.",
    ]
    assert "not for publication" in lines[6]
