"""Rows of a log: the SQL that turns any source into user, query, url, clicks, or a reason why not.

The verifier reads the same rows with separate code: `verification/plain_reader.py`.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import BadRowError
from slogan.logs.files import field_sql, literal, plain_glob
from slogan.logs.fold import folded_query, folded_url
from slogan.logs.searchlog import SearchLog
from slogan.logs.text import LONE_RETURN, LONGEST_LINE, NO_DELIMITER, as_whole_lines

MOST_CLICKS = 2**53
NO_CLICK = "no click"
PACKINGS = {"": "none", ".gz": "gzip", ".zst": "zstd"}

UBI_TEXT = "text_of_{}"
"""What the text of time, rank and session of a row of UBI is called in SQL."""
_NO_URL = "(url IS NULL OR url = '')"
# A folder called count=1000 is a place, not a column.
_NO_FOLDERS = "hive_partitioning=false"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """SQL expressions for the four roles over the rows of a source."""

    user: str
    query: str
    url: str = "NULL"
    count: str | None = None
    searches: bool = False
    """Whether a row without a url counts: as a pair of its query and an empty url."""
    fold: bool = False
    """Whether queries and urls are folded."""
    unreadable: str = "NULL"
    """Why the row cannot be taken apart, or NULL."""
    user_type: str = "VARCHAR"
    """Integers may stay integers: they are counted faster than texts."""


def plain_type(sql_type: str) -> str:
    """The type without its values: an ENUM would carry every value of the log into a release."""
    return "VARCHAR" if "ENUM" in sql_type.upper() else sql_type


def rows_sql(source: str, fields: Fields, beside: Mapping[str, str] | None = None) -> str:
    """SELECT user, query, url, clicks and the reason why a row cannot be counted, if any.

    With expressions `beside` over the source, their values too under these names, and whether the
    row is a `search` without a click.
    """
    blank = "\"user\" = ''" if fields.user_type == "VARCHAR" else "FALSE"
    clicks = "1" if fields.count is None else _number(fields.count)
    url, no_click = f"({fields.url})::VARCHAR", f"WHEN {_NO_URL} THEN '{NO_CLICK}'"
    query = f"({fields.query})::VARCHAR"
    if fields.fold:
        query, url = folded_query(query), folded_url(url)
    if fields.searches:
        url, no_click = f"coalesce({url}, '')", ""
    faults = f"""
            WHEN "user" IS NULL OR {blank} THEN 'user missing'
            WHEN query IS NULL OR query = '' THEN 'query missing'
            WHEN n IS NULL OR isnan(n) THEN 'count missing'
            WHEN n < 0 THEN 'count negative'
            WHEN n = 0 THEN 'count zero'
            WHEN n >= {MOST_CLICKS} THEN 'count huge'
            WHEN n <> floor(n) THEN 'count fractional'"""
    named = inside = ""
    if beside is not None:
        search = f"unreadable IS NULL AND {_NO_URL} AND (CASE {faults} END) IS NULL"
        search = "FALSE" if fields.searches else search
        named = "".join(f", {name}" for name in beside) + f", {search} AS search"
        inside = "".join(f", {value} AS {name}" for name, value in beside.items())
    return f"""
        SELECT "user", query, url, TRY_CAST(n AS BIGINT) AS clicks, CASE
            WHEN unreadable IS NOT NULL THEN unreadable
            {no_click} {faults}
        END AS reason {named}
        FROM (SELECT ({fields.user})::{fields.user_type} AS "user",
              {query} AS query, {url} AS url,
              {clicks}::DOUBLE AS n,
              {fields.unreadable} AS unreadable {inside} FROM {source})"""


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
    """The table function that reads the log's files, which `whole_lines` has made readable.

    A record of a text file is a line, whatever it contains: read whole, and split afterwards, so
    that no quote, NUL or half character in one line touches another (docs/proofs/reading.md).
    """
    if log.format == "parquet":
        return parquet_sql(*files)
    rejects = "store_rejects=true, rejects_limit=0" if keep_rejects else "ignore_errors=true"
    header = str(log.format != "jsonl" and log.header).lower()
    # The compression is given, because DuckDB would not take a.tsv.GZ for packed.
    lines = (
        f"read_csv({_names(files)}, auto_detect=false, {_NO_FOLDERS}, {rejects}, "
        f"compression={literal(PACKINGS[log.compression])}, max_line_size={LONGEST_LINE}, "
        f"buffer_size={2 * LONGEST_LINE}, delim={literal(NO_DELIMITER)}, quote='', escape='', "
        f"header={header}, null_padding=true, columns={{'line': 'VARCHAR', 'rest': 'VARCHAR'}}, "
        f"strict_mode=false, new_line='\\n', nullstr={literal(NO_DELIMITER[0])})"
    )
    plain = f"string_split(line, {literal(log.delimiter)})"
    split = {"tsv": plain, "csv": _csv_fields(log.delimiter, plain), "jsonl": "NULL", "ubi": "NULL"}
    return f"(SELECT line, rest, {split[log.format]} AS c FROM {lines})"


def _csv_fields(sign: str, plain: str) -> str:
    """A field of CSV is in quotes, or does not begin with one."""
    field = f'("(?:[^"]|"")*"|[^"{sign}][^{sign}]*|)'
    return f"""CASE WHEN NOT contains(line, '"') THEN {plain}
        WHEN regexp_full_match(line, '(?s){field}(?:[{sign}]{field})*') THEN list_transform(
            regexp_extract_all('{sign}' || line, '(?s)[{sign}]{field}', 1), lambda field:
            CASE WHEN starts_with(field, '"') THEN replace(field[2:-2], '""', '"') ELSE field END)
        END"""


def whole_lines(log: SearchLog, folder: Path) -> tuple[Path, ...]:
    """The log's files for `source_sql`, where need be as copies in a private folder."""
    if log.format == "parquet":
        return log.files
    return tuple(as_whole_lines(f, log.compression, log.encoding, folder) for f in log.files)


def parquet_sql(*files: Path) -> str:
    """The table function that reads Parquet files."""
    return f"read_parquet({_names(files)}, {_NO_FOLDERS})"


def _names(files: tuple[Path, ...]) -> str:
    return "[" + ", ".join(literal(plain_glob(f)) for f in files) + "]"


_VALID = "CASE WHEN json_valid(line) THEN line END"


def event_fields_of(log: SearchLog) -> dict[str, str]:
    """Where time, rank and session are, as far as they are asked for; NULL for nested values."""
    roles = log.columns.event_roles
    if log.format == "ubi":  # a row is made of several lines, whose texts have names
        return {role: UBI_TEXT.format(role) for role in roles}
    kinds = (_kind(log, name) for name in roles.values())
    values = zip(roles, _places(log, roles).values(), kinds, strict=True)
    return {
        role: f"CASE WHEN {kind} IN ('OBJECT', 'ARRAY') THEN NULL ELSE {place} END"
        if log.format == "jsonl"
        else place
        for role, place, kind in values
    }


def _places(log: SearchLog, roles: Mapping[str, str]) -> dict[str, str]:
    """SQL of the value in the column of each role."""
    names = log.columns.names
    paths = {role: log.columns.path(name) for role, name in roles.items()}
    if log.format == "parquet":
        return {role: field_sql(path) for role, path in paths.items()}
    if log.format == "jsonl":
        pointers = {role: literal(json_pointer(*path)) for role, path in paths.items()}
        return {role: f"json_extract_string({_VALID}, {p})" for role, p in pointers.items()}
    return {role: f"c[{names.index(name) + 1}]" for role, name in roles.items()}


def _kind(log: SearchLog, name: str) -> str:
    """SQL of the kind of value that JSON has in a column."""
    return f"json_type({_VALID}, {literal(json_pointer(*log.columns.path(name)))})"


def fields_of(log: SearchLog) -> Fields:
    """Where the four roles are found in the rows of `source_sql`."""
    columns = log.columns.roles
    places = _places(log, columns)
    if log.format == "parquet":
        return Fields(**places, searches=log.counts_searches, fold=log.fold)
    if log.format == "jsonl":
        kinds = ", ".join(_kind(log, name) for name in columns.values())
        unreadable = f"""WHEN json_type({_VALID}) IS DISTINCT FROM 'OBJECT' THEN 'unreadable'
            WHEN list_has_any([{kinds}], ['OBJECT', 'ARRAY']) THEN 'nested'"""
    else:
        unreadable = f"WHEN len(c) IS DISTINCT FROM {len(log.columns.names)} THEN 'unreadable'"
    if log.format == "csv":
        unreadable = f"WHEN c IS NULL AND line IS NOT NULL THEN {literal(OPEN_QUOTE)} {unreadable}"
    return Fields(
        **places,
        searches=log.counts_searches,
        fold=log.fold,
        unreadable=f"""CASE WHEN rest IS NOT NULL OR contains(line, {literal(LONE_RETURN)})
            THEN 'unreadable' {unreadable} END""",
    )


def json_pointer(*keys: str) -> str:
    """Keys of JSON objects inside each other as a pointer, whose special characters are ~ and /."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in keys)


_WORDS_FOR = {
    "count missing": "the count is missing or not a number",
    "count negative": "the count is negative",
    "count zero": "the count is zero",
    "count fractional": "the count is a fraction",
    "count huge": "the count is 2^53 or more",
    "user missing": "the user-ID is missing",
    "query missing": "the query is missing",
    "nested": "a user-ID, query, url or count is an object or a list",
    "user long": "the user-ID has more than 100 characters, which UBI does not allow",
    "object long": "the object_id has more than 256 characters, which UBI does not allow",
    "query unclear": "queries of one user with the same query_id have different texts",
}
_JSON = ("jsonl", "ubi")
_NO_OBJECT = "not a JSON object"
OPEN_QUOTE = "a quote that does not close on its line, or text after it"
NOT_UTF8 = "not UTF-8"
BAD_ROW_HINT = "correct the row, or give --on-bad-row skip to leave such rows out and count them"
_ENCODING_HINT = (
    "if the file comes from Windows or Excel, give --encoding cp1252, else --encoding latin-1; "
    "--on-bad-row skip leaves such rows out and counts them"
)


def bad_row_error(reason: str, where: str, log: SearchLog) -> BadRowError:
    """The error for a row that cannot be counted for this reason, or these words."""
    what = _WORDS_FOR.get(reason, reason)
    if reason == "unreadable":
        columns = f"not {len(log.columns.names)} columns"
        what = _NO_OBJECT if log.format in _JSON else columns
    hint = _ENCODING_HINT if what == NOT_UTF8 else BAD_ROW_HINT
    if what == _NO_OBJECT:
        file = where.partition(", line ")[0]
        name = shlex.quote(file.partition(".")[0] + ".jsonl")
        hint = (
            f"if the file is one JSON array: jq -c '.[]' {shlex.quote(file)} > {name}; else {hint}"
        )
    if log.format == "jsonl" and reason == "nested":
        hint = (
            "name the fields inside, such as --user user.id, and --count none if there is no "
            f"count; slogan inspect LOG --show-header lists them; else {hint}"
        )
    if log.format == "ubi" and reason == "nested":
        hint = f"name the user by a field that is a text: --user user_id; else {hint}"
    if log.format == "ubi" and reason == "query missing":
        what = "an event has no user_query, and its user no query with its query_id"
        hint = f"give the files of queries too; else {hint}"
    if log.format == "jsonl" and reason.endswith("missing"):
        hint = f"name the keys with --user, --query, --url and --count (none if absent), or {hint}"
    return BadRowError(f"{where}: {what}", hint=hint, reason=reason)


def copy_options(log: SearchLog) -> str:
    """How DuckDB writes a released log of this format."""
    if log.format == "parquet":
        return "FORMAT parquet, COMPRESSION zstd"
    packing = PACKINGS[log.compression]
    if log.format == "ubi":
        return f"FORMAT csv, HEADER false, QUOTE '', ESCAPE '', COMPRESSION {packing}"
    if log.format == "jsonl":
        return f"FORMAT json, COMPRESSION {packing}"
    raw = "" if log.format == "csv" else "QUOTE '', ESCAPE '', "
    between = f"DELIMITER {literal(log.delimiter)}"
    return f"FORMAT csv, {between}, {raw}HEADER {log.header}, COMPRESSION {packing}"
