"""Summaries and certificates: figures computed from the raw log, for the curator only.

Each kind of release has a model of each. The curator's report is made from the certificate.
"""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import Field, ValidationError

from slogan.budget import readable
from slogan.errors import LogFormatError, OptionError
from slogan.logs.searchlog import Columns
from slogan.manifest.manifest import Manifest, Record
from slogan.modes import ReleaseKind
from slogan.storage.untrusted import modest

_ROLES = ("user", "query", "url", "count")
CURATOR_ONLY = "Computed from the raw log: for the curator, not for publication."
Count = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=2**63)]
Fate = Literal[
    "unique_pairs",
    "removed_users",
    "too_dear",
    "not_chosen",
    "thinned",
    "not_drawn",
    "kept",
    "not_selected",
    "represented",
]
"""Why a click of the log is in the release or not."""


def html_table(headings: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """A small table for notebooks with a note below it; every text is escaped."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    below = f"<p>{escape(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td style='text-align:left'>{escape('–' if value is None else str(value))}</td>"
    return f"<td>{readable(value)}</td>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The data of the charts of clicks and supports, of a fixed size for logs of any size."""

    frequency_before: list[tuple[Count, Count]]
    """Rank and clicks of shared pairs, at ranks evenly spread on a logarithmic axis."""
    frequency_after: list[tuple[Count, Count]]
    supports: list[tuple[Share, Share]]
    """c_ij/|D| and κ·x_ij/|O| of the most clicked pairs of D."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSizes:
    """The size of a log, or of a part of one."""

    clicks: Count
    users: Count
    pairs: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxationPrices:
    """What the users' budgets are worth in the linear relaxation, as a distribution."""

    value: Share
    """The optimum of the relaxation, in the objective's own unit."""
    users: Count
    """Users whose budget has a price."""
    elasticity: Share
    """By how many percent the value grows with one percent more budget, by the prices."""
    worth: dict[str, Share]
    """What one user's whole budget is worth, as quantiles over the users with a price."""
    top_shares: dict[str, Share]
    """The part of all worth that belongs to the users with the highest prices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargerBudget:
    """What was found by solving again under a budget 10% larger."""

    epsilon: float
    delta: float
    budget_per_user: float
    value: Share
    bound: Share
    """Proven: no plan under that budget is better."""
    gain: Share
    """The value relative to the released one, minus 1."""
    gain_at_most: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPrices:
    """Which users' limits bind, and what budget is worth."""

    users_at_limit: Count
    """Users for whom no further click of any of their pairs fits."""
    limited_by: Literal["epsilon", "delta", "both"]
    relaxation: RelaxationPrices | None
    larger_budget: LargerBudget | None
    words: tuple[str, ...]


class Input(Record):
    """A file or address of the log."""

    file: str
    sha256: str


class Summary(Record):
    """The main figures of a release. They depend on the log: not for publication."""

    epsilon: float
    delta: float
    users: Count
    pairs: Count
    clicks_in: Count
    rows_without_click: Count
    bad_rows: dict[str, Count]
    bad_users: Count = 0
    """Users with a skipped row, as far as its user-ID could be read."""
    emptied: tuple[str, ...] = ()
    """The columns that came back empty."""
    kept_fields: tuple[str, ...] = ()
    """The paths to fields inside columns; other fields of these columns came back empty."""
    clicks_out: Count
    pairs_out: Count
    users_out: Count
    test_run: bool
    seconds: dict[str, float]
    items: Literal["pairs", "queries", "searches"] = "pairs"
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""
    arrived: tuple[str, ...] = ()
    """Data sent to this process by an engine that runs elsewhere, each with its size."""
    warnings: tuple[str, ...] = ()
    """Weaknesses of the budget or the user-IDs."""

    @property
    def makes_searches(self) -> bool:
        """Whether searches without a click were counted, with noise, to make up such searches."""
        return False

    def to_dict(self) -> dict[str, Any]:
        """The fields of `--json`; empty ones that few releases have are left out."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def __repr__(self) -> str:
        size = f"{self.clicks_out:,} clicks, {self.pairs_out:,} pairs, {self.users_out:,} users"
        return f"<{type(self).__name__}: {size}>"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return html_table(("", ""), self.to_dict().items(), note=CURATOR_ONLY)


class _RealRowsSummary(Summary):
    objective: str
    budget_per_user: float
    """Budget per user, or the most clicks that a user shows on average."""
    size_bound: float
    exposed_users_expected: float
    """Expected number of users with at least one released row."""


class PartOfJoint(Record):
    """What a release keeps of one part of a joint objective."""

    name: str
    weight: float
    """Of all weights together, which sum to 1; 0 if the part has a floor only."""
    at_least: float | None = None
    """The least share of its optimum that was required."""
    value: float
    """In its own unit."""
    optimum: float
    """The best value found for this part alone: the share is relative to it."""
    bound: float
    """Proven: no output under this budget has more of it."""
    share: float


class SanitizedSummary(_RealRowsSummary):
    """Size, proven quality and exposure of a release under a plan."""

    counts: Literal["exact", "laplace"]
    shared: LogSizes
    users_unconstrained: Count
    """Users without a shared pair."""
    users_removed: Count
    value: float
    """The utility reached, in the objective's own unit."""
    bound: float
    """Proven: no integer solution is better."""
    gap: float
    """Between the value and its bound; between the exposure and its bound if that is minimised."""
    status: str
    solver: str
    required: Count | None = None
    """The utility that was required; None if none was."""
    minimized: Literal["exposure"] | None = None
    """What was minimised for it under a given budget; None if its least budget was found."""
    exposure_lower_bound: float | None = None
    """Proven: no plan under this budget with the required utility exposes fewer users."""
    budget_needed: float | None = None
    """The least budget per user found for it, which is that of the release; None if given."""
    budget_lower_bound: float | None = None
    """Proven: no smaller budget per user reaches it."""
    prices: BudgetPrices | None = None
    """Of packing objectives with exact counts, solved in this process."""
    parts: tuple[PartOfJoint, ...] = ()
    """Of a joint objective."""
    convergence: tuple[tuple[int, float, float], ...] = ()
    """Of the distributed solver: steps, value and bound."""


class PrivateRowsSummary(_RealRowsSummary):
    """Size and exposure of a release of rarely drawn real rows."""

    counts: Literal["private"]
    pairs_selected: Count
    exposed_users_at_most: float


class ListedPairs(Record):
    """How public pairs and the log go together."""

    listed: Count
    in_log: Count
    of_one_user: Count
    released: Count


class SyntheticSummary(Summary):
    """Size and coverage of a release of made-up users."""

    coverage: float
    """Noisy share of all clicks that fall on the released pairs."""
    association: str
    """What synthetic users follow: "pairs", "domains", "taxonomy" or "independent"."""
    association_kept: float
    """Which part of it they show, from 0 to 1, as estimated from private numbers."""
    contributions: Literal["one", "several"]
    """How many pairs of a user count."""
    weight_needed: float
    """About how many users a pair needs if they clicked nothing else."""
    pairs_possible: float
    """No method with the same guarantee can release more pairs on average (Theorem Π)."""
    budget_shares: dict[str, float]
    public_pairs: ListedPairs | None = None
    """Where a list or an earlier release says which pairs are public."""

    @property
    def makes_searches(self) -> bool:
        return "searches" in self.budget_shares


class Certificate(Summary):
    """curator/certificate.json: the summary, the inputs, and the data of the charts."""

    figures: Figures | None = None
    """None if the histogram stayed in its engine."""
    clicks_by_fate: dict[Fate, Count]
    inputs: tuple[Input, ...]
    columns: Columns
    sql: str | None = None
    """The query of a database that was the log; the curator's, for it may name people."""
    seed: int | None
    recipient: str | None = None
    approver: str | None = None
    """For whom the release is; never published."""

    def to_dict(self) -> dict[str, Any]:
        """The fields that were given, ready for JSON."""
        return self.model_dump(mode="json", exclude_unset=True)


class PlannedCertificate(Certificate, SanitizedSummary):
    """Of `sanitize` with exact or Laplace counts."""

    budget_use: Annotated[list[Count], Field(min_length=11, max_length=11)]
    """Number of users who used none of the limit, up to a tenth, up to two tenths, and so on."""


class PrivateRowsCertificate(Certificate, PrivateRowsSummary):
    """Of `sanitize` with private counts."""


class SyntheticCertificate(Certificate, SyntheticSummary):
    """Of `synthesize`."""


def certificate_type(kind: ReleaseKind) -> type[Certificate]:
    """The model of one kind of release."""
    if kind is ReleaseKind.SYNTHETIC_USERS:
        return SyntheticCertificate
    return PrivateRowsCertificate if kind is ReleaseKind.PRIVATE_ROWS else PlannedCertificate


def require_query(folder: Path, verb: str, log: object) -> None:
    """Refuse to read a database by its tables alone if a query of it was released.

    The query is shown with the command to paste. It is not run unseen.
    """
    try:
        found: Any = json.loads(modest(folder / "curator/certificate.json"))
        query, columns = found.get("sql"), found["columns"]
        parameters: Any = json.loads(modest(folder / "public/manifest.json"))["parameters"]
    except (OSError, ValueError, AttributeError, LookupError, TypeError):
        return
    if not isinstance(query, str):
        return
    places = cast("Sequence[object]", log if isinstance(log, list | tuple) else [log])
    roles = [word for role in _ROLES for word in (f"--{role}", columns[role] or "none")]
    more = [
        *(["--searches", "all"] if "searches" in parameters else []),
        *["--fold"] * ("fold" in parameters),
    ]
    words = ["slogan", verb, *places, folder, "--sql", query, *roles, *more]
    raise OptionError(
        "the release was made from a query, which is needed here too",
        hint=f"run: {shlex.join(map(str, words))}",
    )


def read_certificate(file: Path, manifest: Manifest) -> Certificate:
    """The certificate of a saved release with this manifest."""
    try:
        return certificate_type(manifest.kind).model_validate_json(modest(file))
    except (OSError, ValidationError):
        hint = "restore the curator's folder, or give the released log itself"
        raise LogFormatError(f"{file} is not the certificate of a release", hint=hint) from None
