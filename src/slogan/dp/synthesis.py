"""Made-up users: pairs dealt with exact totals, and swapped until users fit the noisy table.

Everything here is computed from private statistics, so floating point is safe.
Proof: docs/proofs/synthesis.md.
"""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.departures import denoised
from slogan.dp.sums import BITS, Association, Sizes
from slogan.dp.swaps import UNIT, Users, dealt, dice_of, swapped, together
from slogan.histogram import Output
from slogan.randomness import Randomness

# Constants of the fit, chosen on generated logs; docs/proofs/synthesis.md says what each is for.
MIXED = 5
"""Proposed swaps for each holding, until users are independent."""
ROUNDS, ROUND, LARGEST_ROUND = 30, 2, 1 << 22
"""How often energies move, and proposed swaps before each move: for each holding, and at most."""
SLACK = 0.1
"""A table is fitted up to SLACK·σ·e/(1 + e²), e being the energy: what little is left of noise."""
STRIDE, LEAST_ENERGY, MOST_ENERGY = 0.5, -4.0, 12.0
_SMALLEST = 0.05
LEAST_SPREAD, MOST_SPREAD, SURE, PASSES = 0.03, 0.4, 0.1, 3
"""By how much clicks per holder may differ between pairs, in logarithms; the error from which a
pair says less about that; and passes to find them."""
MOVED = 4.0
"""A pair has at most so many times the holders that its clicks alone would give, or so few."""
BALANCED = 0.05
"""Rows of the table are scaled to fit the holders as far as their noise is below this part."""
DRAWS = 4
"""Tables of independent users that are averaged."""
CLEAR = 5.0
"""The table is followed if it differs by this many standard deviations from that average."""


@dataclass(frozen=True, kw_only=True)
class MadeUsers:
    """Rows of made-up users, and how much of the association they keep."""

    output: Output
    kept: float
    """The share of what was measured beyond noise and chance; 0 for independent users."""


def deal(counts: Ints, sizes: Sizes, association: Association | None, rng: Randomness) -> MadeUsers:
    """Make up users who hold as many pairs as measured; each pair has exactly its clicks.

    Users hold pairs independently at first. If the association is clear of the noise, swaps of
    two pairs between two users then bring them near it, which changes neither clicks nor sizes.
    """
    generator, dice = generator_of(rng), dice_of(rng)
    if not sizes.users or not counts.any():
        none = Users(start=np.zeros(1, np.int64), pair=np.zeros(0, np.int64))
        return MadeUsers(output=_rows(none, np.zeros_like(counts), generator), kept=0.0)
    fit = None if association is None else _Fit(counts, sizes, association, generator, dice)
    if fit is not None and fit.clear:
        users, kept = fit.followed()
    else:
        users, kept = _dealt(counts, counts.astype(np.float64), sizes, generator, dice), 0.0
        _mixed(users, dice)
    return MadeUsers(output=_rows(users, counts, generator), kept=kept)


def generator_of(rng: Randomness) -> np.random.Generator:
    """A generator for computations on private statistics, seeded from the run's own source."""
    return np.random.Generator(np.random.PCG64DXSM(rng.words(4).tolist()))


def holders(weight: Floats, counts: Ints, held: int, users: int) -> Ints:
    """How many users hold each pair: in proportion to its weight, and `held` in all if possible.

    A pair with clicks has 1 at least, and never more than it has clicks or there are users.
    """
    least, most = np.minimum(counts, 1), np.minimum(counts, users)

    def given(each: float) -> Ints:
        return np.clip(np.rint(weight / each), least, most).astype(np.int64)

    low, high = 0.0, 2.0 * float(weight.max()) + 1.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if given(middle).sum() > held else (low, middle)
    return given(high)


def sized(held: Ints, total: int, most: int, generator: np.random.Generator) -> Ints:
    """The size of each user: as many of each as given, moved at random to this total."""
    size = np.minimum(np.repeat(np.arange(1, len(held) + 1), held), most)
    size = size[: max(total, 1)]
    while missing := total - int(size.sum()):
        movable = np.flatnonzero(size < most if missing > 0 else size > 1)
        moved = generator.permutation(movable)[: abs(missing)]
        size[moved] += 1 if missing > 0 else -1
    return size


def _dealt(
    counts: Ints, weight: Floats, sizes: Sizes, generator: np.random.Generator, dice: Ints
) -> Users:
    held = sizes.held
    wanted = int((held * np.arange(1, len(held) + 1)).sum())
    visits = holders(weight, counts, wanted, sizes.users)
    most = int(np.count_nonzero(counts))
    return dealt(sized(held, int(visits.sum()), most, generator), visits, dice)


def _mixed(users: Users, dice: Ints) -> None:
    """Swap until users hold pairs independently, as far as sizes and holders allow."""
    kinds = int(users.pair.max(initial=0)) + 1
    nothing = np.zeros((1, 1), dtype=np.int64)
    swapped(users, np.zeros(kinds, dtype=np.int64), nothing, MIXED * len(users.pair), dice)


class _Fit:
    """Users that are to follow a noisy table: independent ones, then moved towards it."""

    def __init__(
        self,
        counts: Ints,
        sizes: Sizes,
        association: Association,
        generator: np.random.Generator,
        dice: Ints,
    ) -> None:
        grouping = association.grouping
        self._size, self._category = grouping.categories, grouping.category
        self._deviation = association.deviation
        self._dice = dice
        self._single = np.bincount(self._category[self._category >= 0]).max(initial=0) == 1
        weight = counts.astype(np.float64)
        self.users = _dealt(counts, weight, sizes, generator, dice)
        _mixed(self.users, dice)
        if self._single:
            start = np.bincount(self.users.pair, minlength=len(counts))
            for _ in range(PASSES):
                now = np.bincount(self.users.pair, minlength=len(counts))
                more = self._more_holders(association.together, now, start)
                self.users = _dealt(counts, np.maximum(counts, 0.5) * more, sizes, generator, dice)
                _mixed(self.users, dice)
        self._alone = self._of_independent_users()
        self._table = self._balanced(association.together)
        seen = np.triu(np.ones((self._size, self._size), dtype=np.bool_), k=int(self._single))
        self._seen = seen & (self._alone > 0)

    @property
    def clear(self) -> bool:
        """Whether the table differs from that of independent users by more than noise and chance.

        A sum of independent cells would vary about as much as its mean.
        """
        square = (self._table - self._alone) ** 2 / self._variance - 1
        cells = int(self._seen.sum())
        return float(square[self._seen].sum()) > CLEAR * (2 * cells) ** 0.5 > 0

    def followed(self) -> tuple[Users, float]:
        """Move the users towards the table without its noise; the share of its departure shown.

        Energies follow the maximum of entropy with slack: where the table is matched up to
        SLACK·σ·e/(1 + e²), the energy e stays.
        """
        wanted, slope = self._denoised()
        energy = np.zeros((self._size, self._size))
        proposals = min(ROUND * len(self.users.pair), LARGEST_ROUND)
        slack = SLACK * self._deviation
        for _ in range(ROUNDS):
            now = self._now()
            lacking = wanted - now - slack * energy / (1 + energy**2)
            step = lacking / (np.maximum(now, _SMALLEST) + slack)
            energy = np.clip(energy + np.clip(step, -STRIDE, STRIDE), LEAST_ENERGY, MOST_ENERGY)
            if self._single:
                np.fill_diagonal(energy, 0)
            swapped(self.users, self._category, _steps(energy), proposals, self._dice)
        return self.users, self._kept(self._now(), slope)

    def _denoised(self) -> tuple[Floats, Floats]:
        """The table with the noise taken off, and how much that moves with the noisy table."""
        found = denoised(self._table[self._seen], self._alone[self._seen], self._deviation)
        wanted, slope = self._alone.copy(), np.zeros_like(self._alone)
        wanted[self._seen], slope[self._seen] = found
        upper = np.triu(wanted)
        return upper + np.triu(upper, 1).T, slope

    @property
    def _variance(self) -> Floats:
        """Of a cell of the table if users are independent: noise, and chance."""
        return self._deviation**2 + self._alone

    def _kept(self, now: Floats, slope: Floats) -> float:
        beyond = self._table - self._alone
        # what the users copied of the noise does not belong to the association
        copied = self._deviation**2 * slope
        shown = (beyond * (now - self._alone) - copied) / self._variance
        measured = beyond**2 / self._variance - 1
        share = float(shown[self._seen].sum()) / float(measured[self._seen].sum())
        return min(1.0, max(share, 2.0**-20))

    def _now(self) -> Floats:
        return together(self.users, self._category, self._size) / (1 << BITS)

    def _of_independent_users(self) -> Floats:
        tables = [self._now()]
        for _ in range(DRAWS - 1):
            _mixed(self.users, self._dice)
            tables.append(self._now())
        return np.mean(tables, axis=0)

    def _rows(self, table: Floats) -> Floats:
        return table.sum(axis=1) - np.diagonal(table)

    @property
    def _row_noise(self) -> float:
        return self._deviation * max(1, self._size - 1) ** 0.5

    def _more_holders(self, table: Floats, now: Ints, start: Ints) -> Floats:
        """How many holders a click has, by pair, as a factor.

        The row of a pair sums up nearly its holders. Its logarithm is trusted as far as its noise
        is below what such factors vary by, as the pairs with least noise show.
        """
        here = np.flatnonzero(self._category >= 0)
        place = self._category[here]
        shown, expected = self._rows(table)[place], self._rows(self._now())[place]
        noise = self._row_noise
        factor = np.log(np.maximum(shown, noise) / np.maximum(expected, 1.0))
        factor += np.log(np.maximum(now, 0.5) / np.maximum(start, 0.5))[here]
        error = noise / np.maximum(expected, noise / 3)
        sure = 1 / (error**2 + SURE**2) ** 2
        spread = float((sure * (factor**2 - error**2)).sum() / sure.sum())
        spread = min(max(spread, LEAST_SPREAD**2), MOST_SPREAD**2)
        more = np.zeros(len(now))
        more[here] = factor * spread / (spread + error**2)
        return np.clip(np.exp(more), 1 / MOVED, MOVED)

    def _balanced(self, table: Floats) -> Floats:
        """The table with rows and columns scaled towards those of independent users.

        Otherwise users would be put together in odd ways only to have the sums of rows.
        """
        if not self._single:
            return table
        found = table.copy()
        np.fill_diagonal(found, 0)
        wanted = np.maximum(self._rows(self._alone), 1.0)
        trust = BALANCED**2 / (BALANCED**2 + (self._row_noise / wanted) ** 2)
        for _ in range(2 * PASSES):
            factor = wanted / np.maximum(found.sum(axis=1), self._row_noise)
            factor = np.clip(factor, 0.5, 2.0) ** (trust / 2)
            found *= np.outer(factor, factor)
        return found


def _steps(energy: Floats) -> Ints:
    """Energies in integers, with a last row and column for pairs without a category."""
    whole = np.zeros((len(energy) + 1, len(energy) + 1), dtype=np.int64)
    whole[:-1, :-1] = np.rint(energy * UNIT)
    return whole


def _rows(users: Users, counts: Ints, generator: np.random.Generator) -> Output:
    """Each holder has one click on its pair; further clicks are given to holders at random."""
    user = np.repeat(np.arange(len(users.start) - 1), np.diff(users.start))
    by_pair = np.argsort(users.pair, kind="stable")
    each = np.bincount(users.pair, minlength=len(counts))
    more = np.where(each > 0, counts - each, 0)
    chance = generator.random(int(more.sum()))
    first = np.cumsum(each) - each
    place = np.floor(chance * np.repeat(each, more)).astype(np.int64) + np.repeat(first, more)
    clicks = np.empty(len(user), dtype=np.int64)
    clicks[by_pair] = 1 + np.bincount(place, minlength=len(user))
    order = np.lexsort((users.pair, user))
    return Output(user=user[order], pair=users.pair[order], count=clicks[order])
