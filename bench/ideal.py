"""What could be known of which pairs go together, from the noisy table, and what is kept of it."""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from bench.machine import line
from bench.shapes import SHAPES, Log
from bench.store import Record, Store
from slogan.arrays import Floats, Ints
from slogan.budget import PrivacyBudget
from slogan.dp import departures, selection
from slogan.dp.departures import denoised
from slogan.dp.statistics import Statistics, measure, spread
from slogan.dp.sums import BITS, Association, together_sums
from slogan.histogram import PairHistogram
from slogan.measures.cooccurrence import CoOccurrence, HitRate, hit_rate, tested_users
from slogan.planning.objectives.output_size import OutputSize
from slogan.progress import Steps
from slogan.randomness import SystemRandomness
from slogan.workflows.synthetic_users import synthetic_users

CASES = (
    ("sessions", 32_000, "1"),
    ("sessions", 32_000, "4"),
    ("interests", 32_000, "1"),
    ("interests", 32_000, "4"),
    ("search", 65_000, "1"),
    ("search", 65_000, "4"),
)
DELTA, SEED, RUNS = "1e-6", 0, 3
MEASURED = (
    "popularity",
    "made-up users",
    "noisy table",
    "without noise",
    "ideal",
    "exact table",
    "exact pairs",
    "log",
)
_LEGEND = """hit@10 of a hidden pair of real users; δ = 10⁻⁶. Logs of `bench/shapes.py` with seed 0,
without the 1,000 users whose pairs are guessed; means of 3 runs.

- *popularity*: what is popular in the log.
- *made-up users*: the release.
- *noisy table*: the table as it was measured, negative cells cut off.
- *without noise*: the same after `denoised`, which the made-up users are moved towards.
- *ideal*: the best estimate of each cell by its noisy value, by any method that treats cells of
  similar expectation alike: it is given the true law of their departures.
- *exact table*: the table of the released pairs, by the same categories, without noise.
- *exact pairs*: all that the log says of any two released pairs.
- *log*: all that the log says of any two pairs.

Guesses from a table are made with the true numbers of holders.
Users of few pairs count more in a table than in the log itself, so it may predict better."""


def main(argv: list[str]) -> None:
    """Run what is not measured yet, and print the table."""
    parser = argparse.ArgumentParser(prog="bench ideal", description=__doc__)
    parser.add_argument("--tables", action="store_true", help="print what is known, run nothing")
    parser.add_argument("--again", action="store_true", help="measure everything again")
    options = parser.parse_args(argv)
    store = Store("ideal")
    for shape, users, epsilon in [] if options.tables else CASES:
        key = f"{shape} {users:,}, ε = {epsilon}"
        if key not in store.records or options.again:
            store.keep(key, _measured(SHAPES[shape](users, SEED), epsilon))
    names = " | ".join(MEASURED)
    head = f"| | association | pairs | {names} |\n{'| --- ' * (3 + len(MEASURED))}|"
    rows = [
        f"| {key} | {record['association']} | {record['pairs']:.0f} | "
        + " | ".join(f"{record[name]:.3f}" for name in MEASURED)
        + " |"
        for key, record in store.records.items()
    ]
    title = "# What could be known of which pairs go together?"
    table = "\n".join([head, *rows])
    store.print_and_keep(f"{title}\n\n{_LEGEND}\n\n{table}\n\n{line(store.machine)}")


def _measured(log: Log, epsilon: str) -> Record:
    whole = log.hist
    real = hit_rate(whole, CoOccurrence.learn(whole), same_users=True)
    staying = ~np.isin(whole.user, tested_users(whole))
    others = replace(
        whole, user=whole.user[staying], pair=whole.pair[staying], count=whole.count[staying]
    )
    budget = PrivacyBudget(epsilon=epsilon, delta=DELTA)
    runs = [_of_one_run(log, others, budget, real) for _ in range(RUNS)]
    means = {name: float(np.mean([run[name] for run in runs])) for name in ("pairs", *MEASURED)}
    return {**means, "association": runs[0]["association"]}


def _of_one_run(log: Log, hist: PairHistogram, budget: PrivacyBudget, real: HitRate) -> Record:
    spending, rng, steps = spread(budget, association=True), SystemRandomness(), Steps()
    selected = selection.load()(hist, spending.selection, rng)
    found = measure(hist, selected, spending, log.group, rng=rng, steps=steps)
    made = synthetic_users(found, OutputSize(), hist.query[found.pairs], rng).output

    def hits(model: CoOccurrence) -> float:
        return hit_rate(log.hist, model, same_users=False).share or 0.0

    released = PairHistogram(
        user=made.user,
        pair=made.pair,
        count=made.count,
        users=int(made.user.max()) + 1,
        pairs=hist.pairs,
        query=hist.query,
    )
    record: Record = {name: float("nan") for name in MEASURED}
    record["association"] = found.association.grouping.name if found.association else "independent"
    record["pairs"] = len(found.pairs)
    record["popularity"], record["log"] = real.share_of_popularity or 0.0, real.share or 0.0
    record["made-up users"] = hits(CoOccurrence.learn(released))
    exact = _learnt(hist, found.pairs)
    record["exact pairs"] = hits(exact)
    if found.association is not None:
        tables = _tables(hist, found, found.association)
        for name, factor in tables.items():
            record[name] = hits(_with(exact, found, factor))
    return record


def _learnt(hist: PairHistogram, pairs: Ints) -> CoOccurrence:
    """What the log says of these pairs."""
    only = hist.only(pairs)
    return CoOccurrence.learn(
        PairHistogram(
            user=only.user,
            pair=pairs[only.pair],
            count=only.count,
            users=hist.users,
            pairs=hist.pairs,
            query=hist.query,
        )
    )


def _tables(hist: PairHistogram, found: Statistics, association: Association) -> dict[str, Floats]:
    """How much oftener than by chance two categories are held together, by each table."""
    grouping = association.grouping
    upper = np.triu_indices(grouping.categories)
    true = together_sums(hist, found.pairs, grouping) / (1 << BITS)
    noisy, noise = association.together[upper], association.deviation
    share = np.zeros(grouping.categories)
    inside = grouping.category >= 0
    held = hist.holders[found.pairs[inside]].astype(np.float64)
    np.add.at(share, grouping.category[inside], held)
    own = np.zeros(grouping.categories)
    np.add.at(own, grouping.category[inside], held**2)
    both = np.outer(share, share)
    np.fill_diagonal(both, (share**2 - own) / 2)
    chance = both[upper] * (true.sum() / both[upper].sum())
    some = chance > 0
    estimates = {
        "noisy table": np.maximum(noisy, 0.0)[some],
        "without noise": denoised(noisy[some], chance[some], noise).cells,
        "ideal": _ideal(noisy[some], chance[some], true[some], noise),
        "exact table": true[some],
    }
    tables = {}
    for name, cells in estimates.items():
        factor = np.ones((grouping.categories, grouping.categories))
        factor[tuple(place[some] for place in upper)] = cells / chance[some]
        tables[name] = np.triu(factor) + np.triu(factor, 1).T
    return tables


def _ideal(noisy: Floats, chance: Floats, true: Floats, noise: float) -> Floats:
    """Each cell's mean given its noisy value, by the law of the true departures of its band."""
    found = chance.copy()
    for band in departures.bands(chance, departures.SMALL * noise):
        departure = np.sort((true[band] - chance[band]) / noise)
        law = np.array([part.mean() for part in np.array_split(departure, min(len(band), 500))])
        for part in np.array_split(band, 1 + len(band) // 20_000):
            apart = (((noisy[part] - chance[part]) / noise)[:, None] - law) ** 2
            likely = np.exp(-(apart - apart.min(axis=1, keepdims=True)) / 2)
            found[part] += noise * (likely @ law) / likely.sum(axis=1)
    return np.maximum(found, 0.0)


def _with(exact: CoOccurrence, found: Statistics, factor: Floats) -> CoOccurrence:
    """The same holders, and pairs held together as often as by chance, times these factors."""
    assert found.association is not None
    category = found.association.grouping.category
    place = np.searchsorted(found.pairs, exact.items)
    kind, holders = category[place], exact.holders
    by_chance = np.outer(holders, holders)
    by_chance *= (exact.together.sum() - holders.sum()) / (by_chance.sum() - (holders**2).sum())
    known = (kind >= 0)[:, None] & (kind >= 0)[None, :]
    together = by_chance * np.where(known, factor[np.ix_(kind, kind)], 1.0)
    np.fill_diagonal(together, holders)
    return CoOccurrence(log=exact.log, items=exact.items, together=together)
