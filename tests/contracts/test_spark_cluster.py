"""Spark as it runs elsewhere: a cluster that loses workers, a Connect server, the command line."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.contracts.small_spark import SMALL

import slogan

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("cluster"), pytest.mark.timeout(1200)]

PATIENCE = 900
PROGRAM = Path(__file__).with_name("on_spark.py")


@pytest.fixture
def log(tmp_path):
    rows = [(u, f"q{n}", f"www.s{n}.com", 1 + n) for u in range(150) for n in range(3)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    file = tmp_path / "clicks.tsv"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def started(*command, cwd):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK", "PYSPARK"))}
    return subprocess.Popen(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={
            **env,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "NO_COLOR": "1",
        },
    )


def finished(process):
    """What it said on standard output and error, if all went well."""
    try:
        out, words = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, words
    return out, words


def told(said):
    return json.loads(said[0])


@pytest.mark.long
def test_a_cluster_that_loses_its_workers_one_by_one_still_releases(tmp_path, log):
    from tests.contracts.spark_processes import cluster

    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as (master, workers, replace):
        running = started(PROGRAM, log, tmp_path, master, *(w.pid for w in workers), cwd=tmp_path)
        while workers[0].poll() is None and running.poll() is None:
            time.sleep(0.2)
        replace(master)  # so that there are two again when the second dies
        found = told(finished(running))

    digest = slogan.inspect(log).counted.hist.digest()
    expected = {"digest": digest, "killed": 1, "ok": True}
    assert found == {"sanitize": expected, "synthesize": expected}


@pytest.mark.long
def test_a_cluster_that_loses_a_worker_still_solves(tmp_path, log):
    from tests.contracts.spark_processes import cluster

    (tmp_path / "cluster").mkdir()
    with cluster(tmp_path / "cluster") as (master, workers, _):
        doomed = workers[0].pid
        found = started(PROGRAM, log, tmp_path, master, "distributed", doomed, cwd=tmp_path)
        found = told(finished(found))

    assert found == {"solver": "distributed", "killed": 1, "ok": True, "left": False}


@pytest.mark.long
def test_a_connect_server_counts_and_writes(tmp_path, log):
    from tests.contracts.spark_processes import connect_server

    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as address:
        found = told(finished(started(PROGRAM, log, tmp_path, address, "sanitize", cwd=tmp_path)))

    digest = slogan.inspect(log).counted.hist.digest()
    assert found == {"sanitize": {"digest": digest, "killed": 0, "ok": True}}


@pytest.mark.long
def test_a_connect_server_makes_releases_of_every_kind(tmp_path, log):
    from tests.contracts.spark_processes import connect_server

    (tmp_path / "server").mkdir()
    with connect_server(tmp_path / "server") as address:
        found = told(finished(started(PROGRAM, log, tmp_path, address, cwd=tmp_path)))
        apart = started(PROGRAM, log, tmp_path, address, "distributed", cwd=tmp_path)
        apart = told(finished(apart))

    assert apart == {"solver": "distributed", "killed": 0, "ok": True, "left": False}
    digest = slogan.inspect(log).counted.hist.digest()
    expected = {"digest": digest, "killed": 0, "ok": True}
    assert found == {"sanitize": expected, "synthesize": expected}


def test_the_command_line_says_nothing_of_spark(tmp_path, log):
    options = ["--engine", "spark", "--spark-master", "local[2]", "--json"]
    conf = [f"--spark-conf={key}={value}" for key, value in SMALL.items()]
    said = finished(started("-m", "slogan", "inspect", log, *options, *conf, cwd=tmp_path))

    assert told(said) == json.loads(json.dumps(slogan.inspect(log).to_dict()))
    assert said[1] == ""
    assert {p.name for p in tmp_path.iterdir()} == {log.name}
