"""Spark's SQL: statements over frames, names quoted, integers in and out, errors without text."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.errors import SloganError


def run(
    session: SparkSession, text: str, args: Mapping[str, Any] | None = None, /, **frames: DataFrame
) -> DataFrame:
    """The frame a statement describes, {name} standing for frames and :name for values."""
    # Spark makes a view of each frame and drops it, and with it whatever is persisted of the same
    # frame. Rows for which true is true are another frame, of which nothing is.
    views = {name: frame.filter("true") for name, frame in frames.items()}
    return session.sql(text, dict(args or {}), **views)


def quoted(name: str) -> str:
    """The name of a column in a statement for `run`, where braces are doubled."""
    return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"


def ints(frame: DataFrame) -> list[Ints]:
    """The columns of a frame of integers, brought to the driver."""
    with _unsurprised():
        table = cast("Any", frame).toArrow()
    return [np.ascontiguousarray(c.to_numpy(), dtype=np.int64) for c in table.columns]


def one(frame: DataFrame) -> list[int]:
    """The integers of the only row of a frame."""
    return [int(column[0]) for column in ints(frame)]


def frame_of(session: SparkSession, **columns: Ints | list[str]) -> DataFrame:
    """A frame of columns that the driver has."""
    table = cast("Any", pa).table(columns)
    with _unsurprised():
        return session.createDataFrame(table)


@contextmanager
def discreet(problem: str, hint: str) -> Generator[None]:
    """Spark quotes the offending text in its messages, so its messages go no further."""
    try:
        yield
    except (PySparkException, Py4JError):
        raise SloganError(problem, hint=hint) from None


@contextmanager
def _unsurprised() -> Generator[None]:
    """Spark warns of every version of pandas it has not met, and integers do not meet pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield
