"""Settings of a Spark that never runs long: small shuffles, and little compiling."""

_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SMALL = {
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # small shuffles are faster without it
    # Nothing runs long enough here to be worth compiling well.
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
}
