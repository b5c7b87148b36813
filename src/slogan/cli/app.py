"""The command line as a whole: its verbs, its configuration, and how a session begins."""

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Group, Parameter
from cyclopts.config import Env, Toml

import slogan
from slogan.cli.terminal import stderr, stdout
from slogan.errors import ConfigError
from slogan.registry import module_names
from slogan.storage.untrusted import modest

_LONGEST_CONFIGURATION = 16_384
"""To read long dotted keys takes the square of their length."""
VERBS = sorted({*module_names("slogan.cli")} - {"app", "options", "terminal"})
"""Each file of this folder that is not named here is a verb, with a function of its name."""

app = App(
    name="slogan",
    version=lambda: slogan.__version__,
    version_format="plaintext",
    help="Search-log anonymization: publish a click log in its own schema, as useful as "
    "differential privacy allows. Start with: slogan demo",
    help_format="markdown",
    console=stdout,
    error_console=stderr,
    suppress_keyboard_interrupt=False,  # __main__ says what an interrupt left behind: nothing
)
app.meta.group_parameters = Group("Session")
app.meta.suppress_keyboard_interrupt = False
app.meta.console = stdout
app.meta.error_console = stderr
for verb in VERBS:
    app.command(getattr(import_module(f"slogan.cli.{verb}"), verb))


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
    # A variable names its verb: the δ of sanitize would be no δ for synthesize.
    sources: list[Any] = [Env("SLOGAN_")]
    if config is not None:
        check_configuration(config)
        sources.append(Toml(config, must_exist=True))
    app.config = sources
    app(tokens)


def check_configuration(file: Path) -> None:
    """Refuse a file that is not a modest TOML file with one table per verb."""
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
    if loose := {name for name, table in tables.items() if not isinstance(table, dict)}:
        raise ConfigError(
            f"{file} sets {min(loose)[:40]!r} outside of a table",
            hint="options stand below the verb they are for, such as [sanitize]",
        )
    if unknown := tables.keys() - {*VERBS}:
        raise ConfigError(
            f"{file} has a table [{min(unknown)[:40]}], which is no verb",
            hint=f"the tables are: {', '.join(VERBS)}",
        )
