"""Where Spark runs: a session that is given, one that is running, or a quiet one started here."""

import atexit
import os
import shutil
import subprocess
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slogan.engines.spark import Spark
from slogan.errors import EngineError, OptionError
from slogan.storage.folders import Held, scratch

_INSTALL_JAVA = (
    "install Java 17, such as openjdk-17-jre-headless, or set JAVA_HOME; or use --engine duckdb"
)
# Nothing for others to look at while it runs, and no word on the user's terminal.
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.maxResultSize": "0",  # sizes are checked before results are sent
}
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set where spark-submit runs us: Java is there, and so are the master and its settings."""
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark's own 200 are for a cluster: on a few cores, parts so small cost more than they hold.
    "spark.sql.shuffle.partitions": str(8 * (os.cpu_count() or 1)),
}


@dataclass(frozen=True)
class Opened:
    """A session, and what ends it if it is ours to end; one of others goes on."""

    session: SparkSession
    close: Callable[[], None] = lambda: None


def opened(settings: Spark) -> Opened:
    """The session that is meant by these settings."""
    # Spark warns of pandas wherever it happens to import it, and we hand over integers only.
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
    if settings.session is not None:
        return Opened(settings.session)
    if settings.master is not None and settings.master.startswith("sc://"):
        return _connected(settings.master, settings.conf)
    running = SparkSession.getActiveSession()
    if running is None:
        return _started(settings)
    if settings.master is not None or settings.conf:
        raise OptionError(
            "a Spark session is running already, with its own settings",
            hint="leave master and conf out to use it, or stop it first",
        )
    return Opened(running)


def _connected(address: str, conf: Mapping[str, str]) -> Opened:
    try:
        session = SparkSession.builder.remote(address).config(map=dict(conf)).create()
    except (PySparkException, ImportError) as cause:
        raise EngineError(
            f"there is no Spark Connect server to be used at {address}",
            hint="check the address; pip install 'slogan[connect]' if its client is missing",
        ) from cause
    return Opened(session, session.stop)


def _started(settings: Spark) -> Opened:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(f"{home}/bin/java" if home else "java")
    if java is None and _SUBMITTED not in os.environ:
        raise EngineError("Spark needs Java, and there is none", hint=_INSTALL_JAVA)
    private = _private()
    master = settings.master or ("" if _SUBMITTED in os.environ else "local[*]")
    chosen = {
        **_QUIET,
        **(_ON_THIS_MACHINE if master.startswith("local") else {}),
        "spark.local.dir": str(private.path),
        "spark.sql.warehouse.dir": str(private.path),
        "spark.app.name": "slogan",
        **settings.conf,
    }
    conf = SparkConf().setAll(list(chosen.items()))
    if master:
        conf.setMaster(master)
    try:
        # What the Java process says goes nowhere: it might quote the log.
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running: Any = cast("Any", SparkContext)._gateway  # noqa: SLF001
        gateway: Any = running or cast("Any", java_gateway).launch_gateway(conf, quiet)
        session = SparkSession(SparkContext(conf=conf, gateway=gateway))
    except (PySparkException, Py4JError) as cause:
        raise EngineError(
            f"Spark does not start{' on ' if master else ''}{master}",
            hint=f"check --spark-master and --spark-conf; {_INSTALL_JAVA}",
        ) from cause
    return Opened(session, partial(_end, session, private))


@cache
def _private() -> Held:
    """For what is spilled, which is of the log: Java keeps to the folder of its first session."""
    held = scratch()
    atexit.register(held.remove)
    return held


def _end(session: SparkSession, private: Held) -> None:
    session.stop()
    for inside in private.path.iterdir():
        shutil.rmtree(inside, ignore_errors=True)
