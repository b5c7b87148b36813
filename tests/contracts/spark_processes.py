"""A standalone cluster and a Connect server on loopback, each in separate processes."""

from __future__ import annotations

import os
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark
from tests.contracts.small_spark import SMALL

HOME = Path(pyspark.__file__).parent
SCALA = re.search(r"_([\d.]+)-", next(HOME.glob("jars/spark-core_*.jar")).name)[1]
PATIENCE = 300


def environment(folder):
    """No process of Spark listens, writes or logs anywhere else."""
    return {
        **os.environ,
        "SPARK_HOME": str(HOME),
        "SPARK_SCALA_VERSION": SCALA,  # which Spark's own scripts would find out
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_LOG_DIR": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
    }


def started(folder, name, *command):
    """A process whose words go to a file of that name."""
    with (folder / name).open("wb") as words:
        return subprocess.Popen(
            command, stdout=words, stderr=subprocess.STDOUT, env=environment(folder), cwd=folder
        )


def said(file, pattern, process):
    """What a process says sooner or later."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if found := re.search(pattern, file.read_text(errors="replace")):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(f"{file.name} did not say {pattern}: {file.read_text()[-2000:]}")


def java(folder, name, kind, *options):
    classes = ["java", "-Xmx256m", "-cp", f"{HOME}/jars/*"]
    return started(folder, name, *classes, f"org.apache.spark.deploy.{kind}", *options)


def ended(processes):
    for process in processes:
        process.kill()
        process.wait()


@contextmanager
def cluster(folder):
    """One master and two workers; gives the master's address, the workers, and what adds one."""
    at = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    processes = [java(folder, "master", "master.Master", *at)]
    try:
        address = said(folder / "master", r"(spark://127\.0\.0\.1:\d+)", processes[0])

        def add(master):
            name, own = f"worker-{len(processes)}", ("--cores", "1", "--memory", "600m")
            processes.append(java(folder, name, "worker.Worker", *at, *own, master))

        add(address)
        add(address)
        for i in (1, 2):
            said(folder / f"worker-{i}", r"(Successfully registered)", processes[i])
        yield address, processes[1:3], add
    finally:
        ended(processes)


@contextmanager
def connect_server(folder):
    """A Spark Connect server; gives its address."""
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        **SMALL,
        "spark.ui.enabled": "false",
        "spark.log.level": "INFO",
    }
    conf = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    kind = "org.apache.spark.sql.connect.service.SparkConnectServer"
    server = started(
        folder,
        "connect",
        str(HOME / "bin/spark-submit"),
        *("--master", "local[2]", *conf, "--class", kind, "spark-internal"),
    )
    try:
        port = said(folder / "connect", r"Spark Connect server started at: \S*:(\d+)", server)
        yield f"sc://127.0.0.1:{port}"
    finally:
        ended([server])
