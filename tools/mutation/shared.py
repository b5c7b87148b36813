"""Fixtures of several tests are made once, by the unchanged package, and used for every mutant.

A mutant of their code may survive for that reason: survivors are tried once more with new fixtures.
"""

import inspect
import os
import pickle
import shutil


class Shared:
    """The fixtures of modules that need nothing but a folder, and the folder with their files."""

    def __init__(self, session, keep):
        self.folder, self.kept = session.config._tmp_path_factory.getbasetemp(), keep
        # in a child: threads that it starts do not survive a fork
        values = _told_by_a_child(lambda: _made(session))
        for number, fixture in _shared_by(session.items).items():
            if number in values:
                fixture.cached_result = (pickle.loads(values[number]), None, None)
        shutil.rmtree(keep, ignore_errors=True)
        shutil.copytree(self.folder, keep)

    def lay_out(self):
        """Put the files where the fixtures say that they are."""
        shutil.copytree(self.kept, self.folder)


def _shared_by(items):
    """By number, which is the same in a child, the fixtures whose making can be brought forward."""
    return {
        id(fixture): fixture
        for item in items
        for name in item.fixturenames
        if (fixture := _plain(name, item._fixtureinfo.name2fixturedefs))
    }


def _plain(name, there):
    """A fixture of a file of tests that others outlive, and that asks for nothing but its like."""
    fixture = there[name][-1] if name in there else None
    if (
        not fixture
        or not fixture.baseid
        or fixture.scope == "function"
        or fixture.params
        or inspect.isgeneratorfunction(fixture.func)
    ):
        return None
    asked = [other for other in fixture.argnames if other != "tmp_path_factory"]
    return fixture if all(_plain(other, there) for other in asked) else None


def _made(session):
    """The values of the fixtures, packed; without those that cannot be."""
    packed = {}
    for item in session.items:
        session._setupstate.stack = {part: ([], None) for part in item.listchain()}
        for number, fixture in _shared_by([item]).items():
            if number not in packed:
                packed[number] = _packed(item._request.getfixturevalue(fixture.argname))
    return {number: value for number, value in packed.items() if value}


def _packed(value):
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None


def _told_by_a_child(work):
    reader, writer = os.pipe()
    if not (child := os.fork()):
        try:
            with os.fdopen(writer, "wb") as told:
                told.write(pickle.dumps(work()))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        found = told.read()
    os.waitpid(child, 0)
    return pickle.loads(found) if found else {}
