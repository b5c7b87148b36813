"""Spark's SQL: statements over frames, names quoted, integers in and out, errors without text.

What Spark keeps for several statements is persisted under reserved names. What this process
receives is announced with its size, and refused if it does not fit.
"""

import os
import re
import secrets
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from slogan.arrays import Ints
from slogan.errors import OptionError, SloganError
from slogan.progress import Progress


def run(text: str, args: Mapping[str, Any] | None = None, /, **frames: DataFrame) -> DataFrame:
    """The frame a statement describes, {name} standing for frames and :name for values."""
    # Spark makes a view of each frame and drops it, and with it whatever is persisted of the same
    # frame. Rows for which true is true are another frame, of which nothing is.
    views = {name: frame.filter("true") for name, frame in frames.items()}
    session = next(iter(frames.values())).sparkSession
    return session.sql(text, dict(args or {}), **views)


def quoted(name: str) -> str:
    """The name of a column in a statement for `run`, where braces are doubled."""
    return "`" + name.replace("`", "``").replace("{", "{{").replace("}", "}}") + "`"


def array(numbers: Ints) -> str:
    """Integers of the driver as a constant in a statement."""
    return f"array({', '.join(f'{n}L' for n in numbers.tolist())})"


def ints(frame: DataFrame) -> list[Ints]:
    """The columns of a frame of integers, brought to the driver."""
    with _unsurprised():
        table = cast("Any", frame).toArrow()
    return [np.ascontiguousarray(c.to_numpy(), dtype=np.int64) for c in table.columns]


def one(text: str, args: Mapping[str, Any] | None = None, /, **frames: DataFrame) -> list[int]:
    """The integers of the only row that a statement for `run` gives."""
    return [int(column[0]) for column in ints(run(text, args, **frames))]


def by_number(frame: DataFrame, numbers: int) -> Ints:
    """The values of a frame of number and value, in the order of numbers; 0 where there is none."""
    number, value = ints(frame)
    whole = np.zeros(numbers, dtype=np.int64)
    whole[number] = value
    return whole


def frame_of(session: SparkSession, /, **columns: Ints | list[str]) -> DataFrame:
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


asking = partial(
    discreet, "Spark lost what it had counted", "check that the cluster is up; try again"
)
"""Spark is asked for something about a log that it has counted."""


@contextmanager
def _unsurprised() -> Generator[None]:
    """Spark warns of every version of pandas it has not met, and integers do not meet pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        yield


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


_UNITS = ("", "K", "M", "G", "T")
_BYTES = 8
_COPIES = 4
"""Putting integers in order takes as much again, more than once."""


@dataclass(frozen=True)
class Arrivals:
    """The memory there is, in bytes, and the progress function that reports what is received."""

    room: int
    progress: Progress
    announced: list[str] = field(default_factory=list[str])
    """What was announced."""

    @classmethod
    def within(cls, memory_limit: str | None, progress: Progress) -> "Arrivals":
        """Room as large as the limit, or half of the machine's memory."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        return cls(_bytes(memory_limit) if memory_limit else memory // 2, progress)

    def fit(self, size: int) -> bool:
        """Whether this many bytes may be received."""
        return _COPIES * size <= self.room

    def announce(self, stage: str, what: str, size: int) -> None:
        """Say how much is about to come, in bytes, or that it would not fit."""
        words = f"{what}, as integers: {size / 1e6:,.1f} MB"
        self.progress(stage, words)
        self.announced.append(f"{stage}: {words}")
        if not self.fit(size):
            raise SloganError(
                f"what is needed of the log does not fit this process: {words}, and as much again "
                f"{_COPIES - 1} times to sort them, of {self.room / 1e6:,.0f} MB",
                hint="run where there is more memory, raise --memory-limit, or take a shorter "
                "period of logs; sanitize with exact counts can leave it in Spark, "
                "unless the objective is frequent_pairs",
            )


def histogram_bytes(rows: int, pairs: int) -> int:
    """Bytes of a histogram with this many clicked pairs of users."""
    return integer_bytes(rows + pairs, 3)


def integer_bytes(rows: int, columns: int) -> int:
    """Bytes of that many columns of integers."""
    return _BYTES * rows * columns


def _bytes(limit: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", limit.strip().upper())
    if found is None or not float(found[1]):
        raise OptionError(
            f"a memory limit of {limit[:20]!r} is not understood", hint="write it as 4GB or 500MB"
        )
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS.index(found[2]))
