"""Whether the times, ranks and sessions of a release are those of people who search."""

from slogan.verification.comparison import number
from slogan.verification.evidence import Evidence, Finding

_DAY = 86_400


def events(evidence: Evidence) -> Finding:
    """Check that times lie in the period, that sessions follow each other, that clicks have ranks.

    A session belongs to one user, and the sessions of a user do not overlap.
    """
    shown, listed = evidence.released, evidence.manifest.log.events
    filled = shown.log.columns.event_roles
    if listed is None or not filled:
        return True, "no column of time, rank or session has values"
    period = shown.log.period
    faults: dict[str, str] = {}
    if period is not None and "time" in filled:
        last = period.days * _DAY - 1
        faults["rows without a time inside the period"] = f"""
            SELECT count(*) FROM shown_rows
            WHERE second IS NULL OR second NOT BETWEEN 0 AND {last}"""
    if "rank" in filled:
        faults["clicks without a rank, or searches with one"] = """
            SELECT count(*) FROM shown_rows WHERE search = (rank IS NOT NULL)"""
    if "session" in filled:
        faults["rows without a session"] = """
            SELECT count(*) FROM shown_rows WHERE session IS NULL"""
        faults["sessions of several users"] = """
            SELECT count(*) FROM (SELECT 1 FROM shown_rows GROUP BY session
                                  HAVING count(DISTINCT "user") > 1)"""
    if {"time", "session"} <= filled.keys():
        faults["sessions that begin before the one before ends"] = """
            SELECT count(*) FROM (
                SELECT min(second) < lag(max(second)) OVER (
                    PARTITION BY "user" ORDER BY min(second), max(second)) AS early
                FROM shown_rows GROUP BY "user", session)
            WHERE early"""
    found = [f"{n} {what}" for what, query in faults.items() if (n := number(evidence.sql, query))]
    named = ", ".join(filled.values())
    return not found, "; ".join(found) or f"{named}: every row as declared"
