"""From noisy sums to shares: of hours, days, ranks, sessions and steps.

Everything here is computed from private statistics, so floating point is safe. Noise is taken away
by shrinking parts of a table towards something simpler, each as far as it is not clear of the noise
(James and Stein 1961, positive part). Proof that this costs nothing: docs/proofs/columns.md.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.fft import dct, idct

from slogan.arrays import Floats, Ints
from slogan.dp.fields.statistics import CLEAR, FieldStatistics, Kinds
from slogan.dp.fields.sums import (
    AGAIN,
    COUNTED_SESSIONS,
    DAY,
    HOUR,
    LENGTHS,
    OTHER_UNCLICKED,
    RANK_CELLS,
    SAME_QUERY,
    SAME_UNCLICKED,
    SINGLE_RANKS,
    STEPS,
    day_cells,
    days_of_a_cell,
    rank_cell,
)
from slogan.dp.sums import projected

LARGEST_RANK = 50
MOST_SESSIONS, LONGEST = 100, 60
"""More sessions of a user, and more clicks of a session, are not made up."""
OF_ALL, OF_PAIR = 1.0, 2.0
"""How many deviations of the noise a cell of ranks must differ by: of many pairs, and of one."""
_WAVES = (0, 1, 3, 5, 9, 24)
"""Daily waves in blocks: once a day, twice, three and four times, more often."""
VARIED = 0.25
"""The variance of the logarithm of a lift that steps are expected to have."""
_LEAST_LIFT, _MOST_LIFT = 0.05, 50.0


def clear_of_noise(part: Floats, deviation: float) -> float:
    """By how much to multiply a part of a table that should be 0 but for what is clear."""
    square = float((part**2).sum())
    return max(0.0, 1 - part.size * deviation**2 / square) if square else 0.0


def _shares(numbers: Floats) -> Floats:
    """The nearest shares: not negative, and 1 in all."""
    total = float(numbers.sum())
    if total <= 0:
        return np.full(len(numbers), 1 / len(numbers))
    found = projected(numbers, total)
    return found / found.sum()


def _waves(size: int) -> Floats:
    """An orthonormal basis of functions of `size` places in a circle, by falling length."""
    place, rows = np.arange(size), [np.full(size, size**-0.5)]
    for n in range(1, size // 2 + 1):
        angle, norm = 2 * np.pi * n * place / size, (2 / size) ** 0.5
        if 2 * n == size:
            rows.append(np.cos(angle) * size**-0.5)
        else:
            rows += [np.cos(angle) * norm, np.sin(angle) * norm]
    return np.array(rows)


def week_shares(noisy: Floats, deviation: float) -> Floats:
    """The share of each hour of the week: a table of weekdays by hours.

    Waves over the day, the same on all days or different, are shrunk block by block.
    """
    of_day, of_week = _waves(24), _waves(7)
    found = of_week @ noisy.reshape(7, 24) @ of_day.T
    for days in (slice(0, 1), slice(1, 7)):
        for first, last in pairwise(_WAVES):
            if days.start == first == 0:
                continue
            found[days, first:last] *= clear_of_noise(found[days, first:last], deviation)
    return _shares((of_week.T @ found @ of_day).ravel()).reshape(7, 24)


def day_shares(noisy: Floats | None, deviation: float, expected: Floats, days: int) -> Floats:
    """The share of each day of the period; where noise hides it, what its weekday suggests.

    `expected` has a share for each day. Departures are shrunk by their frequency.
    """
    if noisy is None or noisy.sum() <= 0:
        return expected
    width = days_of_a_cell(days)
    cell = np.arange(days) // width
    by_cell = np.bincount(cell, expected, day_cells(days)).astype(np.float64)
    total = max(float(noisy.sum()), 1.0)
    beyond = np.asarray(dct(noisy - total * by_cell, norm="ortho"), dtype=np.float64)
    edge = 1
    beyond[:1] *= clear_of_noise(beyond[:1], deviation)
    while edge < len(beyond):
        block = slice(edge, 2 * edge)
        beyond[block] *= clear_of_noise(beyond[block], deviation)
        edge *= 2
    change = np.asarray(idct(beyond, norm="ortho"), dtype=np.float64)
    shares: Floats = _shares(total * by_cell + change)
    return shares[cell] * expected / np.maximum(by_cell[cell], 1e-300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """How likely an hour of the period is."""

    days: int
    weekday: int
    hour: Floats
    """The share of each hour of the period, one after the other."""

    @classmethod
    def of(cls, statistics: FieldStatistics) -> "Calendar":
        """From the noisy hours of the week, and the days."""
        hours, days = statistics.values("hours"), statistics.values("days")
        if hours is None:
            raise ValueError("hours were not measured")
        week = week_shares(hours, statistics.deviation("hours"))
        weekday = (np.arange(statistics.days) + statistics.weekday) % 7
        of_weekday = week.sum(axis=1)
        expected = np.maximum(of_weekday[weekday], 1e-9)
        deviation = statistics.deviation("days") if days is not None else 0.0
        by_day = day_shares(days, deviation, expected / expected.sum(), statistics.days)
        of_hour = np.maximum(week, 1e-12)[weekday]
        hour = by_day[:, None] * of_hour / of_hour.sum(axis=1, keepdims=True)
        return cls(days=statistics.days, weekday=statistics.weekday, hour=hour.ravel())

    @property
    def seconds(self) -> int:
        """The length of the period."""
        return self.days * DAY

    def drawn(self, chance: Floats) -> Ints:
        """Seconds of the period, by uniform numbers from 0 to 1."""
        last = np.cumsum(self.hour)
        place = chance * last[-1]
        below: Ints = np.asarray(np.searchsorted(last, place, side="right"), dtype=np.int64)
        hour = np.minimum(below, len(last) - 1)
        within = (place - (last[hour] - self.hour[hour])) / np.maximum(self.hour[hour], 1e-300)
        second = np.clip(np.floor(within * HOUR), 0, HOUR - 1)
        return hour * HOUR + second.astype(np.int64)


def rank_shares(statistics: FieldStatistics) -> Floats:
    """For each class of pairs the share of each rank from 1 to 50.

    A class is shrunk towards its parent, that towards all clicks, and these to a geometric law.
    """
    noisy = statistics.values("ranks")
    if noisy is None:
        raise ValueError("ranks were not measured")
    table, deviation = noisy.reshape(-1, RANK_CELLS), statistics.deviation("ranks")
    total, kinds = table.sum(axis=0), statistics.rank_kinds
    law = _in_cells(geometric(_first_share(total), LARGEST_RANK))
    everywhere = _cut(total, law, OF_ALL * deviation * len(table) ** 0.5)
    found = np.empty((kinds.number, RANK_CELLS))
    for parent in range(kinds.number - kinds.shared, kinds.number):
        rows = np.flatnonzero(kinds.parent == parent)
        noise = OF_ALL * deviation * len(rows) ** 0.5
        curve = _cut(table[rows].sum(axis=0), everywhere, noise)
        for row in rows:
            found[row] = curve if row == parent else _kept(table[row], curve, OF_PAIR * deviation)
    return np.array([_single_ranks(curve) for curve in found])


def _cut(noisy: Floats, towards: Floats, least: float) -> Floats:
    """Shares of cells, each of which differs from others by what its departure has above this."""
    total = float(noisy.sum())
    if total <= 0:
        return towards
    beyond = noisy - total * towards
    return _shares(total * towards + np.sign(beyond) * np.maximum(np.abs(beyond) - least, 0.0))


def _kept(noisy: Floats, towards: Floats, least: float) -> Floats:
    """The same, but a departure far above this is kept nearly whole."""
    total = float(noisy.sum())
    if total <= 0:
        return towards
    beyond = noisy - total * towards
    part = 1 - (least / np.maximum(np.abs(beyond), max(least, 1e-300))) ** 2
    return _shares(total * towards + beyond * part)


def _first_share(cells: Floats) -> float:
    """The share of the first cell, for a geometric law."""
    return min(max(float(_shares(cells)[0]), 0.05), 0.9)


def _shrunk(noisy: Floats, towards: Floats, deviation: float) -> Floats:
    total = float(noisy.sum())
    if total <= 0:
        return towards
    beyond = noisy - total * towards
    return _shares(total * towards + beyond * clear_of_noise(beyond, deviation))


def _single_ranks(curve: Floats) -> Floats:
    """The share of each rank: those of 11 to 20, and of 21 on, are divided by public rules."""
    rank = np.arange(1, LARGEST_RANK + 1)
    rule = np.where(rank <= SINGLE_RANKS, 1.0, rank**-2.0)
    cell = rank_cell(rank)
    return curve[cell] * rule / np.bincount(cell, rule)[cell]


def _in_cells(shares: Floats) -> Floats:
    """The share of each cell, from those of ranks."""
    cells = np.bincount(rank_cell(np.arange(1, len(shares) + 1)), shares)
    return np.asarray(cells / cells.sum(), dtype=np.float64)


def geometric(first: float, most: int) -> Floats:
    """The geometric law of 1, 2, …, cut off."""
    return np.asarray(first * (1 - first) ** np.arange(most), dtype=np.float64)


def spread_bins(bins: Floats, least: Ints, most: int, deviation: float) -> Floats:
    """The share of 1, 2, … up to `most`, from noisy bins that begin at these numbers.

    Shrunk towards the geometric law with the share of the first bin. Inside a bin, smaller numbers
    are likelier by a public rule.
    """
    number = np.arange(1, most + 1)
    first = _first_share(bins)
    cell = np.searchsorted(least, number, side="right") - 1
    by_cell = np.bincount(cell, geometric(first, most))
    shares = _shrunk(bins, by_cell / by_cell.sum(), deviation)
    rule = number**-2.0
    return shares[cell] * rule / np.bincount(cell, rule)[cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How sessions go."""

    sessions: Floats
    """The share of users with 1, 2, … sessions."""
    lengths: Floats
    """The share of sessions with 1, 2, … clicks."""
    unclicked: Floats
    """The share of sessions with 0, 1, … searches without a click."""
    again: float
    """How many steps lead to the same pair, and then how many to the same query."""
    same_query: float
    same_unclicked: float
    """How often a search without a click is for the query beside it."""
    lift: Floats
    """How much likelier a step between two classes of queries is than by chance."""

    @classmethod
    def of(cls, statistics: FieldStatistics) -> "Habits":
        """From the noisy sums; a plain law for what was not measured."""
        bins, lengths = statistics.values("sessions"), statistics.values("lengths")
        by_length, unclicked = geometric(0.3, LONGEST), np.zeros(1)
        by_number = geometric(0.5, MOST_SESSIONS)
        if bins is not None:
            noise = statistics.deviation("sessions")
            by_number = spread_bins(bins, COUNTED_SESSIONS, MOST_SESSIONS, noise)
        if lengths is not None:
            noise = statistics.deviation("lengths")
            by_length = spread_bins(lengths[: len(LENGTHS)], LENGTHS, LONGEST, noise)
            unclicked = _shares(lengths[len(LENGTHS) :])
        steps = statistics.values("steps")
        if steps is None:
            one = np.ones((statistics.step_kinds.number,) * 2)
            return cls(
                sessions=by_number,
                lengths=by_length,
                unclicked=unclicked,
                again=0.25,
                same_query=0.25,
                same_unclicked=0.5,
                lift=one,
            )
        noise, first = statistics.deviation("steps"), np.maximum(steps[:STEPS], 0.0)
        table = steps[STEPS:].reshape((statistics.step_kinds.number,) * 2)
        clicked = first[AGAIN] + first[SAME_QUERY] + max(float(table.sum()), 1.0)
        beside = first[SAME_UNCLICKED] + first[OTHER_UNCLICKED]
        trust = beside / (beside + noise)
        same = first[SAME_UNCLICKED] / max(beside, 1.0)
        return cls(
            sessions=by_number,
            lengths=by_length,
            unclicked=unclicked,
            again=float(first[AGAIN] / clicked),
            same_query=float(first[SAME_QUERY] / clicked),
            same_unclicked=float(trust * same + (1 - trust) * 0.5),
            lift=lifts(table, noise),
        )


def lifts(table: Floats, deviation: float) -> Floats:
    """How much likelier each cell is than rows and columns suggest, as far as it can be trusted."""
    total = max(float(table.sum()), 1.0)
    rows, columns = (np.maximum(table.sum(axis=n), 0.0) for n in (1, 0))
    chance = np.maximum(np.outer(rows, columns) / total, 1.0)
    trust = VARIED * chance**2 / (VARIED * chance**2 + deviation**2)
    return np.clip(1 + (table / chance - 1) * trust, _LEAST_LIFT, _MOST_LIFT)


def unclicked_shares(noisy: Floats | None, kinds: Kinds, deviation: float) -> Floats:
    """Searches without a click for each click, by class of the query; 0 where none is clear."""
    if noisy is None:
        return np.zeros(kinds.number)
    clicks, searches = noisy.reshape(-1, 2).T
    whole = float(searches.sum()) / max(float(clicks.sum()), 1.0)
    if searches.sum() < CLEAR * deviation * len(searches) ** 0.5:
        return np.zeros(kinds.number)
    counted = np.maximum(clicks, deviation)
    beyond = searches - whole * counted
    trust = VARIED * (whole * counted) ** 2
    trust = trust / (trust + (1 + whole**2) * deviation**2)
    return np.maximum(whole + trust * beyond / counted, 0.0)
