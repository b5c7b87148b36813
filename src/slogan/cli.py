"""The command line: parse, call one function, print."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter
from cyclopts.config import Env, Toml

from slogan import __version__, resuming, reviewing, surveying, words
from slogan.demo import demo as run_demo
from slogan.dp.ledger import nothing_recorded
from slogan.dp.private_histogram import divide
from slogan.dp.statistics import spread
from slogan.errors import ConfigError, ReleaseExistsError
from slogan.files import modest
from slogan.generate import FORMATS as GENERATED
from slogan.generate import generate as generate_log
from slogan.inspection import inspect as inspect_log
from slogan.modes import Private
from slogan.options import Budgeting, Counting, Logs, Reading, Recording, Synthesis, Utility
from slogan.pipeline import sanitize as sanitize_log
from slogan.placing import require_place
from slogan.story import story
from slogan.synthesizing import synthesize as synthesize_log
from slogan.terminal import Json, show, stderr, watching

_LONGEST_CONFIGURATION = 16_384
"""To read long dotted keys takes the square of their length."""

app = App(
    name="slogan",
    version=__version__,
    help="Search-log anonymization: publish a click log in its own schema, as useful as "
    "differential privacy allows. Start with: slogan demo",
    help_format="markdown",
    error_console=stderr,
    suppress_keyboard_interrupt=False,  # __main__ says what an interrupt left behind: nothing
)
app.meta.group_parameters = Group("Session")
app.meta.suppress_keyboard_interrupt = False
app.meta.error_console = stderr
for verb in (
    reviewing.verify,
    reviewing.evaluate,
    reviewing.audit,
    reviewing.ledger,
    surveying.frontier,
    surveying.reproduce,
):
    app.command(verb)

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
        text = modest(file, most=_LONGEST_CONFIGURATION, links=True)
        tables = tomllib.loads(text.decode())
    except FileNotFoundError as cause:
        raise ConfigError(
            f"no configuration at {file}", hint="check the path after --config"
        ) from cause
    except OSError as cause:
        raise ConfigError(
            f"{file} cannot be read: {cause.strerror}",
            hint="options of verbs need a few lines; check the path after --config",
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise ConfigError(
            f"{file} is not a readable TOML file", hint='write it as [sanitize] and delta = "0.5"'
        ) from cause
    verbs = {name for name in app if not name.startswith("-")}
    if loose := {name for name, table in tables.items() if not isinstance(table, dict)}:
        raise ConfigError(
            f"{file} sets {min(loose)[:40]!r} outside of a table",
            hint="options stand below the verb they are for, such as [sanitize]",
        )
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
    with watching() as watch:
        watch("count", "")
        found = inspect_log(
            reading.log(log),
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
    show(found.summary(), words.inspection, json=json)


@app.command
def sanitize(
    log: Logs,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The release folder.")],
    budgeting: Budgeting = Budgeting(),
    utility: Utility = Utility(),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    recording: Recording = Recording(),
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
    budget, objective, counts = budgeting.budget(), utility.build(), counting.build()
    cost = divide(budget, counts.sampling_share).cost if isinstance(counts, Private) else None
    test_run = seed is not None
    ledger = recording.opened(cost=cost, test_run=test_run)
    nothing = nothing_recorded("sanitize, private counts", budget, test_run=test_run, ledger=ledger)
    source = reading.log(log)
    require_place(output, source, force=force, ledger=None if ledger is None else ledger.file)
    with watching() as watch, nothing:
        release = sanitize_log(
            source,
            budget,
            objective=objective,
            solver=utility.solver,
            time_limit=utility.time_limit,
            gap=utility.gap,
            counts=counts,
            pseudonyms=pseudonyms,
            seed=seed,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            checkpoints=resuming.place(output),
            watcher=watch,
        )
        try:
            summary = release.save(
                output,
                force=force,
                ledger=ledger,
                allow_unaccounted=recording.allow_unaccounted,
            )
        finally:
            release.close()
    show(summary, words.sanitized, json=json)


@app.command
def synthesize(
    log: Logs,
    /,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The release folder.")],
    budgeting: Budgeting = Budgeting(),
    synthesis: Synthesis = Synthesis(),
    reading: Reading = Reading(),
    recording: Recording = Recording(),
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a log of synthetic users, in the log's own schema: private end to end.

    `slogan synthesize clicks.tsv -o release --epsilon 1 --delta 1e-6`
    """
    budget, objective = budgeting.budget(), synthesis.build()
    cost = spread(budget, association=True).cost
    test_run = seed is not None
    ledger = recording.opened(cost=cost, test_run=test_run)
    nothing = nothing_recorded(
        "synthesize, private counts", budget, test_run=test_run, ledger=ledger
    )
    source = reading.log(log)
    require_place(output, source, force=force, ledger=None if ledger is None else ledger.file)
    with watching() as watch, nothing:
        release = synthesize_log(
            source,
            budget,
            objective=objective,
            association=synthesis.association,
            taxonomy=synthesis.taxonomy,
            selector=synthesis.selector,
            seed=seed,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
        try:
            summary = release.save(output, force=force, ledger=ledger)
        finally:
            release.close()
    show(summary, words.synthesized, json=json)


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
    with watching() as watch:
        generate_log(
            out,
            users=users,
            seed=seed,
            format=format,
            clicks_per_user=clicks_per_user,
            progress=lambda done: watch("generate", f"{done:,} of {users:,} users"),
        )
    made = {"file": str(out), "users": users, "seed": seed, "bytes": out.stat().st_size}
    show(made, lambda m: f"{m['users']:,} users, {m['bytes']:,} bytes: {m['file']}", json=json)


@app.command
def demo(
    *,
    out: Annotated[Path, Parameter(help="Where the files go.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Show the story in a minute: a recognisable person, an attack, a release, the attack again.

    `slogan demo`
    """
    with watching() as watch:
        told = run_demo(out, watcher=watch)
    show(told, story, json=json)
