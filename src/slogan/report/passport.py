"""Passport: what catalogues and registries ask about a release, from its manifest alone."""

import re
import unicodedata
from decimal import Decimal

from slogan.budget import at_most, exact
from slogan.logs.words import worded
from slogan.manifest.promise import BUDGET_FROM_LOG, KEPT_IDS, MINIMIZE, PLAN_FROM_LOG, REQUIRE
from slogan.modes import ReleaseKind
from slogan.report.public import PublicPage

NO_DATE = "1980-01-01"
"""What stands for an unknown date of publication where a format demands one, as for file times."""
_UNKNOWN = "Not stated by the publisher"
_LONGEST_SLUG = 60
_RARE = "Rare searches are missing: a pair of query and url that few users clicked is not released."
_BIASES = {
    ReleaseKind.EXACT_COUNTS: (
        _RARE,
        "Pairs and counts were chosen to serve an objective within the limits of each user, so "
        "shares differ from those of the original.",
        "Users with many shared clicks are shown less often than others.",
    ),
    ReleaseKind.LAPLACE_COUNTS: (
        _RARE,
        "Users with a large influence on the counts were left out, so shares differ from those of "
        "the original.",
    ),
    ReleaseKind.PRIVATE_ROWS: (
        _RARE,
        "Few rows are drawn, and users with many clicks are drawn less often than others.",
    ),
    ReleaseKind.SYNTHETIC_USERS: (
        _RARE,
        "The clicks of very active users count less than those of others.",
        "Made-up users have as many pairs as noisy sums state; histories of users are not kept.",
    ),
}
_UNPROTECTED = {
    ReleaseKind.EXACT_COUNTS: (
        "The number of clicks of each released pair is computed from the log without noise. Which "
        "pairs appear, their counts and the size of the output are not protected."
    ),
    ReleaseKind.LAPLACE_COUNTS: (
        "The number of clicks of each released pair has noise by a heuristic without an end-to-end "
        "proof. Which pairs appear, their counts, the size of the output, and which users were "
        "left out beforehand are not protected."
    ),
    ReleaseKind.PRIVATE_ROWS: (
        "No figure of the log is published without noise or random sampling. A user who is drawn "
        "is shown with real clicks."
    ),
    ReleaseKind.SYNTHETIC_USERS: "No figure of the log is published without noise.",
}
_DOMAIN = {
    True: "All search logs with the columns of this release, with any number of users.",
    False: "The log of this release, and the same log without one of its users. Given the number "
    "of clicks of each pair; logs with other counts are not in the domain.",
}


class Passport(PublicPage):
    """The facts of `croissant.json` and `deployment.yaml`."""

    def reworded(self, text: str) -> str:
        """A sentence in the words for what was counted. Labels and names are left as they are."""
        return worded(text, self.items)

    def _all(self, *texts: str) -> tuple[str, ...]:
        return tuple(self.reworded(text) for text in texts if text)

    @property
    def synthetic(self) -> bool:
        """Whether the users are made up."""
        return self.manifest.kind is ReleaseKind.SYNTHETIC_USERS

    @property
    def end_to_end(self) -> bool:
        """Whether the guarantee covers the counts."""
        return self.manifest.kind.end_to_end

    @property
    def slug(self) -> str:
        """A name for addresses: letters of the title, and some of the released log's digest."""
        plain = unicodedata.normalize("NFKD", self.title).encode("ascii", "ignore").decode()
        words = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:_LONGEST_SLUG].strip("-")
        return f"{words or 'search-log'}-{self.manifest.log.sha256[:8]}"

    @property
    def publisher(self) -> str:
        """Who publishes it."""
        return self.manifest.labels.publisher or _UNKNOWN

    @property
    def region(self) -> str:
        """Whose searches these are, or whose law applies."""
        return self.manifest.labels.region or _UNKNOWN

    @property
    def date(self) -> str:
        """The date of publication."""
        return self.manifest.labels.published or NO_DATE

    @property
    def about(self) -> str:
        """What the data set is."""
        period = self.manifest.labels.period
        searches = f" Searches from: {period}." if period else ""
        return f"{self.words.opening}{searches}"

    @property
    def intended(self) -> tuple[str, ...]:
        """What it is for, wholly or in part."""
        return self._all(*map(str, (*self.uses.good_for, *self.uses.partly)))

    @property
    def unfit(self) -> tuple[str, ...]:
        """What it is not for."""
        return self._all(*map(str, self.uses.not_for))

    @property
    def biases(self) -> tuple[str, ...]:
        """In which ways it differs from the original by how it was made."""
        return self._all(*_BIASES[self.manifest.kind])

    @property
    def limitations(self) -> tuple[str, ...]:
        """What it lacks and what its numbers do not mean."""
        emptied = self.manifest.log.emptied
        return self._all(
            *(f"Not for {text}." for text in self.unfit),
            *self.advice,
            f"Columns that are always empty: {len(emptied)}." if emptied else "",
            self.test_run if self.manifest.test_run else "",
        )

    @property
    def sensitive(self) -> tuple[str, ...]:
        """What is known about personal data in it."""
        return self._all(
            self.words.verdict,
            *self.strictness.reasons,
            *self.manifest.not_guaranteed,
        )

    @property
    def domain(self) -> str:
        """The logs between which the guarantee holds."""
        return self.reworded(_DOMAIN[self.end_to_end])

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What no noise and no sampling protects."""
        manifest, chosen = self.manifest, tuple[str, ...]()
        if REQUIRE in manifest.parameters:
            chosen = (PLAN_FROM_LOG,) if MINIMIZE in manifest.parameters else (BUDGET_FROM_LOG,)
        return self._all(
            _UNPROTECTED[manifest.kind],
            *chosen,
            KEPT_IDS if manifest.pseudonyms == "keep" else "",
            self.test_run if manifest.test_run else "",
            "Taken as public: names, order and types of the columns, the format of the file, and "
            "the options of the curator.",
        )

    @property
    def epsilon(self) -> str:
        """ε as a decimal number, rounded up."""
        return f"{Decimal(at_most(self.budget.epsilon_at_most, 6).replace(',', '')):f}"

    @property
    def delta(self) -> str:
        """δ, rounded up."""
        return at_most(exact(self.budget.delta), 6)

    @property
    def composition(self) -> tuple[str, ...]:
        """How the losses of several stages add up."""
        account, adds_up = (
            self.manifest.account,
            ("Losses of several releases from overlapping logs add up; this entry is one release."),
        )
        if account is None:
            return self._all(
                "One check covers the whole output: for each user, the product over all released "
                "clicks stays within the limit that ε and δ give, in exact arithmetic. No "
                "composition of several stages takes place.",
                adds_up,
            )
        return self._all(
            f"One account of {len(account.stages)} stages, in exact fractions. Gaussian noise adds "
            "up by μ² (Gaussian differential privacy); ε and δ of other stages are added.",
            f"All stages together: δ at most {at_most(account.delta_at_epsilon, 6)} at the stated "
            f"ε, and ε at most {at_most(account.epsilon_at_delta, 6)} at the stated δ."
            if account.delta_at_epsilon > 0 and account.epsilon_at_delta > 0
            else "All stages together stay within the stated ε and δ.",
            adds_up,
        )

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms by stage, or the steps of the method."""
        stages = tuple(
            f"{stage.name}: {stage.mechanism.replace('_', ' ')}"
            f"{f' ({parameters})' if parameters else ''}, by {stage.theorem}"
            for stage, parameters, _, _ in self.stages
        )
        made = f"slogan {self.manifest.slogan_version}"
        source = (
            "Random numbers come from a seed: a test run."
            if self.manifest.test_run
            else "Random numbers come from the operating system."
        )
        noise = "Noise is sampled exactly, on a grid of 2^-20. " if stages else ""
        return (*(stages or self.words.steps), f"{noise}{source} Made with {made}.")

    @property
    def post_processing(self) -> tuple[str, ...]:
        """What happens after the mechanisms."""
        withheld = self.manifest.withheld
        by_hand = (
            f"A person who looked at the release only withheld {withheld.queries:,} "
            f"{'query' if withheld.queries == 1 else 'queries'} by hand."
            if withheld
            else ""
        )
        made = {
            ReleaseKind.SYNTHETIC_USERS: "Counts are rounded, and made-up users receive the "
            "released clicks according to the noisy figures.",
            ReleaseKind.PRIVATE_ROWS: "Noisy counts are turned into rates by a plan that uses "
            "noisy figures only.",
        }.get(self.manifest.kind, "None of the counts.")
        ids = "Rows are sorted by user-ID, query and url."
        if self.manifest.pseudonyms == "fresh":
            ids = f"User-IDs are replaced by random ones. {ids}"
        return self._all(made, ids, by_hand)

    @property
    def neighbours(self) -> tuple[str, ...]:
        """What is compared, and what counts as one user."""
        kept = [line for line in self.manifest.not_guaranteed if "user-ID" in line]
        return self._all(f"Compared are {self.words.neighbours}.", *kept)

    @property
    def meaning(self) -> tuple[str, ...]:
        """What ε and δ bound."""
        return (f"ε: {self.words.epsilon}", f"δ: {self.words.delta}", *self.manifest.guarantees)

    @property
    def tuning(self) -> tuple[str, ...]:
        """What was decided before, and by what."""
        removed = (
            "Pairs that only one user clicked are removed before anything else."
            if not self.end_to_end
            else "Rows are read as they are; no statistics of the log decide about the parameters."
        )
        chosen = (
            "The budget or the plan was chosen on the log; this choice is not covered."
            if REQUIRE in self.manifest.parameters
            else "The budget and all options were given by the curator before the run."
        )
        return self._all(removed, chosen, f"Command: {' '.join(self.command)}")

    @property
    def justification(self) -> tuple[str, ...]:
        """Why the parameters protect, and how that was checked."""
        return self._all(
            f"{self.strictness.name}: {' '.join(self.strictness.reasons)}",
            self.attack,
            "The curator can derive the guarantee again from the log and the release with "
            "`slogan verify`, which shares no code with the mechanisms. Recipients can check the "
            "files and the account with `slogan verify public`.",
        )

    @property
    def sources(self) -> tuple[str, ...]:
        """Where the release describes itself."""
        return (
            f"Released log: {self.manifest.log.file}, SHA-256 {self.manifest.log.sha256}",
            "manifest.json, report.html and data-card.html beside this file",
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not guaranteed, and what the publisher has to add."""
        undated = (
            f"The date of publication is not known: {NO_DATE} stands in its place. "
            "Set it: slogan passport RELEASE --published YYYY-MM-DD."
        )
        labels = self.manifest.labels
        return self._all(
            *self.manifest.not_guaranteed, "" if labels.published else undated
        ) + tuple(
            f"{name}: {text}"
            for name, text in (("Licence", labels.licence), ("Contact", labels.contact))
            if text
        )

    @property
    def author(self) -> str:
        """Who filled in this entry."""
        made = f"slogan {self.manifest.slogan_version}"
        publisher = self.manifest.labels.publisher
        return f"{publisher}, with {made}" if publisher else made
