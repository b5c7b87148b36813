"""The pairs that a release takes as public, read again from a list or an earlier release."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from pydantic import ValidationError

from slogan.errors import SloganError
from slogan.manifest.manifest import Manifest, described, released_file
from slogan.storage.atomic import sha256_of
from slogan.storage.untrusted import modest
from slogan.verification.comparison import count
from slogan.verification.plain_reader import folded_query, folded_url

_LARGEST = 256 * 1024 * 1024


class OtherKnowledgeError(Exception):
    """The files given are not what the release names; the message says why."""


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The list and the earlier release that were given to verify."""

    vocabulary: Path | None = None
    hints: Path | None = None

    def load(self, sql: duckdb.DuckDBPyConnection, manifest: Manifest) -> int:
        """Make the table `declared` of all public pairs, and count them."""
        sql.execute("CREATE OR REPLACE TABLE declared (query VARCHAR, url VARCHAR)")
        for name, file in (("vocabulary", self.vocabulary), ("hints", self.hints)):
            checksum = manifest.parameters.get(f"{name}_sha256")
            if file is None and checksum is None:
                continue
            if checksum is None:
                raise OtherKnowledgeError(f"--{name} was given, and the manifest names none")
            if file is None:
                raise OtherKnowledgeError(f"the release used public pairs: name them with --{name}")
            if name == "hints":
                _load_release(sql, file, str(checksum))
            else:
                _load_list(sql, file, str(checksum), urls=manifest.log.url is not None)
        if "fold" in manifest.parameters:
            found = sql.execute("SELECT query, url FROM declared").fetchall()
            sql.execute("DELETE FROM declared")
            _insert(sql, [(folded_query(query), folded_url(url)) for query, url in found])
        sql.execute("""
            CREATE OR REPLACE TABLE declared AS SELECT DISTINCT * FROM declared WHERE query <> ''
            """)
        return int(sql.execute("SELECT count(*) FROM declared").fetchall()[0][0])


NO_KNOWLEDGE = Knowledge()


def _load_list(sql: duckdb.DuckDBPyConnection, file: Path, checksum: str, *, urls: bool) -> None:
    try:
        content = modest(file, most=_LARGEST, links=True)
        lines = content.decode("utf-8-sig").split("\n")
    except (OSError, ValueError):
        raise OtherKnowledgeError("the vocabulary cannot be read") from None
    if hashlib.sha256(content).hexdigest() != checksum:
        raise OtherKnowledgeError("the vocabulary is not the one that the manifest names")
    entries = [[part.strip() for part in line.rstrip("\r").split("\t")] for line in lines]
    _insert(sql, [pair for entry in entries if any(entry) for pair in _of(entry, urls=urls)])


def _of(entry: Sequence[str], *, urls: bool) -> Iterator[tuple[str, str]]:
    """The pairs of a line: a pair, a query of a log without urls, or the names of a site."""
    first = entry[0]
    if len(entry) == 2:
        yield first, entry[1]
    elif not urls:
        yield first, ""
    else:
        host = first.lower().split("://", 1)[-1].split("/", 1)[0]
        plain = host.removeprefix("www.")
        yield from ((name, first) for name in (host, plain, plain.split(".", 1)[0]))


def _load_release(sql: duckdb.DuckDBPyConnection, release: Path, checksum: str) -> None:
    public = release / "public" if (release / "public").is_dir() else release
    try:
        content = modest(public / "manifest.json")
        manifest = Manifest.model_validate_json(content)
        file = released_file(public, manifest)
        intact = hashlib.sha256(content).hexdigest() == checksum
        if not intact or sha256_of(file) != manifest.log.sha256:
            raise OtherKnowledgeError("the hints are not the release that the manifest names")
        sql.execute("DROP TABLE IF EXISTS earlier; DROP TABLE IF EXISTS earlier_rows")
        count(sql, described(file, manifest), into="earlier", ignored="")
    except (OSError, ValidationError, SloganError):
        raise OtherKnowledgeError("the release of --hints cannot be read") from None
    sql.execute("INSERT INTO declared SELECT DISTINCT query, url FROM earlier")


def _insert(sql: duckdb.DuckDBPyConnection, pairs: Sequence[tuple[str, str]]) -> None:
    texts = np.array(list(pairs), dtype=object).reshape(-1, 2)
    sql.register("texts", {"query": texts[:, 0], "url": texts[:, 1]})
    sql.execute("INSERT INTO declared SELECT query::VARCHAR, url::VARCHAR FROM texts")
    sql.unregister("texts")
