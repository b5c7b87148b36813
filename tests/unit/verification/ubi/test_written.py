"""Forged lines of UBI: no byte of a released log is free."""

import json
import shutil
from uuid import uuid4

import pytest
from tests.helpers import write_pages
from tests.kinds_of_logs import FORMS

import slogan
from slogan.manifest.manifest import Manifest
from slogan.storage.atomic import sha256_of


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ubi")
    FORMS["UBI"].write(folder)
    with slogan.sanitize(folder / "export", exp_epsilon=2, delta="0.5", solver="exact") as release:
        release.save(folder / "release")
    return folder / "release"


def signed(folder, lines, **changes):
    """The release with these lines, and checksums and pages that fit."""
    file, manifest = folder / "public/log.ubi.jsonl", folder / "public/manifest.json"
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    fields = json.loads(manifest.read_text())
    fields["log"]["sha256"] = sha256_of(file)
    fields["parameters"] |= changes
    made = Manifest.model_validate(fields)
    manifest.write_text(made.model_dump_json(indent=2) + "\n")
    write_pages(folder / "public", made)


def changed(number, **values):
    """Values in place of those of one line."""

    def change(lines):
        lines[number] = as_line(json.loads(lines[number]) | values)

    return change


def as_line(document):
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def another_id(lines):
    """A query and its event, linked by an ID that could carry a message."""
    new = str(uuid4())
    for number in (0, 1):
        changed(number, query_id=new)(lines)


def in_pairs(order):
    """The queries with their events in another order."""

    def change(lines):
        pairs = [lines[n : n + 2] for n in range(0, len(lines), 2)]
        lines[:] = [line for pair in order(pairs) for line in pair]

    return change


_ATTRIBUTES = {"object": {"object_id": "www.6.example/a"}, "position": {"ordinal": 0}}
FORGERIES = {
    "another query_id": another_id,
    "a time": changed(0, timestamp="1970-01-01T00:00:01Z"),
    "a time of an event": changed(1, timestamp="2024-01-01T00:00:00Z"),
    "one field more": changed(0, query_attributes={"note": 7}),
    "one field of an event more": changed(1, message="hello"),
    "a position": changed(1, event_attributes=_ATTRIBUTES | {"position": {"ordinal": 1}}),
    "one more position": changed(1, event_attributes=_ATTRIBUTES | {"position": {"x": 1}}),
    "an object_id as it was": changed(1, event_attributes=_ATTRIBUTES | {"internal_id": "7"}),
    "another event": lambda lines: lines.append('{"action_name":"view"}'),
    "the same event again": lambda lines: lines.append(lines[1]),
    "a query without its event": lambda lines: lines.pop(),
    "a line less": lambda lines: lines.pop(0),
    "in another order": in_pairs(reversed),
    "queries before events": lambda lines: lines.sort(key=lambda line: "action_name" in line),
    "spaces": lambda lines: lines.__setitem__(0, lines[0].replace(":", ": ", 1)),
    "escapes": lambda lines: lines.__setitem__(0, json.dumps(json.loads(lines[0])) + " "),
    "a blank line": lambda lines: lines.insert(1, ""),
    "a mark before the first": lambda lines: lines.__setitem__(0, "\ufeff" + lines[0]),
    "the user's name twice": lambda lines: lines.__setitem__(
        0, lines[0].replace("}", ',"client_id":"7"}')
    ),
    "wrapped": lambda lines: lines.__setitem__(0, f'{{"_source":{lines[0]}}}'),
}


@pytest.mark.parametrize("forge", [None, *FORGERIES.values()], ids=["signed again", *FORGERIES])
def test_a_forged_line_is_found(honest, tmp_path, forge):
    folder = shutil.copytree(honest, tmp_path / "release")
    lines = (folder / "public/log.ubi.jsonl").read_text(encoding="utf-8").splitlines()
    if forge is not None:
        forge(lines)
    signed(folder, lines)
    verdict = slogan.verify_public(folder / "public")
    failed = {check.name for check in verdict.checks if not check.ok}

    assert failed & {"rows_as_written", "columns"} if forge else not failed


@pytest.mark.parametrize("actions", ["", "a,a", "x" * 101, "a\nb", 7])
def test_actions_that_cannot_have_been_declared_are_found(honest, tmp_path, actions):
    folder = shutil.copytree(honest, tmp_path / "release")
    lines = (folder / "public/log.ubi.jsonl").read_text(encoding="utf-8").splitlines()
    signed(folder, lines, click_action=actions)

    assert not slogan.verify_public(folder / "public").ok
