"""croissant.json, read as JSON and compared with the manifest."""

import json
from collections.abc import Iterator
from typing import Any, cast

from slogan.manifest.labels import is_date
from slogan.manifest.manifest import Manifest
from slogan.verification.passport.facts import Facts, faults_of

_MEDIA_TYPES = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "jsonl": "application/jsonlines",
    "ubi": "application/jsonlines",
    "parquet": "application/x-parquet",
}
_STANDARDS = [
    "http://mlcommons.org/croissant/1.1",
    "http://mlcommons.org/croissant/RAI/1.0",
]
_VOCABULARIES = {
    "https://schema.org/",
    "http://mlcommons.org/croissant/",
    "http://mlcommons.org/croissant/RAI/",
    "http://purl.org/dc/terms/",
    "http://www.w3.org/ns/prov#",
}
_NAMES = {
    *("@context", "@type", "conformsTo", "name", "description", "license", "creator", "publisher"),
    *("datePublished", "temporalCoverage", "spatialCoverage", "version", "keywords"),
    *("distribution", "recordSet", "rai:dataCollection", "rai:dataCollectionType"),
    *("rai:dataCollectionTimeFrame", "rai:dataPreprocessingProtocol", "rai:dataLimitations"),
    *("rai:dataBiases", "rai:personalSensitiveInformation", "rai:dataUseCases"),
    *("rai:dataSocialImpact", "rai:hasSyntheticData", "prov:wasDerivedFrom"),
    "prov:wasGeneratedBy",
}


def read_facts(text: str, manifest: Manifest) -> Facts:
    """What croissant.json states, and where that differs from the manifest."""
    try:
        read: Any = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        return Facts(faults=("is not a JSON object, or has a repeated field",))
    found = cast("dict[str, Any]", read)
    given = [*manifest.labels.given().values()]
    texts = [*_texts({name: part for name, part in found.items() if name != "@context"})]
    addresses = {one for one in texts if "://" in one} - {*_STANDARDS}
    date = found.get("datePublished", "")
    faults = {
        "has unknown fields": bool(found.keys() - _NAMES),
        "has an unknown vocabulary": not _plain_context(found.get("@context")),
        "does not conform to Croissant 1.1 and RAI 1.0": found.get("conformsTo") != _STANDARDS,
        "does not describe the released log alone": found.get("distribution") != [_file(manifest)],
        "has other columns than the released log": not _plain_records(found, manifest),
        "says wrongly whether the data are synthetic": found.get("rai:hasSyntheticData")
        is not (manifest.method == "synthesize"),
        "leads to an address that the labels do not have": any(
            not any(label in one for label in given) for one in addresses
        ),
        "has an invalid date of publication": date != "" and not is_date(str(date)),
        "has another date of publication than the manifest": manifest.labels.published
        not in (None, date),
    }
    prose = " ".join(one for one in texts if one != date)
    return Facts(faults=faults_of(faults), prose=prose, date=str(date))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated field")
    return dict(pairs)


def _texts(value: Any) -> Iterator[str]:
    """All texts of a value: names of fields too, and numbers as they are written."""
    if isinstance(value, dict):
        for name, inside in cast("dict[str, Any]", value).items():
            yield name
            yield from _texts(inside)
    elif isinstance(value, list):
        for inside in cast("list[Any]", value):
            yield from _texts(inside)
    elif not isinstance(value, bool):
        yield str(value)


def _plain_context(context: Any) -> bool:
    """Whether a context leads to the known vocabularies only."""
    return isinstance(context, dict) and all(
        one in _VOCABULARIES for one in _texts(context) if "/" in one
    )


def _file(manifest: Manifest) -> dict[str, Any]:
    log = manifest.log
    kind = {"encodingFormat": _MEDIA_TYPES.get(log.format)}
    if log.parted:
        return {"@type": "cr:FileSet", "@id": "log", **kind, "includes": f"{log.file}/part-*"}
    return {
        "@type": "cr:FileObject",
        "@id": "log",
        "name": log.file,
        "contentUrl": log.file,
        **kind,
        "sha256": log.sha256,
    }


def _plain_records(found: dict[str, Any], manifest: Manifest) -> bool:
    """Whether records, if there are any, have the columns of the log, or fields inside them."""
    records, log = found.get("recordSet"), manifest.log
    if records is None:
        return True
    try:
        ((fields),) = [one["field"] for one in records]
        names = [one["name"] for one in fields]
        columns = {one["source"]["extract"]["column"] for one in fields}
    except (TypeError, KeyError, ValueError):
        return False
    return {*names} <= {*log.columns, *log.kept_fields} and columns == {*log.columns}
