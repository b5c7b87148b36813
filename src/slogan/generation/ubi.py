"""A generated log as lines of UBI: a query for each search, and an event for each click on it."""

import numpy as np

from slogan.arrays import Ints
from slogan.generation.crowd import Crowd, anon_id
from slogan.generation.events import BEGINS, draw_events

_SHARED = """'client_id': "user"::VARCHAR,
    'query_id': substr(sha256("user" || '-' || search), 1, 32)::UUID::VARCHAR,
    'session_id': "user" || '-' || "session" """
_TIMED = f"""'timestamp': strftime(TIMESTAMP '{BEGINS}' + to_seconds({{}}), '%Y-%m-%dT%H:%M:%SZ')"""
_QUERY = f"""to_json({{{_SHARED}, 'user_query': query_text(query), {_TIMED.format("searched")}}})"""
_EVENT = f"""to_json({{'action_name': 'click', {_SHARED}, {_TIMED.format('"second"')},
    'event_attributes': {{'object': {{'object_id': url_text(url)}},
                          'position': {{'ordinal': "rank"}}}}}})"""
LINES = f"""
SELECT unnest(CASE WHEN "rank" = 0 THEN [{_QUERY}] WHEN leads = 1 THEN [{_QUERY}, {_EVENT}]
              ELSE [{_EVENT}] END)::VARCHAR AS line
FROM numbers"""
"""SQL of the lines, in the order of the rows that `searches` gives."""


def searches(crowd: Crowd, begin: int, end: int) -> dict[str, Ints]:
    """One row for each click and each search without one; the first of a search leads."""
    rows = draw_events(crowd, begin, end)
    leads = np.ones(len(rows.user), dtype=np.int64)
    leads[1:] = (np.diff(rows.user) != 0) | (np.diff(rows.search) != 0)
    user = anon_id(crowd, rows.user)
    numbers = {"user": user, "search": rows.search, "leads": leads, "session": rows.session}
    times = {"searched": rows.searched, "second": rows.second}
    return numbers | times | {"query": rows.query, "url": rows.url, "rank": rows.rank}
