"""The command line: parse, call one function, print."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter
from cyclopts.config import Env, Toml
from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from slogan import __version__, engines, objectives, solvers, words
from slogan.audit.certificate import verify as verify_release
from slogan.demo import demo as run_demo
from slogan.errors import ConfigError, OptionError, ReleaseExistsError, VerificationError
from slogan.generate import FORMATS as GENERATED
from slogan.generate import generate as generate_log
from slogan.inspection import inspect as inspect_log
from slogan.objectives import Objective
from slogan.pipeline import sanitize as sanitize_log
from slogan.privacy import PrivacyBudget
from slogan.searchlog import SearchLog, read
from slogan.stages import Watcher, silent

app = App(
    name="slogan",
    version=__version__,
    help="Search-log anonymization: publish a click log in its own schema, as useful as "
    "differential privacy allows. Start with: slogan demo",
    help_format="markdown",
)
app.meta.group_parameters = Group("Session")
_stderr = Console(stderr=True, highlight=False)

Logs = Annotated[list[str], Parameter(name="LOG", help="File, several files, or a quoted glob.")]
Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object on stdout.")
]
Force = Annotated[bool, Parameter(negative="", help="Replace an existing release.")]
Seed = Annotated[
    int | None,
    Parameter(help="Reproducible TEST run: marked in the release and refused by verify."),
]


@Parameter(name="*", group=Group("Reading the log"))
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a log is read."""

    user: str | None = None
    "Column of the user-ID; detected from the header if not given, as the next three."
    query: str | None = None
    "Column of the query."
    url: str | None = None
    "Column of the clicked url."
    count: str | None = None
    "Column of the number of clicks; without one each row with a url is one click."
    format: str | None = None
    "tsv, csv, jsonl or parquet, where the file name does not say."
    columns: str | None = None
    "Comma-separated names of all columns, for a text file without a header."
    encoding: str = "utf-8"
    "utf-8 or latin-1."
    on_bad_row: Literal["error", "skip"] = "error"
    "Stop at a row that cannot be read, or leave it out and count it."
    engine: str = "duckdb"
    "Who counts."
    memory_limit: str | None = None
    "What the engine may use before it spills to disk, such as 4GB."

    def log(self, files: list[str]) -> SearchLog:
        """The log meant by these options."""
        if self.engine not in engines.names():
            engines.load(self.engine)
        return read(
            list(files),
            format=self.format,
            user=self.user,
            query=self.query,
            url=self.url,
            count=self.count,
            columns=None if self.columns is None else tuple(self.columns.split(",")),
            encoding=self.encoding,
            on_bad_row=self.on_bad_row,
        )


@Parameter(name="*", group=Group("Privacy budget"))
@dataclass(frozen=True, kw_only=True)
class Budgeting:
    """ε and δ as typed, so that 0.1 means exactly 1/10."""

    epsilon: str | None = None
    "ε: how far one user's presence may change the odds of an output, as a logarithm."
    exp_epsilon: str | None = None
    "e^ε instead of ε, as in the paper's tables: 2 lets the odds double."
    delta: str | None = None
    "δ: with real user-IDs, the largest chance that a given user's rows are shown."

    def budget(self) -> PrivacyBudget:
        """The budget, or what is missing."""
        if self.delta is None or (self.epsilon is None and self.exp_epsilon is None):
            raise OptionError(
                "a release needs a privacy budget",
                hint="give --epsilon (or --exp-epsilon) and --delta, or set them in slogan.toml",
            )
        return PrivacyBudget(epsilon=self.epsilon, exp_epsilon=self.exp_epsilon, delta=self.delta)


@Parameter(name="*", group=Group("Utility"))
@dataclass(frozen=True, kw_only=True)
class Utility:
    """What should be kept, and how hard to try."""

    objective: Annotated[str, Parameter(help=f"One of: {', '.join(objectives.names())}.")] = (
        "output_size"
    )
    min_support: str | None = None
    "For frequent_pairs: a pair is frequent from this share of clicks on; 1/500 if not given."
    output_size: int | None = None
    "For frequent_pairs: clicks to release, at most λ; half of λ if not given."
    solver: Annotated[str, Parameter(help=f"auto, or one of: {', '.join(solvers.names())}.")] = (
        "auto"
    )
    time_limit: float = 60.0
    "Seconds the solver may take for each problem."
    gap: float = 1e-4
    "Stop when this close to the proven bound, relatively."

    def build(self) -> Objective:
        """The objective with its own options."""
        own = {"min_support": self.min_support, "output_size": self.output_size}
        given = {name: value for name, value in own.items() if value is not None}
        kind = objectives.load(self.objective)
        unknown = given.keys() - kind.__annotations__.keys()
        if unknown:
            option = min(unknown).replace("_", "-")
            raise OptionError(
                f"--{option} means nothing for --objective {self.objective}",
                hint="use it with --objective frequent_pairs, or leave it out",
            )
        return kind(**given)


@app.meta.default
def session(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    config: Annotated[
        Path | None, Parameter(help="TOML file with a table of options per verb: [sanitize].")
    ] = None,
) -> None:
    """Read the configuration, then run a verb: flag > environment > file > default."""
    sources: list[Any] = [Env("SLOGAN_", command=False)]
    if config is not None:
        if not config.is_file():
            raise ConfigError(f"no configuration at {config}", hint="check the path after --config")
        sources.append(Toml(config, must_exist=True))
    app.config = sources
    app(tokens)


@app.command
def inspect(log: Logs, /, *, reading: Reading = Reading(), json: Json = False) -> None:
    """Count a log as the paper's Table 3 does: whole, and without pairs that only one user has.

    `slogan inspect clicks.tsv`
    """
    with _watching() as watch:
        watch("count", "")
        found = inspect_log(
            reading.log(log), engine=reading.engine, memory_limit=reading.memory_limit
        )
    _print(found.summary(), words.inspection, json=json)


@app.command
def sanitize(
    log: Logs,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The release folder.")],
    budgeting: Budgeting = Budgeting(),
    utility: Utility = Utility(),
    reading: Reading = Reading(),
    pseudonyms: Literal["fresh", "keep"] = "fresh",
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a sanitized copy of a log, in its own schema: the paper's Algorithm 1.

    `slogan sanitize clicks.tsv -o release --exp-epsilon 2 --delta 0.5 --objective output_size`

    Parameters
    ----------
    pseudonyms
        Fresh random user-IDs, or the log's own.
    """
    budget, objective = budgeting.budget(), utility.build()
    with _watching() as watch:
        release = sanitize_log(
            reading.log(log),
            budget,
            objective=objective,
            solver=utility.solver,
            time_limit=utility.time_limit,
            gap=utility.gap,
            pseudonyms=pseudonyms,
            seed=seed,
            engine=reading.engine,
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
        try:
            summary = release.save(output, force=force)
        finally:
            release.close()
    _print(summary, words.sanitized, json=json)


@app.command
def verify(
    *paths: Annotated[
        str, Parameter(name="LOG RELEASE", help="The log's files, then the release.")
    ],
    budgeting: Budgeting = Budgeting(),
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Check a release against its log, in exact arithmetic, sharing no code with what made it.

    `slogan verify clicks.tsv release`
    """
    if len(paths) < 2:
        raise OptionError("verify needs a log and a release", hint="slogan verify LOG RELEASE")
    *log, release = paths
    budget = None if budgeting == Budgeting() else budgeting.budget()
    with _watching() as watch:
        watch("verify", "")
        source = list(log) if reading == Reading() else reading.log(log)
        found = verify_release(
            source, release, budget=budget, memory_limit=reading.memory_limit
        ).summary()
    _print(found, words.verdict, json=json)
    if not found["ok"]:
        failed = [check["name"] for check in found["checks"] if not check["ok"]]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; sanitize again from the log with the intended parameters",
        )


@app.command
def generate(
    out: Annotated[Path, Parameter(name="OUT", help="The file to write.")],
    /,
    *,
    users: int = 2_500,
    seed: int = 0,
    clicks_per_user: float = 95.1,
    format: Annotated[str | None, Parameter(help=f"One of: {', '.join(GENERATED)}.")] = None,
    force: Annotated[bool, Parameter(negative="", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Write a made-up log with the shape of AOL's; no person is behind it.

    `slogan generate clicks.tsv --users 2500 --seed 0`

    Parameters
    ----------
    users
        How many users.
    seed
        The same seed gives the same log.
    clicks_per_user
        95.1 as in the paper's sample; AOL's whole log has about 28.
    """
    if out.exists() and not force:
        raise ReleaseExistsError(f"{out} already exists", hint="give --force to replace it")
    with _watching() as watch:
        generate_log(
            out,
            users=users,
            seed=seed,
            format=format,
            clicks_per_user=clicks_per_user,
            progress=lambda done: watch("generate", f"{done:,} of {users:,} users"),
        )
    made = {"file": str(out), "users": users, "seed": seed, "bytes": out.stat().st_size}
    _print(made, lambda m: f"{m['users']:,} users, {m['bytes']:,} bytes: {m['file']}", json=json)


@app.command
def demo(
    *,
    out: Annotated[Path, Parameter(help="Where the files go.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Show the story in a minute: a recognisable person, an attack, a release, the attack again.

    `slogan demo`
    """
    with _watching() as watch:
        told = run_demo(out, watcher=watch)
    _print(told, words.demo, json=json)


@contextmanager
def _watching() -> Generator[Watcher]:
    """Show the current stage on a terminal; say nothing elsewhere."""
    if not _stderr.is_terminal:
        yield silent
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=_stderr, transient=True) as progress:
        task = progress.add_task("", total=None)
        yield lambda stage, note: progress.update(task, description=f"{stage} {note}".strip())


def _print(
    result: dict[str, Any], to_words: Callable[[dict[str, Any]], RenderableType], *, json: bool
) -> None:
    if json:
        sys.stdout.write(jsonlib.dumps(result, ensure_ascii=False) + "\n")
    else:
        _stderr.print(to_words(result))
