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

import duckdb
import numpy as np
from scipy.special import bdtrc, chdtrc

from slogan.arrays import Floats, Ints
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
_MOVED, _MORE_ALIKE = 4.0, 8.0
"""Where users follow a measured association: how far the holders of a pair may be moved, and how
much oftener than exchanged ones users may have just the pairs of a user of the log."""
_ROUNDING = 1e-9
_OVERDISPERSED = 12
_DEVIATIONS = 7


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
        **_copies(evidence, _MORE_ALIKE if follows else 1.0),
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


def _copies(evidence: Evidence, alike: float) -> dict[str, bool]:
    """Check whether synthetic users match users of the log more often than by chance.

    The chance is estimated from the release: exchange one pair between two of its users with a
    pair in common. Copies of real users match the log; exchanged ones do not.
    """
    return {
        f"{matching} of {users} users with {size} pairs have exactly the released pairs of a user "
        "of the log": at_least(matching, 4 * alike * users * (matched + 1) / max(exchanged, 1) + 1)
        < FALSE_ALARM
        for size, users, matching, exchanged, matched in evidence.compared.copies()
    }
