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


def by_number(frame: DataFrame, numbers: int) -> Ints:
    """The values of a frame of number and value, in the order of numbers; 0 where there is none."""
    number, value = ints(frame)
    whole = np.zeros(numbers, dtype=np.int64)
    whole[number] = value
    return whole


def frame_of(session: SparkSession, **columns: Ints | list[str] | list[bytes]) -> DataFrame:
    """A frame of columns that the driver has."""
    table = cast("Any", pa).table(columns)
    if table.num_rows == 0:  # of which Connect finds no schema
        whole = [name for name, values in columns.items() if isinstance(values, np.ndarray)]
        kinds = {name: "BIGINT" if name in whole else "STRING" for name in columns}
        nothing = [f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in kinds.items()]
        return session.range(0).selectExpr(*nothing)
    with _unsurprised():
        return session.createDataFrame(table)


def root(square: str) -> str:
    """⌊√square⌋ of a column, 0 ≤ square < 2^53: a guess in floating point, then corrected."""
    guess = f"CAST(sqrt({square}) AS BIGINT)"
    return (
        f"CASE WHEN {guess} * {guess} > {square} THEN {guess} - 1 "
        f"WHEN ({guess} + 1) * ({guess} + 1) <= {square} THEN {guess} + 1 ELSE {guess} END"
    )


@contextmanager
def discreet(problem: str, hint: str) -> Generator[None]:
    """Spark quotes the offending text in its messages, so its messages go no further."""
    try:
        yield
    except (PySparkException, Py4JError):
        raise SloganError(problem, hint=hint) from None


@contextmanager
def asking() -> Generator[None]:
    """Ask Spark for something about a log that it has counted."""
    with discreet("Spark lost what it had counted", "check that the cluster is up; try again"):
        yield


@contextmanager
def _unsurprised() -> Generator[None]:
    """Spark warns of every version of pandas it has not met, and integers do not meet pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield
