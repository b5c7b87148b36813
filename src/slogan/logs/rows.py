"""Rows of a log: the SQL that turns any source into user, query, url, clicks, or a reason why not.

Engines and verifier read by the same words, so that both mean the same rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import BadRowError
from slogan.logs.files import LONGEST_LINE, identifier, plain_glob
from slogan.logs.searchlog import SearchLog

MOST_CLICKS = 2**53
NO_CLICK = "no click"
PACKINGS = {"": "none", ".gz": "gzip", ".zst": "zstd"}

# A delimiter that no line should contain: a line that does is reported as unreadable. Such a line
# has a second field, be it empty: only a line that is the first sign alone stands for NULL.
_NO_DELIMITER = "\x1c\x1d\x1e\x1f"
# A folder called count=1000 is a place, not a column.
_NO_FOLDERS = "hive_partitioning=false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """SQL expressions for the four roles over the rows of a source."""

    user: str
    query: str
    url: str
    count: str | None = None
    unreadable: str = "FALSE"
    user_type: str = "VARCHAR"
    """Integers may stay integers: they are counted faster than texts."""


def plain_type(sql_type: str) -> str:
    """The type without its values: an ENUM would carry every value of the log into a release."""
    return "VARCHAR" if "ENUM" in sql_type.upper() else sql_type


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def rows_sql(source: str, fields: Fields) -> str:
    """SELECT user, query, url, clicks and the reason why a row cannot be counted, if any."""
    blank = "\"user\" = ''" if fields.user_type == "VARCHAR" else "FALSE"
    clicks = "1" if fields.count is None else _number(fields.count)
    return f"""
        SELECT "user", query, url, TRY_CAST(n AS BIGINT) AS clicks, CASE
            WHEN unreadable THEN 'unreadable'
            WHEN url IS NULL OR url = '' THEN {literal(NO_CLICK)}
            WHEN "user" IS NULL OR {blank} THEN 'user missing'
            WHEN query IS NULL OR query = '' THEN 'query missing'
            WHEN n IS NULL OR isnan(n) THEN 'count missing'
            WHEN n < 0 THEN 'count negative'
            WHEN n = 0 THEN 'count zero'
            WHEN n >= {MOST_CLICKS} THEN 'count huge'
            WHEN n <> floor(n) THEN 'count fractional'
        END AS reason
        FROM (SELECT ({fields.user})::{fields.user_type} AS "user",
              ({fields.query})::VARCHAR AS query, ({fields.url})::VARCHAR AS url,
              {clicks}::DOUBLE AS n,
              {fields.unreadable} AS unreadable FROM {source})"""


def _number(value: str) -> str:
    """The number that a value is. DuckDB misreads long ones with _ between digits, so we join them.

    Read as they are, 49_4_836630080084000 would be 49.
    """
    text = f"({value})::VARCHAR"
    return f"""CASE WHEN typeof({value}) = 'VARCHAR' AND contains({text}, '_')
        THEN CASE WHEN NOT regexp_matches({text}, '(^|[^0-9])_|_([^0-9]|$)')
             THEN TRY_CAST(replace({text}, '_', '') AS DOUBLE) END
        ELSE TRY_CAST({value} AS DOUBLE) END"""


def source_sql(log: SearchLog, files: tuple[Path, ...], *, keep_rejects: bool) -> str:
    """The table function that reads the log's files."""
    if log.format == "parquet":
        return parquet_sql(*files)
    names = _names(files)
    rejects = "store_rejects=true, rejects_limit=0" if keep_rejects else "ignore_errors=true"
    room = f"max_line_size={LONGEST_LINE}, buffer_size={2 * LONGEST_LINE}"
    # Told, because DuckDB would not take a.tsv.GZ for packed.
    packing = f"compression={literal(PACKINGS[log.compression])}"
    common = f"auto_detect=false, {packing}, {_NO_FOLDERS}, {rejects}, {room}"
    if log.format in ("tsv", "jsonl"):
        # Whole lines, split later: no quote, lone \r or NUL in a query confuses the reader. Told
        # that lines end with \n it takes \r\n and \r too; left to find out that they end with
        # \r\n, it loses the character after a lone \r.
        lines = (
            f"read_csv({names}, {common}, delim={literal(_NO_DELIMITER)}, quote='', escape='', "
            f"header={str(log.format == 'tsv' and log.header).lower()}, null_padding=true, "
            f"columns={{'line': 'VARCHAR', 'rest': 'VARCHAR'}}, encoding={literal(log.encoding)}, "
            f"strict_mode=false, new_line='\\n', nullstr={literal(_NO_DELIMITER[0])})"
        )
        if log.format == "jsonl":
            return lines
        return f"(SELECT rest, string_split(line, '\t') AS c FROM {lines})"
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(log.columns.names)))
    return (
        f"read_csv({names}, {common}, delim=',', quote='\"', escape='\"', "
        f"header={str(log.header).lower()}, columns={{{columns}}}, "
        f"encoding={literal(log.encoding)}, strict_mode=true)"
    )


def parquet_sql(*files: Path) -> str:
    """The table function that reads Parquet files."""
    return f"read_parquet({_names(files)}, {_NO_FOLDERS})"


def _names(files: tuple[Path, ...]) -> str:
    return "[" + ", ".join(literal(plain_glob(f)) for f in files) + "]"


def fields_of(log: SearchLog) -> Fields:
    """Where the four roles are found in the rows of `source_sql`."""
    valid, names = "CASE WHEN json_valid(line) THEN line END", log.columns.names
    places: dict[str, Callable[[str], str]] = {
        "parquet": identifier,
        "csv": lambda name: f"c{names.index(name)}",
        "tsv": lambda name: f"c[{names.index(name) + 1}]",
        "jsonl": lambda name: f"json_extract_string({valid}, {literal(json_pointer(name))})",
    }
    unreadable = {
        "tsv": f"rest IS NOT NULL OR len(c) IS DISTINCT FROM {len(names)}",
        "jsonl": f"rest IS NOT NULL OR json_type({valid}) IS DISTINCT FROM 'OBJECT'",
    }.get(log.format, "FALSE")
    roles = {role: places[log.format](name) for role, name in log.columns.roles.items()}
    return Fields(**roles, unreadable=unreadable)


def json_pointer(key: str) -> str:
    """A key of a JSON object as a JSON pointer, whose special characters are ~ and /."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


_WORDS_FOR = {
    "count missing": "the count is missing or not a number",
    "count negative": "the count is negative",
    "count zero": "the count is zero",
    "count fractional": "the count is a fraction",
    "count huge": "the count is 2^53 or more",
    "user missing": "the user-ID is missing",
    "query missing": "the query is missing, but there is a click",
}
NOT_UTF8 = "not UTF-8"
BAD_ROW_HINT = "correct the row, or give --on-bad-row skip to leave such rows out and count them"
_ENCODING_HINT = "give --encoding latin-1 if the file is in that encoding, or --on-bad-row skip"


def bad_row_error(reason: str, where: str, log: SearchLog) -> BadRowError:
    """The error for a row that cannot be counted for this reason, or these words."""
    what = _WORDS_FOR.get(reason, reason)
    if reason == "unreadable":
        columns = f"not {len(log.columns.names)} columns"
        what = "not a JSON object" if log.format == "jsonl" else columns
    hint = _ENCODING_HINT if what == NOT_UTF8 else BAD_ROW_HINT
    return BadRowError(f"{where}: {what}", hint=hint, reason=reason)
