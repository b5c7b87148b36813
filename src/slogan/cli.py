"""The command line: parse, call one function, print."""

from __future__ import annotations

import json as jsonlib
import sys
import tomllib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter
from cyclopts.config import Env, Toml
from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from slogan import __version__, words
from slogan.audit.certificate import verify as verify_release
from slogan.demo import demo as run_demo
from slogan.errors import ConfigError, OptionError, ReleaseExistsError, VerificationError
from slogan.evaluation import evaluate as evaluate_release
from slogan.generate import FORMATS as GENERATED
from slogan.generate import generate as generate_log
from slogan.inspection import inspect as inspect_log
from slogan.options import Budgeting, Reading, Synthesis, Utility
from slogan.pipeline import sanitize as sanitize_log
from slogan.stages import Watcher, silent
from slogan.synthesizing import synthesize as synthesize_log

app = App(
    name="slogan",
    version=__version__,
    help="Search-log anonymization: publish a click log in its own schema, as useful as "
    "differential privacy allows. Start with: slogan demo",
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # __main__ says what an interrupt left behind: nothing
)
app.meta.group_parameters = Group("Session")
app.meta.suppress_keyboard_interrupt = False
_stderr = Console(stderr=True, highlight=False)

Logs = Annotated[list[str], Parameter(name="LOG", help="File, several files, or a quoted glob.")]
LogAndRelease = Annotated[
    str, Parameter(name="LOG RELEASE", help="The log's files, then the release.")
]
Json = Annotated[
    bool, Parameter(name="--json", negative="", help="Print one JSON object on stdout.")
]
Force = Annotated[bool, Parameter(negative="", help="Replace an existing release.")]
Seed = Annotated[
    int | None,
    Parameter(help="Reproducible TEST run: marked in the release and refused by verify."),
]


@app.meta.default
def session(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    config: Annotated[
        Path | None,
        Parameter(
            env_var="SLOGAN_CONFIG", help="TOML file with a table of options per verb: [sanitize]."
        ),
    ] = None,
) -> None:
    """Read the configuration, then run a verb: flag > environment > file > default."""
    sources: list[Any] = [Env("SLOGAN_", command=False)]
    if config is not None:
        _check_configuration(config)
        sources.append(Toml(config, must_exist=True))
    app.config = sources
    app(tokens)


def _check_configuration(file: Path) -> None:
    try:
        tables = tomllib.loads(file.read_text())
    except FileNotFoundError as cause:
        raise ConfigError(
            f"no configuration at {file}", hint="check the path after --config"
        ) from cause
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise ConfigError(
            f"{file} is not a readable TOML file", hint='write it as [sanitize] and delta = "0.5"'
        ) from cause
    verbs = {name for name in app if not name.startswith("-")}
    if unknown := tables.keys() - verbs:
        raise ConfigError(
            f"{file} has a table [{min(unknown)[:40]}], which is no verb",
            hint=f"the tables are: {', '.join(sorted(verbs))}",
        )


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
def synthesize(
    log: Logs,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The release folder.")],
    budgeting: Budgeting = Budgeting(),
    synthesis: Synthesis = Synthesis(),
    reading: Reading = Reading(),
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a log of synthetic users, in the log's own schema: private end to end.

    `slogan synthesize clicks.tsv -o release --epsilon 1 --delta 1e-6`
    """
    budget, objective = budgeting.budget(), synthesis.build()
    with _watching() as watch:
        release = synthesize_log(
            reading.log(log),
            budget,
            objective=objective,
            association=synthesis.association,
            taxonomy=synthesis.taxonomy,
            selector=synthesis.selector,
            seed=seed,
            engine=reading.engine,
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
        try:
            summary = release.save(output, force=force)
        finally:
            release.close()
    _print(summary, words.synthesized, json=json)


@app.command
def verify(
    *paths: LogAndRelease,
    budgeting: Budgeting = Budgeting(),
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Check a release against its log, in exact arithmetic, with code of its own.

    `slogan verify clicks.tsv release`
    """
    log, release = _log_and_release(paths, "verify")
    budget = None if budgeting == Budgeting() else budgeting.budget()
    with _watching() as watch:
        watch("verify", "")
        source = log if reading == Reading() else reading.log(log)
        found = verify_release(
            source, release, budget=budget, memory_limit=reading.memory_limit
        ).summary()
    _print(found, words.verdict, json=json)
    if not found["ok"]:
        failed = [check["name"] for check in found["checks"] if not check["ok"]]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; make the release again from the log with the intended parameters",
        )


@app.command
def evaluate(
    *paths: LogAndRelease,
    min_support: str | None = None,
    samples: int = 10,
    seed: int = 0,
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Measure how much of a log a release keeps, beside a random sample of the same size.

    `slogan evaluate clicks.tsv release --min-support 1/500,1/100`

    The figures depend on the log and are for the curator; they are kept in the release's curator/.
    RELEASE may also be any other log, such as a release made elsewhere.

    Parameters
    ----------
    min_support
        Comma-separated shares of clicks from which on a pair is frequent.
    samples
        Outputs drawn anew, over which the triplets of a sanitized release are averaged.
    seed
        The same seed gives the same figures.
    """
    log, release = _log_and_release(paths, "evaluate")
    with _watching() as watch:
        found = evaluate_release(
            log if reading == Reading() else reading.log(log),
            release if reading == Reading() or Path(release).is_dir() else reading.log([release]),
            min_support=None if min_support is None else min_support.split(","),
            samples=samples,
            seed=seed,
            engine=reading.engine,
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
    if (Path(release) / "curator" / "certificate.json").is_file():
        found.save(release)
    _print(found.summary(), words.evaluation, json=json)


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


def _log_and_release(paths: tuple[str, ...], verb: str) -> tuple[list[str], str]:
    if len(paths) < 2:
        raise OptionError(f"{verb} needs a log and a release", hint=f"slogan {verb} LOG RELEASE")
    return list(paths[:-1]), paths[-1]


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
