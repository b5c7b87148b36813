"""UBI: what queries and events of User Behavior Insights 1.3 declare, and what a release fills.

A line with an action_name is an event, any other a query.
"""

from collections.abc import Mapping

from slogan.errors import OptionError
from slogan.logs.columns import NONE, Columns
from slogan.logs.files import UBI_OBJECT
from slogan.logs.times import AUTO

USER, QUERY, TIME = "client_id", "user_query", "timestamp"
ORDINAL, SESSION = "event_attributes.position.ordinal", "session_id"
LONGEST_ID, LONGEST_OBJECT = 100, 256
"""The most characters that the schema allows in a user-ID and in an object_id."""
NO_TIME, NO_ORDINAL = "1970-01-01T00:00:00Z", 0
"""What stands where the schema requires a value and the release has none."""
_CLICK = "click"
_OTHERS = (QUERY, TIME, "query_id", "action_name", "event_attributes", "query_attributes")
_OTHER_NAMES = "for records with other names give --format jsonl"


def columns_from(given: Mapping[str, str | None]) -> Columns:
    """The columns of a UBI log, whose names the schema fixes; only the user's may be another.

    Args:
        given: For each role the name the caller gave, or None; a session is read if it is given.
    """
    user = given["user"] or USER
    if "." in user or user in _OTHERS:
        raise OptionError(
            f"the user of a UBI log is a field that queries and events share, and {user!r} is none",
            hint="give --user client_id, user_id, session_id or another field of both",
        )
    if given["query"] not in (None, QUERY):
        raise OptionError(f"UBI calls the query {QUERY}", hint=f"leave --query out; {_OTHER_NAMES}")
    if given["count"] not in (None, *NONE):
        raise OptionError(
            "UBI has no counts: each event is one click",
            hint=f"leave --count out; {_OTHER_NAMES}",
        )
    url = given["url"]
    if url not in (None, UBI_OBJECT, *NONE):
        raise OptionError(
            f"UBI calls what was clicked {UBI_OBJECT}",
            hint=f"leave --url out, or give --url none; {_OTHER_NAMES}",
        )
    time, session = _only("time", TIME, given), None
    if given.get("session") not in (None, *NONE):
        session = _only("session", SESSION, given)
    sessions = () if session is None else (session,)
    if url in NONE:
        return Columns(
            names=(user, QUERY, TIME, *sessions),
            user=user,
            query=QUERY,
            url=None,
            count=None,
            time=time,
            session=session,
        )
    return Columns(
        names=(user, QUERY, TIME, UBI_OBJECT, ORDINAL, *sessions),
        user=user,
        query=QUERY,
        url=UBI_OBJECT,
        count=None,
        time=time,
        rank=_only("rank", ORDINAL, given),
        session=session,
    )


def _only(role: str, name: str, given: Mapping[str, str | None]) -> str | None:
    """The field that a role has in UBI, unless it is to be left empty."""
    if (column := given.get(role)) in NONE:
        return None
    if column not in (None, name):
        raise OptionError(
            f"UBI calls the {role} {name}",
            hint=f"leave --{role} out, or give --{role} none; {_OTHER_NAMES}",
        )
    return name


def iso_from(time_format: str) -> str:
    """How times are written: with an offset, as OpenSearch needs it; Z if none is declared."""
    if time_format not in (AUTO, "iso") and not time_format.startswith("iso"):
        raise OptionError(
            "UBI writes times as ISO 8601",
            hint="leave --time-format out, or give the offset of the release: iso+02:00",
        )
    return "isoZ" if time_format in (AUTO, "iso") else time_format


def actions_from(given: str | None, log_format: str) -> tuple[str, ...]:
    """The action_names of clicks, as they were declared; none for another format."""
    if log_format != "ubi":
        if given is not None:
            raise OptionError(
                f"{log_format} has no action_name", hint="leave --click-action out, or --format ubi"
            )
        return ()
    actions = tuple((_CLICK if given is None else given).split(","))
    plain = all(0 < len(one) <= LONGEST_ID and one.isprintable() for one in actions)
    if not plain or len(set(actions)) < len(actions):
        raise OptionError(
            "action_names of clicks are different printable texts of 1 to 100 characters",
            hint="write them with commas between them: --click-action click,add_to_cart",
        )
    return actions
