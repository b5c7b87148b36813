"""The command line as a whole: its verbs in the order of the work, and how a session begins."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter

import slogan
from slogan.cli import config as configuration
from slogan.cli.terminal import session as state
from slogan.cli.terminal import stderr, stdout
from slogan.errors import OptionError
from slogan.registry import module_names
from slogan.storage import limits

VERBS = sorted({*module_names("slogan.cli")} - {"app", "options", "terminal", "utility"})
"""Each file of this folder that is not named here is a verb, with a function of its name."""
GROUPS = {
    "look": "Look at a log",
    "release": "Release",
    "check": "Check a release",
    "keep": "Keep account, set up",
    "study": "Study",
}
"""In the order of the work. A verb's file names its group as GROUP, and its place in it as RANK."""
_SESSION = Group("Every verb", sort_key=len(GROUPS) + 2)

app = App(
    name="slogan",
    version=lambda: slogan.__version__,
    version_flags=("--version", "-V"),
    version_format="plaintext",
    help="Search-log anonymization: publish a search log in its own schema, as useful as "
    "differential privacy allows. Start with: slogan demo",
    help_format="markdown",
    console=stdout,
    error_console=stderr,
    suppress_keyboard_interrupt=False,  # __main__ reports what an interrupt left behind: nothing
    exit_on_error=False,  # __main__ reports errors of usage as all others
    print_error=False,
    result_action="return_value",  # __main__ ends the process
)
app["--help"].group = app["--version"].group = _SESSION
app.meta.group_parameters = _SESSION
app.meta.suppress_keyboard_interrupt = False
app.meta.exit_on_error = app.meta.print_error = False
app.meta.result_action = "return_value"
app.meta.console = stdout
app.meta.error_console = stderr
_groups = {name: Group(title, sort_key=n) for n, (name, title) in enumerate(GROUPS.items())}
for verb in VERBS:
    module = import_module(f"slogan.cli.{verb}")
    group = _groups[getattr(module, "GROUP", "study")]
    app.command(getattr(module, verb), group=group, sort_key=getattr(module, "RANK", len(VERBS)))


@app.meta.default
def session(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    config: Annotated[
        Path | None,
        Parameter(
            env_var="SLOGAN_CONFIG",
            help="TOML file of options: [reading], [budget], [session], a table per verb.",
        ),
    ] = None,
    quiet: Annotated[
        bool,
        Parameter(
            name=["--quiet", "-q"], negative="", help="Print errors, and what --json asks for."
        ),
    ] = False,
    verbose: Annotated[
        bool, Parameter(name=["--verbose", "-v"], negative="", help="Print details.")
    ] = False,
    threads: Annotated[
        int | None,
        Parameter(env_var="SLOGAN_THREADS", help="Most threads at once. By default all CPUs."),
    ] = None,
    memory_limit: Annotated[
        str | None,
        Parameter(
            env_var="SLOGAN_MEMORY_LIMIT",
            help="Most memory of the process, such as 4GB. DuckDB takes half of it, then spills to "
            "disk; a run that needs more than all of it ends. By default no limit.",
        ),
    ] = None,
) -> None:
    """Read the configuration, then run a verb: flag > environment > file > default."""
    tables = {} if config is None else configuration.load(config, VERBS)
    shared = configuration.Session.of(tables.get("session", {}), str(config))
    state.quiet, state.verbose = quiet or shared.quiet, verbose or shared.verbose
    state.answered, state.unheard, state.log = False, False, ""
    if state.quiet and state.verbose:
        raise OptionError("--quiet and --verbose exclude each other", hint="give one of them")
    if (most := threads or shared.threads) is not None:
        limits.limit_threads(most)
    if (size := memory_limit or shared.memory_limit) is not None:
        limits.limit_memory(size)
    words = [word for word in tokens if not word.startswith("-")]
    state.verb = words[0] if words and words[0] in VERBS else ""
    app.config = configuration.sources(tables, str(config))
    app(_rewritten(tokens))


def _rewritten(tokens: tuple[str, ...]) -> tuple[str, ...]:
    """`slogan help VERB` and `slogan version`, as people type them."""
    if tokens[:1] == ("help",):
        return *tokens[1:2], "--help"
    return ("--version",) if tokens == ("version",) else tokens
