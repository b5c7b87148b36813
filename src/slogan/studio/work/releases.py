"""Releases: the tasks that make a release, examine it, and withhold queries of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slogan.studio.choices import LogChoice
from slogan.studio.work.facts import CheckLine, Examined, Made, ReviewLine

if TYPE_CHECKING:
    from slogan.ledger.ledger import Ledger
    from slogan.logs.searchlog import SearchLog
    from slogan.progress import Progress
    from slogan.verification.conditions import Verdict


@dataclass(frozen=True, kw_only=True)
class Make:
    """Make a release and save it: the only task that spends budget."""

    log: LogChoice
    mode: str
    epsilon: str | None
    exp_epsilon: str | None
    delta: str
    output: str
    ledger: Ledger | None
    """None for a test run."""
    unaccounted: bool
    labels: Mapping[str, str]
    recipient: str | None
    approver: str | None
    seed: int | None = None
    """Of a marked test run."""

    def run(self, progress: Progress) -> Made:
        """Call the verb, and save what it returns."""
        from slogan.budget import PrivacyBudget
        from slogan.manifest.labels import Labels
        from slogan.workflows.sanitize import sanitize
        from slogan.workflows.synthesize import synthesize

        budget = PrivacyBudget(epsilon=self.epsilon, exp_epsilon=self.exp_epsilon, delta=self.delta)
        labels = Labels(**self.labels)
        if self.mode == "synthesize":
            release = synthesize(
                self.log.dated(labels.period),
                budget,
                output=self.output,
                ledger=self.ledger,
                labels=labels,
                recipient=self.recipient,
                approver=self.approver,
                seed=self.seed,
                progress=progress,
            )
        else:
            release = sanitize(
                self.log.log(),
                budget,
                output=self.output,
                ledger=self.ledger,
                labels=labels,
                recipient=self.recipient,
                approver=self.approver,
                allow_unaccounted=self.unaccounted,
                seed=self.seed,
                progress=progress,
            )
        with release:
            saved = release.save()
        return Made(
            folder=str(saved.folder.absolute()),
            head=None if saved.ledger is None else saved.ledger.head,
            lines=saved.summary.warnings,
            seconds=sum(saved.summary.seconds.values()),
        )


@dataclass(frozen=True, kw_only=True)
class Examine:
    """Verify and measure a release, and list its queries; first withhold some, if any are named."""

    folder: str
    log: LogChoice | None
    """None if the log is not there: then the public half alone is checked."""
    withhold: tuple[str, ...] = ()

    def run(self, progress: Progress) -> Examined:
        """Verify, measure, list."""
        from slogan.budget import PrivacyBudget, at_most, exact
        from slogan.logs.words import ITEMS, PAIRS
        from slogan.manifest.strictness import strictness_of
        from slogan.manifest.uses import declared_uses
        from slogan.release.opened import open_release
        from slogan.workflows.review import LIMITS, review

        folder = Path(self.folder)
        progress("list the released queries")
        listed = review(folder, withhold=self.withhold)
        opened = open_release(folder)
        manifest, summary = opened.manifest, opened.summary
        progress("verify")
        verdict = self._verdict(folder)
        uses = declared_uses(manifest)
        if (source := self._source(manifest.labels.period)) is not None:
            from slogan.workflows.evaluate import evaluate

            evaluation = evaluate(source, folder, progress=progress)
            evaluation.save(folder)
            uses = uses.decided_by(evaluation.uses)
        budget, strictness = PrivacyBudget(**manifest.budget.model_dump()), strictness_of(manifest)
        return Examined(
            folder=str(folder.absolute()),
            title=manifest.labels.title,
            method=manifest.method,
            budget=f"ε = {at_most(budget.epsilon_at_most)}, δ = {at_most(exact(budget.delta), 6)}",
            colour=strictness.colour,
            strictness=strictness.name,
            reasons=strictness.reasons,
            test_run=manifest.test_run,
            clicks=summary.clicks_out,
            pairs=summary.pairs_out,
            users=summary.users_out,
            ok=verdict.ok,
            conclusion=verdict.conclusion,
            checks=tuple(
                CheckLine(label=check.name.replace("_", " "), ok=check.ok, detail=check.detail)
                for check in verdict.checks
            ),
            with_log=self.log is not None,
            uses=tuple(
                (name, tuple((use.task, use.reason) for use in some))
                for name, some in uses.groups()
            ),
            queries=tuple(
                ReviewLine(query=one.query, looks_like=one.looks_like, clicks=one.clicks)
                for one in listed.queries
            ),
            flagged=len(listed.flagged),
            limits=LIMITS,
            withheld=0 if listed.withheld is None else listed.withheld.queries,
            items=str(manifest.parameters.get(ITEMS, PAIRS)),
        )

    def _verdict(self, folder: Path) -> Verdict:
        from slogan.verification.verify import verify, verify_public

        if (source := self._source()) is None:
            return verify_public(folder / "public" if (folder / "public").is_dir() else folder)
        return verify(source, folder)

    def _source(self, period: str | None = None) -> SearchLog | list[str | Path] | None:
        """The log as it is described; or its path, to be read as the manifest says."""
        if self.log is None:
            return None
        if not self.log.options():
            return [self.log.source]
        return self.log.log() if period is None else self.log.dated(period)
