"""kill −9 at each step of runs that write something else than a release: old or new, never half."""

import signal

import pytest
from tests.faults.doomed_runs import KILL

ENDS = {".html": "</html>", ".svg": "</svg>", ".json": "}", ".tsv": ""}


@pytest.fixture
def runs(site):
    """A run of each verb, and the folder into which it writes."""
    assert site.perform(site.run("sanitize", "release"))[0]["code"] == 0
    release, folder = site.releases / "release", site.folder / "out"
    folder.mkdir()
    grid = ("--exp-epsilons", "2", "--deltas", "0.5", "--solver", "spe")
    return {
        "frontier": (["frontier", str(site.log), "-o", str(folder), "--force", *grid], folder),
        "evaluate": (["evaluate", str(site.log), str(release)], release / "curator"),
        "generate": (["generate", str(folder / "a.tsv"), "--users", "20", "--force"], folder),
    }


def visible(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name[0] != "."}


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("verb", ["frontier", "evaluate", "generate"])
def test_a_kill_at_every_step(site, runs, ladder, verb):
    command, folder = runs[verb]

    def perform(**faults):
        return site.perform(site.run("sanitize", "", **faults) | {"command": command})[0]

    assert perform()["code"] == 0, site.say()
    names, step, answer = set(visible(folder)), 0, {"code": None}
    while answer["code"] != 0:
        step += 1
        before = visible(folder)
        answer = perform(at=step, fault=KILL)
        assert answer["code"] in (0, -signal.SIGKILL), site.say()
        after = visible(folder)
        assert set(after) == names
        for name, content in after.items():
            end = ENDS.get(folder.joinpath(name).suffix)
            assert content == before[name] or content.decode().rstrip().endswith(end)
        renamed = [name for name in answer["steps"][:-1] if name.startswith("rename ")]
        assert answer["code"] == 0 or renamed or after == before
        assert perform()["code"] == 0, site.say()
        assert {file.name for file in folder.iterdir()} == names
        assert list(site.temporary.iterdir()) == []

    ladder.count("faults injected", step - 1)
    assert step == len(answer["steps"]) + 1
    assert any(name.startswith("rename ") for name in answer["steps"])
