"""Rows that the plain reader read, as columns of a table."""

from collections.abc import Sequence

import numpy as np

from slogan.verification.plain_reader import Row

COLUMNS = 'n BIGINT, "user" VARCHAR, query VARCHAR, url VARCHAR, clicks BIGINT'
OF_EVENTS = "search BOOLEAN, second BIGINT, rank BIGINT, session VARCHAR"
FILLED = "nullif(second, '') AS second, nullif(rank, '') AS rank, nullif(session, '') AS session"
"""A column without any value has no type that DuckDB could find."""


def arrays(rows: Sequence[Row], first: int, *, with_events: bool) -> dict[str, np.ndarray]:
    """The columns of these rows, numbered from `first`."""
    found: dict[str, np.ndarray] = {"n": np.arange(first, first + len(rows))}
    for name in ("user", "query", "url"):
        found[name] = np.array([getattr(row, name) for row in rows], dtype=object)
    found["clicks"] = np.array([row.clicks for row in rows], dtype=np.int64)
    if with_events:
        found["search"] = np.array([row.is_search for row in rows], dtype=np.bool_)
        for name in ("second", "rank", "session"):  # as texts, empty where they are missing
            values = [getattr(row, name) for row in rows]
            found[name] = np.array(["" if v is None else str(v) for v in values], dtype=object)
    return found
