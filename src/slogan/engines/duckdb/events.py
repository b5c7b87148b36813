"""Events with DuckDB: SQL that reads time, rank and session, and that writes times."""

from slogan.engines.events import EventTypes
from slogan.logs.files import literal
from slogan.logs.rows import event_fields_of
from slogan.logs.searchlog import SearchLog
from slogan.logs.times import DAY, MONTHS, Period

_RANK = r"\A[0-9]{1,9}(?:\.0*)?\z"
_SHIFT = 10**12  # makes numbers positive, so that division rounds down
_OF_ZONE = "TIMESTAMP WITH TIME ZONE"


def beside(log: SearchLog, types: EventTypes) -> dict[str, str]:
    """SQL of the values that `rows_sql` reads beside its own, by names of columns."""
    fields, values = event_fields_of(log), dict[str, str]()
    if types.time is not None:
        values["moment"] = _taken_apart(fields["time"], types)
    if types.rank is not None:
        values["place"] = f"({fields['rank']})::VARCHAR"
    if types.session is not None:
        values["sitting"] = f"({fields['session']})::VARCHAR"
    return values


def kept(log: SearchLog, types: EventTypes) -> dict[str, str]:
    """SQL of second, rank and session from these values."""
    values: dict[str, str] = {}
    if log.period is not None:
        values["second"] = f"coalesce({_second(types, log.period)}, -1)::INTEGER"
    if types.rank is not None:
        values["rank"] = (
            f"CASE WHEN regexp_matches(place, {literal(_RANK)}) "
            "THEN split_part(place, '.', 1)::INTEGER ELSE 0 END"
        )
    if types.session is not None:
        values["session"] = "nullif(sitting, '')"
    return values


def _taken_apart(time: str, types: EventTypes) -> str:
    """The parts of a time as texts, or what its type says as a number."""
    if types.format is not None:
        names = ", ".join(literal(group) for group in types.format.groups)
        return f"regexp_extract(({time})::VARCHAR, {literal(types.format.bare)}, [{names}])"
    if types.time == "DATE":
        return f"CASE WHEN isfinite({time}) THEN ({time} - DATE '1970-01-01') * {DAY} END"
    return f"TRY(CASE WHEN isfinite({time}) THEN epoch_us({time}) END)"


def _second(types: EventTypes, period: Period) -> str:
    """The second of the period, clamped into it; NULL if it is not a time."""
    form, last = types.format, period.days * DAY - 1
    if form is None or form.numeric:
        number = "moment" if form is None else "TRY_CAST(moment.number AS BIGINT)"
        units = form.units if form else 1 if types.time == "DATE" else 1_000_000
        # Clamped first, so that nothing overflows.
        first, end = period.begin * units, (period.begin + last) * units
        inside = f"greatest({first}, least({end}, {number}))"
        second = f"({inside} + {_SHIFT * units}) // {units} - {_SHIFT + period.begin}"
        return f"CASE WHEN {number} IS NOT NULL THEN {second} END"
    parts = {group: f"moment.{group}" for group in form.groups}
    month = parts.get("month", f"printf('%02d', list_position({[*MONTHS]}, moment.word))")
    day = f"TRY_CAST(concat(moment.year, '-', {month}, '-', moment.day) AS DATE)"
    hour, minute, second = (
        f"coalesce(TRY_CAST({parts.get(unit, 'NULL')} AS INTEGER), 0)"
        for unit in ("hour", "minute", "second")
    )
    valid = f"{hour} <= 23 AND {minute} <= 59 AND {second} <= 60"
    if "hour12" in parts:
        twelve = "TRY_CAST(moment.hour12 AS INTEGER)"
        valid += f" AND {twelve} BETWEEN 1 AND 12"
        hour = f"({twelve} % 12 + CASE moment.half WHEN 'PM' THEN 12 ELSE 0 END)"
    whole = (
        f"({day} - DATE '{period.first}') * {DAY} "
        f"+ {hour} * 3600 + {minute} * 60 + least({second}, 59)"
    )
    return (
        f"CASE WHEN moment.year NOT IN ('', '0000') AND {day} IS NOT NULL AND {valid} "
        f"THEN greatest(0, least({last}, {whole})) END"
    )


def written(types: EventTypes, period: Period) -> str:
    """SQL of the time that a second of the period is written as."""
    form, number = types.format, f"({period.begin} + o.second::BIGINT)"
    if form is not None and form.numeric:
        return f"{number} * {form.units}"
    if types.time == _OF_ZONE:
        return f"to_timestamp({number})"
    moment = f"make_timestamp({number} * 1000000)"
    return moment if form is None else f"strftime({moment}, {literal(form.written)})"
