"""UBI in SQL: lines of queries and events as rows of a log, and released rows as lines again.

An event is joined to the query with its user and its query_id, and to nobody else's: so the lines
of one user decide about rows of that user alone (docs/proofs/reading.md).
"""

from slogan.logs.columns import Columns
from slogan.logs.files import UBI_OBJECT, identifier, literal
from slogan.logs.fold import folded_query, folded_url
from slogan.logs.rows import NO_CLICK, json_pointer
from slogan.logs.searchlog import SearchLog
from slogan.logs.text import LONE_RETURN
from slogan.logs.ubi import LONGEST_ID, LONGEST_OBJECT, NO_ORDINAL, NO_TIME, ORDINAL, QUERY, TIME

_NESTED = "['OBJECT', 'ARRAY']"
_CLICKED = UBI_OBJECT.split(".")


def rows_sql(source: str, log: SearchLog, number: str = "0") -> str:
    """SELECT user, query, url, clicks, the reason why a row cannot be counted, and line.

    Events that are not clicks are not rows, nor are searches that have a click.

    Args:
        source: SQL of lines, as `source_sql` gives it.
        log: How they are read.
        number: SQL of the number of a line, if that is needed; a search has that of its first.
    """
    events, searched = log.columns.url is not None, str(log.counts_searches).lower()
    query, object_id = _text(QUERY), _text(*_CLICKED)
    if log.fold:
        query, object_id = folded_query(query), folded_url(object_id)
    actions = ", ".join(map(literal, log.click_actions))
    kinds = ", ".join(f"json_type(doc, {_place(key)})" for key in (log.columns.user, "query_id"))
    clicks = """
            SELECT l.line, true AS event, l.who, coalesce(s.query, l.query) AS query, l.object_id,
                   l.fault, coalesce(s.query <> s.other, false) AS unclear
            FROM lines l LEFT JOIN searches s USING (who, query_id)
            WHERE fault IS NULL AND kind = 'click'
            UNION ALL"""
    return f"""
        SELECT who AS "user", query, coalesce(object_id, '') AS url, 1::BIGINT AS clicks, CASE
            WHEN fault IS NOT NULL THEN fault
            WHEN object_id IS NULL AND (event OR NOT {searched}) THEN '{NO_CLICK}'
            WHEN who IS NULL THEN 'user missing'
            WHEN length(who) > {LONGEST_ID} THEN 'user long'
            WHEN length(object_id) > {LONGEST_OBJECT} THEN 'object long'
            WHEN unclear THEN 'query unclear'
            WHEN query IS NULL THEN 'query missing'
        END AS reason, line
        FROM (
            WITH documents AS (
                SELECT line, whole, CASE WHEN json_type(valid, '/_source') = 'OBJECT'
                    THEN json_extract(valid, '/_source') ELSE valid END AS doc
                FROM (SELECT {number} AS line,
                        rest IS NULL AND NOT contains(line, {literal(LONE_RETURN)}) AS whole,
                        CASE WHEN json_valid(line) THEN line END AS valid FROM {source})),
            kinds AS (
                SELECT *, json_type(doc, '/action_name') AS named,
                    CASE WHEN action IS NULL THEN 'query' WHEN action IN ({actions}) THEN 'click'
                         ELSE 'other' END AS kind
                FROM (SELECT *, json_extract_string(doc, '/action_name') AS action
                      FROM documents)),
            lines AS MATERIALIZED (
                SELECT line, kind, nullif({_text(log.columns.user)}, '') AS who,
                    nullif({_text("query_id")}, '') AS query_id, nullif({query}, '') AS query,
                    CASE WHEN kind = 'click' THEN nullif({object_id}, '') END AS object_id,
                    CASE WHEN NOT whole OR json_type(doc) IS DISTINCT FROM 'OBJECT'
                              THEN 'unreadable'
                         WHEN list_contains({_NESTED}, named) THEN 'nested'
                         WHEN kind <> 'other' AND list_has_any({_NESTED}, [{kinds},
                              json_type(doc, {_place(QUERY)}), CASE WHEN kind = 'click'
                              THEN json_type(doc, {_place(*_CLICKED)}) END]) THEN 'nested'
                         END AS fault
                FROM kinds),
            searches AS MATERIALIZED (
                SELECT who, query_id, min(line) FILTER (kind = 'query') AS line,
                    min(query) FILTER (kind = 'query') AS query,
                    max(query) FILTER (kind = 'query') AS other,
                    count(*) FILTER (kind = 'query') AS times, count(object_id) AS clicks
                FROM lines WHERE fault IS NULL AND who IS NOT NULL AND query_id IS NOT NULL
                GROUP BY who, query_id)
            SELECT line, false AS event, NULL::VARCHAR AS who, NULL::VARCHAR AS query,
                   NULL::VARCHAR AS object_id, fault, false AS unclear
            FROM lines WHERE fault IS NOT NULL
            UNION ALL {clicks if events else ""}
            SELECT line, false, who, query, NULL, NULL, coalesce(query <> other, false)
            FROM searches WHERE times > 0 {"AND clicks = 0" if events else ""}
            UNION ALL
            SELECT line, false, who, query, NULL, NULL, false
            FROM lines WHERE fault IS NULL AND kind = 'query'
                AND (who IS NULL OR query_id IS NULL))"""


def _place(*keys: str) -> str:
    return literal(json_pointer(*keys))


def _text(*keys: str) -> str:
    return f"json_extract_string(doc, {_place(*keys)})"


def lines_sql(columns: Columns, rows: str, action: str) -> str:
    """SELECT the lines of released rows: a query for each, and its event if there is a url.

    The query_id is computed from what is beside it: the shown user and the number of the row.

    Args:
        columns: The columns of the log.
        rows: SQL of n (from 1), shown, query and url, which is empty for a search.
        action: The action_name of clicks.
    """
    shared = f"{literal(columns.user)}: shown, 'query_id': query_id"
    timed = f"{literal(TIME)}: {literal(NO_TIME)}"
    event = f"""{{'action_name': {literal(action)}, {shared}, {timed}, 'event_attributes':
        {{'object': {{'object_id': url}}, 'position': {{'ordinal': {NO_ORDINAL}}}}}}}"""
    query_id = "substr(sha256(shown || '/' || n), 1, 32)::UUID::VARCHAR"
    return f"""
        SELECT line FROM (
            WITH numbered AS MATERIALIZED (SELECT *, {query_id} AS query_id FROM ({rows}))
            SELECT n, 0 AS part,
                to_json({{{shared}, {literal(QUERY)}: query, {timed}}})::VARCHAR AS line
            FROM numbered
            UNION ALL
            SELECT n, 1, to_json({event})::VARCHAR FROM numbered WHERE url <> '')
        ORDER BY n, part"""


def released_sql(columns: Columns, files: str, packing: str) -> str:
    """SELECT the columns from lines that `lines_sql` gave; what it filled is empty.

    Args:
        columns: The columns of the log.
        files: A list of names of files in SQL.
        packing: How they are compressed.
    """
    user = identifier(columns.user)
    fields = {
        columns.user: "VARCHAR",
        "query_id": "VARCHAR",
        QUERY: "VARCHAR",
        "action_name": "VARCHAR",
        "event_attributes": "STRUCT(object STRUCT(object_id VARCHAR))",
    }
    declared = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in fields.items())
    lines = f"""read_json([{files}], columns={{{declared}}}, format='newline_delimited',
        compression='{packing}', maximum_object_size=268435456)"""
    known = {
        columns.user: f"q.{user}",
        QUERY: f"q.{QUERY}",
        UBI_OBJECT: "e.event_attributes.object.object_id",
        ORDINAL: "NULL::BIGINT",
    }
    wanted = ", ".join(
        f"{known.get(name, 'NULL::VARCHAR')} AS {identifier(name)}" for name in columns.names
    )
    return f"""(WITH lines AS MATERIALIZED (SELECT row_number() OVER () AS n, * FROM {lines})
        SELECT {wanted} FROM lines q LEFT JOIN
            (FROM lines WHERE action_name IS NOT NULL) e USING (query_id)
        WHERE q.action_name IS NULL ORDER BY q.n)"""
