"""The form of what a release says of itself: its manifest, its promise and its page.

What a manifest may say is a list: known names, each with values of its kind. Promise and page are
compared byte for byte, unless they were made with other words, by an older version: these are
judged by their structure, which is their numbers, their form and their length.
"""

import ast
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic_core import to_json

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.logs.columns import path_of
from slogan.logs.text import DELIMITERS, ENCODINGS
from slogan.logs.words import ITEMS, PAIRS, QUERIES, SEARCHES
from slogan.manifest.manifest import Manifest, Outputs
from slogan.manifest.promise import Promise, promise_of
from slogan.registry import module_names
from slogan.report.html import wording_digest
from slogan.report.public import public_page
from slogan.storage.untrusted import modest
from slogan.verification.accounting import account_as_written
from slogan.verification.evidence import Evidence, Finding, NotPossibleError

_NUMBER = re.compile(r"[0-9]{1,200}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?(/[0-9]{1,200})?")
_TYPED = re.compile(r"[0-9./eE+_-]{1,40}")
_VERSION = re.compile(r"[0-9]+(\.[0-9]+){0,3}[0-9a-z.+-]{0,16}")
_DIGEST = re.compile(r"[0-9a-f]{16,64}")
_LIBRARIES = {"python", "duckdb", "highspy", "numpy", "scipy"}
_GROUPINGS = {"independent", "domains", "spectral", "taxonomy"}
_GRID = 2**20
"""Noise is drawn in steps of a grid, and so is all that is measured with it."""
_MOST_RANK = 800
_BINS = 31
Accepts = Callable[[object], bool]


def _number(value: object) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_of(*names: str) -> Accepts:
    return lambda value: value in names


def _allowed(manifest: Manifest) -> dict[str, Accepts]:
    """What parameters a manifest may have, each with a test of its value."""
    objectives = module_names("slogan.planning.objectives")
    objective = manifest.parameters.get("objective")
    own = _fields("slogan.planning.objectives", str(objective)) if objective in objectives else ()
    return {
        **dict.fromkeys(own, _number),
        "objective": _one_of(*objectives),
        "solver": _one_of("auto", "distributed", *module_names("slogan.planning.solvers")),
        "engine": _one_of(*module_names("slogan.engines", packages_only=True)),
        "time_limit": _number,
        "gap": _number,
        "encoding": _one_of(*ENCODINGS.values()),
        "on_bad_row": _one_of("error", "skip"),
        "searches": _one_of("all"),
        "fold": _one_of("yes"),
        ITEMS: _one_of(QUERIES, SEARCHES),
        "selector": _one_of(*module_names("slogan.dp.selection")),
        "association": _one_of(*_GROUPINGS),
        "taxonomy_sha256": lambda value: _DIGEST.fullmatch(str(value)) is not None,
        "accept_weak_privacy": _one_of("yes"),
        **dict.fromkeys(
            (
                *("laplace_bound", "laplace_epsilon", "sampling_share", "sampling_cap"),
                *("share_selection", "share_counts", "share_association", "share_sizes"),
                *("share_coverage", "selection_delta", "counts_norm", "counts_most_clicks"),
                *("sizes_largest", "coverage_most_clicks", "association_head"),
                "association_most_categories",
            ),
            _number,
        ),
    }


def _fields(package: str, module: str) -> tuple[str, ...]:
    """The fields of the classes in a module, read from its source: nothing of it is run."""
    spec = find_spec(f"{package}.{module}")
    if spec is None or spec.origin is None:
        return ()
    classes = [
        n
        for n in ast.parse(Path(spec.origin).read_text("utf-8")).body
        if isinstance(n, ast.ClassDef)
    ]
    fields = (part for one in classes for part in one.body if isinstance(part, ast.AnnAssign))
    return tuple(field.target.id for field in fields if isinstance(field.target, ast.Name))


def manifest_as_written(evidence: Evidence) -> Finding:
    """Whether the manifest says known things in known ways, and nothing else."""
    manifest = evidence.manifest
    try:
        raw = modest(evidence.public / "manifest.json").decode()
        parsed = json.loads(raw, object_pairs_hook=_without_repetition)
    except (OSError, ValueError):
        return False, "public/manifest.json cannot be read twice"
    allowed = _allowed(manifest)
    unknown = [
        name
        for name, value in manifest.parameters.items()
        if value is not None and (name not in allowed or not allowed[name](value))
    ]
    budget = [text for text in manifest.budget.model_dump().values() if text is not None]
    log = manifest.log
    faults = {
        "is not written as slogan writes it": raw != to_json(parsed, indent=2).decode() + "\n"
        or (
            manifest.slogan_version == version("slogan")
            and raw != manifest.model_dump_json(indent=2) + "\n"
        ),
        f"has {len(unknown)} parameters with unknown names or values": bool(unknown),
        "has a budget that was not typed as a number": not all(map(_TYPED.fullmatch, budget)),
        "names versions that are not versions": not _plain_versions(manifest),
        "has a wording that is not a digest": _DIGEST.fullmatch(manifest.wording) is None,
        "names another file than the released log": log.file
        != f"log.{log.format}{log.compression}",
        "describes its columns in ways that do not follow from them": not _plain_log(manifest),
        "has an account that does not follow from its stages": not account_as_written(evidence),
        "has outputs that the mechanism cannot have given": not _plain_outputs(manifest),
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, f"the manifest {'; '.join(found) or 'holds known names and values only'}"


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _plain_log(manifest: Manifest) -> bool:
    """Whether items, emptied columns and delimiter are what the columns and the format say."""
    log = manifest.log
    roles = [name for name in (log.user, log.query, log.url, log.count) if name is not None]
    modelled = {path_of(name, log.columns)[:1] for name in roles}
    emptied = tuple(name for name in log.columns if (name,) not in modelled)
    searched = SEARCHES if manifest.parameters.get("searches") == "all" else PAIRS
    items = QUERIES if log.url is None else searched
    older = not log.emptied and manifest.slogan_version != version("slogan")
    return (
        (log.emptied == emptied or older)
        and (log.delimiter is None or log.delimiter in DELIMITERS.values())
        and (log.delimiter is None or log.format == "csv")
        and manifest.parameters.get(ITEMS, PAIRS) == items
    )


def _plain_versions(manifest: Manifest) -> bool:
    versions = {"slogan": manifest.slogan_version, **manifest.versions}
    known = versions.keys() <= _LIBRARIES | {"slogan"}
    return known and all(map(_VERSION.fullmatch, versions.values()))


def _plain_outputs(manifest: Manifest) -> bool:
    """Whether figures lie on the grid of the noise, and those that follow from others do."""
    outputs = manifest.outputs
    if outputs is None:
        return True
    bins = outputs.users_by_pairs
    measured = list(bins)
    follows = len(bins) == _BINS and outputs.users == max(0, round(sum(bins[1:])))
    if isinstance(outputs, Outputs):
        measured += [outputs.clicks_released, outputs.clicks_other]
        inside, outside = (max(part, 0.0) for part in measured[-2:])
        share = inside / (inside + outside) if inside + outside > 0 else 0.0
        follows = follows and outputs.coverage == share and outputs.association in _GROUPINGS
        follows = follows and 0 <= outputs.association_rank <= _MOST_RANK
    return follows and all((number * _GRID).is_integer() for number in measured)


# --- the words ---

_DIGITS = re.compile(r"\d[\d.,^/]*\d|\d")
_WORD = re.compile(r"[^\s\"'<>()\[\],;]{5,}")
_ACTIVE = {"script", "iframe", "object", "embed", "form", "link", "base", "img", "input", "a"}
_LONGER = 3
"""No page is so many times as long as ours."""


def words(evidence: Evidence) -> Finding:
    """Whether promise and page say what the budget allows."""
    manifest = evidence.manifest
    try:
        promise = promise_of(
            manifest.kind,
            manifest.parameters,
            PrivacyBudget(**manifest.budget.model_dump()),
            pseudonyms=manifest.pseudonyms,
        )
        ours = public_page(manifest)
    except (BudgetError, KeyError, ValueError) as cause:
        raise NotPossibleError("the manifest has no valid budget or parameters") from cause
    try:
        page = modest(evidence.public / "report.html").decode()
    except (OSError, UnicodeDecodeError):
        return False, "public/report.html is missing or cannot be read"
    if manifest.wording != wording_digest():
        return _in_other_words(evidence, promise, page, ours)
    written = (manifest.promise, manifest.guarantees, manifest.not_guaranteed)
    if written != (promise.name, promise.guarantees, promise.not_guaranteed):
        return False, "the manifest promises in other words than its budget allows"
    if page != ours:
        return False, "manifest and report do not say what the budget allows"
    return True, "manifest and report say what the budget allows"


def _in_other_words(evidence: Evidence, promise: Promise, page: str, ours: str) -> Finding:
    """Judge sentences that this version does not know by what can be known of them."""
    manifest, form, our_form = evidence.manifest, _Form(), _Form()
    form.feed(page)
    our_form.feed(ours)
    said = " ".join((manifest.promise, *manifest.guarantees, *manifest.not_guaranteed))
    known = " ".join((promise.name, *promise.guarantees, *promise.not_guaranteed))
    faults = {
        "the manifest promises numbers that its budget does not give": _numbers(said)
        - _numbers(known),
        "the page shows numbers that are not the manifest's": _numbers(form.text)
        - _numbers(our_form.text)
        - _numbers(manifest.model_dump_json()),
        "the page or the manifest is far longer than ours": len(page) > _LONGER * len(ours)
        or len(said) > _LONGER * len(known),
        "the page holds more than text": form.active or "default-src 'none'" not in page,
        "the page or the manifest names a user or a url of the log": _names_of_log(
            evidence, _words_of(f"{form.text} {said}") - _words_of(f"{our_form.text} {known}")
        ),
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, "; ".join(found)
    return True, (
        f"written with other words, by slogan {manifest.slogan_version}: numbers and form are what "
        "the budget allows; sentences were not compared"
    )


class _Form(HTMLParser):
    """The text of a page, and whether it holds what could act, load or hide something."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.active, self._style = "", False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        acts = any(name.startswith("on") or name in ("src", "href", "hidden") for name, _ in attrs)
        self.active = self.active or tag in _ACTIVE or acts
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._style else f" {data}"

    def handle_comment(self, data: str) -> None:
        self.active = self.active or bool(data)


def _numbers(text: str) -> set[str]:
    return set(_DIGITS.findall(text))


def _words_of(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _names_of_log(evidence: Evidence, new: set[str]) -> bool:
    if not new or isinstance(evidence.clicked, str):
        return False
    found = evidence.sql.execute(
        """SELECT EXISTS (FROM clicked WHERE "user" IN (SELECT unnest($1))
                          OR url IN (SELECT unnest($1)))""",
        [sorted(new)],
    ).fetchall()
    return bool(found[0][0])
