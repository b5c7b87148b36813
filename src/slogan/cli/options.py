"""Options that several verbs share, as groups: reading a log, the privacy budget, the ledger."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from cyclopts import Group, Parameter

from slogan.budget import PrivacyBudget
from slogan.cli.terminal import session
from slogan.errors import OptionError
from slogan.modes import Counts, ExactCounts, LaplaceCounts, PrivateCounts
from slogan.registry import module_names
from slogan.storage.limits import memory_for_engine

if TYPE_CHECKING:
    from slogan.engines import EngineSettings
    from slogan.ledger.cap import Cap
    from slogan.ledger.ledger import Ledger
    from slogan.logs.header import Header
    from slogan.logs.searchlog import SearchLog
    from slogan.manifest.labels import Labels

_ENGINES = module_names("slogan.engines", packages_only=True)
ENGINE = "duckdb"
"""The engine that counts unless another is named."""

ReleaseFolder = Annotated[
    Path, Parameter(name=["--output", "-o"], help="Folder to make for the release.")
]
Force = Annotated[bool, Parameter(negative="", help="Replace an existing release.")]
Seed = Annotated[
    int | None,
    Parameter(help="For tests: the same seed draws the same rows. Never publish such a release."),
]
LogAndRelease = Annotated[
    str, Parameter(name="LOG RELEASE", help="The log's files, then the release.")
]
Logs = Annotated[
    list[str], Parameter(name="LOG", help="File, several, a quoted glob, or DATABASE::TABLE.")
]


_BUDGET = Group("Privacy budget", sort_key=1)


@Parameter(name="*", group=Group("Reading the log", sort_key=5))
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
    "tsv, csv, jsonl, ubi or parquet. By default the file's name says which."
    click_action: str | None = None
    "ubi only: action_name of clicks, or several with commas. By default click."
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
    engine: Annotated[str, Parameter(help=f"Which engine counts: {' or '.join(_ENGINES)}.")] = (
        ENGINE
    )
    spark_master: str | None = None
    "spark only: local[2], spark://host:7077, or sc://host:15002 for Spark Connect."
    spark_conf: Annotated[
        tuple[str, ...],
        Parameter(
            negative="",
            show_default=False,
            help="spark only: a setting as key=value. Repeat the option for more settings.",
        ),
    ] = ()

    def log(self, files: list[str]) -> SearchLog:
        """The log meant by these options."""
        from slogan.logs.searchlog import read

        form = replace(self, **dict.fromkeys(self._roles()))
        session.log = shlex.join([*files, *form.words()])
        return read(
            list(files),
            **self._roles(),
            **self._form(),
            **self._dates(),
            searches=self.searches,
            fold=self.fold,
            click_action=self.click_action,
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

    def _dates(self) -> dict[str, Any]:
        return {}

    def words(self) -> list[str]:
        """The options that were given, as words of a command line."""
        words: list[str] = []
        for field in fields(self):
            name, value = f"--{field.name.replace('_', '-')}", getattr(self, field.name)
            if value is True:
                words.append(name)
            elif field.name == "spark_conf":
                words += [word for setting in self.spark_conf for word in (name, setting)]
            elif value != field.default:
                words += [name, str(value)]
        return words

    @property
    def other_engine(self) -> str | None:
        """The engine, if it is not the one that counts anyway."""
        return None if self.engine == ENGINE else self.engine

    @property
    def detects(self) -> bool:
        """Whether no option describes the log, so that a manifest may describe it."""
        of_log = replace(self, engine="duckdb", spark_master=None, spark_conf=())
        return of_log == type(self)()

    def host(self) -> EngineSettings:
        """Which engine counts, with the settings that belong to it."""
        from slogan import engines

        settings = engines.load(self.engine)
        given = {"master": self.spark_master, "conf": dict(map(_setting, self.spark_conf))}
        own: dict[str, Any] = {name: value for name, value in given.items() if value}
        if not own.keys() <= {field.name for field in fields(settings)}:
            raise OptionError(
                f"--spark-master and --spark-conf have no effect with --engine {self.engine}",
                hint="give --engine spark",
            )
        return settings(memory_limit=memory_for_engine(), **own)


@dataclass(frozen=True, kw_only=True)
class EventReading(Reading):
    """How a log is read by verbs that know time, rank and session too."""

    time: str | None = None
    "Column of the time; none leaves it empty. AOL's is found if there is a --period FROM/TO."
    rank: str | None = None
    "Column of the rank of the clicked result; none leaves it empty. AOL's is found."
    session: str | None = None
    "Column of the session, if the log has its own."
    time_format: str = "auto"
    (
        "iso, epoch, epoch-ms, iso+02:00 to write this offset, or a pattern such as "
        "'%d/%b/%Y:%H:%M:%S'. auto: a column with a type of time, or AOL's."
    )

    def _roles(self) -> dict[str, str | None]:
        events = {"time": self.time, "rank": self.rank, "session": self.session}
        return {**super()._roles(), **events}

    def _dates(self) -> dict[str, Any]:
        return {"time_format": self.time_format, "period": self._period}

    @property
    def _period(self) -> str | None:
        return None

    def of_period(self, files: list[str], label: str | None) -> SearchLog:
        """The log, dated by a label that is a period; by other words it has no times."""
        from slogan.logs.times import Period

        days = Period.of_label(label)
        dated = DatedReading(**vars(self), period=None if days is None else str(days))
        return dated.log(files)


@dataclass(frozen=True, kw_only=True)
class DatedReading(EventReading):
    """The same for verbs that publish nothing."""

    period: str | None = None
    "First and last day of the log, FROM/TO, without which no times are read."

    @property
    def _period(self) -> str | None:
        return self.period


def _setting(text: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not (key and mark):
        raise OptionError(
            "a Spark setting must be written as key=value",
            hint="such as --spark-conf spark.driver.memory=4g",
        )
    return key, value


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class Budgeting:
    """ε and δ as typed, so that 0.1 means exactly 1/10."""

    epsilon: str | None = None
    (
        "Privacy budget ε [required]: one user changes the odds of any output by a factor of at "
        "most e^ε. 0.1 is strict, 1 is common, above 3 protects little. When in doubt, 1."
    )
    exp_epsilon: str | None = None
    "e^ε in place of ε, as in the paper's tables: 2 lets the odds double."
    delta: str | None = None

    example: ClassVar[str] = "--epsilon 1 --delta 1e-6"

    def budget(self) -> PrivacyBudget:
        """The budget, or what is missing."""
        if self.delta is None or (self.epsilon is None and self.exp_epsilon is None):
            raise OptionError(
                "a release needs a privacy budget",
                hint=f"add {self.example}, or name a --config that has them",
            )
        return PrivacyBudget(epsilon=self.epsilon, exp_epsilon=self.exp_epsilon, delta=self.delta)


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class RowsBudget(Budgeting):
    """The budget of real rows."""

    delta: str | None = None
    (
        "Largest chance that a given person's real rows are published [required]. 0.1 publishes "
        "rows of at most about 1 person in 10. Below 1 / users hardly anything is released: such a "
        "δ is for synthesize."
    )
    require: int | None = None
    (
        "In place of a budget: the utility to reach, such as 1000 clicks. Finds the least ε and δ "
        "for it on the log, with a proven lower bound. The release records it."
    )
    minimize: Literal["exposure"] | None = None
    (
        "With a budget and --require: of the plans that reach the utility, release one that is "
        "expected to show rows of the fewest users, with a proven lower bound."
    )
    accept_weak_privacy: Annotated[bool, Parameter(negative="")] = False
    "--counts private only: release although ε is above 10. The release records it."

    example: ClassVar[str] = "--epsilon 0.7 --delta 0.1"

    def given(self) -> PrivacyBudget | None:
        """The budget; None if a utility is required in its place."""
        if self.require is None and self.minimize is None:
            return self.budget()

        from slogan.workflows.arguments import require_alone, require_with_budget

        typed = self.epsilon, self.exp_epsilon, self.delta
        if self.minimize is None:
            require_alone(self.require, *typed)
            return None
        require_with_budget(self.minimize, self.require, *typed)
        return self.budget()


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class SyntheticBudget(Budgeting):
    """The budget of synthetic users."""

    delta: str | None = None
    "Chance that the ε limit fails [required]. Keep it below 1 / (10 × users); 1e-6 is common."
    accept_weak_privacy: Annotated[bool, Parameter(negative="")] = False
    "Release although ε is above 10 or δ above 1/1000. The release records it."


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class AgreedBudget(Budgeting):
    """The budget that a release must keep beside its own."""

    epsilon: str | None = None
    "ε that was agreed on. Without it the manifest's own budget alone is checked."
    delta: str | None = None
    "δ that was agreed on."


@Parameter(name="*", group=_BUDGET)
@dataclass(frozen=True, kw_only=True)
class AttackedBudget(Budgeting):
    """The budget that attacks try to contradict."""

    delta: str | None = None
    "δ of the release to attack [required], with its meaning in the verb that --mode names."


@Parameter(name="*", group=Group("Counts", sort_key=3))
@dataclass(frozen=True, kw_only=True)
class Counting:
    """Where the released counts come from."""

    counts: Literal["exact", "laplace", "private"] = "exact"
    (
        "exact: who made the clicks is protected, the counts are not. laplace: a HEURISTIC without "
        "proof. private: counts are protected too, end to end."
    )
    laplace_bound: str | None = None
    "laplace only: remove users whose absence changes any optimal count by more than d."
    laplace_epsilon: str | None = None
    "laplace only: ε' of the noise Lap(d/ε') on every count. It is not a guarantee."
    sampling_share: str | None = None
    "private only: share of ε and δ spent on drawing rows of real users. Default 1/2."
    selector: str | None = None
    "private only: how pairs are selected, as for synthesize."

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


@Parameter(name="*", group=Group("Ledger", sort_key=4))
@dataclass(frozen=True, kw_only=True)
class Recording:
    """Where a release is recorded."""

    population: str | None = None
    "Record the release in this population's ledger. Otherwise cumulative loss is not tracked."
    ledger: Path | None = None
    "The ledger's file. By default it is found by the name of the population."
    allow_unaccounted: Annotated[bool, Parameter(negative="")] = False
    "Release although the ledger cannot account for this mode and the population has a cap."
    recipient: str | None = None
    "Who receives the release, for the ledger and the memo. Never published."
    approver: str | None = None
    "Who approved the release, for the ledger and the memo. Never published."

    def opened(self) -> Ledger | None:
        """The ledger; None if none is named."""
        from slogan.ledger.ledger import Ledger

        if self.population is None and self.ledger is None:
            return None
        return Ledger.open(self.population, self.ledger)


@Parameter(name="*", group=Group("Labels (published)"))
@dataclass(frozen=True, kw_only=True)
class Labelling:
    """What the release is called and who publishes it."""

    title: str | None = None
    "Name of the data set, for manifest, pages and ledger."
    publisher: str | None = None
    "Person or organisation that publishes it."
    contact: str | None = None
    "Where to send questions, such as an e-mail address."
    period: str | None = None
    'Time in which the searches were made, such as "2026-01 to 2026-03".'
    licence: str | None = None
    'Terms of use, such as "CC BY 4.0".'
    region: str | None = None
    'Where the searches come from, or whose law applies, such as "Germany".'
    published: str | None = None
    "Date of publication, such as 2026-12-01; `slogan passport` can set it later."

    def labels(self) -> Labels:
        """What was typed."""
        from slogan.manifest.labels import Labels

        return Labels(**vars(self))


@Parameter(name="*", group=Group("Cap"))
@dataclass(frozen=True, kw_only=True)
class Capping:
    """What all releases on a population may cost together."""

    set_epsilon_cap: str | None = None
    "Most ε that all releases together may spend. Set it before the first release."
    set_delta_cap: str | None = None
    "Most δ that all releases together may spend; goes with --set-epsilon-cap."
    epsilon_aside: str = "0"
    "Share of ε reserved for mechanisms other than noisy sums, e.g. sampling real rows."
    delta_aside: str | None = None
    "Share of δ reserved for mechanisms other than noisy sums. Default: half of it."
    raise_cap: Annotated[bool, Parameter(negative="")] = False
    "Allow the new cap to be higher than the old one. The ledger records that."

    def cap(self) -> Cap | None:
        """The cap to be set, if any."""
        if self.set_epsilon_cap is None and self.set_delta_cap is None:
            return None
        if self.set_epsilon_cap is None or self.set_delta_cap is None:
            raise OptionError(
                "a cap needs both an epsilon and a delta",
                hint="give both --set-epsilon-cap and --set-delta-cap",
            )

        from slogan.ledger.cap import Cap

        return Cap.of(
            self.set_epsilon_cap,
            self.set_delta_cap,
            epsilon_aside=self.epsilon_aside,
            delta_aside=self.delta_aside,
        )
