"""The verbs that look at what is or would be released: verify, evaluate, audit, ledger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from slogan import words
from slogan.attacks.attack import Synthetic, attack
from slogan.attacks.words import table
from slogan.audit.certificate import verify as verify_release
from slogan.dp import selection
from slogan.dp.ledger import Ledger, known
from slogan.errors import OptionError, VerificationError
from slogan.evaluation import evaluate as evaluate_release
from slogan.modes import Counts
from slogan.options import Budgeting, Capping, Counting, Logs, Reading, Utility
from slogan.terminal import Json, show, watching

LogAndRelease = Annotated[
    str, Parameter(name="LOG RELEASE", help="The log's files, then the release.")
]


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
    with watching() as watch:
        watch("verify", "")
        source = log if reading.detects else reading.log(log)
        found = verify_release(
            source,
            release,
            budget=budget,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
        ).summary()
    show(found, words.verdict, json=json)
    if not found["ok"]:
        failed = [check["name"] for check in found["checks"] if not check["ok"]]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; make the release again from the log with the intended parameters",
        )


def ledger(
    *,
    population: str | None = None,
    file: Annotated[Path | None, Parameter(name="--ledger")] = None,
    create: Annotated[bool, Parameter(negative="")] = False,
    capping: Capping = Capping(),
    expect_head: str | None = None,
    json: Json = False,
) -> None:
    """Show what was released on a population, what it cost together, and what remains.

    `slogan ledger --population web-users --create --set-epsilon-cap 1 --set-delta-cap 1e-6`

    Parameters
    ----------
    population
        Whose ledger; without a name or a file, all ledgers that are found by name.
    file
        The ledger's file, if it is not found by the name of the population.
    create
        Start the ledger of a population that has none.
    expect_head
        A head hash that you noted earlier: refuse a ledger whose end was cut off since.
    """
    cap = capping.cap()
    if population is None and file is None and not create and cap is None:
        show({"ledgers": [one.books().summary() for one in known()]}, words.ledgers, json=json)
        return
    one = Ledger.locate(population, file)
    books = one.create() if create else one.books()
    if expect_head is not None:
        books.require_link(expect_head)
    if cap is not None:
        books = one.set_cap(cap, allow_raise=capping.raise_cap)
    show(books.summary(), words.ledger, json=json)


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
        Outputs drawn anew, over which triplets are averaged if the counts are exact.
    seed
        The same seed gives the same figures.
    """
    log, release = _log_and_release(paths, "evaluate")
    with watching() as watch:
        found = evaluate_release(
            log if reading.detects else reading.log(log),
            release if reading.detects or Path(release).is_dir() else reading.log([release]),
            min_support=None if min_support is None else min_support.split(","),
            samples=samples,
            seed=seed,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
    if (Path(release) / "curator" / "certificate.json").is_file():
        found.save(release)
    show(found.summary(), words.evaluation, json=json)


def audit(
    log: Logs,
    /,
    *,
    mode: Literal["sanitize", "synthesize"] = "synthesize",
    association: str | None = None,
    taxonomy: Path | None = None,
    trials: int = 2_000,
    budgeting: Budgeting = Budgeting(),
    utility: Utility = Utility(time_limit=10.0),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Attack your own configuration: plant users in a log and bound what shows of them.

    `slogan audit clicks.tsv --epsilon 1 --delta 1e-6`

    A sanity check, not a proof: it finds gross mistakes, and finding nothing proves nothing.
    Nothing is released. Exit code 4 if an attack contradicts what is claimed.

    Parameters
    ----------
    mode
        What would be run on the log: sanitize, with its --counts, or synthesize.
    association
        As for synthesize.
    taxonomy
        As for synthesize.
    trials
        How often each attack is tried; more trials see smaller mistakes.
    seed
        The same seed gives the same findings.
    """
    with watching() as watch:
        found = attack(
            reading.log(log),
            budgeting.budget(),
            _attacked(mode, counting, association, taxonomy),
            objective=utility.build(),
            solver=utility.solver,
            time_limit=utility.time_limit,
            gap=utility.gap,
            trials=trials,
            seed=seed,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            watcher=watch,
        ).summary()
    show(found, table, json=json)
    if not found["ok"]:
        raise VerificationError(
            "an attack shows more than is claimed",
            hint="do not publish; report it as SECURITY.md says",
        )


def _attacked(
    mode: str, counting: Counting, association: str | None, taxonomy: Path | None
) -> Counts | Synthetic:
    if mode == "sanitize":
        if association is not None or taxonomy is not None:
            raise OptionError("--association is for synthesize", hint="leave out --mode sanitize")
        return counting.build()
    if replace(counting, selector=None) != Counting():
        raise OptionError("--counts is for sanitize", hint="add --mode sanitize")
    return Synthetic(
        selector=counting.selector or selection.DEFAULT, association=association, taxonomy=taxonomy
    )


def _log_and_release(paths: tuple[str, ...], verb: str) -> tuple[list[str], str]:
    if len(paths) < 2:
        raise OptionError(f"{verb} needs a log and a release", hint=f"slogan {verb} LOG RELEASE")
    return list(paths[:-1]), paths[-1]
