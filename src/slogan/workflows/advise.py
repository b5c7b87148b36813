"""advise(): three budgets in words, measured on a made-up twin. The recipient decides, not the log.

The figures come from a made-up log with as many users and clicks as declared. A budget that was
chosen from them does not depend on the people of the real log.
"""

import math
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from slogan import engines
from slogan.arrays import Floats
from slogan.budget import PrivacyBudget, at_most, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds
from slogan.dp.selection import Selected
from slogan.dp.statistics import MOST_CONTRIBUTED, Spending, measure, spread, weight_needed
from slogan.engines import EngineChoice
from slogan.errors import OptionError
from slogan.generation.twin import Twin, twin_of
from slogan.logs.searchlog import SearchLog, Source
from slogan.logs.words import PAIRS, QUERIES, worded
from slogan.manifest.certificate import html_table
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Progress, Steps, shown
from slogan.randomness import SeededRandomness
from slogan.workflows.synthetic_users import synthetic_users

Recipient = Literal["web", "researchers", "colleagues", "reproduction"]
Together = Literal["yes", "partly", "no"]

EPSILONS = {"strict": "0.5", "usual": "1", "loose": "3"}
"""The three budgets; δ follows from the number of users."""
LOOKED = "Chosen after looking at the log: the number of users and clicks was read from it."
PAIRS_WANTED = 100
TOP_SEARCHES = 20
CLICKS_PER_USER = 20.0
_LEAST_EXPONENT = 6
_CLEARLY_TOGETHER = 0.5
"""From which part on the association is called kept."""
_REFERENCE_CLICKS = 200_000
"""The number of users needed is estimated on a twin of at least this size."""
_LEAST_WEIGHT = 3.0
"""Lighter pairs of a twin have too few holders to tell how many they have in a larger log."""
_PART_OF_WEIGHT = 0.6
"""Which part of `weight_needed` selects a pair, about, where too few pairs show it."""
_FEW_PAIRS = 5
_LOG = "LOG"
_OF_PAPER = "--exp-epsilon 2 --delta 0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredLog:
    """What a made-up log is drawn from: declared, or read from a log."""

    users: int
    clicks_per_user: float
    items: str = PAIRS
    """What is counted: clicks on pairs, searches for queries, or all searches."""

    def twin(self, *, seed: int, progress: Progress) -> Twin:
        """A made-up log of this size, with urls if this one has them."""
        urls = self.items != QUERIES
        return twin_of(self.users, self.clicks_per_user, seed=seed, urls=urls, progress=progress)

    def kinds(self, kinds: Kinds) -> Kinds:
        """How pairs are grouped, for a log with or without urls."""
        return kinds.for_log(urls=self.items != QUERIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetAdvice:
    """One budget: what it keeps of a made-up log of this size, and what it leaves an attacker."""

    name: str
    epsilon: str
    delta: str
    pairs: int
    """Released query-url pairs, or queries of a log without urls, about."""
    at_least: bool
    """Whether the figures are lower bounds: the log is much larger than the made-up one."""
    share_of_clicks: float
    """The share of all clicks that these pairs stand for, about."""
    top_searches: int
    """How many of the 20 most frequent searches are released."""
    association: Together
    """Whether the release shows which pairs the same users click."""
    attacker_names: str
    """Of 100 people in the log, as many at most are named by an attacker who wrongly accuses 1 in
    100 outsiders; rounded up."""
    users_for_100_pairs: int | None
    """About how many users would release 100 pairs; None if no estimate is possible."""

    @property
    def options(self) -> str:
        """The budget as options of `slogan synthesize`."""
        return f"--epsilon {self.epsilon} --delta {self.delta}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A mode and a budget for a recipient, whatever the size of the output."""

    recipient: Recipient
    mode: str
    budget: str
    command: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advice:
    """Three budgets, what each keeps and what an attacker could tell."""

    users: int
    clicks_per_user: float
    looked_at_log: bool
    """Whether the size was read from the log; then the choice depends on it, a little."""
    twin_users: int
    """The users of the made-up log; fewer than declared if that would take too long."""
    budgets: tuple[BudgetAdvice, ...]
    recommendation: Recommendation | None
    command: str
    """What to run next; LOG in it stands for a log that was not named."""
    seconds: float
    items: str = PAIRS
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""

    def with_log(self, *words: str) -> "Advice":
        """The advice with commands that name the log by these words of a command line."""
        given = shlex.join(words)
        chosen = self.recommendation
        return replace(
            self,
            command=self.command.replace(f" {_LOG} ", f" {given} ", 1),
            recommendation=chosen
            and replace(chosen, command=chosen.command.replace(f" {_LOG} ", f" {given} ", 1)),
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields of `advise --json`."""
        note = LOOKED if self.looked_at_log else "Chosen from declared numbers on a made-up log."
        return {"note": note, **asdict(self)}

    def __repr__(self) -> str:
        kept = ", ".join(f"{one.name} {one.pairs:,}" for one in self.budgets)
        return worded(f"<Advice for {self.users:,} users; released pairs: {kept}>", self.items)

    def _repr_html_(self) -> str:
        names = ("", "ε", "δ", "pairs", "clicks", "of 100 people an attacker names at most")
        headings = tuple(worded(name, self.items) for name in names)
        rows = (
            (b.name, b.epsilon, b.delta, b.pairs, f"{b.share_of_clicks:.0%}", b.attacker_names)
            for b in self.budgets
        )
        return html_table(headings, rows, note=str(self.to_dict()["note"]))


def advise(
    log: SearchLog | Source | None = None,
    *,
    users: int | None = None,
    clicks_per_user: float | None = None,
    recipient: Recipient | None = None,
    seed: int = 0,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Advice:
    """Compare three budgets on a made-up log of a given size.

    Args:
        log: A log whose number of users and clicks is read; nothing else of it is used. Leave it
            out and declare the numbers to choose a budget without looking at the log.
        users: The declared number of users.
        clicks_per_user: The declared mean number of clicks of a user; 20 if not given.
        recipient: Who gets the release: "web", "researchers", "colleagues" or "reproduction".
        seed: The same seed gives the same made-up log.
        engine: What counts: a name, or settings such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    require_one_size(log, users, clicks_per_user, "advise")
    if recipient is not None and recipient not in _RECIPIENTS:
        raise OptionError(
            f"there is no recipient {str(recipient)[:40]!r}",
            hint=f"give --for, one of: {', '.join(_RECIPIENTS)}",
        )
    with shown(progress) as on_progress:
        steps = Steps(on_progress)
        size = declared_or_read(log, users, clicks_per_user, engine, steps)
        twin_users, budgets = compared(size, EPSILONS, seed=seed, steps=steps)
    chosen = recipient and _recommended(recipient, budgets)
    advice = Advice(
        users=size.users,
        clicks_per_user=round(size.clicks_per_user, 2),
        looked_at_log=log is not None,
        twin_users=twin_users,
        budgets=budgets,
        recommendation=chosen,
        command=chosen.command if chosen else _command("synthesize", budgets, "usual"),
        seconds=round(sum(steps.seconds.values()), 1),
        items=size.items,
    )
    return advice.with_log(str(log)) if isinstance(log, str | Path) else advice


def compared(
    size: DeclaredLog,
    epsilons: Mapping[str, str],
    *,
    delta: str | None = None,
    reach: bool = True,
    seed: int,
    steps: Steps,
) -> tuple[int, tuple[BudgetAdvice, ...]]:
    """The users of a made-up log, and what each ε, by its name, keeps of that log.

    δ follows from the number of users, if it is not given. With `reach`, a larger made-up log
    tells how many users would release 100 pairs.
    """
    with steps.step("made-up log"):
        twin = size.twin(seed=seed, progress=steps.progress)
        reference = twin
        if reach and size.users * size.clicks_per_user < _REFERENCE_CLICKS:
            more = replace(size, users=math.ceil(_REFERENCE_CLICKS / size.clicks_per_user))
            reference = more.twin(seed=seed, progress=steps.progress)
    kinds = size.kinds(Kinds.from_options(None, None))
    budgets: list[BudgetAdvice] = []
    for name, epsilon in epsilons.items():
        with steps.step(f"budget: {name}"):
            budget = PrivacyBudget(epsilon=epsilon, delta=delta or delta_for(size.users))
            budgets.append(_advice(name, budget, twin, reference, kinds, seed))
    return twin.hist.users, tuple(budgets)


def require_one_size(
    log: object, users: int | None, clicks_per_user: float | None, verb: str
) -> None:
    """Refuse a size that is given by a log and by numbers, or not at all."""
    if log is not None and (users is not None or clicks_per_user is not None):
        raise OptionError(
            "the size is given twice: by a log and by numbers",
            hint="leave out the log to choose without looking at it, or leave out --users and "
            "--clicks-per-user",
        )
    if log is None and users is None:
        raise OptionError(
            f"{verb} needs the number of users, or a log",
            hint=f"slogan {verb} --users 60000 --clicks-per-user 20",
        )


def declared_or_read(
    log: SearchLog | Source | None,
    users: int | None,
    clicks_per_user: float | None,
    engine: EngineChoice,
    steps: Steps,
) -> DeclaredLog:
    """The number of users and the mean number of their clicks: declared, or read from a log."""
    if log is None:
        clicks = CLICKS_PER_USER if clicks_per_user is None else float(clicks_per_user)
        return DeclaredLog(users=users or 0, clicks_per_user=clicks)
    settings = engines.resolve(engine, log)
    source = settings.describe(log)
    with steps.step("count"), closing(settings.start(steps.progress)) as host:
        counted = host.count(source)
    mean = counted.clicks / counted.users
    return DeclaredLog(users=counted.users, clicks_per_user=mean, items=source.items)


def delta_for(users: int) -> str:
    """The largest power of ten up to 1/(10 × users), and 1e-6 at most.

    A larger δ would release hardly more: the threshold falls by a tenth from 1e-6 to 1e-5.
    """
    exponent = max(_LEAST_EXPONENT, len(str(10 * users - 1)))
    return f"1e-{exponent}"


def people_named(budget: PrivacyBudget) -> str:
    """Of 100 people in the log, how many the best attack names, with 1 in 100 false alarms."""
    return at_most(min(exact(100), budget.ratio_at_most + 100 * exact(budget.delta)), 3)


def _advice(
    name: str, budget: PrivacyBudget, twin: Twin, reference: Twin, kinds: Kinds, seed: int
) -> BudgetAdvice:
    """What a budget keeps of the twin, scaled up if the log has more users than the twin."""
    spending = spread(budget, association=True)
    selected = _selected(twin, spending, seed)
    released = selected.pairs
    found = released if reference is twin else _selected(reference, spending, seed).pairs
    weight = _weights(reference)
    threshold = _threshold(weight, len(found), spending)
    reached = threshold * twin.hist.users / twin.declared_users
    if twin.smaller:
        likely = np.flatnonzero(weight >= max(reached, _LEAST_WEIGHT))
        released = likely if len(likely) > len(released) else released
    hist = twin.hist
    query = np.bincount(hist.query, hist.pair_total)
    top = np.argsort(-query, kind="stable")[:TOP_SEARCHES]
    return BudgetAdvice(
        name=name,
        epsilon=str(budget.epsilon),
        delta=str(budget.delta),
        pairs=len(released),
        at_least=twin.smaller and reached < _LEAST_WEIGHT,
        share_of_clicks=float(hist.pair_total[released].sum() / hist.clicks),
        top_searches=int(np.isin(top, hist.query[released]).sum()),
        association=_together(twin, selected, spending, kinds, seed),
        attacker_names=people_named(budget),
        users_for_100_pairs=_users_needed(weight, threshold, reference.hist.users),
    )


def _selected(twin: Twin, spending: Spending, seed: int) -> Selected:
    """The pairs of a twin that a dry run selects."""
    select = selection.load(selection.DEFAULT)
    return select(twin.hist, spending.selection, SeededRandomness(seed))


def _together(
    twin: Twin, selected: Selected, spending: Spending, kinds: Kinds, seed: int
) -> Together:
    """Whether a dry run measures the association of the selected pairs clear of the noise."""
    if not len(selected.pairs):
        return "no"
    group, rng = kinds.grouping(twin.urls), SeededRandomness(seed + 1)
    statistics = measure(twin.hist, selected, spending, group, rng=rng, steps=Steps())
    query = twin.hist.query_of(statistics.pairs)
    kept = synthetic_users(statistics, OutputSize(), query, rng).kept
    return "yes" if kept >= _CLEARLY_TOGETHER else "partly" if kept else "no"


def _weights(twin: Twin) -> Floats:
    """The weight of each pair: a user with n pairs adds 1/√n."""
    hist = twin.hist
    held = np.bincount(hist.user, minlength=hist.users).clip(1, MOST_CONTRIBUTED)
    return np.bincount(hist.pair, (1 / np.sqrt(held))[hist.user]).astype(np.float64)


def _threshold(weight: Floats, released: int, spending: Spending) -> float:
    """The weight that about `released` pairs exceed; from the formula if they are too few."""
    if released < _FEW_PAIRS:
        return _PART_OF_WEIGHT * weight_needed(spending.selection)
    return float(np.sort(weight)[-released])


def _users_needed(weight: Floats, threshold: float, users: int) -> int | None:
    """Weights grow in proportion to the users: with how many the 100th pair is selected."""
    if len(weight) < PAIRS_WANTED:
        return None
    needed = users * threshold / float(np.sort(weight)[-PAIRS_WANTED])
    digits = 10 ** max(0, math.floor(math.log10(needed)) - 1)
    return math.ceil(needed / digits) * digits


_RECIPIENTS: dict[str, tuple[str, str, str]] = {
    "web": (
        "synthesize",
        "usual",
        "Anyone can read it, for ever: made-up users only. Take the strict budget for searches "
        "about health, law or money.",
    ),
    "researchers": (
        "synthesize",
        "usual",
        "Made-up users answer most questions. An agreement does not undo a leak, so the budget is "
        "the same as for the web.",
    ),
    "colleagues": (
        "synthesize",
        "loose",
        "They may see the log anyway, and copies travel: made-up users with a loose budget. If "
        "they need real rows: slogan sanitize --counts private.",
    ),
    "reproduction": (
        "sanitize",
        "paper's",
        "The paper's method releases real rows under new user IDs, and its counts are not "
        "protected. Keep the output among people who may see the log.",
    ),
}
"""Mode, budget and reason by recipient."""


def _command(mode: str, budgets: Sequence[BudgetAdvice], name: str) -> str:
    """The command for a mode with one of the budgets, or else the paper's."""
    options = next((one.options for one in budgets if one.name == name), _OF_PAPER)
    return f"slogan {mode} {_LOG} -o release {options}"


def _recommended(recipient: Recipient, budgets: Sequence[BudgetAdvice]) -> Recommendation:
    mode, name, reason = _RECIPIENTS[recipient]
    return Recommendation(
        recipient=recipient,
        mode=mode,
        budget=name,
        command=_command(mode, budgets, name),
        reason=reason,
    )
