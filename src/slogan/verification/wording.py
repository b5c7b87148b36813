"""The words of a release: what manifest and page promise is what the budget allows.

A release made with the words of this version is compared byte for byte. One made with other words,
by an older version, is judged by its structure: its numbers, its form, and its length.
"""

import re
from html.parser import HTMLParser

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.manifest.promise import Promise, promise_of
from slogan.report.html import wording_digest
from slogan.report.public import public_page
from slogan.storage.untrusted import modest
from slogan.verification.evidence import Evidence, Finding, NotPossibleError

_NUMBER = re.compile(r"\d[\d.,^/]*\d|\d")
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
    return set(_NUMBER.findall(text))


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
