"""croissant.json: the release as Croissant 1.1 with the fields of responsible AI (RAI 1.0).

https://docs.mlcommons.org/croissant
"""

import json
import re
from typing import Any

from slogan.logs.columns import path_of
from slogan.logs.times import Period
from slogan.manifest.manifest import Manifest, PublishedLog
from slogan.report.passport import Passport

CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
_JSON = {"@type": "@json"}
_TAGGED = {"@container": "@language"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract"),
            *("field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray"),
            *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator"),
            *("source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", **_JSON},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": _TAGGED,
    "examples": {"@id": "cr:examples", **_JSON},
    "name": _TAGGED,
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
}
_MEDIA_TYPES = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "jsonl": "application/jsonlines",
    "ubi": "application/jsonlines",
    "parquet": "application/x-parquet",
}
_ROLES = ("user", "query", "url", "count")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def croissant_page(manifest: Manifest) -> str:
    """The text of croissant.json."""
    page = Passport(manifest)
    found = {
        "@context": dict(sorted(_CONTEXT.items())),
        "@type": "sc:Dataset",
        "conformsTo": list(CONFORMS_TO),
        "name": page.title,
        "description": page.about,
        **_labels(page),
        "version": "1.0.0",
        "keywords": ["search log", "click log", "differential privacy"]
        + ["synthetic data"] * page.synthetic,
        "distribution": [_distribution(manifest.log)],
        **_records(page),
        "rai:dataCollection": f"Made from a search log that is not published. "
        f"{' '.join(page.words.steps)}",
        "rai:dataCollectionType": ["Secondary data analysis", "Software collection"],
        **_time_frame(page.manifest.labels.period),
        "rai:dataPreprocessingProtocol": list(page.post_processing),
        "rai:dataLimitations": list(page.limitations),
        "rai:dataBiases": list(page.biases),
        "rai:personalSensitiveInformation": list(page.sensitive),
        "rai:dataUseCases": list(page.intended),
        "rai:dataSocialImpact": page.reworded(f"{page.strictness.name}. {page.attack}"),
        "rai:hasSyntheticData": page.synthetic,
        "prov:wasDerivedFrom": {
            "@type": "prov:Entity",
            "prov:label": "A search log that is not published",
        },
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": f"slogan {manifest.method}, version {manifest.slogan_version}",
        },
    }
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _time_frame(period: str | None) -> dict[str, Any]:
    """First and last day, which must be dates; a label may state a period in other words."""
    found = Period.of_label(period)
    days = [] if found is None else [found.first.isoformat(), found.last.isoformat()]
    return {"rai:dataCollectionTimeFrame": days} if days else {}


def _labels(page: Passport) -> dict[str, Any]:
    """What the publisher stated, and that it did not state the terms of use."""
    labels = page.manifest.labels
    named: dict[str, Any] = {
        "license": labels.licence or "The publisher stated no terms of use.",
    }
    if labels.publisher:
        who: dict[str, Any] = {"@type": "sc:Organization", "name": labels.publisher}
        if labels.contact:
            who["description"] = f"Contact: {labels.contact}"
        named |= {"creator": who, "publisher": who}
    if labels.published:
        named["datePublished"] = labels.published
    if labels.period:
        named["temporalCoverage"] = labels.period
    if labels.region:
        named["spatialCoverage"] = labels.region
    return named


def _distribution(log: PublishedLog) -> dict[str, Any]:
    """The released file, or the set of its parts."""
    kind = {"encodingFormat": _MEDIA_TYPES[log.format]}
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


def _records(page: Passport) -> dict[str, Any]:
    """The rows as records. Readers of Croissant know neither files without a header nor zstd."""
    log = page.manifest.log
    headed = log.header or log.format in ("jsonl", "parquet")
    # The lines of UBI are of two kinds, which no column of Croissant tells apart.
    readable = headed and log.compression in ("", ".gz") and log.delimiter in (None, ",")
    if not readable:
        return {}
    source = {"fileSet" if log.parted else "fileObject": {"@id": "log"}}
    roles = {name: role for role in _ROLES if (name := getattr(log, role)) is not None}
    inside = {path_of(name, log.columns)[0] for name in roles} - {*roles}
    places = [(name, (name,)) for name in log.columns if name not in inside]
    places += [(name, path_of(name, log.columns)) for name in roles if name not in log.columns]
    meanings = {
        "user": f"The user-ID. User-IDs are {page.user_ids}.",
        "query": "The text of the search.",
        "url": "The clicked address.",
        "count": page.reworded("The number of clicks of this user on this pair."),
    }
    plain = all(_PLAIN.fullmatch(name) for name in log.columns)
    fields: list[dict[str, Any]] = []
    for number, (name, path) in enumerate(places):
        role = roles.get(name, "")
        extract: dict[str, Any] = {**source, "extract": {"column": path[0]}}
        if len(path) > 1 and all(map(_PLAIN.fullmatch, path)):
            extract["transform"] = {"jsonPath": ".".join(path[1:])}
        fields.append(
            {
                "@type": "cr:Field",
                "@id": f"rows/{name if plain and name in log.columns else f'field-{number}'}",
                "name": name,
                "description": meanings.get(role, "Empty in every row."),
                "dataType": "sc:Integer" if role == "count" else "sc:Text",
                "source": extract,
            }
        )
    rows = "One row for each user and pair." if log.count else "One row for each click."
    record = {"@type": "cr:RecordSet", "@id": "rows", "name": "rows"}
    return {"recordSet": [{**record, "description": page.reworded(rows), "field": fields}]}
