"""What is known before a log is opened: pairs of a vocabulary, and of an earlier release."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
from pydantic import ValidationError

from slogan.errors import LogFormatError, OptionError, SloganError
from slogan.logs.rows import fields_of, rows_sql, source_sql, whole_lines
from slogan.logs.searchlog import SearchLog
from slogan.logs.vocabulary import Pair, Vocabulary, in_order
from slogan.manifest.labels import require_label
from slogan.manifest.manifest import Manifest, described, released_file
from slogan.modes import Parameters
from slogan.storage.atomic import sha256_of
from slogan.storage.database import connected
from slogan.storage.folders import scratch_folder
from slogan.storage.untrusted import modest


@dataclass(frozen=True, kw_only=True, repr=False)
class PublicKnowledge:
    """Public pairs, and where they are from."""

    pairs: tuple[Pair, ...] = ()
    sources: Parameters
    """For the manifest: names and checksums."""

    def parameters(self, listed: int) -> Parameters:
        """For the manifest, with the number of public pairs as the log is read."""
        return {**self.sources, "public_pairs": listed} if self.sources else {}


def public_knowledge(
    log: SearchLog, vocabulary: str | Path | None, hints: str | Path | None
) -> PublicKnowledge:
    """Read a list and an earlier release for this log."""
    urls, pairs = log.columns.url is not None, list[Pair]()
    sources: Parameters = {}
    if vocabulary is not None:
        found = Vocabulary.read(vocabulary)
        pairs += found.pairs(urls=urls)
        _ = require_label("file of the vocabulary", found.name)
        sources |= {"vocabulary": found.name, "vocabulary_sha256": found.sha256}
    if hints is not None:
        name, checksum, earlier = released_pairs(Path(hints), urls=urls)
        pairs += earlier
        _ = require_label("folder of the hints", name)
        sources |= {"hints": name, "hints_sha256": checksum}
    return PublicKnowledge(pairs=in_order(pairs), sources=sources)


def released_pairs(release: Path, *, urls: bool) -> tuple[str, str, list[Pair]]:
    """The name of an earlier release, the checksum of its manifest, and its pairs."""
    public = release / "public" if (release / "public").is_dir() else release
    try:
        file = public / "manifest.json"
        manifest = Manifest.model_validate_json(modest(file))
        log = described(released_file(public, manifest), manifest)
        checksum = sha256_of(file)
    except (OSError, ValidationError, SloganError):
        raise OptionError(
            f"{release} is not a release that can be read",
            hint="give --hints the folder of an earlier release, or its folder public",
        ) from None
    if not manifest.kind.end_to_end or manifest.test_run:
        raise OptionError(
            f"{release} is not private end to end, so its pairs cannot be taken as known",
            hint="give --hints a release of synthesize; or, if its pairs are public for another "
            "reason, list them with --vocabulary",
        )
    if (manifest.log.url is not None) != urls:
        raise OptionError(
            f"of {release} and the log, one has urls and the other has none",
            hint="give --hints a release of the same kind of log",
        )
    if sha256_of(released_file(public, manifest)) != manifest.log.sha256:
        raise OptionError(
            f"the log of {release} is not the one that its manifest names",
            hint="restore the release, or leave out --hints",
        )
    name = public.resolve().parent.name if public.name == "public" else public.resolve().name
    return name, checksum, _pairs_of(log)


def _pairs_of(log: SearchLog) -> list[Pair]:
    with scratch_folder() as folder, connected(spill=folder) as sql:
        try:
            source = source_sql(log, whole_lines(log, folder), keep_rejects=False)
            rows = rows_sql(source, fields_of(log))
            found = sql.execute(f"SELECT DISTINCT query, url FROM ({rows}) WHERE reason IS NULL")
            return [(query, url) for query, url in found.fetchall()]
        except duckdb.Error:
            raise LogFormatError(
                "the log of the earlier release cannot be read", hint="restore the release"
            ) from None
