"""The words of a release: promise and pages are functions of the manifest.

They are compared byte for byte. A release made with other words, by another version, is judged by
structure: its numbers, its form and its length.
"""

import re
from html.parser import HTMLParser

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.logs.files import identifier
from slogan.manifest.manifest import CHECKSUMS, Manifest
from slogan.manifest.promise import Promise, promise_of
from slogan.report.html import wording_digest
from slogan.report.pages import HTML_PAGES, PASSPORT, PUBLIC_PAGES
from slogan.storage.untrusted import modest
from slogan.verification.evidence import Evidence, Finding, NotPossibleError

_DIGITS = re.compile(r"\d[\d.,^/]*\d|\d")
_WORD = re.compile(r"[^\s\"'<>()\[\],;]{5,}")
_ACTIVE = {"script", "iframe", "object", "embed", "form", "link", "base", "img", "input"}
_LONGER = 3
"""A page may be at most this many times as long as ours."""


def words(evidence: Evidence) -> Finding:
    """Whether promise and pages state what the budget allows."""
    manifest = evidence.manifest
    try:
        promise = promise_of(
            manifest.kind,
            manifest.parameters,
            PrivacyBudget(**manifest.budget.model_dump()),
            pseudonyms=manifest.pseudonyms,
        )
        ours = {name: page(manifest) for name, page in PUBLIC_PAGES.items()}
    except (BudgetError, KeyError, ValueError) as cause:
        raise NotPossibleError("the manifest has no valid budget or parameters") from cause
    pages: dict[str, str] = {}
    for name in ours if same_words(manifest) else _pages_there(evidence):
        try:
            pages[name] = modest(evidence.public / name).decode()
        except (OSError, UnicodeDecodeError):
            return False, f"public/{name} is missing or cannot be read"
    if not same_words(manifest):
        return _in_other_words(evidence, promise, pages, ours)
    written = (manifest.promise, manifest.guarantees, manifest.not_guaranteed)
    if written != (promise.name, promise.guarantees, promise.not_guaranteed):
        return False, "the promise in the manifest is not the one its budget allows"
    if pages != ours:
        return False, "manifest and pages do not state what the budget allows"
    return True, "manifest and pages state what the budget allows"


def same_words(manifest: Manifest) -> bool:
    """Whether a release was made with the texts of this version."""
    return manifest.wording == wording_digest()


def _pages_there(evidence: Evidence) -> set[str]:
    """The pages of a release made with other words; older ones have a report and no card."""
    return {"report.html", *(n for n in HTML_PAGES if (evidence.public / n).is_file())}


def expected_files(evidence: Evidence) -> set[str]:
    """The files that public/ must hold, and no others."""
    pages = {*PUBLIC_PAGES, CHECKSUMS}
    if not same_words(evidence.manifest):
        added = {name for name in (*PASSPORT, CHECKSUMS) if (evidence.public / name).is_file()}
        pages = {*_pages_there(evidence), *added}
    return {evidence.manifest.log.file, "manifest.json", *pages}


def _in_other_words(
    evidence: Evidence, promise: Promise, pages: dict[str, str], our_pages: dict[str, str]
) -> Finding:
    """Judge sentences of another version by their numbers, form and length."""
    manifest, form, our_form = evidence.manifest, _Form(), _Form()
    page, ours = ("".join(some[name] for name in pages) for some in (pages, our_pages))
    form.feed(page)
    our_form.feed(ours)
    stated = " ".join((manifest.promise, *manifest.guarantees, *manifest.not_guaranteed))
    known = " ".join((promise.name, *promise.guarantees, *promise.not_guaranteed))
    faults = {
        "the manifest promises numbers that its budget does not give": numbers_of(stated)
        - numbers_of(known),
        "the report shows numbers that are not in the manifest": numbers_of(form.text)
        - numbers_of(our_form.text)
        - numbers_of(manifest.model_dump_json()),
        "the report or the manifest is far longer than ours": len(page) > _LONGER * len(ours)
        or len(stated) > _LONGER * len(known),
        "the pages contain more than text": form.active
        or not all("default-src 'none'" in text for text in pages.values()),
        "a page or the manifest names a user or a url of the log": names_of_log(
            evidence, words_of(f"{form.text} {stated}") - words_of(f"{our_form.text} {known}")
        ),
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, "; ".join(found)
    return True, (
        f"written by slogan {manifest.slogan_version} with other texts: numbers and structure are "
        "what the budget allows; sentences were not compared"
    )


class _Form(HTMLParser):
    """The text of a page, and whether it has active, external or hidden content."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.active, self._style = "", False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        acts = any(name.startswith("on") or name in ("src", "hidden") for name, _ in attrs)
        leads = any(name == "href" and not (to or "").startswith("#") for name, to in attrs)
        self.active = self.active or tag in _ACTIVE or acts or leads
        self._style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._style = self._style and tag != "style"

    def handle_data(self, data: str) -> None:
        self.text += "" if self._style else f" {data}"

    def handle_comment(self, data: str) -> None:
        self.active = self.active or bool(data)


def numbers_of(text: str) -> set[str]:
    """The numbers of a text, as they are written."""
    return set(_DIGITS.findall(text))


def words_of(text: str) -> set[str]:
    """The words of a text that are long enough to name a person."""
    return set(_WORD.findall(text))


def names_of_log(
    evidence: Evidence, new: set[str], columns: tuple[str, ...] = ("user", "url")
) -> bool:
    """Whether one of some words is the whole value of such a column of the input log."""
    if not new or isinstance(evidence.clicked, str):
        return False
    named = " OR ".join(f"{identifier(column)} IN (SELECT unnest($1))" for column in columns)
    found = evidence.sql.execute(
        f"SELECT EXISTS (FROM clicked WHERE {named})", [sorted(new)]
    ).fetchall()
    return bool(found[0][0])
