"""One log in every form that is read: each with the options `read()` needs for it."""

import json
import sqlite3
from dataclasses import dataclass, field
from typing import Any

import duckdb

USERS, QUERIES = 240, ("Gürtel", "Schuhe; rot", "karte", "wetter", "zug", "Hotel 5 €")


@dataclass
class Form:
    """A log that `write` puts into a folder, and the name to give for it."""

    write: Any
    name: str
    told: dict[str, Any] = field(default_factory=dict)


def rows():
    """User, query, url: each user has four queries, most of which others have too."""
    for user in range(1, USERS + 1):
        for turn in range(4):
            query = QUERIES[(user * turn) % len(QUERIES)]
            yield user, query, f"www.{len(query)}.example/a"


def _text(folder, name, lines, encoding="utf-8"):
    (folder / name).write_bytes("".join(lines).encode(encoding))


def queries(folder):
    _text(
        folder, "q.tsv", ["visitor\tkeyword\twhen\n", *(f"{u}\t{q}\t2024\n" for u, q, _ in rows())]
    )


def semicolons(folder):
    lines = [f'{u};"{q}";{url};1,5\r\n' for u, q, url in rows()]
    _text(folder, "export.csv", ["Kunde;Suchwort für;Link;Preis\r\n", *lines], "cp1252")


def nested(u, q, url):
    return {
        "who": {"id": u, "of": {"place": "x"}},
        "search": {"text": q},
        "hit": {"url": url, "n": 2},
    }


def json_lines(folder):
    lines = [json.dumps(nested(*row), ensure_ascii=False) + "\n" for row in rows()]
    _text(folder, "log.jsonl", lines)


def parquet(folder):
    json_lines(folder)
    duckdb.sql(f"FROM '{folder}/log.jsonl'").write_parquet(f"{folder}/log.parquet")


def duckdb_table(folder):
    _flat(folder)
    with duckdb.connect(str(folder / "log.duckdb")) as sql:
        sql.execute(f"CREATE TABLE clicks AS FROM read_csv('{folder}/flat.tsv', delim='\t')")


def sqlite_table(folder):
    with sqlite3.connect(folder / "log.sqlite") as sql:
        sql.execute('CREATE TABLE clicks ("user" INTEGER, query TEXT, url TEXT, day TEXT)')
        sql.executemany("INSERT INTO clicks VALUES (?, ?, ?, 'monday')", rows())
    sql.close()


def _flat(folder):
    lines = (f"{u}\t{q}\t{url}\tmonday\n" for u, q, url in rows())
    _text(folder, "flat.tsv", ["user\tquery\turl\tday\n", *lines])


def spelled(folder):
    """Every user spells in one of three ways."""
    ways = (str.upper, str.lower, lambda text: f" {text}  ")
    urls = ("http://{}/", "HTTPS://{}", "{}")
    lines = (f"{u}\t{ways[u % 3](q)}\t{urls[u % 3].format(url)}\n" for u, q, url in rows())
    _text(folder, "case.tsv", ["user\tquery\turl\n", *lines])


def half_clicked(folder):
    lines = (f"{u},{q.replace(';', '')},{url if u % 3 else ''}\n" for u, q, url in rows())
    _text(folder, "half.csv", ["user,query,url\n", *lines])


def ubi(folder):
    """An index of queries and one of events, as an export has them: hits around the lines."""
    hit = '{{"_index": "{}", "_id": "{}", "_source": {}}}\n'
    queries, events = [], []
    for n, (u, q, url) in enumerate(rows()):
        shared = {
            "client_id": f"client {u}",
            "query_id": str(n),
            "timestamp": "2024-05-06T07:08:09Z",
        }
        attributes = {"object": {"object_id": url}, "position": {"ordinal": 1 + n % 3}}
        event = {**shared, "action_name": "click", "event_attributes": attributes}
        seen = {**shared, "action_name": "impression"}
        queries.append(hit.format("ubi_queries", n, json.dumps({**shared, "user_query": q})))
        events += [hit.format("ubi_events", n, json.dumps(one)) for one in (seen, event)]
    (folder / "export").mkdir()
    _text(folder, "export/ubi_queries.json", queries)
    _text(folder, "export/ubi_events.json", events)


_PATHS = {"user": "who.id", "query": "search.text", "url": "hit.url"}
FORMS = {
    "query log": Form(queries, "q.tsv"),
    "semicolons in cp1252": Form(
        semicolons,
        "export.csv",
        {"encoding": "cp1252", "user": "Kunde", "query": "Suchwort für", "url": "Link"},
    ),
    "nested JSON Lines": Form(json_lines, "log.jsonl", {**_PATHS, "count": "none"}),
    "nested Parquet": Form(parquet, "log.parquet", _PATHS),
    "UBI": Form(ubi, "export"),
    "DuckDB table": Form(duckdb_table, "log.duckdb::clicks"),
    "SQLite table": Form(sqlite_table, "log.sqlite::clicks"),
    "folded": Form(spelled, "case.tsv", {"fold": True}),
    "all searches": Form(half_clicked, "half.csv", {"searches": "all"}),
}
