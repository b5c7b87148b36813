"""synthesize(): the end-to-end private release with synthetic users, on one page (Theorem S)."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from slogan.budget import Number, PrivacyBudget
from slogan.dp import selection
from slogan.dp.attainable import most_pairs
from slogan.dp.contributions import SHARE, Undecided, undecided
from slogan.dp.fields.statistics import stages_of
from slogan.dp.grouping import INDEPENDENT, Kinds
from slogan.dp.one_pair import OnePairSpending, divide
from slogan.dp.statistics import Spending, constants, shares, spread
from slogan.engines import EngineChoice
from slogan.errors import OptionError
from slogan.ledger.ledger import Ledger
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.labels import Labels
from slogan.modes import ReleaseKind
from slogan.planning.objectives import Objective
from slogan.progress import Progress
from slogan.release.job import Destination, started_job
from slogan.release.kinds import SyntheticRelease
from slogan.workflows.arguments import (
    accepted,
    budget_from,
    objective_from,
    require_exact_counts,
)
from slogan.workflows.public_knowledge import public_knowledge
from slogan.workflows.synthetic_users import make_either

Contributions = Literal["several", "one", "auto"]
"""How many pairs of a user count."""


def synthesize(
    log: SearchLog | Source,
    budget: PrivacyBudget | None = None,
    *,
    epsilon: Number | None = None,
    exp_epsilon: Number | None = None,
    delta: Number | None = None,
    objective: Objective | str | None = None,
    association: str | None = None,
    taxonomy: str | Path | None = None,
    selector: str = selection.DEFAULT,
    contributions: Contributions = "several",
    vocabulary: str | Path | None = None,
    hints: str | Path | None = None,
    engine: EngineChoice = "duckdb",
    output: str | Path | None = None,
    force: bool = False,
    ledger: Ledger | None = None,
    labels: Labels | None = None,
    recipient: str | None = None,
    approver: str | None = None,
    accept_weak_privacy: bool = False,
    seed: int | None = None,
    progress: Progress | bool | None = None,
) -> SyntheticRelease:
    """Make a log of synthetic users, in the schema of the log, private end to end.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ; or give `epsilon` or `exp_epsilon` (e^ε), and `delta`.
        epsilon: ε, as a number or as text, so that "0.1" means exactly 1/10.
        exp_epsilon: e^ε instead of ε.
        delta: δ, the chance that the ε limit fails: below 1/(10 × users).
        objective: What to do with the private counts; they stay as they are if not given.
        association: What users hold together: "pairs" (each pair is its own kind), "domains"
            (pairs of one site are of one kind), "taxonomy", "independent", or by default "auto":
            pairs or else domains, whichever the noise would not hide.
        taxonomy: A public file, not made from the log: host or domain, tab, category.
        selector: A file of `dp/selection/`.
        contributions: "one" if nearly every user has a single pair, such as one query per visitor:
            then one draw measures all, and synthetic users have one pair each. "auto": a private
            look decides, for 1% of ε. Else "several".
        vocabulary: A public file, not made from the log, with a pair (query, tab, url), a query or
            a site per line. These pairs need fewer users, and may be released without one.
        hints: An earlier release, whose pairs are public by now, to the same effect.
        engine: What counts: a name, or settings such as `DuckDB(memory_limit="4GB")`.
        output: The folder for `save()`, checked before the log is counted.
        force: Replace an older release there.
        ledger: Records the release. The planned cost is reserved before noise is drawn, and counts
            unless nothing was drawn.
        labels: Title, publisher, contact, period and licence, all of them published. The ledger
            keeps the title too.
        recipient: For whom it is, for the ledger and the memo; never published.
        approver: Who approved it, for the ledger and the memo; never published.
        accept_weak_privacy: Release although ε is above 10 or δ above 1/1000, and say so.
        seed: Makes a reproducible test run, which `verify` refuses.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    spendable, goal = budget_from(budget, epsilon, exp_epsilon, delta), objective_from(objective)
    require_exact_counts(goal, None)
    weak = accepted(ReleaseKind.SYNTHETIC_USERS, spendable, accept=accept_weak_privacy)
    listing = vocabulary is not None or hints is not None
    require_contributions(contributions, association, selector, listing=listing)
    kinds = Kinds.from_options(INDEPENDENT if contributions == "one" else association, taxonomy)
    select = selection.load(selector)
    with started_job(
        ReleaseKind.SYNTHETIC_USERS,
        log,
        spendable,
        destination=Destination(
            folder=output,
            force=force,
            ledger=ledger,
            labels=labels or Labels(),
            recipient=recipient,
            approver=approver,
        ),
        planned_cost=divided(spendable, contributions, kinds).cost,
        seed=seed,
        engine=engine,
        progress=progress,
    ) as job:
        kinds = kinds.for_log(urls=job.log.columns.url is not None)
        stages = stages_for(job.log, contributions)
        with job.steps.step("count"):
            public = public_knowledge(job.log, vocabulary, hints)
            counted = job.engine.count(
                job.log, unique_pairs=True, listed=public.pairs, with_events=bool(stages)
            )
            possible = most_pairs(counted.rows, spendable)
        ids = job.id_kind()
        made = make_either(
            job,
            counted,
            divided(spendable, contributions, kinds, stages),
            select,
            objective=goal,
            group=kinds.grouping(job.engine.urls),
        )
        spending, statistics = made.spending, made.statistics
        if isinstance(spending, OnePairSpending):
            kinds, chosen = replace(kinds, name=INDEPENDENT), shares(spending.shares)
        else:
            chosen = {"selector": selector, **constants(spending), **statistics.looked}
        chosen |= public.parameters(len(counted.listed))
        if contributions != "several":
            chosen |= {"contributions": contributions}
        if contributions == "auto":
            chosen |= shares({"contributions": SHARE})
        with job.steps.step("synthesis"):
            names = job.names_for(made.output, ids)
        return SyntheticRelease(
            job=job,
            parameters=job.parameters(goal, chosen, kinds.parameters(), weak),
            counted=counted,
            output=made.output,
            made=made.rows,
            with_events=bool(stages),
            pseudonyms=names,
            statistics=statistics,
            spending=spending,
            pairs_possible=possible,
            public_pairs=counted.public_pairs(statistics.pairs),
        )


def divided(
    budget: PrivacyBudget,
    contributions: Contributions,
    kinds: Kinds,
    stages: Collection[str] = (),
) -> Spending | OnePairSpending | Undecided:
    """How a budget is divided among the stages, before the log is read.

    The cost is the same with stages of time, rank and session: others give their shares.
    """
    if contributions == "one":
        return divide(budget)
    divide_for = undecided if contributions == "auto" else spread
    return divide_for(budget, association=kinds.looks, fields=stages)


def stages_for(log: SearchLog, contributions: Contributions) -> tuple[str, ...]:
    """The stages of time, rank and session that the log asks for."""
    roles = log.columns.event_roles
    if roles and contributions == "one":
        raise OptionError(
            f"with one pair of each user there is no {' or '.join(roles)} to measure",
            hint=f"add {' '.join(f'--{role} none' for role in roles)}, or use "
            "--contributions several",
        )
    return stages_of(
        time="time" in roles,
        rank="rank" in roles,
        session="session" in roles,
        searches=not log.counts_searches,
    )


def require_contributions(
    contributions: str, association: str | None, selector: str, *, listing: bool
) -> None:
    """Refuse an unknown value, and options that would have no effect with one pair of each user."""
    if contributions not in get_args(Contributions):
        raise OptionError(
            f"unknown --contributions {contributions[:40]!r}",
            hint=f"one of: {', '.join(get_args(Contributions))}",
        )
    plain = association in (None, INDEPENDENT) and selector == selection.DEFAULT
    if contributions == "one" and not plain:
        raise OptionError(
            "with one pair of each user there is no --selector, and no --association to measure",
            hint="leave them out, or use --contributions several",
        )
    if listing and (contributions != "several" or selector != selection.DEFAULT):
        raise OptionError(
            "--vocabulary and --hints need --contributions several and the default --selector",
            hint="leave these options out",
        )
