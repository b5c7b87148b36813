"""Coupled replay: the whole verb, from file to public bytes, on two logs and with the same noise.

The larger log has one more user. A `Recording` runs the verb on it and records every draw by its
purpose: the user, the round and the pair, the stage and the cell. A `Replay` runs the verb without
that user and chooses each draw so that all noisy sums are unchanged. Noise can have any value, so
such a run is possible; then only the sums of the user's own vector may differ, within the claimed
norm. Every rule on raw values becomes visible: filters, ranks, caps, types, orders and refusals.

Recorded noise is shifted, too: planted pairs exceed the threshold, and pairs that only an attacked
user contributes stay below it.
"""

# ruff: noqa: ARG002 - a replacement has the signature of the function it replaces

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.auditor.transcript import (
    NO_PAIRS,
    Coins,
    PartedError,
    Summed,
    Transcript,
    Weighed,
    kept,
    without,
)
from slogan.dp import private_rows, selection, sums
from slogan.dp.accounting import GRID
from slogan.dp.fields import sums as tables
from slogan.dp.selection import SelectionBudget, _look
from slogan.dp.selection._weights import UNIT
from slogan.dp.sums import AnyHistogram, NoisySums, brought
from slogan.histogram import Events, PairHistogram
from slogan.randomness import Randomness
from slogan.registry import load_module
from slogan.release.base import Release

_PUSH = 60
"""Deviations, and units, by which a pair is pushed over a threshold or kept below it."""
_LIFTED = 200
"""The number of pairs of the log itself that are pushed over the threshold."""
_LATER = 10
"""One in this many is pushed in the second round only."""
_POINTS = 3
"""The least number of points of every user but the attacked ones when rows are drawn."""
_SUMS = ("clipped_counts", "size_sums", "coverage_sums", "together_sums")
_ROW_SUMS = (
    *("hour_sums", "day_sums", "rank_sums", "session_sums"),
    *("length_sums", "search_sums", "step_sums"),
)

Places = list[tuple[ModuleType, str, Callable[..., Any]]]


class Recording:
    """Runs a verb with its own noise, and records its draws.

    Args:
        attacked: Numbers of users who will be removed.
        crowd: Numbers of users whose pairs are pushed over the threshold.
        source: A separate source of noise, so that other draws do not depend on the amount of
            noise; None for the source of the run.
    """

    def __init__(self, attacked: Ints, crowd: Ints, source: Randomness | None) -> None:
        self.seen = Transcript()
        self._attacked, self._crowd, self._source = attacked, crowd, source
        self._exact = np.zeros(0, dtype=np.int64)
        self._own: dict[int, Ints] = {}
        self._pairs: Ints | None = None

    def run(self, verb: Callable[[], Release], selector: str) -> Transcript:
        """Run the verb, and keep its public files or the name of its error."""
        selecting = load_module(selection.__name__, selector)
        try:
            with self._installed(selecting), verb() as release, release.in_folder() as folder:
                public = folder / "public"
                files = (path for path in sorted(public.rglob("*")) if path.is_file())
                self.seen.public = {str(f.relative_to(public)): f.read_bytes() for f in files}
                self.seen.names = list(release.pseudonyms or ())
                self.seen.account = account_of(release)
        except PartedError:
            raise
        except Exception as failure:  # noqa: BLE001 - an exit is an output, whatever its kind
            self.seen.public, self.seen.failure = type(failure).__name__, failure
        return self.seen

    @contextmanager
    def _installed(self, selecting: ModuleType) -> Generator[None]:
        """Replace the functions of the verb, under the names it calls them by."""
        with ExitStack() as undo:
            for module, name, stand_in in self._places(selecting):
                if (real := getattr(module, name, None)) is not None:
                    undo.callback(setattr, module, name, real)
                    setattr(module, name, partial(stand_in, real))
            yield

    def _places(self, selecting: ModuleType) -> Places:
        """The functions that draw or add up, with what stands in for them."""
        return [
            (selecting, "select", self.select),
            (selecting, "capped", self.capped),
            (selecting, "spread", self.spread),
            (selecting, "floored_gaussian", self.selection_noise),
            (selecting, "backing", self.backing),
            *((sums, name, partial(self.add_up, name)) for name in _SUMS),
            (_look, "length_sums", partial(self.add_up, "length_sums")),
            *((tables, name, self.add_up_rows) for name in _ROW_SUMS),
            (sums, "noisy_sums", self.noisy_sums),
            (sums, "floored_gaussian", self.stage_noise),
            (private_rows, "poisson", self.poisson),
            (private_rows, "uniform_below", self.uniform_below),
        ]

    # --- selection ---

    def select(
        self,
        real: Any,
        hist: AnyHistogram,
        budget: SelectionBudget,
        rng: Randomness,
        listed: Ints = NO_PAIRS,
    ) -> Any:
        if self.seen.read is not None:  # a second selection could be used to pick the better one
            raise PartedError("selection")
        self.seen.read, self.seen.listed = brought(hist), listed
        self.seen.selected = real(hist, budget, rng, **_known(listed))
        return self.seen.selected

    def capped(self, real: Any, hist: AnyHistogram, rng: Randomness, *most: int) -> Any:
        coins = Coins(self._source or rng)
        contributions = real(hist, coins, *most)
        self.seen.spoken, self.seen.most, self.seen.coins = (
            brought(hist),
            contributions.most,
            coins.all,
        )
        return contributions

    def spread(self, real: Any, contributions: Any, halvings: Ints, *heaviest: Ints) -> Ints:
        weight = real(contributions, halvings, *heaviest)
        self.seen.rounds.append(
            Weighed(halvings=halvings.copy(), held=self._open(contributions), weight=weight)
        )
        return weight

    def _open(self, contributions: Any) -> Flags:
        """The pairs that may be selected: held, or public."""
        held: Flags = contributions.held.copy()
        held[self.seen.listed] = True
        return held

    def selection_noise(
        self, real: Any, n: int, rng: Randomness, *, variance: Fraction, grid: Fraction
    ) -> Ints:
        drawn = real(n, self._source or rng, variance=variance, grid=grid)
        this = self._round(n)
        this.variance, this.drawn = variance, drawn
        push = math.ceil(_PUSH * (1 + math.sqrt(variance)) / grid)
        this.noise = drawn + push * self._pushed(this.tried)
        return this.noise

    def backing(self, real: Any, n: int, rng: Randomness, *, rate: Fraction) -> Ints:
        """The number 0 for each pair, which is possible: each of its users backs it."""
        return np.zeros(n, dtype=np.int64)

    def _round(self, n: int) -> Weighed:
        if not self.seen.rounds or len(self.seen.rounds[-1].tried) != n:
            raise PartedError("selection")
        return self.seen.rounds[-1]

    def _pushed(self, tried: Ints) -> Ints:
        """1 for pairs to be selected, −1 for pairs that only attacked users surely contribute."""
        hist = self.seen.spoken
        if hist is None:
            raise PartedError("selection")
        solid = np.bincount(hist.user, minlength=hist.users) <= self.seen.most
        solid[self._attacked] = False
        rows = solid[hist.user]
        holders = np.bincount(hist.pair[rows], minlength=hist.pairs)
        lifted = np.zeros(hist.pairs, dtype=np.bool_)
        lifted[hist.pair[np.isin(hist.user, self._crowd)]] = True
        lifted[np.argsort(-holders, kind="stable")[:_LIFTED]] = True
        lifted[::_LATER] &= len(self.seen.rounds) > 1
        return np.where(holders == 0, -1, lifted.astype(np.int64))[tried]

    # --- sums ---

    def add_up(
        self,
        _name: str,
        real: Any,
        hist: AnyHistogram,
        at: Ints | int,
        *more: Any,
        **options: Any,
    ) -> Ints:
        self._pairs = at if isinstance(at, np.ndarray) else None
        self._own = {
            int(user): real(_alone(brought(hist), int(user)), at, *more, **options)
            for user in self._attacked
        }
        return real(hist, at, *more, **options)

    def add_up_rows(self, real: Any, events: Events, *more: Any) -> Ints:
        """Sums about time, rank and session, of all users and of each attacked one alone."""
        self._own = {
            int(user): real(events.at(events.user == user), *more) for user in self._attacked
        }
        return real(events, *more)

    def noisy_sums(
        self, real: Any, exact: Ints, *, name: str, norm_squared: int, **options: Any
    ) -> NoisySums:
        if name in self.seen.stages:
            raise PartedError(f"noise for {name}")
        noisy = real(exact, name=name, norm_squared=norm_squared, **options)
        own, self._own = self._own, {}
        pairs, self._pairs = self._pairs, None
        self.seen.stages[name] = Summed(
            exact=exact,
            noisy=noisy.steps,
            norm_squared=norm_squared,
            variance=noisy.stage.variance,
            own=own,
            pairs=pairs if pairs is not None and len(pairs) == len(exact) else None,
        )
        return noisy

    def stage_noise(self, real: Any, n: int, rng: Randomness, **law: Any) -> Ints:
        """Draw the noise of a stage; for a replay never negative, so that any budget has users."""
        drawn: Ints = real(n, self._source or rng, **law)
        return drawn if self._source is None else np.abs(drawn)

    # --- rows of real users ---

    def poisson(self, real: Any, n: int, rng: Randomness, *, rate: Fraction) -> Ints:
        """Draw no points for attacked users, and some for all others, which is possible."""
        drawn = np.maximum(real(n, self._source or rng, rate=rate), _POINTS)
        drawn[self._attacked[self._attacked < n]] = 0
        self.seen.drawn, self.seen.rate = drawn, rate
        return drawn

    def uniform_below(self, real: Any, bound: Ints, rng: Randomness) -> Ints:
        points: Ints = real(bound, self._source or rng)
        self.seen.bounds, self.seen.points = bound, points
        return points


class Replay(Recording):
    """Runs a verb without one user, with the noise of a recorded run.

    Args:
        past: The recorded run.
        gone: The number of the missing user there; None if no user is missing.
    """

    def __init__(self, past: Transcript, gone: int | None) -> None:
        super().__init__(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), None)
        self.differs: set[str] = set()
        self._past, self._gone = past, gone
        self._stage = ""

    def compare(self, verb: Callable[[], Release], selector: str) -> list[str]:
        """The parts that differ by more than the missing user's own vectors."""
        try:
            public = self.run(verb, selector).public
        except PartedError as parted:
            return [*sorted(self.differs), parted.target]
        before = self._past.public
        if isinstance(public, dict) and isinstance(before, dict):
            names = public.keys() | before.keys()
            self.differs |= {f"public/{n}" for n in names if public.get(n) != before.get(n)}
        elif public != before:
            self.differs.add("exit")
        return sorted(self.differs)

    def select(
        self,
        real: Any,
        hist: AnyHistogram,
        budget: SelectionBudget,
        rng: Randomness,
        listed: Ints = NO_PAIRS,
    ) -> Any:
        before, past = self._past.read, self._past
        if before is None or not _same(brought(hist), without(before, self._gone, past.listed)):
            raise PartedError("rows read")
        if not np.array_equal(listed, np.searchsorted(self._kept(before), past.listed)):
            raise PartedError("public pairs")
        self.seen.listed = listed
        selected = real(hist, budget, rng, **_known(listed))
        if past.selected is None:
            raise PartedError("exit")
        expected = np.searchsorted(self._kept(before), past.selected.pairs)
        if not past.rounds:  # a selector that is not replayed: use its recorded selection
            return replace(past.selected, pairs=expected)
        if not np.array_equal(selected.pairs, expected):
            raise PartedError("selection")
        return selected

    def capped(self, real: Any, hist: AnyHistogram, rng: Randomness, *most: int) -> Any:
        past, before = self._past, self._past.spoken
        if before is None or not _same(brought(hist), without(before, self._gone, past.listed)):
            raise PartedError("selection")
        many = np.flatnonzero(np.bincount(before.user, minlength=before.users) > past.most)
        coins = past.coins
        if self._gone is not None and self._gone in many and len(coins) == len(many):
            coins = np.delete(coins, np.searchsorted(many, self._gone))
        return real(hist, Coins(None, coins), *most)

    def spread(self, real: Any, contributions: Any, halvings: Ints, *heaviest: Ints) -> Ints:
        weight = super().spread(real, contributions, halvings, *heaviest)
        before, this, hist = self._recorded(), self.seen.rounds[-1], self._past.spoken
        if hist is None:
            raise PartedError("selection")
        left = self._kept(hist)
        own = np.zeros(hist.pairs, dtype=np.bool_)
        own[hist.pair[hist.user == self._gone]] = True
        moved = before.weight[left] - this.weight
        alone = np.delete(before.weight, left)
        known = this.halvings == before.halvings[left]
        fits = (moved >= 0).all() and not moved[~own[left]].any() and known[this.held].all()
        if not fits or _square(moved) + _square(alone) > UNIT**2:
            self.differs.add("selection")
        return weight

    def _kept(self, hist: PairHistogram) -> Ints:
        """The pairs of the smaller log, by their numbers in the larger one."""
        return kept(hist, self._gone, self._past.listed)

    def _recorded(self) -> Weighed:
        if len(self.seen.rounds) > len(self._past.rounds):
            raise PartedError("selection")
        return self._past.rounds[len(self.seen.rounds) - 1]

    def selection_noise(
        self, real: Any, n: int, rng: Randomness, *, variance: Fraction, grid: Fraction
    ) -> Ints:
        this, before = self._round(n), self._recorded()
        hist = self._past.spoken
        if hist is None or variance != before.variance:
            raise PartedError("selection")
        tried = this.tried
        old = self._kept(hist)[tried]
        if not np.isin(old, before.tried).all():
            raise PartedError("selection")
        noise = before.noise[np.searchsorted(before.tried, old)]
        return noise + before.weight[old] - this.weight[tried]

    def add_up(
        self,
        _name: str,
        real: Any,
        hist: AnyHistogram,
        at: Ints | int,
        *more: Any,
        **options: Any,
    ) -> Ints:
        return real(hist, at, *more, **options)

    def noisy_sums(
        self, real: Any, exact: Ints, *, name: str, norm_squared: int, **options: Any
    ) -> NoisySums:
        before = self._past.stages.get(name)
        if before is None or len(exact) != len(before.exact):
            raise PartedError(f"sums for {name}")
        moved = before.exact - exact
        own = before.own.get(-1 if self._gone is None else self._gone)
        fits = own is None or np.array_equal(moved, own)
        if not fits or _square(moved) * GRID**2 > norm_squared:
            self.differs.add(f"sums for {name}")
        self._exact, self._stage = exact, name
        noisy = real(exact, name=name, norm_squared=norm_squared, **options)
        if not np.array_equal(noisy.steps, before.noisy):
            self.differs.add(f"noise for {name}")
        self.seen.stages[name] = before
        return replace(noisy, steps=before.noisy)

    def stage_noise(self, real: Any, n: int, rng: Randomness, **law: Any) -> Ints:
        before = self._past.stages[self._stage]
        if n != len(self._exact) or law.get("variance") != before.variance:
            raise PartedError(f"noise for {self._stage}")
        return before.noisy - self._exact

    def poisson(self, real: Any, n: int, rng: Randomness, *, rate: Fraction) -> Ints:
        drawn = self._past.drawn
        if drawn is None or rate != self._past.rate:
            raise PartedError("drawn rows")
        left = drawn if self._gone is None else np.delete(drawn, self._gone)
        if len(left) != n:
            raise PartedError("drawn rows")
        return left

    def uniform_below(self, real: Any, bound: Ints, rng: Randomness) -> Ints:
        before, points = self._past.bounds, self._past.points
        if before is None or points is None or not np.array_equal(bound, before):
            raise PartedError("drawn rows")
        return points


def account_of(release: Release) -> tuple[Any, ...]:
    """The stages that a private release accounts for."""
    known = getattr(release, "statistics", None) or getattr(release, "histogram", None)
    return () if known is None else known.account.stages


def _square(moved: Ints) -> int:
    """The squared norm, in steps of the grid, exactly."""
    changed = moved[moved != 0].astype(object)
    return int((changed * changed).sum())


def _alone(hist: PairHistogram, user: int) -> PairHistogram:
    """One user's rows, with all numbers unchanged."""
    rows = hist.user == user
    return replace(hist, user=hist.user[rows], pair=hist.pair[rows], count=hist.count[rows])


def _known(listed: Ints) -> dict[str, Ints]:
    """The argument of a selector that takes public pairs, if there are any."""
    return {"listed": listed} if len(listed) else {}


def _same(one: PairHistogram, other: PairHistogram) -> bool:
    return one.digest() == other.digest()
