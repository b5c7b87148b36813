"""What is asked of private releases at δ = 1e-6, and what holds: means with 95 % intervals."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import duckdb
import numpy as np

import slogan
from bench.end_to_end import answer, synthesized
from bench.machine import line
from bench.selection_tables import OURS, Asked
from bench.shapes import SHAPES, Log, catalogue, search
from bench.store import Store
from slogan.arrays import Floats, Ints
from slogan.budget import PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.accounting import gaussian_budget
from slogan.dp.attainable import most_pairs
from slogan.dp.contributions import undecided
from slogan.dp.one_pair import OnePairSpending, divide, measure_one
from slogan.dp.selection import SelectionBudget
from slogan.dp.statistics import Spending, spread
from slogan.histogram import PairHistogram
from slogan.measures.cooccurrence import CoOccurrence, HitRate, hit_rate
from slogan.randomness import SystemRandomness

DELTA, RUNS = "1e-6", 10
BUDGET = PrivacyBudget(epsilon=1, delta=DELTA)
_LEGEND = """δ = 10⁻⁶, noise of the operating system; ± is a 95 % interval.
Logs of `bench/shapes.py`, and for public knowledge of `slogan generate`, with seed 0.
Selected pairs: selection has the whole of (ε, δ); all other lines are of whole releases.
Π is the most that any method with the guarantee can release on average.
hit@10 is on the way from what popularity predicts of real users, 0 %, to what the log does, 100 %.
The catalogue stands in for a public set of the literature: its numbers, by Zipf, Π = 923.
Months are logs of the same sites by other people."""


@dataclass(frozen=True)
class Must:
    """A question, the answer of one run, and what is asked of the mean."""

    name: str
    run: Callable[[], float]
    least: float | None = None
    most: float = 0.0
    runs: int = RUNS

    def row(self, runs: list[float]) -> str:
        """The mean with its interval, and whether it is what is asked for."""
        mean = float(np.mean(runs))
        around = 1.96 * np.std(runs, ddof=1) / len(runs) ** 0.5 if len(runs) > 1 else np.nan
        asked = f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"
        holds = mean <= self.most if self.least is None else mean >= self.least
        verdict = "holds" if holds else "**missed**"
        return f"| {self.name} | {asked} | {mean:.4g} ± {around:.2g} | {verdict} | {len(runs)} |"


def main(argv: list[str]) -> None:
    """Run what is not measured yet, and print the table."""
    parser = argparse.ArgumentParser(prog="bench musts", description=__doc__)
    parser.add_argument("--tables", action="store_true", help="print what is known, run nothing")
    parser.add_argument("--only", default="", help="questions whose name has this in it")
    parser.add_argument("--again", action="store_true", help="forget what is known of these")
    options = parser.parse_args(argv)
    store = Store("musts")
    with tempfile.TemporaryDirectory(prefix="slogan-bench-") as folder:
        musts = _musts(Path(folder))
        for must in [] if options.tables else musts:
            if options.only not in must.name:
                continue
            runs = [] if options.again else store.records.get(must.name, {}).get("runs", [])
            while len(runs) < must.runs:
                runs = [*runs, must.run()]
                store.keep(must.name, {"runs": runs})
            print(must.row(runs), file=sys.stderr, flush=True)
    known = [
        must.row(store.records[must.name]["runs"]) for must in musts if must.name in store.records
    ]
    head = "| | asked | mean | | runs |\n| --- | --- | --- | --- | --- |"
    title = "# What is asked of private releases, and what holds"
    table = "\n".join([head, *known])
    store.print_and_keep(f"{title}\n\n{_LEGEND}\n\n{table}\n\n{line(store.machine)}")


def _musts(folder: Path) -> list[Must]:
    """All questions."""
    ways = {"interests": (70, 88), "sessions": (70, 88)}
    small = partial(_small, "search", 2_500)
    return [
        Must("search 2,500, ε = 1: selected", partial(_selected, "search", 2_500), 12.1, runs=100),
        Must("visits 32,000, ε = 1: selected, % of Π", _share_of_visits, 70, runs=60),
        Must("single 65,000, ε = 1: one pair of each user, % of Π", _share_of_one, 90),
        Must("catalogue 72,098, ε = 1, δ = 1e-5: one pair of each user", _catalogued, 810),
        *(
            Must(
                f"{shape} 32,000, ε = {epsilon}: hit@10, % of the way",
                partial(_way, shape, epsilon),
                least,
            )
            for shape, leasts in ways.items()
            for epsilon, least in zip(("1", "4"), leasts, strict=True)
        ),
        Must("search 2,500, ε = 1: error of pairs per user, %", partial(small, "pairs"), most=15),
        Must("search 2,500, ε = 1: total variation of sizes", partial(small, "sizes"), most=0.08),
        Must("search 2,500, ε = 1: error of coverage", partial(small, "coverage"), most=0.12),
        *(
            Must(
                f"{shape} {users:,}, ε = 1: pairs of auto, of the better way",
                partial(_auto, shape, users, runs),
                0.95,
                runs=runs,
            )
            for shape in SHAPES
            for users, runs in ((2_500, 400), (32_000, 40))
        ),
        *(
            Must(
                f"search {users:,}, ε = 1: pairs with half of the sites listed, of those without",
                partial(_listed, folder, users),
                1.5,
            )
            for users in (2_500, 20_000)
        ),
        *(
            Must(
                f"search {users:,}, ε = 1: pairs of month 2 with month 1 as hints, of month 1",
                partial(_hinted, folder, users),
                1,
            )
            for users in (2_500, 20_000)
        ),
        Must("search 65,000, ε = 1: selected", partial(_selected, "search", 65_000), 358),
        Must(
            "search 65,000 with 95 clicks each, ε = 1: sum of support distances",
            _distance,
            most=0.0032,
        ),
    ]


@cache
def _log(shape: str, users: int) -> Log:
    return SHAPES[shape](users, 0)


@cache
def _paper() -> Log:
    """As many users as the paper's sample, and as many clicks of each."""
    return search(65_000, clicks_per_user=95.1)


def _possible(hist: PairHistogram) -> float:
    return float(most_pairs(hist, BUDGET))


def _selected(shape: str, users: int) -> float:
    """Pairs selected with the whole budget: half of δ for the noise, half for the threshold."""
    aside = exact(DELTA) / 2
    budget = SelectionBudget(mu_squared=gaussian_budget(Fraction(1), aside), delta=aside)
    return len(selection.load()(_log(shape, users).hist, budget, SystemRandomness()).pairs)


def _share_of_visits() -> float:
    return 100 * _selected("visits", 32_000) / _possible(_log("visits", 32_000).hist)


def _share_of_one() -> float:
    hist = _log("single", 65_000).hist
    return 100 * _pairs(hist, divide(BUDGET)) / _possible(hist)


def _catalogued() -> float:
    budget = PrivacyBudget(epsilon=1, delta="1e-5")
    return _pairs(_items(), divide(budget))


@cache
def _items() -> PairHistogram:
    return catalogue().hist


def _pairs(hist: PairHistogram, way: Spending | OnePairSpending) -> int:
    """Pairs of a whole release of this kind."""
    if isinstance(way, OnePairSpending):
        return len(measure_one(hist, way, SystemRandomness()).pairs)
    return len(selection.load()(hist, way.selection, SystemRandomness()).pairs)


@cache
def _better(shape: str, users: int, runs: int) -> float:
    """The mean number of pairs of the better way of counting."""
    hist = _log(shape, users).hist
    ways = (spread(BUDGET, association=True), divide(BUDGET))
    return max(float(np.mean([_pairs(hist, way) for _ in range(runs)])) for way in ways)


def _auto(shape: str, users: int, runs: int) -> float:
    hist = _log(shape, users).hist
    way = undecided(BUDGET, association=True).decided(hist, SystemRandomness())
    return _pairs(hist, way) / _better(shape, users, runs)


@cache
def _predicted(shape: str) -> HitRate:
    hist = _log(shape, 32_000).hist
    return hit_rate(hist, CoOccurrence.learn(hist), same_users=True)


def _way(shape: str, epsilon: str) -> float:
    log, real = _log(shape, 32_000), _predicted(shape)
    asked = Asked(shape=shape, users=32_000, epsilon=epsilon, delta=DELTA, selector=OURS)
    hits = answer(log, np.arange(log.hist.pairs), asked, 1)["hits"]
    popular, best = real.share_of_popularity or 0.0, real.share or 0.0
    return 100 * (hits - popular) / (best - popular)


def _distance() -> float:
    log = _paper()
    asked = Asked(shape="search", users=65_000, epsilon="1", delta=DELTA, selector=OURS)
    return answer(log, np.arange(log.hist.pairs), asked, 1)["distance"]


def _small(shape: str, users: int, measure: str) -> float:
    """How far pairs per user, sizes or coverage of a release are from the log's."""
    hist = _log(shape, users).hist
    asked = Asked(shape=shape, users=users, epsilon="1", delta=DELTA, selector=OURS)
    found, output = synthesized(_log(shape, users), asked, SystemRandomness())
    if found is None:
        return 1.0
    inside = hist.only(found.pairs)
    if measure == "coverage":
        return abs(found.coverage.share / (inside.clicks / hist.clicks) - 1)
    real, made = _sizes(inside.user), _sizes(output.user)
    most = max(len(real), len(made))
    real, made = (np.pad(sizes, (0, most - len(sizes))) for sizes in (real, made))
    if measure == "sizes":
        return float(np.abs(real - made).sum() / 2)
    mean_real, mean_made = (float(sizes @ np.arange(most)) for sizes in (real, made))
    return 100 * abs(mean_made / mean_real - 1)


def _sizes(user: Ints) -> Floats:
    """The share of users with 0, 1, 2, … pairs, of those with any."""
    held = np.unique(user, return_counts=True)[1]
    return np.bincount(held) / len(held)


def _month(folder: Path, users: int, month: int) -> Path:
    file = folder / f"{users}-{month}.parquet"
    if not file.exists():
        slogan.generate(file, users=users, seed=month, clicks_per_user=28)
    return file


def _released(log: Path, **public: Path) -> int:
    """Pairs of a release of `slogan synthesize`."""
    with slogan.synthesize(log, epsilon=1, delta=DELTA, **public) as release:
        return release.summary.pairs_out


@cache
def _without(log: Path) -> float:
    return float(np.mean([_released(log) for _ in range(RUNS)]))


def _listed(folder: Path, users: int) -> float:
    """With a list of every second site of the log, in no order of popularity."""
    log, listed = _month(folder, users, 0), folder / f"{users}.txt"
    with duckdb.connect() as sql:
        sites = sql.execute(f"SELECT DISTINCT url FROM '{log}' WHERE hash(url) % 2 = 0").fetchall()
    listed.write_text("\n".join(sorted(url for (url,) in sites)), encoding="utf-8")
    return _released(log, vocabulary=listed) / _without(log)


def _hinted(folder: Path, users: int) -> float:
    first, second = (_month(folder, users, month) for month in (0, 1))
    release = folder / f"{users}-release"
    with slogan.synthesize(first, epsilon=1, delta=DELTA) as month:
        month.save(release, force=True)
        before = month.summary.pairs_out
    return _released(second, hints=release) / before
