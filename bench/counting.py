"""Count one log with one engine, in a separate process: python -m bench.counting LOG ENGINE."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from slogan import engines
from slogan.engines import EngineSettings
from slogan.engines.spark import Spark

CORES = 2
DRIVER_MEMORY = "4g"
_PREFIX = "internal.metrics."
_METRICS = {
    "shuffle_bytes": "shuffle.write.bytesWritten",
    "shuffle_rows": "shuffle.write.recordsWritten",
    "cpu_nanoseconds": "executorCpuTime",
    "spilled_bytes": "diskBytesSpilled",
}


def counted(log: Path, engine: str | EngineSettings) -> dict[str, object]:
    """What `inspect` takes, and the counting alone, on an engine that has started."""
    settings = engines.resolve(engine)
    source, host = settings.describe(log), settings.start()
    try:
        start = time.perf_counter()
        found = host.count(source)
        count = time.perf_counter() - start
        host.sizes()
        whole = time.perf_counter() - start
    finally:
        host.close()
    return {
        "count": count,
        "inspect": whole,
        "histogram": found.hist.digest(),
        "clicks": found.clicks,
        "charges": len(found.hist.user),
        # Kibibytes: of this process, without Java's.
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def counted_on_spark(log: Path) -> dict[str, object]:
    """The same with Spark, which has run something before, and what its stages moved."""
    with tempfile.TemporaryDirectory() as events:
        conf = {
            "spark.driver.memory": DRIVER_MEMORY,
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{events}",
            "spark.eventLog.rolling.enabled": "false",
            "spark.eventLog.compress": "false",
        }
        start = time.perf_counter()
        settings = Spark(master=f"local[{CORES}]", conf=conf)
        ours = settings.module("session").opened(settings)
        ours.session.range(1).collect()
        started = time.perf_counter() - start
        found = counted(log, Spark(session=ours.session))
        ours.close()
        (told,) = Path(events).iterdir()
        return {**found, "start_up": started, **_moved(told)}


def _moved(events: Path) -> dict[str, int]:
    """Sums over all stages, from Spark's own log of events."""
    total: Counter[str] = Counter()
    for line in events.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageCompleted":
            for metric in event["Stage Info"]["Accumulables"]:
                total[metric["Name"].removeprefix(_PREFIX)] += _whole(metric["Value"])
    return {name: total[metric] for name, metric in _METRICS.items()}


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdigit() else 0


if __name__ == "__main__":
    log, engine = Path(sys.argv[1]), sys.argv[2]
    answer = counted_on_spark(log) if engine == "spark" else counted(log, engine)
    print(json.dumps(answer))
