"""What a manifest may say about columns of time, rank and session."""

import re
from datetime import date

from slogan.logs.columns import path_of
from slogan.manifest.manifest import Manifest

_ROLES = ("time", "rank", "session")
_FORMATS = re.compile(
    r"auto|epoch|epoch-ms|iso(Z|[+-][01]\d:[0-5]\d)?|(%[YmbdHIpMS%]|[TZ0-9 :/.,+_-])*", re.ASCII
)


def plain_events(manifest: Manifest) -> bool:
    """Whether columns, period and format are such as a curator declares."""
    log, events = manifest.log, manifest.log.events
    if events is None or manifest.method != "synthesize":
        return events is None
    roles = {role: name for role in _ROLES if (name := getattr(events, role)) is not None}
    named = [name for name in (log.user, log.query, log.url, log.count) if name is not None]
    timed = "time" in roles
    return (
        bool(roles)
        and sorted((*events.filled, *events.dropped)) == sorted(roles)
        and [*events.filled] == [role for role in roles if role in events.filled]
        and [*events.dropped] == [role for role in roles if role in events.dropped]
        and all(path_of(name, log.columns) for name in roles.values())
        and len({*named, *roles.values()}) == len(named) + len(roles)
        and timed == (events.period is not None) == (events.time_format is not None)
        and (not timed or (_is_period(events.period) and _is_format(events.time_format)))
    )


def _is_period(text: str | None) -> bool:
    try:
        first, last = (date.fromisoformat(day) for day in (text or "").split("/"))
    except ValueError:
        return False
    return first <= last and text == f"{first}/{last}"


def _is_format(text: str | None) -> bool:
    """Whether it is a name of a format, or a pattern with nothing but signs and marks."""
    return text is not None and _FORMATS.fullmatch(text) is not None
