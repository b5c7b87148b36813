"""What Spark keeps for several statements: frames persisted under names of their own."""

from __future__ import annotations

import secrets
from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession


class Kept:
    """Frames to be computed once, until they are forgotten."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._names: list[str] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame by a name: plans over it stay short, or Connect's client cannot read them."""
        name = f"slogan_{secrets.token_hex(16)}"
        frame.persist().createOrReplaceTempView(name)
        self._names.append(name)
        return self._session.table(name)

    def forget(self) -> None:
        """Drop the names, and with them what is persisted."""
        for name in self._names:
            with suppress(PySparkException, Py4JError):  # all the more gone if Spark is
                self._session.catalog.dropTempView(name)
        self._names.clear()
