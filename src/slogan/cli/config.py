"""`slogan config`: the configuration file, the environment, and what they resolve to."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from cyclopts import Parameter
from cyclopts.config import Dict, Env
from rich.console import RenderableType

from slogan.cli.options import Budgeting, Reading
from slogan.cli.terminal import Json, show, table, with_notes
from slogan.errors import ConfigError, OptionError, suggestion
from slogan.storage.untrusted import modest

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument, ArgumentCollection

GROUP, RANK = "keep", 2
Tables = dict[str, dict[str, Any]]
_LONGEST_CONFIGURATION = 16_384
"""To read long dotted keys takes the square of their length."""
_PREFIX = "SLOGAN_"


@dataclass(frozen=True, kw_only=True)
class Session:
    """The table [session]: options that stand for the whole process."""

    threads: int | None = None
    memory_limit: str | None = None
    quiet: bool = False
    verbose: bool = False

    @classmethod
    def of(cls, options: dict[str, Any], file: str) -> Self:
        """The options of the table, if each is of its kind."""
        kinds = {"threads": int, "memory_limit": str, "quiet": bool, "verbose": bool}
        given = {_key(name): value for name, value in options.items()}
        for name, value in given.items():
            if type(value) is not kinds[name]:
                raise ConfigError(
                    f"{file}, [session]: {name} = {value!r} is not of the right kind",
                    hint='write threads = 2, memory-limit = "4GB", quiet = true or verbose = true',
                )
        return cls(**given)


_SHARED = {
    "session": {field.name for field in fields(Session)},
    "reading": {field.name for field in fields(Reading)},
    "budget": {field.name for field in fields(Budgeting)},
}
"""Tables that several verbs share, with their keys."""


def load(file: Path, verbs: Collection[str]) -> Tables:
    """The tables of a configuration file, if it is a modest TOML file and has known tables only."""
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
            hint="put it below the verb it is for, such as [sanitize], or below [reading]",
        )
    known = [*_SHARED, *verbs]
    if unknown := tables.keys() - {*known}:
        name = min(unknown)[:40]
        raise ConfigError(
            f"{file} has a table [{name}], which is neither a verb nor shared",
            hint=suggestion(name, known) or f"the tables are: {', '.join(known)}",
        )
    for name, options in tables.items():
        _check_keys(file, name, options)
    return tables


def _check_keys(file: Path, name: str, options: dict[str, Any]) -> None:
    keys = {_key(key) for key in options}
    if name in _SHARED and (unknown := keys - _SHARED[name]):
        known = sorted(option.replace("_", "-") for option in _SHARED[name])
        wrong = min(unknown).replace("_", "-")[:40]
        raise ConfigError(
            f"{file}, [{name}]: there is no option {wrong!r}",
            hint=suggestion(wrong, known) or f"the options of [{name}] are: {', '.join(known)}",
        )
    if name not in _SHARED and (whole := keys & _SHARED["session"]):
        raise ConfigError(
            f"{file}, [{name}]: {min(whole).replace('_', '-')} is for the whole process",
            hint="put it below [session]",
        )


def _key(name: str) -> str:
    return name.replace("-", "_")


def sources(tables: Tables, file: str) -> list[Any]:
    """Where options come from that are not on the command line; the first that has one wins."""
    # A variable names its verb: the δ of sanitize has another meaning in synthesize.
    own = {name: table for name, table in tables.items() if name not in _SHARED}
    return [
        Env(_PREFIX, show=False),
        Dict(own, source=file),
        _shared(tables.get("reading", {}), f"{file}, [reading]"),
        _BudgetOfSyntheticUsers(tables.get("budget", {}), f"{file}, [budget]"),
    ]


def _shared(options: dict[str, Any], source: str) -> Dict:
    return Dict(options, source=source, use_commands_as_keys=False, allow_unknown=True)


@dataclass(frozen=True)
class _BudgetOfSyntheticUsers:
    """[budget] holds where δ is the chance that the ε limit fails: for made-up users.

    In `sanitize` δ is the share of real people shown, and `verify` takes the budget agreed on for
    one release: neither takes its numbers from a table that another verb reads too.
    """

    options: dict[str, Any]
    source: str

    def __call__(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        given = {argument.name: argument.tokens for argument in arguments}
        sanitizes = any(token.value == "sanitize" for token in given.get("--mode", ()))
        if commands not in (("synthesize",), ("audit",)) or sanitizes:
            return
        options = self.options
        if given["--epsilon"] or given["--exp-epsilon"]:  # either of them replaces both
            options = {name: value for name, value in options.items() if name == "delta"}
        _shared(options, self.source)(app, commands, arguments)


def config(
    verb: Annotated[
        str | None, Parameter(name="VERB", help="Show all options of this verb, with defaults.")
    ] = None,
    /,
    *,
    json: Json = False,
) -> None:
    """Show the options that a file or the environment sets, and where each comes from.

    `slogan config synthesize --config slogan.toml`
    """
    from slogan.cli.app import VERBS, app

    if verb is not None and verb not in VERBS:
        raise OptionError(
            f"there is no verb {verb[:40]!r}",
            hint=suggestion(verb, VERBS) or f"the verbs are: {', '.join(VERBS)}",
        )
    chosen = VERBS if verb is None else [verb]
    settings = [setting for name in chosen for setting in _settings(app, name)]
    whole = verb is not None
    show(
        _Resolved([setting for setting in settings if whole or setting.source != _DEFAULT]),
        _text,
        json=json,
    )


_DEFAULT = "default"


@dataclass(frozen=True)
class _Setting:
    verb: str
    option: str
    value: str | None
    source: str


@dataclass(frozen=True)
class _Resolved:
    settings: list[_Setting]

    def to_dict(self) -> dict[str, Any]:
        return {"options": [asdict(setting) for setting in self.settings]}


def _settings(app: App, verb: str) -> Iterator[_Setting]:
    command = app[verb]
    with app.app_stack([app, command]):
        arguments = command.assemble_argument_collection(parse_docstring=True)
        for source in app.config:
            source(command, (verb,), arguments)
    for argument in arguments:
        if argument.children or not argument.name.startswith("--"):
            continue
        if argument.tokens:
            token = argument.tokens[0]
            value = ", ".join(one.value for one in argument.tokens)
            from_environment = token.source == "env"
            source = f"variable {token.keyword}" if from_environment else token.source
            yield _Setting(verb, argument.name, value, source)
        else:
            yield _Setting(verb, argument.name, _default(argument), _DEFAULT)


def _default(argument: Argument) -> str | None:
    default = argument.field_info.default
    known = default is not None and default is not argument.field_info.empty and default != ()
    return str(default) if known else None


def _text(resolved: _Resolved) -> RenderableType:
    rows = ([s.verb, s.option, s.value or "–", s.source] for s in resolved.settings)
    lines = ["A flag on the command line comes before all of these."]
    if not resolved.settings:
        lines = ["No option is set by a file or a variable; slogan config VERB shows defaults."]
    elsewhere = [name for name in ("SLOGAN_CONFIG", "SLOGAN_LEDGER_DIR") if name in os.environ]
    lines += [f"{name} is set: {os.environ[name]}" for name in elsewhere]
    headings = ("verb", "option", "value", "from") if resolved.settings else ()
    return with_notes(table(headings, rows, left=4), lines)
