"""One small Spark session for all tests that need one."""

import os

import pytest

CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # small shuffles are faster without it
    # Nothing runs long enough here to be worth compiling well.
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="session")
def spark():
    """Where Spark runs: in this process, on two threads."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from slogan.engines import Spark, load

    load("spark")
    from slogan.engines.spark.session import opened

    ours = opened(Spark(master="local[2]", conf=CONF))
    yield Spark(session=ours.session)
    ours.end()
