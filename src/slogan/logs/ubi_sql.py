"""UBI in SQL: lines of queries and events as rows of a log, and released rows as lines again.

An event is joined to the query with its user and its query_id, and to no other: so the lines of
one user decide about rows of that user alone (docs/proofs/reading.md).
"""

from collections.abc import Mapping

from slogan.logs.columns import EVENT_ROLES, Columns
from slogan.logs.files import UBI_OBJECT, identifier, literal
from slogan.logs.fold import folded_query, folded_url
from slogan.logs.rows import NO_CLICK, UBI_TEXT, json_pointer
from slogan.logs.searchlog import SearchLog
from slogan.logs.text import LONE_RETURN
from slogan.logs.ubi import (
    LONGEST_ID,
    LONGEST_OBJECT,
    NO_ORDINAL,
    NO_TIME,
    ORDINAL,
    QUERY,
    SESSION,
    TIME,
)

_NESTED = "['OBJECT', 'ARRAY']"
_CLICKED = UBI_OBJECT.split(".")
_LONGEST = 1 << 28
_EMPTY = {ORDINAL: "NULL::BIGINT"}


def rows_sql(
    source: str, log: SearchLog, beside: Mapping[str, str] | None = None, *, number: str = "0"
) -> str:
    """SELECT user, query, url, clicks, the reason why a row cannot be counted, and line.

    Events that are not clicks are not rows, nor are searches that have a click.

    Args:
        source: SQL of lines, as `source_sql` gives it.
        log: How they are read.
        beside: Expressions over the texts of time, rank and session, whose values are wanted under
            these names, and with them whether the row is a `search` without a click. A search that
            has several lines has the least of their texts.
        number: SQL of the number of a line, if that is needed; a search has that of its first.
    """
    texts = {} if beside is None else _texts(log.columns)
    names, joined = ("".join(f", {table}{name}" for name in texts) for table in ("", "l."))
    least = "".join(f", min({name}) FILTER (kind = 'query') AS {name}" for name in texts)
    read = "".join(f", {value} AS {name}" for name, value in texts.items())
    events, searched = log.columns.url is not None, str(log.counts_searches).lower()
    query, object_id = _text(QUERY), _text(*_CLICKED)
    if log.fold:
        query, object_id = folded_query(query), folded_url(object_id)
    actions = ", ".join(map(literal, log.click_actions))
    kinds = ", ".join(f"json_type(doc, {_place(key)})" for key in (log.columns.user, "query_id"))
    clicks = f"""
            SELECT l.line, true AS event, l.who, coalesce(s.query, l.query) AS query, l.object_id,
                   l.fault, coalesce(s.query <> s.other, false) AS unclear {joined}
            FROM lines l LEFT JOIN searches s USING (who, query_id)
            WHERE fault IS NULL AND kind = 'click'
            UNION ALL"""
    faults = f"""
            WHEN who IS NULL THEN 'user missing'
            WHEN length(who) > {LONGEST_ID} THEN 'user long'
            WHEN length(object_id) > {LONGEST_OBJECT} THEN 'object long'
            WHEN unclear THEN 'query unclear'
            WHEN query IS NULL THEN 'query missing'"""
    wanted = ""
    if beside is not None:
        idle = f"NOT {searched} AND NOT event AND fault IS NULL AND (CASE {faults} END) IS NULL"
        wanted = "".join(f", {value} AS {name}" for name, value in beside.items())
        wanted += f", {idle} AS search"
    return f"""
        SELECT who AS "user", query, coalesce(object_id, '') AS url, 1::BIGINT AS clicks, CASE
            WHEN fault IS NOT NULL THEN fault
            WHEN object_id IS NULL AND (event OR NOT {searched}) THEN '{NO_CLICK}' {faults}
        END AS reason, line {wanted}
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
                         END AS fault {read}
                FROM kinds),
            searches AS MATERIALIZED (
                SELECT who, query_id, min(line) FILTER (kind = 'query') AS line,
                    min(query) FILTER (kind = 'query') AS query,
                    max(query) FILTER (kind = 'query') AS other,
                    count(*) FILTER (kind = 'query') AS times, count(object_id) AS clicks {least}
                FROM lines WHERE fault IS NULL AND who IS NOT NULL AND query_id IS NOT NULL
                GROUP BY who, query_id)
            SELECT line, false AS event, NULL::VARCHAR AS who, NULL::VARCHAR AS query,
                   NULL::VARCHAR AS object_id, fault, false AS unclear {names}
            FROM lines WHERE fault IS NOT NULL
            UNION ALL {clicks if events else ""}
            SELECT line, false, who, query, NULL, NULL, coalesce(query <> other, false) {names}
            FROM searches WHERE times > 0 {"AND clicks = 0" if events else ""}
            UNION ALL
            SELECT line, false, who, query, NULL, NULL, false {names}
            FROM lines WHERE fault IS NULL AND kind = 'query'
                AND (who IS NULL OR query_id IS NULL))"""


def _texts(columns: Columns) -> dict[str, str]:
    """SQL of the texts of time, rank and session in a line; the filling of a release is none."""
    found: dict[str, str] = {}
    for role, name in columns.event_roles.items():
        path = name.split(".")
        text = f"nullif({_text(*path)}, {literal(NO_TIME)})"
        nested = f"list_contains({_NESTED}, json_type(doc, {_place(*path)}))"
        found[UBI_TEXT.format(role)] = f"CASE WHEN NOT {nested} THEN {text} END"
    return found


def _place(*keys: str) -> str:
    return literal(json_pointer(*keys))


def _text(*keys: str) -> str:
    return f"json_extract_string(doc, {_place(*keys)})"


def lines_sql(log: SearchLog, values: Mapping[str, str], source: str, order: str) -> str:
    """SELECT the lines of released rows: a query for each, and its event if there is a url.

    The query_id is computed from what is beside it: the shown user and the number of the row.

    Args:
        log: The log; events have the first of its actions.
        values: SQL of the value of each role that is filled.
        source: SQL of the released rows, which has these values.
        order: SQL of their order.
    """
    shown = {"moment": values.get("time"), "ordinal": values.get("rank")}
    shown |= {role: values.get(role) for role in ("user", "query", "url", "session")}
    listed = ", ".join(f'({value or "NULL"}) AS "{name}"' for name, value in shown.items())
    timed = f"{literal(TIME)}: moment"
    event = """'event_attributes': {'object': {'object_id': url}, 'position': {'ordinal': place}}"""
    action = f"'action_name': {literal(log.click_actions[0])}, "
    user = literal(log.columns.user)
    query = _object(user, "", f"{literal(QUERY)}: query, {timed}")
    click = _object(user, action, f"{timed}, {event}")
    return f"""
        SELECT line FROM (
            WITH numbered AS MATERIALIZED (
                SELECT n, "user"::VARCHAR AS who, query::VARCHAR AS query,
                    coalesce(url::VARCHAR, '') AS url, session::VARCHAR AS session,
                    coalesce(moment::VARCHAR, {literal(NO_TIME)}) AS moment,
                    coalesce(ordinal::BIGINT, {NO_ORDINAL}) AS place,
                    substr(sha256(who || '/' || n), 1, 32)::UUID::VARCHAR AS query_id
                FROM (SELECT row_number() OVER (ORDER BY {order}) AS n, {listed} FROM {source}))
            SELECT n, 0 AS part, {query} AS line FROM numbered
            UNION ALL
            SELECT n, 1, {click} FROM numbered WHERE url <> '')
        ORDER BY n, part"""


def _object(user: str, before: str, after: str) -> str:
    """SQL of an object with the shared fields of lines, with the session if there is one."""
    shared = f"{before}{user}: who, 'query_id': query_id"
    session = f"{literal(SESSION)}: session"
    return f"""CASE WHEN session IS NULL THEN to_json({{{shared}, {after}}})
        ELSE to_json({{{shared}, {session}, {after}}}) END::VARCHAR"""


def released_sql(columns: Columns, files: str, packing: str) -> str:
    """SELECT the columns from lines that `lines_sql` gave; what it filled is empty.

    Args:
        columns: The columns of the log.
        files: A list of names of files in SQL.
        packing: How they are compressed.
    """
    texts = (columns.user, "query_id", SESSION, QUERY, TIME, "action_name")
    fields = dict.fromkeys(texts, "VARCHAR") | {
        "event_attributes": "STRUCT(object STRUCT(object_id VARCHAR), "
        "position STRUCT(ordinal BIGINT))"
    }
    declared = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in fields.items())
    lines = f"""read_json([{files}], columns={{{declared}}}, format='newline_delimited',
        compression='{packing}', maximum_object_size={_LONGEST})"""
    known = {
        "user": f"q.{identifier(columns.user)}",
        "query": f"q.{QUERY}",
        "url": "e.event_attributes.object.object_id",
        "time": f"nullif(q.{TIME}, {literal(NO_TIME)})",
        "rank": f"nullif(e.event_attributes.position.ordinal, {NO_ORDINAL})",
        "session": f"q.{SESSION}",
    }
    values = {name: known[role] for role, name in columns.filled(EVENT_ROLES).items()}
    wanted = ", ".join(
        f"{values.get(name, _EMPTY.get(name, 'NULL::VARCHAR'))} AS {identifier(name)}"
        for name in columns.names
    )
    return f"""(WITH lines AS MATERIALIZED (SELECT row_number() OVER () AS n, * FROM {lines})
        SELECT {wanted} FROM lines q LEFT JOIN
            (FROM lines WHERE action_name IS NOT NULL) e USING (query_id)
        WHERE q.action_name IS NULL ORDER BY q.n)"""
