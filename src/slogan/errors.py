"""Every error that slogan raises on purpose: what is wrong, where, how to mend it, the exit code.

Messages are for the curator, who may see the log: some contain numbers that depend on it.
None contains a query, a url or a user-ID.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_OPTION = re.compile(
    r"--([a-z]+(?:-[a-z]+)*)"
    r"(?: ([0-9][\w./]*|[A-Z]{2,}|[a-z_]+(?:,[a-z_]+)+|[a-z_]+(?:-1|1252)?\b))?"
)
_PARTS = re.compile(r"--(weights|at-least) ([a-z_]+=[0-9./]*[0-9](?:,[a-z_]+=[0-9./]*[0-9])*)")
_VALUE = re.compile(
    "duckdb|spark|exact|laplace|private|sanitize|synthesize|frequent_pairs|joint|taxonomy|skip|keep|latin-1"
    "|cp1252|none|all|comma|semicolon|pipe|tab|csv|pairs"
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
    "weights": "objective=Joint(weights={})",
    "at-least": "objective=Joint(at_least={})",
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
    text = _PARTS.sub(_joint_argument, text)
    return _OPTION.sub(_argument, text.replace(" -o", " output="))


def _joint_argument(option: re.Match[str]) -> str:
    """--weights output_size=1,diversity=2 as an argument of Joint."""
    parts = [part.partition("=") for part in option.group(2).split(",")]
    given = ", ".join(f'"{name}": {number}' for name, _, number in parts)
    return f"objective=Joint({option.group(1).replace('-', '_')}={{{given}}})"


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
    """The required utility is impossible, or was not reached in the time limit.

    It is proven impossible if `bound` is below `required`.
    """

    def __init__(
        self, utility: str, *, required: int, found: int, bound: int, of_budget: bool = False
    ) -> None:
        where = "log and budget" if of_budget else "log"
        more = "" if bound <= found else f" (no more than {bound:,} are possible)"
        fewer = f"give --require {found} or less" if found else "leave --require out"
        if bound < required:
            problem = (
                f"{required:,} {utility} cannot be reached: the most for this {where} is "
                f"{found:,}{more}"
            )
            hint = f"{fewer}, or add a longer period of logs"
        else:
            problem = (
                f"{required:,} {utility} were not reached in the time limit: the most found for "
                f"this {where} is {found:,}{more}"
            )
            hint = f"raise --time-limit and --patience, or {fewer}"
        hint += ", or raise the budget" if of_budget else ""
        super().__init__(problem, hint=hint)
        self.required, self.found, self.bound = required, found, bound


class PartError(InputError):
    """No output has any utility of one part of a joint objective, or none was found."""

    def __init__(self, part: str, *, impossible: bool) -> None:
        fix = "lower --min-support, " if part == "frequent_pairs" else ""
        more = "" if impossible else "raise --time-limit, "
        what = "no output under this budget has" if impossible else "no output was found that has"
        super().__init__(
            f"{what} any utility in {part}, so no share of it is defined",
            hint=f"{more}{fix}leave {part} out of --weights and --at-least, or raise the budget",
        )
        self.part = part


class FloorError(InputError):
    """No output keeps the required shares of all parts of a joint objective, or none was found."""

    def __init__(
        self, required: Mapping[str, float], nearest: Mapping[str, float], *, impossible: bool
    ) -> None:
        floors = " and ".join(f"{share:.4g} of {part}" for part, share in required.items())
        near = ",".join(f"{part}={_floored(share)}" for part, share in nearest.items())
        what = (
            "no output under this budget keeps" if impossible else "no output was found that keeps"
        )
        proven = "this is proven" if impossible else "it is not proven to be impossible"
        more = "" if impossible else "raise --time-limit, or "
        super().__init__(
            f"{what} {floors} of what is possible alone; {proven}",
            hint=f"{more}lower the shares: --at-least {near} is possible; or raise the budget",
        )
        self.required, self.nearest, self.impossible = required, nearest, impossible


def _floored(share: float) -> str:
    """A share in percent, rounded down, so that it can be reached."""
    return f"{math.floor(100 * share) / 100:.2f}"


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
