"""What UBI 1.3 asks of a query and of an event, in our own words, and a check of whole files."""

import json
from datetime import datetime

from jsonschema import Draft202012Validator, FormatChecker

_ID = {"type": "string", "maxLength": 100}
_TIMES = FormatChecker(())


@_TIMES.checks("date-time", raises=ValueError)
def _is_time(text):
    """OpenSearch also asks for an offset."""
    return not isinstance(text, str) or datetime.fromisoformat(text).tzinfo is not None


_SHARED = {
    **dict.fromkeys(("client_id", "query_id", "session_id", "user_id", "application"), _ID),
    "timestamp": {"type": "string", "format": "date-time"},
    "user_query": {"type": "string"},
}
_POSITION = {
    "type": "object",
    "oneOf": [
        {"required": ["ordinal"], "properties": {"ordinal": {"type": "integer"}}},
        {"required": ["xy"]},
    ],
}
_OBJECT = {
    "type": "object",
    "required": ["object_id"],
    "properties": {
        "object_id": {"anyOf": [{"type": "string", "maxLength": 256}, {"type": "integer"}]}
    },
}
QUERY = {"type": "object", "required": ["user_query"], "properties": _SHARED}
EVENT = {
    "type": "object",
    "required": ["action_name", "timestamp"],
    "properties": {
        **_SHARED,
        "action_name": _ID,
        "event_attributes": {
            "type": "object",
            "required": ["position"],
            "properties": {"object": _OBJECT, "position": _POSITION},
        },
    },
}
_KINDS = {
    kind: Draft202012Validator(schema, format_checker=_TIMES)
    for kind, schema in (("query", QUERY), ("event", EVENT))
}


def require_valid(text):
    """The queries and events of a file, valid by the schema and linked by their query_ids."""
    found = {"query": [], "event": []}
    for line in text.removesuffix("\n").split("\n"):
        document = json.loads(line)
        kind = "event" if "action_name" in document else "query"
        _KINDS[kind].validate(document)
        found[kind].append(document)
    queries = {query["query_id"]: query for query in found["query"]}
    assert len(queries) == len(found["query"])
    for event in found["event"]:
        assert queries[event["query_id"]]["client_id"] == event["client_id"]
    return found["query"], found["event"]
