"""How Spark reads a log: any source as rows of name, query, url, clicks, reason and file.

With times, ranks and sessions if these are asked for: their SQL is in `events`.
"""

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType

from slogan.engines.events import EventTypes
from slogan.engines.spark import events
from slogan.engines.spark.sql import quoted, run
from slogan.errors import EmptyLogError, LogFormatError, OptionError
from slogan.logs.columns import EVENT_ROLES
from slogan.logs.databases import Database
from slogan.logs.rows import MOST_CLICKS, NO_CLICK, NOT_UTF8, OPEN_QUOTE
from slogan.logs.searchlog import SearchLog
from slogan.logs.text import CP1252

PARSED = "try_parse_json(concat('[', line, ']'))"
"""A line of JSON; in brackets, so that anything after the object makes the line unreadable."""
HEADER = "header"
"""The reason not to count a line that is the header: one in each file, and a bad row beyond."""

_MARK = "\ufeff"  # of byte order, at the beginning of a file
_RETURN = "contains(line, chr(13))"  # one that ends no line would let a line write other rows
_BYTES = "ISO-8859-1"  # one character a byte, so nothing is lost or repaired
# Java takes 1d and a trailing control character for numbers, and 1_000 for none.
_NUMBER = {
    "joined": "(?<=[0-9])_(?=[0-9])",
    "javas": "[0-9.][dDfF][ \t\n\x0b\x0c\r]*$|[\x00-\x08\x0e-\x1f]",
}
_FAULT = f"""CASE
        WHEN name IS NULL OR name = '' THEN 'user missing'
        WHEN query IS NULL OR query = '' THEN 'query missing'
        WHEN n IS NULL OR isnan(n) THEN 'count missing'
        WHEN n < 0 THEN 'count negative'
        WHEN n = 0 THEN 'count zero'
        WHEN n >= {MOST_CLICKS} THEN 'count huge'
        WHEN n <> floor(n) THEN 'count fractional'
    END"""
_NO_URL = "coalesce(url, '') = '' AND NOT :searches"


def rows(session: SparkSession, log: SearchLog, types: EventTypes | None = None) -> DataFrame:
    """Every row of the log with the reason why it cannot be counted, if any.

    With types also its second, rank and session, and whether it is a `search` without a click.
    """
    _require_supported(log)
    kinds = {"tsv": _tsv, "csv": _csv, "jsonl": _jsonl, "parquet": _typed}
    args: dict[str, Any] = {"searches": log.counts_searches}
    more = ""
    if types is not None:
        kept, patterns = events.kept(log, types)
        more = f", why IS NULL AND {_NO_URL} AND ({_FAULT}) IS NULL AS search"
        more += "".join(f", {value} AS {name}" for name, value in kept.items())
        args |= patterns
    return run(
        f"""SELECT name, query, coalesce(url, '') AS url, try_cast(n AS BIGINT) AS clicks, file,
                   CASE WHEN why IS NOT NULL THEN why WHEN {_NO_URL} THEN '{NO_CLICK}'
                        ELSE {_FAULT} END AS reason {more}
            FROM {{source}}""",
        args,
        source=kinds[log.format](session, log),
    )


def _require_supported(log: SearchLog) -> None:
    """Refuse what only DuckDB reads, with the way out."""
    if log.format == "ubi":
        raise OptionError(
            "Spark does not join the queries and events of UBI",
            hint="use --engine duckdb; or join them in Spark, and give a DataFrame of clicks",
        )
    if log.table is not None and not isinstance(log.table, DataFrame):
        kind = f"{log.table.kind} databases" if isinstance(log.table, Database) else "such tables"
        raise OptionError(
            f"Spark does not read {kind}",
            hint="use --engine duckdb, or export the table as Parquet and give the files",
        )
    roles = log.columns.filled(EVENT_ROLES)
    nested = [name for name in roles.values() if name not in log.columns.names]
    if nested:
        raise OptionError(
            f"Spark does not read fields inside columns: {', '.join(nested)}",
            hint="use --engine duckdb; or, in Python, give a Spark DataFrame in which the fields "
            "are columns: frame.selectExpr('who.id AS user', ...)",
        )
    if log.fold:
        raise OptionError(
            "Spark does not fold queries and urls",
            hint="use --engine duckdb; or fold in a Spark DataFrame: lower(trim(query))",
        )


def paths(log: SearchLog) -> list[str]:
    """Where Spark finds the log."""
    return [*log.addresses, *(address(file) for file in log.files)]


def column_names(
    session: SparkSession, addresses: tuple[str, ...], kind: str, encoding: str
) -> tuple[str, ...] | str:
    """The columns of a log at these addresses, or the header line that declares them."""
    if kind == "parquet":
        return tuple(_parquet(session, list(addresses)).columns)
    first = lines(session, list(addresses), encoding).filter("beginning").head()
    if first is None:
        raise EmptyLogError("there is nothing at that address", hint="check the address")
    return str(first["line"]).removeprefix(_MARK)


def address(file: Path) -> str:
    """A local file for Spark, which takes every name as a pattern."""
    escaped = "".join(f"\\{c}" if c in "*?[]{}\\" else c for c in str(file.absolute()))
    return f"file://{escaped}"


def typed_table(session: SparkSession, log: SearchLog) -> DataFrame:
    """A log whose columns have types: Parquet, or a frame."""
    if isinstance(log.table, DataFrame):
        return log.table
    _require_supported(log)
    return _parquet(session, paths(log))


def _parquet(session: SparkSession, places: list[str]) -> DataFrame:
    # Looking through folders one by one keeps Spark from taking their names for columns.
    return session.read.option("recursiveFileLookup", True).parquet(*places)


def _typed(session: SparkSession, log: SearchLog) -> DataFrame:
    table, columns = typed_table(session, log), log.columns
    _require_text(table.schema, log)
    count = "1" if columns.count is None else quoted(columns.count)
    url = "NULL" if columns.url is None else quoted(columns.url)
    file = "'the table'" if log.table is not None else "_metadata.file_name"
    more = "".join(f", {quoted(name)} AS of_{role}" for role, name in columns.event_roles.items())
    return run(
        f"""SELECT CAST({quoted(columns.user)} AS STRING) AS name,
                   CAST({quoted(columns.query)} AS STRING) AS query,
                   CAST({url} AS STRING) AS url,
                   try_cast({count} AS DOUBLE) AS n, CAST(NULL AS STRING) AS why,
                   slogan_file AS file {more}
            FROM {{named}}""",
        named=table.selectExpr("*", f"{file} AS slogan_file"),
    )


def _require_text(schema: StructType, log: SearchLog) -> None:
    for role, name in log.columns.filled(EVENT_ROLES).items():
        kind = schema[name].dataType
        if isinstance(kind, BinaryType):
            raise LogFormatError(
                f"the column of the {role} holds bytes, not text",
                hint="make it text; Spark reads UUIDs of Parquet as bytes too",
            )
        if isinstance(kind, ArrayType | MapType | StructType):
            raise LogFormatError(
                f"the column of the {role} is of a nested type", hint="make it a text or a number"
            )


def lines(session: SparkSession, places: list[str], encoding: str) -> DataFrame:
    """Lines that are not blank, decoded: line, file, and whether in the first part of the file."""
    text = "value" if encoding == "utf-8" else f"decode(CAST(value AS BINARY), '{_BYTES}')"
    if encoding == "cp1252":
        text = f"translate({text}, '{''.join(map(chr, CP1252))}', '{''.join(CP1252.values())}')"
    beginning = "_metadata.file_block_start = 0 AS beginning"
    read = session.read.text(places, lineSep="\n")
    read = read.selectExpr(f"{text} AS text", "_metadata.file_name AS file", beginning)
    line = "IF(endswith(text, chr(13)), left(text, length(text) - 1), text) AS line"
    return read.selectExpr(line, "file", "beginning").filter("line <> ''")


def _tsv(session: SparkSession, log: SearchLog) -> DataFrame:
    names = log.columns.names
    # Where there is a header, a byte order mark can stand before it only.
    line = "line" if log.header else "trim(LEADING :mark FROM line)"
    return _roles(
        log,
        {name: f"get(c, {i})" for i, name in enumerate(names)},
        f"""WHEN line IN (:header, concat(:mark, :header)) THEN '{HEADER}'
            WHEN NOT is_valid_utf8(line) THEN '{NOT_UTF8}'
            WHEN {_RETURN} OR size(c) <> {len(names)} THEN 'unreadable'""",
        f"SELECT line, file, split({line}, :tab, -1) AS c FROM {{read}}",
        {"tab": "\t", "mark": _MARK, "header": "\t".join(names) if log.header else ""},
        lines(session, paths(log), log.encoding),
    )


def _jsonl(session: SparkSession, log: SearchLog) -> DataFrame:
    columns = log.columns
    roles = log.columns.filled(EVENT_ROLES)
    nested = {
        role: f"regexp_like(schema_of_variant(try_variant_get(v, :{role}, 'variant')), "
        "'^(OBJECT|ARRAY)')"
        for role in roles
    }
    texts = {role: f"try_variant_get(v, :{role}, 'string')" for role in roles}
    # A nested value is not a time; as a user it makes the row a bad one.
    texts |= {role: f"IF({nested[role]}, NULL, {texts[role]})" for role in columns.event_roles}
    any_nested = " OR ".join(nested[role] for role in columns.roles)
    return _roles(
        log,
        {name: texts[role] for role, name in roles.items()},
        f"""WHEN NOT is_valid_utf8(line) THEN '{NOT_UTF8}'
            WHEN {_RETURN} OR v IS NULL OR NOT startswith(trim(LEADING :blank FROM line), '{{{{')
                 OR variant_get(v, '$[1]', 'variant') IS NOT NULL THEN 'unreadable'
            WHEN {any_nested} THEN 'nested'""",
        f"""SELECT line, file, {PARSED} AS v
            FROM (SELECT trim(LEADING :mark FROM line) AS line, file FROM {{read}})""",
        {"mark": _MARK, "blank": " \t", **{role: json_path(name) for role, name in roles.items()}},
        lines(session, paths(log), log.encoding),
    )


def json_path(key: str) -> str:
    """Where a key is in what `PARSED` gives."""
    mark = '"' if "'" in key else "'"
    if mark in key:
        raise LogFormatError(
            "a key of the log has both kinds of quotes", hint="rename it, or use --engine duckdb"
        )
    return f"$[0][{mark}{key}{mark}]"


def _csv(session: SparkSession, log: SearchLog) -> DataFrame:
    """Lines split at delimiters outside quotes; a quote beside quoted fields is one too many."""
    names, sign = log.columns.names, log.delimiter
    header = ", ".join(f":header{i}" for i in range(len(names)))
    marked = f"concat(:mark, :header0){header.removeprefix(':header0')}"
    line = "line" if log.header else "trim(LEADING :mark FROM line)"
    is_header = f"c IN (array({header}), array({marked}))" if log.header else "FALSE"
    return _roles(
        log,
        {name: f"get(c, {i})" for i, name in enumerate(names)},
        f"""WHEN {is_header} THEN '{HEADER}'
            WHEN NOT is_valid_utf8(line) THEN '{NOT_UTF8}'
            WHEN {_RETURN} THEN 'unreadable'
            WHEN regexp_like(regexp_replace(line, :quoted, '$1'), :open) THEN '{OPEN_QUOTE}'
            WHEN size(c) <> {len(names)} THEN 'unreadable'""",
        f"""SELECT line, file, transform(regexp_extract_all(concat(:sign, line), :fields, 1), f ->
                IF(startswith(f, '"'), replace(substring(f, 2, length(f) - 2), '""', '"'), f)) AS c
            FROM (SELECT {line} AS line, file FROM {{read}})""",
        {
            "mark": _MARK,
            "sign": sign,
            "open": f'(^|[{sign}])"',
            "quoted": rf'(\A|[{sign}])"[^"]*+(?:""[^"]*+)*+"(?=[{sign}]|\Z)',
            "fields": f'[{sign}]("[^"]*+(?:""[^"]*+)*+"|[^"{sign}][^{sign}]*+|)',
            **{f"header{i}": name for i, name in enumerate(names) if log.header},
        },
        lines(session, paths(log), log.encoding),
    )


def _roles(
    log: SearchLog,
    place: dict[str, str],
    why: str,
    source: str,
    args: dict[str, str],
    read: DataFrame,
) -> DataFrame:
    """The roles from texts at these places of a source, with the file and why not, if so."""
    columns = log.columns
    clicks, url = "1D", "NULL" if columns.url is None else place[columns.url]
    if columns.count is not None:
        text = place[columns.count]
        plain = f"regexp_replace({text}, :joined, '')"
        clicks = f"IF(regexp_like({text}, :javas), NULL, try_cast({plain} AS DOUBLE))"
        args = args | _NUMBER
    more = "".join(f", {place[name]} AS of_{role}" for role, name in columns.event_roles.items())
    return run(
        f"""SELECT {place[columns.user]} AS name, {place[columns.query]} AS query,
                   {url} AS url, {clicks} AS n, file, CASE {why} END AS why {more}
            FROM ({source})""",
        args,
        read=read,
    )
