"""One small Spark session for all tests that need one."""

import os

import pytest
from small_spark import SMALL


@pytest.fixture(scope="session")
def spark():
    """Where Spark runs: in this process, on two threads."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from slogan.engines import Spark, load

    load("spark")
    from slogan.engines.spark.session import opened

    ours = opened(Spark(master="local[2]", conf=SMALL))
    yield Spark(session=ours.session)
    ours.end()
