"""Uses: what a release is good for and what it is not for, each with its reason."""

from dataclasses import asdict, dataclass
from typing import Any

from slogan.manifest.coverage import coverage_interval
from slogan.manifest.manifest import Manifest, Outputs
from slogan.modes import ReleaseKind

_MOST_CLICKS = 0.5
"""From this share of all clicks on, shares of released pairs are shares of most of the log."""


@dataclass(frozen=True, slots=True)
class Use:
    """Something people do with a search log, and why a release is fit for it or not."""

    task: str
    reason: str

    def __str__(self) -> str:
        return f"{self.task} ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """Tasks that a release is good for, partly good for, and not for."""

    good_for: tuple[Use, ...] = ()
    partly: tuple[Use, ...] = ()
    not_for: tuple[Use, ...] = ()

    def groups(self) -> list[tuple[str, tuple[Use, ...]]]:
        """Each group that is not empty, with its name."""
        named = (("Good for", self.good_for), ("Partly", self.partly), ("Not for", self.not_for))
        return [(name, uses) for name, uses in named if uses]

    def decided_by(self, measured: "Uses") -> "Uses":
        """Measured uses, and those of this release that no measure decides."""
        return Uses(
            good_for=(*self._beyond_measures(self.good_for), *measured.good_for),
            partly=(*self._beyond_measures(self.partly), *measured.partly),
            not_for=(*self._beyond_measures(self.not_for), *measured.not_for),
        )

    @staticmethod
    def _beyond_measures(uses: tuple[Use, ...]) -> tuple[Use, ...]:
        return tuple(use for use in uses if use.task not in _MEASURED)

    def to_dict(self) -> dict[str, Any]:
        """The three lists, ready for JSON."""
        return asdict(self)


_TOGETHER = "which pairs go together"
_SHARES, _ALL_SHARES = "shares of the released pairs", "shares and rankings"
_FREQUENT_SHARES = "shares of frequently clicked pairs"
_RARE_SEARCHES = "rare searches"
_MEASURED = {_TOGETHER, _SHARES, _ALL_SHARES, _FREQUENT_SHARES, _RARE_SEARCHES}
"""Tasks that `evaluate` decides by measures."""
_SOFTWARE = Use("building and testing software", "same columns and format as the original")
_RARE = Use(_RARE_SEARCHES, "pairs of few people are left out")
_SIZES = Use("the size or growth of the original", "its numbers are not published")
_HISTORIES = Use("what one person searched over time", "histories are incomplete and undated")
_OPEN = Use("publication on the web", "the rows belong to real people")
_EXAMPLES = {
    "output_size": Use("examples of real clicks", "made to keep as many as possible"),
    "diversity": Use("examples of many different pairs", "made to keep as many as possible"),
    "query_diversity": Use(
        "examples of many different queries", "made to keep as many as possible"
    ),
    "frequent_pairs": Use(_FREQUENT_SHARES, "made to keep them close to the original"),
    "joint": Use("examples of real clicks", "made to keep several things at once"),
}


def declared_uses(manifest: Manifest) -> Uses:
    """The uses that follow from how a release was made: nothing here is computed from the log."""
    if isinstance(manifest.outputs, Outputs):
        return _of_synthetic_users(manifest, manifest.outputs)
    objective = str(manifest.parameters.get("objective"))
    examples = _EXAMPLES.get(objective, _EXAMPLES["output_size"])
    good = [_SOFTWARE, examples]
    shares = Use(_ALL_SHARES, "the pairs were not chosen to be typical")
    if manifest.kind is ReleaseKind.PRIVATE_ROWS:
        good = [_SOFTWARE, Use("a few examples of real clicks", "rows are drawn rarely")]
        shares = Use(_ALL_SHARES, "too few rows are drawn")
    keeps_shares = objective == "frequent_pairs" and manifest.kind is not ReleaseKind.PRIVATE_ROWS
    not_for = [_OPEN, *([] if keeps_shares else [shares]), _RARE, _HISTORIES, _SIZES]
    return Uses(good_for=tuple(good), not_for=tuple(not_for))


def _of_synthetic_users(manifest: Manifest, outputs: Outputs) -> Uses:
    low, high = coverage_interval(manifest) or (outputs.coverage, outputs.coverage)
    shares = Use(_SHARES, f"about {outputs.coverage:.1%} of all clicks fall on them")
    if not low:
        shares = Use(_SHARES, f"the noise hid them: at most {float(high):.1%} of all clicks")
    together = Use(_TOGETHER, "follows the original as far as the noise allows")
    good, partly = [_SOFTWARE], list[Use]()
    if low:
        (good if outputs.coverage >= _MOST_CLICKS else partly).append(shares)
    not_for = [_RARE, Use("what one person searched", "the users are made up"), _SIZES]
    if not low:
        not_for.insert(0, shares)
    if outputs.association != "independent":
        partly.append(together)
    else:
        stages = () if manifest.account is None else manifest.account.stages
        measured = any(stage.name == "association" for stage in stages)
        why = "it was not measured"
        if manifest.parameters.get("association") != "independent":
            why = "the noise hid it" if measured else "the noise would have hidden it"
        not_for.insert(0, Use(together.task, why))
    return Uses(good_for=tuple(good), partly=tuple(partly), not_for=tuple(not_for))
