"""The form of a manifest, and that it has no field too many.

A manifest has known names only, each with values of its kind.
"""

import ast
import json
import math
import re
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from slogan.logs.columns import path_of
from slogan.logs.text import DELIMITERS, ENCODINGS
from slogan.logs.words import ITEMS, PAIRS, QUERIES, SEARCHES
from slogan.manifest.labels import is_label
from slogan.manifest.manifest import Manifest, Outputs
from slogan.registry import module_names
from slogan.report.html import wording_digest
from slogan.storage.untrusted import modest
from slogan.verification import fields
from slogan.verification.accounting import account_as_written, part
from slogan.verification.contributions.one_pair import is_one
from slogan.verification.events.form import plain_events
from slogan.verification.evidence import Evidence, Finding
from slogan.verification.wording import names_of_log, words_of

_NUMBER = re.compile(r"[0-9]{1,200}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?(/[0-9]{1,200})?")
_TYPED = re.compile(r"[0-9./eE+_-]{1,40}")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}[0-9a-z.+-]{0,16}")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
_LIBRARIES = {"python", "duckdb", "highspy", "numpy", "scipy"}
_GROUPINGS = {"independent", "domains", "pairs", "taxonomy"}
_GRID = 2**20
"""Noise is a multiple of 1/_GRID, and so is every number measured with it."""
_LARGEST, _CLEAR_SIZE, _CLIPPED = 30, 3.0, 0.05
Accepts = Callable[[object], bool]


def _number(value: object) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _one_of(*names: str) -> Accepts:
    return lambda value: value in names


def _numbers_of(*names: str) -> Accepts:
    """Whether a value lists different names with a number each: output_size=1,diversity=2."""

    def accepts(value: object) -> bool:
        items = [item.partition("=") for item in str(value).split(",")]
        found = [name for name, _, _ in items]
        known = {*found} <= {*names} and len(found) == len({*found})
        return known and isinstance(value, str) and all(_number(number) for _, _, number in items)

    return accepts


def _allowed(manifest: Manifest) -> dict[str, Accepts]:
    """The parameters a manifest may have, each with a test of its value."""
    objectives = module_names("slogan.planning.objectives")
    objective = manifest.parameters.get("objective")
    own = _fields("slogan.planning.objectives", str(objective)) if objective in objectives else ()
    return {
        **dict.fromkeys(own, _number),
        **dict.fromkeys({"weights", "at_least"}.intersection(own), _numbers_of(*objectives)),
        "objective": _one_of(*objectives),
        "solver": _one_of("auto", "distributed", *module_names("slogan.planning.solvers")),
        "engine": _one_of(*module_names("slogan.engines", packages_only=True)),
        "require": _whole,
        "minimize": _one_of("exposure"),
        "time_limit": _number,
        "gap": _number,
        "patience": _number,
        "encoding": _one_of(*ENCODINGS.values()),
        "on_bad_row": _one_of("error", "skip"),
        "searches": _one_of("all"),
        "fold": _one_of("yes"),
        **({"click_action": _are_actions} if manifest.log.format == "ubi" else {}),
        ITEMS: _one_of(QUERIES, SEARCHES),
        "contributions": _one_of("one", "auto"),
        "selector": _one_of(*module_names("slogan.dp.selection")),
        "association": _one_of("auto", *_GROUPINGS),
        **dict.fromkeys(("vocabulary", "hints"), _is_name),
        "public_pairs": _whole,
        **dict.fromkeys(("vocabulary_sha256", "hints_sha256"), _is_digest),
        "taxonomy_sha256": _is_digest,
        "accept_weak_privacy": _one_of("yes"),
        **dict.fromkeys(
            (
                *("laplace_bound", "laplace_epsilon", "sampling_share", "sampling_cap"),
                *("share_selection", "share_counts", "share_association", "share_sizes"),
                *("share_coverage", "selection_delta", "counts_norm", "counts_most_clicks"),
                *("sizes_largest", "coverage_most_clicks", "association_head", "selection_most"),
                *("share_draw", "share_users", "share_contributions"),
                *(f"share_{name}" for name in fields.NORM_SQUARED),
                *("association_most_categories", "session_gap"),
            ),
            _number,
        ),
    }


def _is_name(value: object) -> bool:
    return isinstance(value, str) and is_label(value)


def _are_actions(value: object) -> bool:
    """Whether a value lists different action_names of UBI."""
    actions = str(value).split(",")
    plain = all(0 < len(one) <= 100 and one.isprintable() for one in actions)
    return isinstance(value, str) and plain and len({*actions}) == len(actions)


def _is_digest(value: object) -> bool:
    return _DIGEST.fullmatch(str(value)) is not None


def _fields(package: str, module: str) -> tuple[str, ...]:
    """The fields of the classes in a module, read from its source without importing it."""
    spec = find_spec(f"{package}.{module}")
    if spec is None or spec.origin is None:
        return ()
    classes = [
        n
        for n in ast.parse(Path(spec.origin).read_text("utf-8")).body
        if isinstance(n, ast.ClassDef)
    ]
    parts = (part for one in classes for part in one.body if isinstance(part, ast.AnnAssign))
    return tuple(field.target.id for field in parts if isinstance(field.target, ast.Name))


def manifest_as_written(evidence: Evidence) -> Finding:
    """Check that the manifest has only known fields with valid values, as slogan writes them."""
    manifest = evidence.manifest
    try:
        raw = modest(evidence.public / "manifest.json").decode()
        parsed = json.loads(raw, object_pairs_hook=_without_repetition)
    except (OSError, ValueError):
        return False, "public/manifest.json cannot be read, or has a repeated field"
    allowed = _allowed(manifest)
    unknown = [
        name
        for name, value in manifest.parameters.items()
        if value is not None and (name not in allowed or not allowed[name](value))
    ]
    budget = [text for text in manifest.budget.model_dump().values() if text is not None]
    log, labels = manifest.log, manifest.labels.given()
    faults = {
        "is not written as slogan writes it": raw != to_json(parsed, indent=2).decode() + "\n"
        or (
            manifest.slogan_version == version("slogan")
            and manifest.wording == wording_digest()
            and raw != manifest.model_dump_json(indent=2) + "\n"
        ),
        f"has {len(unknown)} parameters with unknown names or values": bool(unknown),
        "has a budget that is not written as a number": not all(map(_TYPED.fullmatch, budget)),
        "has invalid version numbers": not _plain_versions(manifest),
        "has labels that are not one line each": not all(map(is_label, labels.values())),
        "has labels that name a user of the log": names_of_log(
            evidence,
            words_of(" ".join(text for name, text in labels.items() if name != "contact")),
            ("user",),
        ),
        "has an invalid digest of its wording": _DIGEST.fullmatch(manifest.wording) is None,
        "does not name the released log": log.file
        != f"log.{'ubi.jsonl' if log.format == 'ubi' else log.format}{log.compression}",
        "describes its columns in ways that do not follow from them": not _plain_log(manifest),
        "has an account that does not follow from its stages": not account_as_written(evidence),
        "has outputs that the mechanism cannot produce": not _plain_outputs(manifest),
        "withholds more queries than pairs": manifest.withheld is not None
        and manifest.withheld.queries > manifest.withheld.pairs,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, f"the manifest {'; '.join(found) or 'has only known, valid fields'}"


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("repeated field")
    return dict(pairs)


def _plain_log(manifest: Manifest) -> bool:
    """Whether items, emptied columns and delimiter are what the columns and the format say."""
    log = manifest.log
    modelled = {path_of(name, log.columns)[:1] for name in log.roles.values()}
    emptied = tuple(name for name in log.columns if (name,) not in modelled)
    searched = SEARCHES if manifest.parameters.get("searches") == "all" else PAIRS
    items = QUERIES if log.url is None else searched
    older = not log.emptied and manifest.slogan_version != version("slogan")
    return (
        (log.emptied == emptied or older)
        and (log.delimiter is None or log.delimiter in DELIMITERS.values())
        and (log.delimiter is None or log.format == "csv")
        and manifest.parameters.get(ITEMS, PAIRS) == items
        and (log.events is None or plain_events(manifest))
    )


def _plain_versions(manifest: Manifest) -> bool:
    versions = {"slogan": manifest.slogan_version, **manifest.versions}
    known = versions.keys() <= _LIBRARIES | {"slogan"}
    return known and all(map(_VERSION.fullmatch, versions.values()))


def _users_of(manifest: Manifest, held: tuple[float, ...]) -> int:
    """The users with a released pair: all bins, or those clear of the noise if they are more."""
    least = _CLEAR_SIZE * math.sqrt(_variance_of(manifest, "sizes"))
    return max(0, round(max(sum(held), sum(size for size in held if size > least))))


def _coverage_of(manifest: Manifest, outputs: Outputs) -> float:
    """The share of clicks on released pairs: both measurements of them, weighted by their error."""
    if is_one(manifest):  # measured once
        inside, outside = max(outputs.clicks_released, 0.0), max(outputs.clicks_other, 0.0)
        return inside / (inside + outside) if inside + outside > 0 else 0.0
    noise = _variance_of(manifest, "coverage")
    other = outputs.pairs_selected * _variance_of(manifest, "counts")
    scaled = _CLIPPED * max(outputs.clicks_counted, 0.0)
    first, second = outputs.clicks_released, outputs.clicks_counted
    inside = max(first + noise / (noise + other + scaled**2) * (second - first), 0.0)
    outside = max(outputs.clicks_other, 0.0)
    return inside / (inside + outside) if inside + outside > 0 else 0.0


def _variance_of(manifest: Manifest, name: str) -> float:
    stages = () if manifest.account is None else manifest.account.stages
    noise = [float(part(stage, "variance")) for stage in stages if stage.name == name]
    return max(noise, default=math.inf)


def _plain_outputs(manifest: Manifest) -> bool:
    """Whether measured figures lie on the grid of the noise, and derived ones are consistent."""
    outputs = manifest.outputs
    if outputs is None:
        return True
    bins = outputs.users_by_pairs
    measured = list(bins)
    follows = len(bins) == 1 + min(outputs.pairs_selected, _LARGEST)
    follows = follows and outputs.users == _users_of(manifest, bins[1:])
    if isinstance(outputs, Outputs):
        measured += [outputs.clicks_released, outputs.clicks_other, outputs.clicks_counted]
        follows = follows and outputs.coverage == _coverage_of(manifest, outputs)
        follows = follows and outputs.association in _GROUPINGS
        known = outputs.association != "independent"
        follows = follows and 0 <= outputs.association_kept <= 1
        follows = follows and (outputs.association_kept > 0) == known
        follows = follows and fields.plain(manifest)
        measured += fields.numbers(manifest)
    return follows and all((number * _GRID).is_integer() for number in measured)
