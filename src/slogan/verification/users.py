"""Checks of a release's users: new IDs are random, and rows are sampled or assigned at random.

Like those of `mechanism`, the checks compare with the law of an honest release. Proofs of the
chances are in docs/explanation/verification.md.
"""

import hashlib
import math
import re
import uuid
import zlib
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import bdtrc, chdtrc

from slogan.arrays import Flags, Floats, Ints
from slogan.errors import LogFormatError
from slogan.manifest.manifest import Outputs
from slogan.verification.evidence import Evidence, Finding
from slogan.verification.mechanism import FALSE_ALARM, at_least, law_chance

_EXACT = 2**53 - 1
_TEXT = 2**31 - 1
_BITS = {"INTEGER": 31, "BIGINT": 63, "HUGEINT": 127, "UINTEGER": 32, "UBIGINT": 64}
_DIGESTS = ("md5", "sha1", "sha256", "sha512", "blake2b", "sha3_256")
_TRIED = 20_000
"""The number of real IDs to which the common functions of an ID are applied."""
_CORRELATED = 6.5
"""Standard deviations of a rank correlation; exceeded by chance in one of 10^10."""
_MOVED = 4.0
"""Where users follow a measured association: how far the holders of a pair may be moved."""
_FEWEST = 3
"""Users of fewer pairs are not compared: any two pairs go together in many logs."""
_SPLITS = 24
_AT_ONCE = 1 << 20
_UNSEEN = 1.0
"""Added to numbers of users, so that few of them show no association."""
_POWERS = np.geomspace(1e-3, 20.0, 60)
_CROWD = 0.85
"""Energies of a user of n pairs count (2/n)^_CROWD times."""
UNEXPLAINED = 9.0
"""Where users follow a measured association: how much likelier than its pairs of pairs explain
the pairs of a user of the log may be."""

_ROUNDING = 1e-9
_OVERDISPERSED = 12
_DEVIATIONS = 7

Words = NDArray[np.uint64]


def largest_id(user_type: str) -> int:
    """The largest fresh ID for a column of this type."""
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", user_type):
        return min(10 ** (int(digits[1]) - int(digits[2])) - 1, _EXACT)
    if user_type == "DOUBLE":
        return _EXACT
    return min(2 ** _BITS[user_type] - 1, _EXACT) if user_type in _BITS else _TEXT


def user_ids(evidence: Evidence) -> Finding:
    """Check that user-IDs look random, and are not a function of the log's."""
    if evidence.manifest.pseudonyms == "keep":
        return True, "the original user-IDs, as the manifest states"
    _, shown = evidence.logs()
    user_type = shown.user_type
    ids, clicks, pairs = evidence.compared.shown_users()
    real = evidence.compared.real_ids(_TRIED)
    if user_type == "UUID":
        numbers = [_uuid(text) for text in ids]
        most = 2**128
    else:
        numbers, most = [_integer(text) for text in ids], largest_id(user_type)
    known = [n for n in numbers if n is not None and 0 < n <= most]
    faults = {
        f"{len(ids) - len(known)} are not valid new IDs for this column": len(known) < len(ids),
    }
    if len(known) == len(ids) > 0:
        drawn = np.array([float(n) for n in known])
        faults |= {
            "they are not spread evenly": not _even(drawn, most, [n % 64 for n in known]),
            "they are evenly spaced": user_type != "UUID" and _spaced(known, most),
            "they follow the clicks of their users": _correlated(drawn, clicks)
            or _correlated(drawn, pairs),
            "they are computed from the log's user-IDs": _made_from(real, set(known), most),
        }
        faults["they follow the log's user-IDs"] = any(
            _correlated(*orders) for orders in _orders(evidence)
        )
    found = [fault for fault, present in faults.items() if present]
    return not found, f"of {len(ids)} user-IDs: {'; '.join(found)}" if found else (
        f"{len(ids)} new user-IDs, spread evenly over the range of their column"
    )


def _integer(text: str) -> int | None:
    """The integer of a text; None unless it is written in canonical form."""
    if not re.fullmatch(r"[1-9][0-9]*(\.0+)?", text) and not re.fullmatch(
        r"[0-9.]+e\+?[0-9]+", text
    ):
        return None
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return int(number) if number == number.to_integral_value() else None


def _uuid(text: str) -> int | None:
    try:
        made = uuid.UUID(text)
    except ValueError:
        return None
    return made.int if made.version == 4 and str(made) == text else None


def _even(drawn: Floats, most: int, low: list[int]) -> bool:
    """Whether the size and the last bits of numbers fit a uniform draw."""
    n = len(drawn)
    gap = np.abs(np.sort(drawn / most) - (np.arange(n) + 0.5) / n).max()
    if law_chance(n, float(gap) - 0.5 / n) < FALSE_ALARM:
        return False
    if n < 640 or most >= 2**127:
        return True
    expected = n / 64
    square = float(((np.bincount(low, minlength=64) - expected) ** 2 / expected).sum())
    return float(chdtrc(63, square)) > FALSE_ALARM


def _spaced(known: list[int], most: int) -> bool:
    """Whether too many gaps between IDs are equal, as in an arithmetic progression.

    Two gaps of a random set are equal with a chance of about n/2·most.
    """
    gaps = np.diff(np.sort(np.array(known)))
    n = len(known)
    equal = len(gaps) - len(np.unique(gaps))
    return at_least(equal, 1 + n**3 / (2 * most)) < FALSE_ALARM


def _correlated(one: Floats, other: Floats) -> bool:
    """Whether two rankings agree more than chance allows (Spearman, ties at their mean rank)."""
    if len(one) < 10:
        return False
    ranks = [_ranks(values) for values in (one, other)]
    spread = math.prod(float(rank.std()) for rank in ranks)
    if spread == 0:
        return False
    rho = float(((ranks[0] - ranks[0].mean()) * (ranks[1] - ranks[1].mean())).mean()) / spread
    return abs(rho) * math.sqrt(len(one) - 1) > _CORRELATED


def _ranks(values: Floats) -> Floats:
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times + 1) / 2)[place]


def _orders(evidence: Evidence) -> Iterator[tuple[Floats, Floats]]:
    """New IDs with the order, value and last bits of the real ones, where both are known."""
    table = evidence.curators("pseudonyms.parquet")
    if table is None:
        return
    try:
        pairs = evidence.compared.named(table)
    except (duckdb.Error, LogFormatError):
        return  # `users_from_log` reports it
    new = [_integer(shown) for _, shown in pairs]
    if not pairs or None in new:
        return
    drawn = np.array([float(n or 0) for n in new])
    yield drawn, np.arange(len(pairs), dtype=float)
    values = [_integer(real) for real, _ in pairs]
    if None not in values:
        yield drawn, np.array([float(n or 0) for n in values])
        for bits in (1, 2, 3):
            low = (1 << bits) - 1
            yield (
                np.array([float((n or 0) & low) for n in new]),
                np.array([float((n or 0) & low) for n in values]),
            )


def _made_from(real: list[str], shown: set[int], most: int) -> bool:
    """Whether a common function of real IDs gives released ones more often than by chance.

    A released ID counts once: weak checksums give many short texts the same number.
    """
    hits: dict[int, set[int]] = {}
    for text in real:
        for number, made in enumerate(_functions(text, most)):
            if made in shown:
                hits.setdefault(number, set()).add(made)
    by_chance = len(real) * len(shown) / min(most, 10**9)
    return any(at_least(len(ids), by_chance + 1e-4) < FALSE_ALARM for ids in hits.values())


def _functions(text: str, most: int) -> Iterator[int]:
    """Common functions of an ID: itself, shifted, reversed, or hashed and reduced to the range."""
    value = _integer(text) or 0
    yield from (value, value + 1, 2 * value, most - value, most + 1 - value)
    yield int(str(value)[::-1])
    data = text.encode()
    whole = [hashlib.new(name, data, usedforsecurity=False).digest() for name in _DIGESTS]
    whole += [check(data).to_bytes(4) for check in (zlib.crc32, zlib.adler32)]
    for digest in whole:
        for length in (len(digest), 4, 8, 16):
            for order in ("big", "little"):
                number = int.from_bytes(digest[:length], order)
                yield from (number % most, number % most + 1, number & (2**31 - 1), number % 10**9)
        if len(digest) >= 16:
            yield uuid.UUID(bytes=digest[:16], version=4).int


# --- rows ---


def drawn(evidence: Evidence) -> Finding:
    """Check that the numbers of released users and rows fit random sampling."""
    faults: list[str] = []
    for what, chances, seen in evidence.compared.exposure():
        mean, spread = float(chances.sum()), math.sqrt(float((chances * (1 - chances)).sum()))
        if abs(seen - mean) > _DEVIATIONS * spread + _DEVIATIONS:
            faults.append(f"{seen} {what} are released; sampling would give about {mean:.0f}")
    return not faults, "; ".join(faults) or "the numbers of users and rows fit random sampling"


def dealt(evidence: Evidence) -> Finding:
    """Check that each pair's clicks are assigned to synthetic users as `synthesize` does.

    A pair with c clicks is held by c/each users, with the same `each` for all pairs; where users
    follow a measured association, by up to four times as many or as few. Each holder has one click,
    and the others are assigned at random.
    """
    pair, clicks, sizes = evidence.compared.dealt_rows()
    if not len(pair):
        return False, "the released log has no rows"
    outputs = evidence.manifest.outputs
    follows = isinstance(outputs, Outputs) and outputs.association != "independent"
    users = 0 if outputs is None else outputs.users
    rows = np.bincount(pair)
    total = np.bincount(pair, clicks).astype(np.int64)
    faults = {
        f"{len(sizes)} users are released, more than the manifest states": len(sizes) > users,
        "the users of the pairs do not follow from their clicks": not _fits_holders(
            total, rows, users, _MOVED if follows else 1.0
        ),
        "the clicks of the pairs are not assigned to users at random": _excess(
            pair, clicks, total, rows
        )
        > _OVERDISPERSED,
        "a user has far more clicks of a pair than random assignment explains": _heaviest_chance(
            pair, clicks, total, rows
        )
        < FALSE_ALARM,
        "more users than chance explains have exactly the released pairs of a user of the log": (
            chance_of_copies(*(Sets(*rows) for rows in evidence.compared.sets()), follows=follows)
            < FALSE_ALARM
        ),
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or f"all {len(pair)} rows fit random synthetic users"


def _fits_holders(total: Ints, rows: Ints, users: int, moved: float) -> bool:
    """Whether one number of clicks per user, rounded, explains the users of each pair."""
    most = np.minimum(total, users)
    least_each = np.where(rows < most, total / (rows + 0.5) / moved, 0.0)
    most_each = np.where(rows > 1, total / (rows - 0.5) * moved, np.inf)
    fits = float(least_each.max()) <= float(most_each.min()) * (1 + _ROUNDING)
    return fits and bool((rows <= most).all())


def _excess(pair: Ints, clicks: Floats, total: Ints, rows: Ints) -> float:
    """By how many standard deviations the variation of clicks differs from random assignment.

    With n further clicks on V rows, Σ(x − n/V)²/(n/V) has mean V − 1 and variance
    2(V − 1)(n − 1)/n.
    """
    further = total - rows
    some = (further > 1) & (rows > 1)
    if not some.any():
        return 0.0
    mean = further / np.maximum(rows, 1)
    squares = np.bincount(pair, (clicks - 1 - mean[pair]) ** 2)
    statistic = float((squares[some] / mean[some]).sum())
    expected = float((rows[some] - 1).sum())
    variance = float((2 * (rows[some] - 1) * (further[some] - 1) / further[some]).sum())
    return abs(statistic - expected) / math.sqrt(variance + 1)


def _heaviest_chance(pair: Ints, clicks: Floats, total: Ints, rows: Ints) -> float:
    """A bound on the chance of a row as heavy as the heaviest."""
    more = clicks - 1
    tail = np.asarray(bdtrc(more - 1, (total - rows)[pair], 1 / rows[pair]), dtype=np.float64)
    chances = np.where((more > 0) & (rows[pair] > 1), tail, 1.0)
    return min(1.0, float(chances.min(initial=1.0)) * len(pair))


# --- copies of whole users ---


class Sets(NamedTuple):
    """Users and the pairs they hold: rows of (user, pair), in this order."""

    user: Ints
    pair: Ints

    @property
    def size(self) -> Ints:
        """How many pairs each user holds."""
        return np.bincount(self.user)

    def sums(self, marks: Words) -> Words:
        """The sum of its pairs' marks for each user, which tells sets of pairs apart."""
        total = np.zeros(len(self.size), dtype=np.uint64)
        np.add.at(total, self.user, marks[self.pair])
        return total


class Differing(NamedTuple):
    """Twos of users who differ by as many pairs: a row for each."""

    pair: Ints
    """The pairs that one of them holds."""
    first: Flags
    """Whether that is the first of them."""
    common: Words
    """The sum of the marks of the pairs that both hold."""
    share: Floats
    """The share of their energies that counts, by how many pairs the two hold."""

    def only(self, chosen: Flags | slice) -> "Differing":
        """Some of them."""
        return Differing(
            self.pair[chosen], self.first[chosen], self.common[chosen], self.share[chosen]
        )


def _shares(size: Ints) -> Floats:
    """The share of the energies that counts for users of these sizes, as in made-up users."""
    return (2 / np.maximum(size, 2)) ** _CROWD


def chance_of_copies(made: Sets, real: Sets, *, follows: bool) -> float:
    """A bound on the chance that as many made-up users have just the pairs of a user of the log.

    Args:
        made: The released users.
        real: The log's users, with their released pairs.
        follows: Whether the released ones follow a measured association.
    """
    if not len(made.pair) or not len(real.pair):
        return 1.0
    pairs = 1 + int(max(made.pair.max(), real.pair.max()))
    marks = np.random.default_rng(pairs).integers(0, 2**64, pairs, dtype=np.uint64)
    known = np.unique(real.sums(marks)[real.size >= _FEWEST])
    # the same release is judged alike each time
    rng = np.random.default_rng(int(made.sums(marks).sum(dtype=np.uint64)))
    together = _Together(made, pairs) if follows else None
    matching: list[Floats] = []
    odds: list[Floats] = []
    for twos in _in_twos(made, marks, rng):
        splits = _splits(twos.first, rng)
        hits = _hits(twos, splits, marks, known)
        telling = hits.min(axis=1) < hits.max(axis=1)
        some, splits, hits = twos.only(telling), splits[telling], hits[telling]
        if len(hits):
            matching.append(hits)
            odds.append(together.odds(some, splits, hits) if together else np.zeros_like(hits))
    return _chance(np.concatenate(matching), np.concatenate(odds)) if matching else 1.0


def _in_twos(made: Sets, marks: Words, rng: np.random.Generator) -> Iterator[Differing]:
    """Users in random twos who share a pair, by the number of pairs in which they differ."""
    size = made.size
    first_row = np.concatenate(([0], np.cumsum(size)))
    users = np.flatnonzero(size >= _FEWEST)
    if len(users) < 2:
        return
    shared = made.pair[first_row[users] + rng.integers(0, size[users])]
    order = np.lexsort((rng.random(len(users)), shared))
    users, shared = users[order], shared[order]
    start = np.flatnonzero(np.concatenate(([True], shared[1:] != shared[:-1])))
    turn = np.arange(len(users)) - np.repeat(start, np.diff([*start.tolist(), len(users)]))
    second = np.flatnonzero(turn % 2)
    number = np.full(len(size), -1)
    number[users[second]] = number[users[second - 1]] = np.arange(len(second))
    leads = np.zeros(len(size), dtype=np.bool_)
    leads[users[second - 1]] = True

    rows = np.flatnonzero(number[made.user] >= 0)
    two, pair, first = number[made.user[rows]], made.pair[rows], leads[made.user[rows]]
    order = np.lexsort((pair, two))
    two, pair, first = two[order], pair[order], first[order]
    again = np.flatnonzero((two[1:] == two[:-1]) & (pair[1:] == pair[:-1]))
    common = np.zeros(len(second), dtype=np.uint64)
    np.add.at(common, two[again], marks[pair[again]])
    alone = np.ones(len(two), dtype=np.bool_)
    alone[again] = alone[again + 1] = False
    two, pair, first = two[alone], pair[alone], first[alone]
    each = np.bincount(two, minlength=len(second))
    share = (_shares(size[users[second]]) + _shares(size[users[second - 1]])) / 2
    mixed = (np.bincount(two, first, minlength=len(second)) % np.maximum(each, 1)) > 0
    for differ in np.unique(each[mixed]).tolist():
        of_size = np.flatnonzero(mixed & (each == differ))
        here = np.isin(two, of_size)
        shape = len(of_size), differ
        whole = Differing(
            pair[here].reshape(shape), first[here].reshape(shape), common[of_size], share[of_size]
        )
        step = max(1, _AT_ONCE // (_SPLITS * differ))
        for low in range(0, len(of_size), step):
            yield whole.only(slice(low, low + step))


def _splits(first: Flags, rng: np.random.Generator) -> Flags:
    """The released split of each two, and others of the same sizes."""
    several = np.repeat(first[:, None, :], _SPLITS, axis=1)
    return np.concatenate([first[:, None, :], rng.permuted(several, axis=2)], axis=1)


def _hits(some: Differing, splits: Flags, marks: Words, known: Words) -> Floats:
    """In each split, how many of the two have just the pairs of a user of the log."""
    marked = marks[some.pair][:, None, :]
    one, other = (
        some.common[:, None] + np.where(side, marked, np.uint64(0)).sum(axis=2, dtype=np.uint64)
        for side in (splits, ~splits)
    )
    return np.isin(one, known).astype(np.float64) + np.isin(other, known)


class _Together:
    """Which pairs released users hold together, beyond chance."""

    def __init__(self, made: Sets, pairs: int) -> None:
        rows = csr_array(
            (np.ones(len(made.pair)), (made.user, made.pair)), shape=(len(made.size), pairs)
        )
        self._both = (rows.T @ rows).tocsr()
        size = made.size.astype(np.float64)
        ways = size * (size - 1)
        self._rate = float(ways.sum()) / len(made.pair) ** 2
        # what users hold together shows the energies with the share of a usual size
        self._usual = float((ways * _shares(made.size)).sum()) / max(float(ways.sum()), 1.0)
        self._holders = np.bincount(made.pair, minlength=pairs).astype(np.float64)

    def odds(self, some: Differing, splits: Flags, hits: Floats) -> Floats:
        """The logarithm of how likely each split is, up to a constant, and `UNEXPLAINED`.

        The two themselves are left out of the numbers, which would know the released split.
        """
        one, other = some.pair[:, :, None], some.pair[:, None, :]
        at = np.broadcast_arrays(one, other)
        both = np.asarray(self._both[at[0].ravel(), at[1].ravel()]).reshape(at[0].shape)
        own = some.first[:, :, None] == some.first[:, None, :]
        chance = self._holders[one] * self._holders[other] * self._rate
        energy = np.log((both - own + _UNSEEN) / (chance + _UNSEEN))
        energy[:, np.arange(energy.shape[1]), np.arange(energy.shape[1])] = 0
        side = np.where(splits, 1.0, -1.0)
        alike = np.einsum("bsi,bij,bsj->bs", side, energy, side) / 4
        # energies may be none, as estimated, or as sizes scale them: what explains most hits counts
        scales = (np.zeros(len(alike)), np.ones(len(alike)), some.share / self._usual)
        models = np.stack([alike * s[:, None] + np.log(UNEXPLAINED) * hits for s in scales])
        weight = np.exp(models - models.max(axis=2, keepdims=True))
        explained = (weight * hits).sum(axis=2) / weight.sum(axis=2)
        return models[explained.argmax(axis=0), np.arange(len(alike))]


def _chance(hits: Floats, odds: Floats) -> float:
    """A bound on the chance that the released splits have as many hits (Chernoff)."""
    weight = np.exp(odds - odds.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    seen, most = float(hits[:, 0].sum()), hits.max(axis=1, keepdims=True)
    if seen <= float((weight * hits).sum()):
        return 1.0
    bounds = [
        float(np.log((weight * np.exp(power * (hits - most))).sum(axis=1)).sum())
        + power * (float(most.sum()) - seen)
        for power in _POWERS.tolist()
    ]
    return min(1.0, float(np.exp(min(bounds))))
