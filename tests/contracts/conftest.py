"""One small Spark session for all tests that need one."""

import os

import pytest
from tests.contracts.small_spark import SMALL

from slogan import Spark


@pytest.fixture(scope="session")
def spark():
    """Where Spark runs: in this process, on two threads."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = Spark(master="local[2]", conf=SMALL)
    ours = settings.module("session").opened(settings)
    yield Spark(session=ours.session)
    ours.close()
