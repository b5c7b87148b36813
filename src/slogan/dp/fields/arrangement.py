"""Made-up clicks in time: sessions of made-up users, their times, ranks and further searches.

Everything here is computed from private statistics and a made-up output, whose users and clicks
stay as they are. Proof: docs/proofs/columns.md.
"""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints, Narrow
from slogan.dp.fields.loops import LIFT, draw_lengths, draw_order, draw_ranks
from slogan.dp.fields.profiles import (
    Calendar,
    Habits,
    rank_shares,
    unclicked_shares,
)
from slogan.dp.fields.statistics import FieldStatistics
from slogan.dp.fields.sums import GAP
from slogan.dp.swaps import dice_of
from slogan.histogram import MadeEvents, Output
from slogan.randomness import Randomness

MOST_AT_ONCE = 200
"""The clicks of a user with more are divided into sessions in parts of this many."""
FITTED, STEP = 30, 0.7
"""How often, and how far, the law of sessions moves towards the measured one."""
TUNED, MOST_TUNED = 3, 3.0
"""How often rows are put in order, with chances that move towards what the log has, and how far."""
STEEPEST, GIVES_WAY = 2.0, 0.25
"""The law of sessions is tilted by at most this; how much it gives way where clicks are few."""
SHORTEST, LONGEST_PAUSE, ON_A_PAGE = 5, 600, 120
"""Seconds between two rows of a session: a public rule. The last is for rows of one query."""
REDRAWN = 40
"""How often times of sessions that come too close are drawn again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Rows in order: of users, of their sessions, and of the steps in these."""

    user: Ints
    session: Ints
    pair: Ints
    """The place among the released pairs; −1 for a search without a click."""
    query: Ints
    """The place among the queries of released pairs."""


def arrange(
    output: Output,
    pairs: Ints,
    query: Ints,
    statistics: FieldStatistics,
    *,
    sessions: bool,
    rng: Randomness,
) -> MadeEvents | None:
    """Give made-up clicks the columns that show in what was measured; None without any.

    Args:
        output: The made-up users, sorted by user and pair.
        pairs: The released pairs, sorted.
        query: The query of each.
        statistics: What was measured.
        sessions: Whether the column of sessions is asked for.
        rng: The source of what is drawn.
    """
    times, ranks = statistics.shows("hours"), statistics.shows("ranks")
    sessions = sessions and statistics.shows("sessions", "lengths")
    if not (times or ranks or sessions) or not output.clicks:
        return None
    generator, dice = np.random.Generator(np.random.PCG64DXSM(rng.words(4).tolist())), dice_of(rng)
    habits = Habits.of(statistics)
    rows = _ordered(
        output, np.searchsorted(pairs, output.pair), statistics, habits, generator, dice
    )
    if times or sessions:
        rows = _with_searches(rows, statistics, habits, generator)
    second: Narrow | None = None
    if times:
        rows, second = _timed(rows, Calendar.of(statistics), generator)
    rank = _ranked(rows, statistics, dice) if ranks else None
    queries = np.unique(query)
    return MadeEvents(
        user=rows.user,
        pair=np.where(rows.pair < 0, -1, pairs[rows.pair]),
        query=queries[rows.query],
        second=second,
        rank=rank,
        session=rows.session.astype(np.int32) if sessions else None,
    )


def sums_of(length: Floats, most: int, sessions: int) -> Floats:
    """The chance that s sessions have n clicks in all, for s from 0 and n from 0."""
    ways = np.zeros((sessions + 1, most + 1))
    ways[0, 0] = 1.0
    for s in range(1, sessions + 1):
        ways[s] = np.convolve(ways[s - 1], length)[: most + 1]
    return ways


def sessions_by_clicks(clicks: Ints, wanted: Floats, ways: Floats, mean: float) -> Floats:
    """The law of the number of sessions of a user by its clicks, for users of these clicks.

    In all, users have the wanted numbers of sessions as nearly as their clicks allow, then moved
    to this mean, if any numbers of sessions have it.
    """
    numbers = np.bincount(clicks, minlength=ways.shape[1])[: ways.shape[1]]
    seen = np.flatnonzero(numbers)
    weight, possible = numbers[seen] / max(int(numbers.sum()), 1), ways[1:, seen].T
    prior, target = wanted.copy(), wanted / wanted.sum()

    def laws(by_number: Floats) -> Floats:
        law = possible * by_number
        return law / np.maximum(law.sum(axis=1, keepdims=True), 1e-300)

    for _ in range(FITTED):
        now = weight @ laws(prior)
        prior = prior * (np.maximum(target, 1e-9) / np.maximum(now, 1e-9)) ** STEP
        prior /= prior.sum()
    number, low, high = np.arange(1, len(wanted) + 1), -STEEPEST, STEEPEST
    for _ in range(FITTED):
        middle = (low + high) / 2
        moved = laws(prior * np.exp(middle * number))
        low, high = (middle, high) if float(weight @ moved @ number) < mean else (low, middle)
    by_clicks = np.zeros((ways.shape[1], len(wanted)))
    by_clicks[seen] = laws(prior * np.exp((low + high) / 2 * number))
    return by_clicks


def mean_sessions(clicks: Ints, number: Floats, length: Floats) -> float:
    """The mean number of sessions, where users have fewer clicks than sessions of the log ask for.

    Both sessions and their lengths give way, lengths three times as much in logarithms.
    """
    sessions, clicks_each = (
        float(law @ np.arange(first, first + len(law)) / law.sum())
        for law, first in ((number, 1), (length, 0))
    )
    lacking = min(1.0, float(clicks.mean()) / (sessions * clicks_each)) if len(clicks) else 1.0
    return sessions * lacking**GIVES_WAY


def drawn_from(laws: Floats, row: Ints, generator: np.random.Generator) -> Ints:
    """A number from 0 on for each of these rows of a table of laws."""
    last = laws.cumsum(axis=1)
    last = last / np.maximum(last[:, -1:], 1e-300) + np.arange(len(laws))[:, None]
    drawn: Ints = np.searchsorted(last.ravel(), row + generator.random(len(row)), side="right")
    return np.minimum(drawn - row * laws.shape[1], laws.shape[1] - 1)


def _ordered(
    output: Output,
    place: Ints,
    statistics: FieldStatistics,
    habits: Habits,
    generator: np.random.Generator,
    dice: Ints,
) -> _Rows:
    """The clicks of each user in sessions and in order."""
    users, begin = np.unique(output.user, return_index=True)
    clicks = np.add.reduceat(output.count, begin) if len(users) else np.zeros(0, dtype=np.int64)
    parts = -(-clicks // MOST_AT_ONCE)
    part = np.minimum(np.full(int(parts.sum()), MOST_AT_ONCE), np.repeat(clicks, parts))
    last = np.cumsum(parts) - 1
    part[last] = clicks - (parts - 1) * MOST_AT_ONCE
    length = np.concatenate([[0.0], np.maximum(habits.lengths, 1e-6)])
    number = np.maximum(habits.sessions, 1e-6)
    ways = sums_of(length, MOST_AT_ONCE, len(number))
    law = sessions_by_clicks(part, number, ways, mean_sessions(part, number, length))
    sessions = 1 + drawn_from(law, part, generator)
    sizes = np.empty(int(sessions.sum()), dtype=np.int64)
    draw_lengths(part, sessions, length, ways, sizes, dice)
    of_user = np.add.reduceat(sessions, last - parts + 1) if len(users) else sessions
    session = np.repeat(np.arange(len(sizes)), sizes)
    pair, wanted = (
        np.empty(len(session), dtype=np.int64),
        np.array([habits.again, habits.same_query]),
    )
    chances = wanted
    for _ in range(TUNED):
        draw_order(
            np.append(begin, len(output.user)),
            place,
            output.count.copy(),
            statistics.query,
            statistics.step_kinds.kind,
            np.rint(habits.lift * LIFT).astype(np.int64),
            of_user,
            sizes,
            chances,
            pair,
            dice,
        )
        # a user may have no click left on the same pair, or query, so others need a larger chance
        found = np.maximum(_repeated(session, pair, statistics.query[pair]), wanted / MOST_TUNED)
        chances = np.minimum(chances * wanted / np.maximum(found, 1e-9), 1.0)
        chances[1] = min(chances[1], 1 - chances[0])
    return _Rows(
        user=np.repeat(users, clicks), session=session, pair=pair, query=statistics.query[pair]
    )


def _repeated(session: Ints, pair: Ints, query: Ints) -> Floats:
    """The shares of steps inside sessions to the same pair, and to another one of its query."""
    inside = np.diff(session) == 0
    again = inside & (np.diff(pair) == 0)
    same_query = inside & (np.diff(query) == 0) & ~again
    return np.array([again.sum(), same_query.sum()]) / max(int(inside.sum()), 1)


def _with_searches(
    rows: _Rows, statistics: FieldStatistics, habits: Habits, generator: np.random.Generator
) -> _Rows:
    """Add searches without a click: to sessions, as many as these have in the log, and alone."""
    kinds, noisy = statistics.search_kinds, statistics.values("searches")
    deviation = 0.0 if noisy is None else statistics.deviation("searches")
    wanted = unclicked_shares(noisy, kinds, deviation)[kinds.kind]
    wanted = wanted * np.bincount(rows.query, minlength=len(wanted))
    if wanted.sum() < 1:
        return rows
    first = np.flatnonzero(np.diff(rows.session, prepend=-1))
    sizes = np.diff(np.append(first, len(rows.user)))
    number = np.arange(len(habits.unclicked))
    each = min(float(habits.unclicked @ number), float(wanted.sum()) / len(first))
    law = tilted(habits.unclicked, each)
    more = drawn_from(law[None, :], np.zeros(len(first), dtype=np.int64), generator)
    session = np.repeat(np.arange(len(first)), more)
    alone = max(0, round(float(wanted.sum()) - len(session)))
    # before one of the session's clicks, or after the last one
    gap = np.floor(generator.random(len(session)) * (sizes[session] + 1)).astype(np.int64)
    beside = first[session] + np.minimum(gap, sizes[session] - 1)
    whose = np.floor(generator.random(alone) * len(rows.user)).astype(np.int64)
    same = generator.random(len(session)) < habits.same_unclicked
    other = drawn_from(wanted[None, :], np.zeros(len(session) + alone, dtype=np.int64), generator)
    query = other.copy()
    query[: len(session)][same] = rows.query[beside[same]]
    of_alone = rows.session[-1] + 1 + np.arange(alone)
    place = np.concatenate(
        [
            2 * np.arange(len(rows.user)) + 1,
            2 * (first[session] + gap),
            2 * len(rows.user) + np.arange(alone),
        ]
    )
    user = np.concatenate([rows.user, rows.user[beside], rows.user[whose]])
    order = np.lexsort((place, user))
    none = np.full(len(session) + alone, -1)
    return _Rows(
        user=user[order],
        session=np.concatenate([rows.session, rows.session[beside], of_alone])[order],
        pair=np.concatenate([rows.pair, none])[order],
        query=np.concatenate([rows.query, query])[order],
    )


def tilted(shares: Floats, mean: float) -> Floats:
    """The law of 0, 1, 2, … nearest to these shares that has this mean, or nearly."""
    number = np.arange(max(len(shares), 5))
    base = np.full(len(number), 1e-4)
    base[: len(shares)] += shares
    low, high = -40.0, 40.0
    law = base
    for _ in range(60):
        middle = (low + high) / 2
        power = middle * (number - mean)
        law = base * np.exp(power - power.max())
        law /= law.sum()
        low, high = (middle, high) if float(law @ number) < mean else (low, middle)
    return law


def _timed(rows: _Rows, calendar: Calendar, generator: np.random.Generator) -> tuple[_Rows, Narrow]:
    """Give each session a place in the period, apart from others of its user, and its rows times.

    A session begins at an hour drawn from the calendar. If a user's sessions find no place, its
    rows are spread evenly.
    """
    n = len(rows.user)
    begins = np.diff(rows.session, prepend=-1) != 0
    first = np.flatnonzero(begins)
    longest = np.where(np.diff(rows.query, prepend=-1) == 0, ON_A_PAGE, LONGEST_PAUSE)
    pause = SHORTEST * (longest / SHORTEST) ** generator.random(n)
    passed = np.cumsum(np.where(begins, 0, np.floor(pause).astype(np.int64)))
    offset = passed - np.repeat(passed[first], np.diff(np.append(first, n)))
    lasts = offset[np.append(first[1:], n) - 1]
    owner, begin = rows.user[first], np.zeros(len(first), dtype=np.int64)
    order, again = np.arange(len(first)), np.arange(len(first))
    for _ in range(REDRAWN):
        drawn = calendar.drawn(generator.random(len(again)))
        begin[again] = np.maximum(np.minimum(drawn, calendar.seconds - 1 - lasts[again]), 0)
        order = np.lexsort((begin, owner))
        after = begin[order] + lasts[order]
        near = begin[order[1:]] <= after[:-1] + GAP
        near &= owner[order[1:]] == owner[order[:-1]]
        again = order[1:][near]
        if not len(again):
            break
    crowded = np.unique(np.concatenate([owner[again], owner[lasts >= calendar.seconds]]))
    sizes = np.diff(np.append(first, n))
    taken = np.repeat(first[order], sizes[order])
    place = taken + np.arange(n) - np.repeat(np.cumsum(sizes[order]) - sizes[order], sizes[order])
    second = np.repeat(begin[order], sizes[order]) + offset[place]
    moved = _Rows(
        user=rows.user[place],
        session=np.repeat(np.arange(len(first)), sizes[order]),
        pair=rows.pair[place],
        query=rows.query[place],
    )
    for user in crowded.tolist():
        here = slice(*np.searchsorted(moved.user, [user, user + 1]).tolist())
        number = here.stop - here.start
        second[here] = (2 * np.arange(number) + 1) * calendar.seconds // (2 * number)
    return moved, second.astype(np.int32)


def _ranked(rows: _Rows, statistics: FieldStatistics, dice: Ints) -> Narrow:
    """A rank for each click; 0 for a search without one."""
    curve = np.cumsum(rank_shares(statistics), axis=1)
    rank = np.zeros(len(rows.user), dtype=np.int32)
    kind = statistics.rank_kinds.kind
    draw_ranks(rows.session, rows.pair, rows.query, curve, kind, rank, dice)
    return rank
