"""`slogan advise`: three budgets in words, before the log is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import Reading
from slogan.cli.terminal import Json, command, show, watching
from slogan.errors import OptionError

if TYPE_CHECKING:
    from slogan.workflows.advise import Advice, BudgetAdvice

GROUP, RANK = "look", 3


def advise(
    *log: Annotated[
        str, Parameter(name="LOG", help="Read the number of users and clicks from this log.")
    ],
    users: int | None = None,
    clicks_per_user: float | None = None,
    recipient: Annotated[
        Literal["web", "researchers", "colleagues", "reproduction"] | None,
        Parameter(name="--for", help="Who gets the release; adds a recommendation."),
    ] = None,
    seed: int = 0,
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Compare three privacy budgets on a made-up log of your log's size.

    `slogan advise --users 60000 --clicks-per-user 20 --for web`

    With --users the log is not read, so the choice says nothing about it.

    Parameters
    ----------
    users
        Number of users in the log, as you declare it.
    clicks_per_user
        Mean number of clicks of a user; 20 if omitted.
    seed
        Seed of the made-up log.
    """
    if not log and reading != Reading():
        raise OptionError(
            "there is no log to which the reading options apply",
            hint="slogan advise LOG, or leave the reading options out",
        )

    from slogan.workflows.advise import advise as advise_on

    with watching() as watch:
        advice = advise_on(
            reading.log(list(log)) if log else None,
            users=users,
            clicks_per_user=clicks_per_user,
            recipient=recipient,
            seed=seed,
            engine=reading.host(),
            progress=watch,
        )
    if log:
        advice = advice.with_log(*log, *reading.words())
    show(advice, text, json=json)


def text(advice: Advice) -> RenderableType:
    """Each budget with one fact per line, and what to run."""
    from slogan.logs.words import worded
    from slogan.workflows.advise import LOOKED

    smaller = advice.twin_users < advice.users
    size = f"{advice.users:,} users with a mean of {advice.clicks_per_user:g} clicks"
    start = [LOOKED] if advice.looked_at_log else []
    start.append(f"For {size}, measured on a made-up log of that size.")
    if smaller:
        start[-1] = f"For {size}, estimated from a made-up log of {advice.twin_users:,} users."
    start.append("Logs with fewer different searches, such as a library's, keep more.")
    start.append("An attacker: one who may wrongly accuse 1 in 100 people who are not in the log.")
    blocks = [_block(one, smaller=smaller, items=advice.items) for one in advice.budgets]
    end = Text(worded("\n".join(["", *_end(advice)]), advice.items))
    return Group(Text(worded("\n".join(start), advice.items)), *blocks, end, _next(advice))


def _block(one: BudgetAdvice, *, smaller: bool, items: str) -> Text:
    from slogan.logs.words import worded
    from slogan.workflows.advise import PAIRS_WANTED, TOP_SEARCHES

    about = "at least" if one.at_least else "about"
    where = " (on the smaller made-up log)" if smaller else ""
    pairs = "1 query-url pair" if one.pairs == 1 else f"{one.pairs:,} query-url pairs"
    lines = [
        f"  Keeps {about} {pairs}, with {one.share_of_clicks:.0%} of clicks."
        if one.pairs
        else "  Keeps nothing: no pair has enough users.",
        f"  Keeps {one.top_searches} of the {TOP_SEARCHES} most frequent searches.",
        f"  Shows which pairs go together: {one.association}{where}.",
        f"  An attacker can correctly name at most {one.attacker_names} of 100 people in the log.",
    ]
    if not one.pairs:
        del lines[1:3]
    if one.pairs < PAIRS_WANTED and one.users_for_100_pairs is not None:
        needed = one.users_for_100_pairs
        lines.append(f"  {PAIRS_WANTED} pairs need about {needed:,} users.")
    heading = (f"\n{one.name}", "bold"), f"  ε = {one.epsilon}, δ = {one.delta}\n"
    return Text.assemble(*heading, worded("\n".join(lines), items))


def _end(advice: Advice) -> list[str]:
    lines: list[str] = []
    if (chosen := advice.recommendation) is not None:
        lines += [
            f"For {chosen.recipient}: {chosen.mode} with the {chosen.budget} budget. "
            f"{chosen.reason}",
        ]
    else:
        lines += ["Choose by who gets the release, not by what it keeps; --for recommends a mode."]
    if any(not one.pairs for one in advice.budgets):
        lines.insert(0, "If a budget keeps too little, add users (a longer period), not budget.")
    return lines


def _next(advice: Advice) -> Text:
    lead = "Next:" if advice.looked_at_log else "Next, with your file in place of LOG:"
    return command(f"{lead}  {advice.command}")
