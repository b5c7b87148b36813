"""Every error that slogan raises on purpose: what is wrong, where, how to mend it, the exit code.

Messages are for the curator, who may see the log: some contain numbers that depend on it.
None contains a query, a url or a user-ID.
"""

import math
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any

_OPTION = re.compile(
    r"--([a-z]+(?:-[a-z]+)*)"
    r"(?: ([0-9][\w./]*|[A-Z]{2,}|[a-z_]+(?:,[a-z_]+)+|[a-z_]+(?:-1|1252)?\b))?"
)
_VALUE = re.compile(
    "duckdb|spark|exact|laplace|private|sanitize|synthesize|frequent_pairs|taxonomy|skip|keep|latin-1"
    "|cp1252|none|all|comma|semicolon|pipe|tab|csv|spectral"
)
_FLAGS = frozenset(
    ("force", "fold", "allow-unaccounted", "accept-weak-privacy", "raise-cap", "create")
)
_INSIDE = {
    "time-limit": "solver=Solver(time_limit={})",
    "patience": "solver=Solver(patience={})",
    "memory-limit": "engine=DuckDB(memory_limit={})",
    "spark-conf": "engine=Spark(conf={})",
    "spark-master": "engine=Spark(master={})",
    "laplace-bound": "counts=LaplaceCounts(bound={})",
    "laplace-epsilon": "counts=LaplaceCounts(epsilon={})",
    "output-size": "objective=FrequentPairs(output_size={})",
    "population": "ledger=Ledger.open({})",
}
"""Options of the command line that are arguments of an object in Python."""
_SMALL_DELTA = 1e-3
"""Below this, the δ of `sanitize` was probably meant for `synthesize`."""


class SloganError(Exception):
    """Base class of all errors of slogan.

    `problem` and `hint` name options of the command line; `str()` names arguments in Python.
    """

    exit_code = 1

    def __init__(self, problem: str, *, hint: str) -> None:
        self.problem = problem
        self.hint = hint
        self.say(str)

    def say(self, words: Callable[[str], str]) -> None:
        """Say it in other words: the same problem and hint, reworded."""
        self.problem, self.hint = words(self.problem), words(self.hint)
        self.args = (f"{in_python(self.problem)}\n  hint: {in_python(self.hint)}",)


def suggestion(word: str, known: Iterable[str]) -> str | None:
    """What was probably meant by a mistyped word, as a question; None if nothing is close."""
    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return f"did you mean {lower[close[0]]!r}?" if close else None


def in_python(text: str) -> str:
    """The text with options of the command line as arguments: --delta 0.5 becomes delta=0.5."""
    both = "--laplace-bound 2 --laplace-epsilon 1"
    text = text.replace(both, "counts=LaplaceCounts(bound=2, epsilon=1)")
    return _OPTION.sub(_argument, text.replace(" -o", " output="))


def _argument(option: re.Match[str]) -> str:
    name, value = option.group(1), option.group(2)
    if name == "show-header":  # of the command line only
        return option.group(0)
    if name in _FLAGS:
        return f"{name.replace('-', '_')}=True" + (f" {value}" if value else "")
    rest = ""
    if value is not None and "," in value:
        return f"{name.replace('-', '_')}={tuple(value.split(','))}"
    if value is not None and value.islower() and not _VALUE.fullmatch(value):
        value, rest = None, f" {value}"
    shown = f'"{value}"' if _VALUE.fullmatch(value or "") else value or "…"
    if name in _INSIDE:
        return _INSIDE[name].format(shown) + rest
    return f"{name.replace('-', '_')}={'' if value is None else shown}{rest}"


class InputError(SloganError, ValueError):
    """Something the user gave cannot be used as it is."""

    exit_code = 2


class BudgetError(InputError):
    """Epsilon or delta is not a privacy budget."""


class ConfigError(InputError):
    """The configuration file cannot be used."""


class OptionError(InputError):
    """Options that do not go together, or a value out of range."""


class EngineError(InputError):
    """The engine cannot be started: its library or what it runs on is missing."""


class LogNotFoundError(InputError):
    """No file is where the log should be."""


class LogFormatError(InputError):
    """The format of the log is unknown, or the file is not of that format."""


class MissingColumnError(InputError):
    """The log has no column for something the method needs."""


class EmptyLogError(InputError):
    """The log has no click at all."""


class BadRowError(InputError):
    """A row of the log cannot be counted; says which file and which line or row.

    `reason` is "count missing", "count negative", "count zero", "count fractional", "count huge"
    (also if all counts sum to more than 2^53), "user missing", "query missing", "unreadable", or
    the reader's reason for refusing the row.
    """

    def __init__(self, problem: str, *, hint: str, reason: str = "unreadable") -> None:
        super().__init__(problem, hint=hint)
        self.reason = reason

    def say_how_many(self, rows: int, users: int) -> None:
        """Add how many rows are bad, and of how many users as far as their IDs can be read."""
        whose = f" of {users:,} user{'s' * (users != 1)}" if users else ""
        self.problem += f" ({rows:,} bad row{'s' * (rows != 1)}{whose} in all)"
        self.say(str)


class OutputSizeError(InputError):
    """The requested output size exceeds the largest one the budget allows (λ)."""

    def __init__(self, *, requested: int, largest: int, bound: float) -> None:
        super().__init__(
            f"an output size of {requested} clicks is too large: the largest found for this log "
            f"and budget is {largest} (no more than {bound:.0f} are possible)",
            hint=f"give --output-size {largest} or less, leave it out for half of that, or raise "
            "the budget or --time-limit",
        )
        self.requested, self.largest, self.bound = requested, largest, bound


class RequirementError(InputError):
    """No budget that protects anybody reaches the required utility."""

    def __init__(self, utility: str, *, required: int, found: int, bound: int) -> None:
        more = "" if bound <= found else f" (no more than {bound:,} are possible)"
        super().__init__(
            f"{required:,} {utility} cannot be reached: the most for this log is {found:,}{more}",
            hint=f"give --require {found} or less, or add a longer period of logs",
        )
        self.required, self.found, self.bound = required, found, bound


class NoiseError(InputError):
    """A noise parameter is out of range, or too large to be drawn in 64 bits."""


class ReleaseExistsError(InputError):
    """There is already something where the release should go."""


class StorageError(SloganError):
    """A disk is full, or something cannot be written where it should go."""


class SolverError(SloganError):
    """The solver gave no usable answer."""


class UnsupportedProgramError(SolverError, ValueError):
    """This solver cannot solve this kind of problem."""

    exit_code = 2


class NothingToReleaseError(SloganError):
    """No output other than the empty one satisfies the constraints."""

    exit_code = 3


class SingleUserError(NothingToReleaseError):
    """The log has one user only: every pair is unique to that user."""

    def __init__(self) -> None:
        super().__init__(
            "the log has only one user, so nothing can be released",
            hint="a release hides each user among others: add the logs of more users",
        )


class AllPairsUniqueError(NothingToReleaseError):
    """No pair is shared by two users (Theorem 1, condition 1 removes them all)."""

    def __init__(self, *, users: int, pairs: int) -> None:
        super().__init__(
            f"no pair is shared by two users: each of the {pairs:,} pairs of {users:,} users "
            "belongs to one user",
            hint="add more users or a longer period, or make queries coarser (lower case)",
        )
        self.users, self.pairs = users, pairs


class EmptyPlanError(NothingToReleaseError):
    """No pair fits the budget even once."""

    def __init__(self, *, limit: float, cheapest: float) -> None:
        hint = "raise epsilon and delta together, or add a longer period of logs"
        if limit < _SMALL_DELTA:
            hint = "a δ this small is for slogan synthesize; sanitize needs a larger one"
        super().__init__(
            f"the budget is too small for a single click: each user has a budget of {limit:.4g}, "
            f"and one click of the cheapest pair costs some user {cheapest:.4g}",
            hint=hint,
        )
        self.limit, self.cheapest = limit, cheapest


class NothingLeftError(NothingToReleaseError):
    """Removing users, or noise, left no click to release."""


class TooFewUsersError(NothingToReleaseError):
    """No pair has enough users for an end-to-end private release.

    The noise was drawn, so this run has a price: `cost`, a `Cost`.
    """

    def __init__(self, *, users: int, share: float, needed: float, cost: Any) -> None:
        threshold = f"The selection threshold is about {needed:.3g}"
        reached = f"the best pair of these {users:,} users reaches {share:.0%} of it"
        if share < 1:
            many = f"about {math.ceil(users / share):,} users" if share > 0 else "many more users"
            what = "no pair has enough users"
            hint = (
                f"add more logs: {many} of this kind would release a first pair (computed from the"
                " raw log, for the curator only); raise epsilon if you must, and leave delta small"
            )
        else:
            what = "the noise left nothing to release"
            hint = "add more logs, leave --selector out, or raise epsilon"
        super().__init__(
            f"{what}. {threshold} (a user with n pairs contributes 1/√n); {reached}",
            hint=f"{hint}. Each further try draws new noise and costs as much again",
        )
        self.users, self.share, self.needed, self.cost = users, share, needed, cost


class VerificationError(SloganError):
    """A check of `verify` or `audit` failed."""

    exit_code = 4


class LedgerError(SloganError):
    """The ledger is damaged, in use or cannot be written, so no release is allowed."""


class PopulationError(LedgerError):
    """The population has no ledger, or has one already, or the ledger belongs to another."""

    exit_code = 2


class BudgetRefusedError(LedgerError):
    """The population's cap does not allow this release."""

    exit_code = 5
