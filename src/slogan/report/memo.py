"""MemoPage: one page for the person who must approve a release. It is for the curator only."""

from dataclasses import dataclass

from slogan.budget import at_most
from slogan.logs.words import worded_page
from slogan.manifest.certificate import (
    Certificate,
    PlannedCertificate,
    PrivateRowsCertificate,
)
from slogan.manifest.manifest import Manifest
from slogan.manifest.uses import Uses
from slogan.measures import SideBySide
from slogan.report.html import render
from slogan.report.public import Page

_RECIPIENTS = {
    "calm": "anybody, if this budget is strict enough for you",
    "amber": "named recipients under an agreement",
    "red": "people who may see the log itself",
}


@dataclass(frozen=True)
class MemoPage(Page):
    """The facts behind one decision: may this release be published?"""

    certificate: Certificate
    evaluation: SideBySide | None = None

    @property
    def recipients(self) -> str:
        """Who may receive a release of this strictness."""
        return _RECIPIENTS[self.strictness.colour]

    @property
    def measured_uses(self) -> Uses:
        """By the measures where there are any, else by how the release was made."""
        return self.uses.decided_by(self.evaluation.uses) if self.evaluation else self.uses

    @property
    def contents(self) -> list[str]:
        """What would be published, in numbers of the log."""
        c = self.certificate
        lines = [
            f"{c.clicks_out:,} clicks on {c.pairs_out:,} query-url pairs under {c.users_out:,} "
            f"user-IDs. The log has {c.clicks_in:,} clicks, {c.pairs:,} pairs, {c.users:,} users."
        ]
        if isinstance(c, PlannedCertificate | PrivateRowsCertificate):
            lines.append(
                f"Real rows of about {at_most(c.exposed_users_expected)} of {c.users:,} people are "
                "expected to be in it."
            )
        else:
            lines.append("No row belongs to a real person.")
        if emptied := self.manifest.log.emptied:
            lines.append(f"Empty columns: {', '.join(emptied)}.")
        if kept := self.manifest.log.kept_fields:
            lines.append(f"Kept of nested columns: {', '.join(kept)}.")
        return lines

    @property
    def cost(self) -> str:
        """What the release spends, and whether slogan adds it up."""
        budget = self.budget
        spent = f"ε = {at_most(budget.epsilon_at_most)}, δ = {self.manifest.budget.delta}"
        if not self.manifest.kind.end_to_end:
            return f"{spent}, for one release. No ledger can add it up with other releases."
        return (
            f"{spent}, for good. Releases of the same people add up: see "
            "slogan ledger --population NAME."
        )


def memo_page(
    manifest: Manifest, certificate: Certificate, evaluation: SideBySide | None = None
) -> str:
    """The memo for approval."""
    page = MemoPage(manifest, certificate, evaluation)
    return worded_page(render("memo.html", page), page.items)
