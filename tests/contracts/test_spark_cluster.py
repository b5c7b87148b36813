"""Spark as it runs elsewhere: a cluster that loses workers, a Connect server, the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import slogan

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("on_spark.py")


@pytest.fixture
def log(tmp_path):
    rows = [(u, f"q{n}", f"www.s{n}.com", 1 + n) for u in range(150) for n in range(3)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    file = tmp_path / "clicks.tsv"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def run(*command, cwd):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**env, "SPARK_LOCAL_IP": "127.0.0.1", "NO_COLOR": "1"},
        timeout=500,
    )


def told(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_cluster_that_loses_its_workers_one_by_one_still_releases(tmp_path, log):
    from spark_processes import cluster

    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as (master, workers):
        # The last of the two dies in the second release: a third is there by then.
        done = run(PROGRAM, log, tmp_path, master, workers[0].pid, cwd=tmp_path)
        found = told(done)

    expected = slogan.inspect(log).counted.hist.digest()
    assert found["sanitize"] == {"digest": expected, "killed": ["count"], "ok": True}
    assert found["synthesize"]["ok"]


def test_a_connect_server_counts_and_writes(tmp_path, log):
    from spark_processes import connect_server

    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as address:
        found = told(run(PROGRAM, log, tmp_path, address, cwd=tmp_path))

    assert found["sanitize"]["digest"] == slogan.inspect(log).counted.hist.digest()
    assert found["sanitize"]["ok"]
    assert found["synthesize"]["ok"]


def test_the_command_line_says_nothing_of_spark(tmp_path, log):
    options = ["--engine", "spark", "--spark-master", "local[2]", "--json"]
    conf = [
        "--spark-conf",
        "spark.driver.memory=1g",
        "--spark-conf",
        "spark.sql.shuffle.partitions=2",
    ]
    done = run("-m", "slogan", "inspect", log, *options, *conf, cwd=tmp_path)

    assert told(done) == slogan.inspect(log).summary()
    assert done.stderr == ""
    assert {p.name for p in tmp_path.iterdir()} == {log.name}
