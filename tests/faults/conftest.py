"""One server of runs for all tests of faults in a process, and a place for each test."""

import pytest
from tests.faults.doomed_runs import Server, Site


@pytest.fixture(scope="session")
def server():
    started = Server()
    yield started
    started.close()


@pytest.fixture
def site(tmp_path, server):
    return Site(tmp_path, server)
