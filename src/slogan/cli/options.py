"""Options that several verbs share, as groups: reading a log, the privacy budget, the utility."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from slogan.budget import PrivacyBudget
from slogan.errors import OptionError
from slogan.modes import Counts, ExactCounts, LaplaceCounts, PrivateCounts
from slogan.registry import module_names

if TYPE_CHECKING:
    from slogan.engines import EngineSettings
    from slogan.ledger.cap import Cap
    from slogan.ledger.ledger import Ledger
    from slogan.logs.header import Header
    from slogan.logs.searchlog import SearchLog
    from slogan.planning.objectives import Objective
    from slogan.planning.solvers import Solver

_ENGINES = module_names("slogan.engines", packages_only=True)
_OBJECTIVES = ", ".join(module_names("slogan.planning.objectives"))
_SOLVERS = ", ".join(module_names("slogan.planning.solvers"))
_SELECTORS = ", ".join(module_names("slogan.dp.selection"))

ReleaseFolder = Annotated[Path, Parameter(name=["--output", "-o"], help="The release folder.")]
Force = Annotated[bool, Parameter(negative="", help="Replace an existing release.")]
Seed = Annotated[
    int | None,
    Parameter(help="Reproducible TEST run: marked in the release and refused by verify."),
]
LogAndRelease = Annotated[
    str, Parameter(name="LOG RELEASE", help="The log's files, then the release.")
]
Logs = Annotated[
    list[str], Parameter(name="LOG", help="File, several, a quoted glob, or DATABASE::TABLE.")
]


@Parameter(name="*", group=Group("Reading the log"))
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a log is read."""

    user: str | None = None
    "User-ID column. Found in the header if not given, as are --query, --url and --count."
    query: str | None = None
    "Query column."
    url: str | None = None
    "Column of the clicked url; none for a log of queries, as if the header has no such column."
    count: str | None = None
    "Column with the number of clicks; none if each row is one click, or one search."
    searches: Literal["clicked", "all"] = "clicked"
    "Leave searches without a click out, or count them as items without a url."
    fold: Annotated[bool, Parameter(negative="")] = False
    "Ignore case, spaces, and scheme and last slash of urls. inspect shows what it would gain."
    format: str | None = None
    "tsv, csv, jsonl or parquet. By default the file's name says which."
    columns: str | None = None
    "Names of all columns with commas between them, for a text file without a header."
    delimiter: str | None = None
    "comma, semicolon, pipe or tab, for CSV. By default it is found in the header line."
    sql: str | None = None
    "Query of a DuckDB or SQLite file, or of a PostgreSQL server, in place of DATABASE::TABLE."
    encoding: str = "utf-8"
    "utf-8, cp1252 (Windows, Excel) or latin-1. When in doubt, leave it out."
    on_bad_row: Literal["error", "skip"] = "error"
    "Stop at a row that cannot be read, or leave it out and count it."
    engine: Annotated[str, Parameter(help=f"Who counts: {' or '.join(_ENGINES)}.")] = "duckdb"
    memory_limit: str | None = None
    "What DuckDB may use before it spills to disk, or the counts that Spark hands over: 4GB."
    spark_master: str | None = None
    "For spark: local[2], spark://host:7077, or sc://host:15002 for Spark Connect."
    spark_conf: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="For spark: a setting as key=value; may be given again.",
        ),
    ] = ()

    def log(self, files: list[str]) -> SearchLog:
        """The log meant by these options."""
        from slogan.logs.searchlog import read

        return read(
            list(files),
            **self._roles(),
            **self._form(),
            searches=self.searches,
            fold=self.fold,
            on_bad_row=self.on_bad_row,
        )

    def header(self, files: list[str]) -> Header:
        """The columns of the log, whatever they mean."""
        from slogan.logs.header import header_of
        from slogan.logs.searchlog import declare

        roles = self._roles()
        return header_of(*declare(list(files), roles, **self._form()), roles)

    def _roles(self) -> dict[str, str | None]:
        return {"user": self.user, "query": self.query, "url": self.url, "count": self.count}

    def _form(self) -> dict[str, Any]:
        return {
            "peek": self.host().peek,
            "format": self.format,
            "columns": None if self.columns is None else tuple(self.columns.split(",")),
            "delimiter": self.delimiter,
            "encoding": self.encoding,
            "sql": self.sql,
        }

    @property
    def detects(self) -> bool:
        """Whether nothing is said of the log itself, so that a manifest may tell."""
        of_log = replace(self, engine="duckdb", memory_limit=None, spark_master=None, spark_conf=())
        return of_log == Reading()

    def host(self) -> EngineSettings:
        """Which engine counts, with the settings that belong to it."""
        from slogan import engines

        settings = engines.load(self.engine)
        given = {"master": self.spark_master, "conf": dict(map(_setting, self.spark_conf))}
        own: dict[str, Any] = {name: value for name, value in given.items() if value}
        if not own.keys() <= {field.name for field in fields(settings)}:
            raise OptionError(
                f"--spark-master and --spark-conf mean nothing for --engine {self.engine}",
                hint="give --engine spark",
            )
        return settings(memory_limit=self.memory_limit, **own)


def log_and_release(paths: tuple[str, ...], verb: str) -> tuple[list[str], str]:
    """The files of the log, and the release, which is named last."""
    if len(paths) < 2:
        raise OptionError(f"{verb} needs a log and a release", hint=f"slogan {verb} LOG RELEASE")
    return list(paths[:-1]), paths[-1]


def _setting(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not (key and mark):
        raise OptionError(
            "a setting of Spark is written as key=value",
            hint="such as --spark-conf spark.driver.memory=4g",
        )
    return key, value


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class Budgeting:
    """ε and δ as typed, so that 0.1 means exactly 1/10."""

    epsilon: str | None = None
    "ε: how far one user's presence may change the odds of an output, as a logarithm."
    exp_epsilon: str | None = None
    "e^ε instead of ε, as in the paper's tables: 2 lets the odds double."
    delta: str | None = None

    def budget(self) -> PrivacyBudget:
        """The budget, or what is missing."""
        if self.delta is None or (self.epsilon is None and self.exp_epsilon is None):
            raise OptionError(
                "a release needs a privacy budget",
                hint="give --epsilon or --exp-epsilon, and --delta, or a --config that has them",
            )
        return PrivacyBudget(epsilon=self.epsilon, exp_epsilon=self.exp_epsilon, delta=self.delta)


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class RowsBudget(Budgeting):
    """The budget of real rows."""

    delta: str | None = None
    "δ: largest chance that a given person's real rows are published."
    accept_weak_privacy: Annotated[bool, Parameter(negative="")] = False
    "For --counts private: release although ε is above 10. The release says so."


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class SyntheticBudget(Budgeting):
    """The budget of synthetic users."""

    delta: str | None = None
    "δ: chance that the ε limit fails. Keep it below 1 / (10 × users); 1e-6 is common."
    accept_weak_privacy: Annotated[bool, Parameter(negative="")] = False
    "Release although ε is above 10 or δ above 1/1000. The release says so."


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class AgreedBudget(Budgeting):
    """The budget that a release must keep beside its own."""

    delta: str | None = None
    "δ that was agreed on. Without it the manifest's own budget alone is checked."


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class AttackedBudget(Budgeting):
    """The budget that attacks try to contradict."""

    delta: str | None = None
    "δ of the release to attack, with its meaning in the verb that --mode names."


@Parameter(name="*", group=Group("Utility"))
@dataclass(frozen=True, kw_only=True)
class Utility:
    """What should be kept, and how hard to try."""

    objective: Annotated[str, Parameter(help=f"One of: {_OBJECTIVES}.")] = "output_size"
    min_support: str | None = None
    "For frequent_pairs: a pair is frequent from this share of clicks on; 1/500 if not given."
    output_size: int | None = None
    "For frequent_pairs: clicks to release, at most λ; half of λ if not given."
    solver: Annotated[
        str, Parameter(help=f"auto, one of: {_SOLVERS}; or distributed, on Spark.")
    ] = "auto"
    time_limit: float = 60.0
    "Seconds the solver may take for each problem."
    gap: float = 1e-4
    "Stop when this close to the proven bound, relatively."

    def build(self) -> Objective:
        """The objective with its own options."""
        return _objective(self.objective, self.min_support, self.output_size)

    def chosen_solver(self, *, private: bool = False) -> Solver | None:
        """The solver and its limits; None where private counts need none and none is named."""
        from slogan.planning.solvers import Solver

        if private and self.solver == "auto":
            return None
        return Solver(self.solver, time_limit=self.time_limit, gap=self.gap)


@Parameter(name="*", group=Group("Utility"))
@dataclass(frozen=True, kw_only=True)
class Trial(Utility):
    """The same where many budgets are tried."""

    time_limit: float = 10.0
    "Seconds the solver may take for each problem."


@Parameter(name="*", group=Group("Utility"))
@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """What the synthetic log should keep."""

    objective: Annotated[str, Parameter(help=f"One of: {_OBJECTIVES}.")] = "output_size"
    output_size: int | None = None
    "For frequent_pairs: clicks to release; as many as were counted if not given."
    association: Annotated[
        str | None,
        Parameter(
            help="What users hold together: domains (pairs of one site are of one kind), spectral "
            "(each pair is its own), taxonomy or independent."
        ),
    ] = None
    taxonomy: Path | None = None
    "A public file, not made from the log, with lines of host or domain, tab, category."
    selector: Annotated[str, Parameter(help=f"One of: {_SELECTORS}.")] = PrivateCounts.selector

    def build(self) -> Objective:
        """The objective with its own options."""
        return _objective(self.objective, None, self.output_size)


@Parameter(name="*", group=Group("Counts"))
@dataclass(frozen=True, kw_only=True)
class Counting:
    """Where the released counts come from."""

    counts: Literal["exact", "laplace", "private"] = "exact"
    "exact: protects given the counts. laplace: a HEURISTIC without proof. private: end to end."
    laplace_bound: str | None = None
    "For laplace: d; users without whom some optimal count differs by more than d are removed."
    laplace_epsilon: str | None = None
    "For laplace: ε' of the noise Lap(d/ε') on every count; it is not a guarantee."
    sampling_share: str | None = None
    "For private: the share of ε and δ spent on drawing rows of real users; 1/2 if not given."
    selector: str | None = None
    "For private: who selects the pairs; the same choice as for synthesize."

    def build(self) -> Counts:
        """The mode with its own options."""
        own = {
            "laplace": {"bound": self.laplace_bound, "epsilon": self.laplace_epsilon},
            "private": {"sampling_share": self.sampling_share, "selector": self.selector},
        }
        for mode, options in own.items():
            if mode != self.counts and any(value is not None for value in options.values()):
                raise OptionError(
                    f"an option of --counts {mode} means nothing for --counts {self.counts}",
                    hint=f"use it with --counts {mode}, or leave it out",
                )
        given = {k: v for k, v in own.get(self.counts, {}).items() if v is not None}
        if self.counts == "exact":
            return ExactCounts()
        if self.counts == "private":
            return PrivateCounts(**given)
        if len(given) < 2:
            raise OptionError(
                "--counts laplace needs a bound d and an ε'",
                hint="for example --laplace-bound 2 --laplace-epsilon 1",
            )
        return LaplaceCounts(**given)


def _objective(name: str, min_support: str | None, output_size: int | None) -> Objective:
    from slogan.planning import objectives

    own = {"min_support": min_support, "output_size": output_size}
    given = {option: value for option, value in own.items() if value is not None}
    kind = objectives.load(name)
    unknown = given.keys() - kind.__annotations__.keys()
    if unknown:
        option = min(unknown).replace("_", "-")
        raise OptionError(
            f"--{option} means nothing for --objective {name}",
            hint="use it with --objective frequent_pairs, or leave it out",
        )
    return kind(**given)


@Parameter(name="*", group=Group("Ledger"))
@dataclass(frozen=True, kw_only=True)
class Recording:
    """Where a release is recorded."""

    population: str | None = None
    "Record the release in the ledger of these people; without it nobody adds releases up."
    ledger: Path | None = None
    "The ledger's file, if it is not found by the name of the population."
    allow_unaccounted: Annotated[bool, Parameter(negative="")] = False
    "Release although no accounting covers it and the population has a cap."
    title: str | None = None
    "What the ledger calls the release."
    recipient: str | None = None
    "For whom the release is, for the ledger."

    def opened(self) -> Ledger | None:
        """The ledger; None if none is named."""
        from slogan.ledger.ledger import Ledger

        if self.population is None and self.ledger is None:
            return None
        return Ledger.open(self.population, self.ledger)


@Parameter(name="*", group=Group("Cap"))
@dataclass(frozen=True, kw_only=True)
class Capping:
    """What all releases on a population may cost together."""

    set_epsilon_cap: str | None = None
    "Set the cap: ε that all releases together may reach."
    set_delta_cap: str | None = None
    "Set the cap: δ likewise. Set the cap before the first release."
    epsilon_aside: str = "0"
    "The part of ε for stages that are no noisy sums, such as sampling real rows."
    delta_aside: str | None = None
    "The part of δ for the probabilities that stages set aside; half of it if not given."
    raise_cap: Annotated[bool, Parameter(negative="")] = False
    "Allow the new cap to be higher than the old one; that is recorded too."

    def cap(self) -> Cap | None:
        """The cap to be set, if any."""
        if self.set_epsilon_cap is None and self.set_delta_cap is None:
            return None
        if self.set_epsilon_cap is None or self.set_delta_cap is None:
            raise OptionError(
                "a cap has an epsilon and a delta",
                hint="give both --set-epsilon-cap and --set-delta-cap",
            )

        from slogan.ledger.cap import Cap

        return Cap.of(
            self.set_epsilon_cap,
            self.set_delta_cap,
            epsilon_aside=self.epsilon_aside,
            delta_aside=self.delta_aside,
        )
