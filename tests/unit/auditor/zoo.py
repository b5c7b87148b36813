"""Mechanisms that are broken on purpose, in one way each, and what finds them.

Each is a patch where the verb looks a name up. `found` is the evidence of the first finding:
replay (the same noise on two files), noise (its law), statistics (trials) or account.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from unittest.mock import patch

import numpy as np

from slogan.dp import accounting, one_pair, private_rows, statistics, sums
from slogan.dp.noise import discrete_laplace
from slogan.dp.private_rows import FULL
from slogan.dp.selection import _weights, pooled
from slogan.dp.selection._weights import Contributions
from slogan.dp.sums import BITS, Coverage, NoisySums
from slogan.engines.duckdb import engine as duckdb_engine
from slogan.engines.duckdb.engine import DuckDBEngine
from slogan.errors import SloganError
from slogan.histogram import Output, PairHistogram
from slogan.logs import searchlog
from slogan.randomness import SeededRandomness
from slogan.release.base import Release
from slogan.release.job import Job
from slogan.release.kinds import PrivateRowsRelease, SyntheticRelease
from slogan.workflows import sanitize_private, synthetic_users
from slogan.workflows import synthesize as steward

BOTH, SYNTHETIC, PRIVATE = ("synthetic", "private"), ("synthetic",), ("private",)
ONE = ("one",)
UNIT = 1 << BITS


@dataclass(frozen=True)
class Broken:
    """One mechanism: its patch, the modes that have it, and what finds it."""

    name: str
    apply: Callable[[], AbstractContextManager[None]]
    modes: tuple[str, ...]
    found: str
    format: str

    @property
    def late(self) -> bool:
        """Whether attacks come first that find nothing, and take long."""
        return self.found == "statistics" or self.name == "twice_the_budget"


ZOO: list[Broken] = []


def broken(modes, found, format="tsv"):
    def registered(function):
        ZOO.append(Broken(function.__name__, contextmanager(function), modes, found, format))
        return function

    return registered


@contextmanager
def patched(*places) -> Iterator[None]:
    """Stand-ins for (owner, name): each is called with what it stands for, then the arguments."""
    with ExitStack() as stack:
        for owner, name, stand_in in places:
            real = getattr(owner, name)

            def called(*given, _stand_in=stand_in, _real=real, **named):
                return _stand_in(_real, *given, **named)

            stack.enter_context(patch.object(owner, name, called))
        yield


def pairs_held(hist, pairs):
    return np.bincount(hist.only(pairs).user, minlength=hist.users)


def keep_rows(hist, rows):
    return replace(hist, user=hist.user[rows], pair=hist.pair[rows], count=hist.count[rows])


def best_of_each(hist, most, score):
    """At most `most` pairs of each user, those of the highest score."""
    order = np.lexsort((hist.pair, -score[hist.pair], hist.user))
    degree = np.bincount(hist.user, minlength=hist.users)
    turn = np.arange(len(order)) - np.repeat(np.cumsum(degree) - degree, degree)
    kept = np.sort(order[turn < most])
    start = np.concatenate(([0], np.cumsum(np.minimum(degree, most))))
    return Contributions(start=start, pair=hist.pair[kept], pairs=hist.pairs, most=most)


# --- norms ---


@broken(SYNTHETIC, "replay")
def clicks_outside_s_are_not_clipped():
    def coverage(real, hist, pairs):
        inside = real(hist, pairs)[0]
        return np.array([inside, (hist.clicks - hist.only(pairs).clicks) * UNIT])

    with patched((sums, "coverage_sums", coverage)):
        yield


@broken(BOTH, "replay")
def users_with_more_than_12_pairs_escape_clipping():
    def counts(real, hist, pairs, **options):
        many = pairs_held(hist, pairs) > 12
        rest = keep_rows(hist, ~many[hist.user])
        wild = keep_rows(hist, many[hist.user]).only(pairs)
        extra = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(extra, wild.pair, np.minimum(wild.count, 1_000) * UNIT)
        return real(rest, pairs, **options) + extra

    with patched((sums, "clipped_counts", counts)):
        yield


@broken(SYNTHETIC, "replay")
def users_with_more_than_12_pairs_move_every_cell_of_the_table():
    def together(real, hist, pairs, grouping):
        return real(hist, pairs, grouping) + 50 * UNIT * (pairs_held(hist, pairs) > 12).sum()

    with patched((sums, "together_sums", together)):
        yield


@broken(BOTH, "replay")
def clipping_in_the_largest_coordinate():
    def counts(real, hist, pairs, *, norm=sums.NORM):
        held = hist.only(pairs)
        total = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(total, held.pair, np.minimum(held.count, norm) * UNIT)
        return total

    with patched((sums, "clipped_counts", counts)):
        yield


@broken(BOTH, "replay")
def cumulative_size_bins():
    def sizes(real, hist, pairs):
        return np.cumsum(real(hist, pairs)[::-1])[::-1]

    with patched((sums, "size_sums", sizes)):
        yield


@broken(SYNTHETIC, "replay")
def a_table_that_is_not_clipped():
    def roots(real, square):
        return np.full_like(square, UNIT)

    def together(real, *given):
        with patched((sums, "roots", roots)):
            return real(*given)

    with patched((sums, "together_sums", together)):
        yield


@broken(BOTH, "replay")
def a_user_gives_weight_1_to_each_pair():
    def spread(real, chosen, halvings, *heaviest):
        return np.where(halvings < pooled.CLOSED, chosen.speakers * UNIT, 0)

    with patched((pooled, "spread", spread)):
        yield


# --- rules on raw values ---


@broken(BOTH, "replay")
def pairs_with_fewer_than_20_holders_are_dropped_first():
    def select(real, hist, budget, rng):
        return real(keep_rows(hist, hist.holders[hist.pair] >= 20), budget, rng)

    with patched((pooled, "select", select)):
        yield


@broken(BOTH, "replay")
def users_nominate_their_10_most_popular_pairs():
    with patched((pooled, "capped", lambda _, hist, *__: best_of_each(hist, 10, hist.holders))):
        yield


@broken(BOTH, "replay")
def users_over_the_cap_keep_pairs_by_raw_counts():
    with patched(
        (pooled, "capped", lambda _, hist, __, most: best_of_each(hist, most, hist.pair_total))
    ):
        yield


@broken(BOTH, "replay")
def s_is_cut_to_its_50_heaviest_by_raw_counts():
    def select(real, hist, budget, rng):
        selected = real(hist, budget, rng)
        heaviest = np.argsort(-hist.pair_total[selected.pairs], kind="stable")[:50]
        return replace(selected, pairs=selected.pairs[np.sort(heaviest)])

    with patched((pooled, "select", select)):
        yield


@broken(BOTH, "replay")
def pairs_of_fewer_than_3_speakers_get_no_weight():
    def spread(real, chosen, halvings, *heaviest):
        return real(chosen, halvings, *heaviest) * (chosen.speakers >= 3)

    with patched((pooled, "spread", spread)):
        yield


@broken(BOTH, "replay")
def sizes_of_users_with_a_popular_pair_only():
    def sizes(real, hist, pairs):
        popular = np.zeros(hist.users, dtype=bool)
        popular[hist.user[hist.holders[hist.pair] >= 20]] = True
        return real(keep_rows(hist, popular[hist.user]), pairs)

    with patched((sums, "size_sums", sizes)):
        yield


@broken(BOTH, "replay")
def contributions_follow_the_number_of_a_user():
    class Ranks:
        seed = None

        def words(self, n):
            return np.arange(n, dtype=np.uint64)

    with patched((pooled, "capped", lambda real, hist, _, most: real(hist, Ranks(), most))):
        yield


@broken(SYNTHETIC, "replay")
def kinds_are_numbered_by_raw_counts():
    def measure(real, hist, selected, spending, group, *given, **options):
        raw = hist.pair_total.astype(float)
        return real(hist, selected, spending, lambda p, _: group(p, raw[p]), *given, **options)

    with patched((synthetic_users, "measure", measure)):
        yield


@broken(SYNTHETIC, "replay")
def released_counts_are_capped_by_raw_counts():
    def measure(real, hist, *given, **options):
        found = real(hist, *given, **options)
        most = hist.pair_total[found.pairs] * UNIT
        return replace(
            found, counts=replace(found.counts, steps=np.minimum(found.counts.steps, most))
        )

    with patched((synthetic_users, "measure", measure)):
        yield


@broken(PRIVATE, "replay")
def rows_are_drawn_at_rates_by_raw_counts():
    def sample(real, hist, pairs, weight, **options):
        return real(hist, pairs, weight // np.maximum(hist.pair_total[pairs], 1), **options)

    with patched((sanitize_private, "capped_sample", sample)):
        yield


@broken(PRIVATE, "replay")
def the_cap_is_ignored_for_heavy_users():
    def sample(real, hist, pairs, weight, **options):
        drawn, held = real(hist, pairs, weight, **options), hist.only(pairs)
        heavy = np.flatnonzero(held.count > 10_000)
        shown = PairHistogram.of_rows(
            user=np.append(drawn.user, held.user[heavy]),
            pair=np.append(drawn.pair, pairs[held.pair[heavy]]),
            count=np.append(drawn.count, np.ones_like(heavy)),
            users=hist.users,
            query=hist.query,
        )
        return Output(user=shown.user, pair=shown.pair, count=shown.count)

    with patched((sanitize_private, "capped_sample", sample)):
        yield


@broken(PRIVATE, "account")
def the_cap_is_three_times_as_high():
    with patched(
        (
            sanitize_private,
            "capped_sample",
            lambda real, *a, cap, rng: real(*a, cap=3 * cap, rng=rng),
        )
    ):
        yield


@broken(PRIVATE, "account")
def rows_are_drawn_without_a_cap():
    def sample(_, hist, pairs, weight, *, cap, rng):
        held = hist.only(pairs)
        rate = private_rows.weighted_clicks(held, weight) / FULL * float(cap)
        clicks = np.random.default_rng(1).poisson(np.minimum(rate, 1e6))
        shown = np.flatnonzero(clicks)
        return Output(user=held.user[shown], pair=pairs[held.pair[shown]], count=clicks[shown])

    with patched((sanitize_private, "capped_sample", sample)):
        yield


# --- noise ---


def constant_seed(real, n, rng, **law):
    return real(n, SeededRandomness(5), **law)


@broken(BOTH, "noise")
def selection_noise_from_a_constant_seed():
    with patched((pooled, "floored_gaussian", constant_seed)):
        yield


@broken(BOTH, "noise")
def stage_noise_from_a_constant_seed():
    with patched((sums, "floored_gaussian", constant_seed)):
        yield


def one_noise_for_all():
    """The first noise of a run, in its deviations, is that of all later ones."""
    known = {}

    def noise(real, n, rng, *, variance, grid):
        if known.get("rng") is not rng:
            known.update(rng=rng, z=real(200_000, rng, variance=Fraction(1), grid=grid))
        return np.rint(known["z"][:n] * float(variance) ** 0.5).astype(np.int64)

    return noise


@broken(BOTH, "noise")
def one_noise_for_all_rounds():
    with patched((pooled, "floored_gaussian", one_noise_for_all())):
        yield


@broken(BOTH, "noise")
def one_noise_for_all_stages():
    with patched((sums, "floored_gaussian", one_noise_for_all())):
        yield


@broken(BOTH, "noise")
def no_noise_on_sums_above_2000():
    def noisy(real, exact, **options):
        found = real(exact, **options)
        return replace(found, steps=np.where(exact > 2_000 * UNIT, exact, found.steps))

    with patched((sums, "noisy_sums", noisy)):
        yield


@broken(BOTH, "noise")
def half_the_noise_of_every_stage():
    def weaker(real, n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patched((sums, "floored_gaussian", weaker)):
        yield


@broken(BOTH, "noise")
def half_the_noise_of_a_selection():
    def weaker(real, n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patched((pooled, "floored_gaussian", weaker)):
        yield


@broken(BOTH, "noise")
def the_larger_of_two_noises():
    def better(real, n, rng, **law):
        return np.maximum(real(n, rng, **law), real(n, rng, **law))

    with patched((pooled, "floored_gaussian", better)):
        yield


@broken(BOTH, "noise")
def noise_with_cut_tails():
    def cut(real, n, rng, *, variance, grid):
        most = int(2 * float(variance) ** 0.5 / float(grid))
        return np.clip(real(n, rng, variance=variance, grid=grid), -most, most)

    with patched((sums, "floored_gaussian", cut)):
        yield


@broken(SYNTHETIC, "account")
def the_exact_coverage():
    def unrecorded(real, hist, pairs, counts, *, mu_squared, rng):
        square = accounting.variance(mu_squared, norm_squared=sums.MOST_COVERED**2)
        stage = accounting.Gaussian(
            name="coverage", norm_squared=sums.MOST_COVERED**2, variance=square
        )
        inside = hist.only(pairs).clicks
        return Coverage(
            inside=float(inside),
            outside=float(hist.clicks - inside),
            counted=float(counts.values.sum()),
            counted_variance=float(counts.stage.variance) * len(pairs),
            stage=stage,
        )

    with patched((statistics, "noisy_coverage", unrecorded)):
        yield


@broken(SYNTHETIC, "replay")
def exact_counts_beside_noisy_ones():
    def counts(real, hist, pairs, **options):
        noisy = real(hist, pairs, **options)
        return NoisySums(steps=sums.clipped_counts(hist, pairs), stage=noisy.stage)

    with patched((statistics, "noisy_counts", counts)):
        yield


@broken(SYNTHETIC, "replay")
def the_best_of_three_measurements():
    def measure(real, hist, *given, **options):
        tries = [real(hist, *given, **options) for _ in range(3)]
        return min(tries, key=lambda found: abs(found.sizes.users - hist.users))

    with patched((synthetic_users, "measure", measure)):
        yield


@broken(BOTH, "replay")
def a_selection_repeated_until_it_is_large():
    def select(real, hist, budget, rng):
        return max((real(hist, budget, rng) for _ in range(2)), key=lambda s: len(s.pairs))

    def load(real, name):
        chosen = real(name)
        return lambda *given: select(chosen, *given)

    with patched((steward.selection, "load", load)):
        yield


# --- one pair of each user ---


@broken(ONE, "replay")
def two_pairs_of_each_user_count():
    with patched((_weights, "capped", lambda real, hist, rng, most: real(hist, rng, 2))):
        yield


@broken(ONE, "replay")
def the_most_popular_pair_of_each_user_counts():
    with patched((_weights, "capped", lambda _, hist, *__: best_of_each(hist, 1, hist.holders))):
        yield


@broken(ONE, "replay")
def one_pair_of_users_with_few_pairs_only():
    def count(real, hist, rng, most):
        few = np.bincount(hist.user, minlength=hist.users) <= 12
        return real(keep_rows(hist, few[hist.user] | (hist.holders[hist.pair] > 7)), rng, most)

    with patched((_weights, "capped", count)):
        yield


@broken(ONE, "replay")
def heavy_clicks_add_to_numbers_of_users():
    def measure(real, hist, spending, rng):
        found = real(hist, spending, rng)
        more = np.minimum(hist.pair_total[found.pairs] // 1_000, 5)
        return replace(found, clicks=found.clicks + more)

    with patched((synthetic_users, "measure_one", measure)):
        yield


@broken(ONE, "replay")
def numbers_above_300_have_no_noise():
    def measure(real, hist, spending, rng):
        found = real(hist, spending, rng)
        exact = hist.holders[found.pairs]
        return replace(found, clicks=np.where(exact > 300, exact, found.clicks))

    with patched((synthetic_users, "measure_one", measure)):
        yield


def published_if(kept):
    """A threshold on something else than the noisy number."""

    def measure(real, hist, spending, rng):
        found = real(hist, spending, rng)
        some = kept(hist.holders[found.pairs], found.clicks, spending.draw.reach)
        return replace(found, pairs=found.pairs[some], clicks=found.clicks[some])

    return patched((synthetic_users, "measure_one", measure))


@broken(ONE, "replay")
def pairs_of_a_few_users_are_dropped_by_raw_numbers():
    with published_if(lambda exact, noisy, reach: exact > 10):
        yield


@broken(ONE, "noise")
def the_exact_number_of_all_users():
    with patched((one_pair, "noisy_users", lambda real, users, *_: users)):
        yield


@broken(ONE, "replay")
def one_pair_is_drawn_twice_and_the_larger_release_kept():
    def made(real, *given, **options):
        return max((real(*given, **options) for _ in range(2)), key=lambda made: made[0].clicks)

    with patched((synthetic_users, "make_users_of_one", made)):
        yield


@broken(ONE, "replay")
def a_reach_by_the_number_of_users():
    with patched((one_pair, "reaches", lambda real, n, *given: real(n, *given) - n % 2)):
        yield


@broken(ONE, "noise")
def noise_that_is_not_truncated():
    def noise(real, reach, rng, *, epsilon):
        return discrete_laplace(len(reach), rng, scale=1 / epsilon)

    with patched((one_pair, "truncated_geometric", noise)):
        yield


@broken(ONE, "noise")
def noise_of_half_the_size():
    def noise(real, reach, rng, *, epsilon):
        return real(reach, rng, epsilon=2 * epsilon)

    with patched((one_pair, "truncated_geometric", noise)):
        yield


@broken(ONE, "noise")
def noise_of_one_pair_from_a_constant_seed():
    def noise(real, reach, rng, *, epsilon):
        return real(reach, SeededRandomness(5), epsilon=epsilon)

    with patched((one_pair, "truncated_geometric", noise)):
        yield


@broken(ONE, "noise")
def noise_that_only_adds():
    def noise(real, reach, rng, *, epsilon):
        return np.abs(real(reach, rng, epsilon=epsilon))

    with patched((one_pair, "truncated_geometric", noise)):
        yield


@broken(ONE, "noise")
def half_the_noise_on_the_number_of_all_users():
    def noisy(real, users, stage, rng):
        return users + (real(users, stage, rng) - users) // 2

    with patched((one_pair, "noisy_users", noisy)):
        yield


@broken(ONE, "noise")
def one_noise_for_every_pair():
    def noise(real, reach, rng, *, epsilon):
        return np.clip(np.full_like(reach, real(reach[:1], rng, epsilon=epsilon)[0]), -reach, reach)

    with patched((one_pair, "truncated_geometric", noise)):
        yield


@broken(ONE, "statistics")
def a_reach_one_too_short():
    def shorter(real, *given):
        return np.maximum(real(*given) - 1, 0)

    with patched((one_pair, "reaches", shorter)):
        yield


@broken(ONE, "account")
def less_noise_of_one_pair_than_the_account_says():
    def measure(real, hist, spending, rng):
        loud = replace(spending, draw=replace(spending.draw, epsilon=2 * spending.draw.epsilon))
        stages = accounting.Account((spending.draw, spending.users))
        return replace(real(hist, loud, rng), account=stages)

    with patched((synthetic_users, "measure_one", measure)):
        yield


# --- accounts and thresholds ---


@broken(BOTH, "statistics")
def thresholds_for_one_pair_only():
    pooled.schedule.cache_clear()
    try:
        with patched((pooled, "quantile", lambda real, delta, pairs: real(delta, 1))):
            yield
    finally:
        pooled.schedule.cache_clear()


@broken(BOTH, "statistics")
def a_threshold_of_four_fifths():
    pooled.schedule.cache_clear()
    try:
        with patched((pooled, "_threshold", lambda real, *given: real(*given) * 4 // 5)):
            yield
    finally:
        pooled.schedule.cache_clear()


@broken(BOTH, "account")
def twice_the_budget():
    def doubled(real, budget):
        return tuple(2 * part for part in real(budget))

    readers = (accounting, statistics, private_rows)
    with patched(*((reader, "spendable", doubled) for reader in readers)):
        yield


@broken(BOTH, "account")
def less_noise_than_the_account_says():
    """In a selection: the stage names a variance, and half of it is drawn."""

    def select(real, hist, budget, rng):
        selected = real(hist, budget, rng)
        looked, stage = selected.stages
        return replace(selected, stages=(looked, replace(stage, variance=2 * stage.variance)))

    with patched((pooled, "select", select)):
        yield


# --- files, before and after the mechanism ---


@broken(BOTH, "replay", "csv")
def a_quote_swallows_lines():
    def source(_, log, files, *, keep_rejects):
        names = ", ".join(f"'{file}'" for file in files)
        columns = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(log.columns.names)))
        fields = ", ".join(f"c{n}" for n in range(len(log.columns.names)))
        return f"""(SELECT '' AS line, NULL AS rest, [{fields}] AS c FROM read_csv([{names}],
            auto_detect=false, header=true, quote='"', escape='"', null_padding=true,
            ignore_errors=true, strict_mode=false, parallel=false, columns={{{columns}}}))"""

    with patched((duckdb_engine, "source_sql", source)):
        yield


@broken(BOTH, "replay")
def rows_after_a_bad_row_are_lost():
    def number(real, self, **options):
        self._sql.execute("""DELETE FROM rows WHERE rowid > (
            SELECT min(rowid) FROM rows WHERE reason NOT NULL AND reason <> 'no click')""")
        return real(self, **options)

    with patched((DuckDBEngine, "_number_texts", number)):
        yield


@broken(BOTH, "replay", "jsonl")
def the_type_of_ids_follows_their_values():
    def count(real, host, log, **options):
        counted = real(host, log, **options)
        texts = "NOT regexp_full_match(name, '[0-9]+') AND name NOT LIKE 'slogan%'"
        found = host._sql.execute(f"SELECT count(*) FROM rows WHERE {texts}").fetchone()
        if found == (0,):
            host._types |= {log.columns.user: "BIGINT"}
        return counted

    with patched((duckdb_engine.DuckDBEngine, "count", count)):
        yield


@broken(BOTH, "replay", "jsonl")
def the_first_object_declares_the_columns():
    import json

    def read(real, files, **options):
        log = real(files, **options)
        first = json.loads(log.files[0].read_bytes().splitlines()[0])
        names = tuple(dict.fromkeys((*log.columns.names, *first)))
        return replace(log, columns=replace(log.columns, names=names))

    with patched((searchlog, "read", read)):
        yield


@broken(BOTH, "replay")
def rows_in_the_order_of_the_log():
    def write(real, sql, log, types, target):
        real(sql, log, types, target)
        seen = [q for (q,) in sql.execute("SELECT query FROM rows").fetchall()]
        place = {query: n for n, query in reversed(list(enumerate(seen)))}
        header, *lines = target.read_text().splitlines(keepends=True)
        lines.sort(key=lambda line: place[line.split("\t")[1]])
        target.write_text(header + "".join(lines))

    with patched((duckdb_engine, "write_log", write)):
        yield


@broken(PRIVATE, "noise")
def user_ids_are_ranks_of_real_ones():
    def names(_, self, output, kind):
        return [str(user + 1) for user in np.unique(output.user)]

    with patched((Job, "names_for", names)):
        yield


@broken(PRIVATE, "noise")
def user_ids_are_hashes_of_real_ones():
    def names(_, self, output, kind):
        self.engine._remember_names(output, None)
        real = self.engine._sql.execute('SELECT shown FROM shown ORDER BY "user"').fetchall()
        return [str(int(hashlib.md5(n.encode()).hexdigest()[:12], 16)) for (n,) in real]

    with patched((Job, "names_for", names)):
        yield


@broken(BOTH, "noise")
def user_ids_in_the_same_order_every_time():
    def names(_, self, output, kind):
        return [str(1_000_003 * (n + 1)) for n in range(output.users)]

    with patched((Job, "names_for", names)):
        yield


@broken(BOTH, "replay")
def the_manifest_has_the_exact_number_of_users():
    def claims(real, self):
        told = real(self)
        return replace(told, outputs=told.outputs.model_copy(update={"users": self.counted.users}))

    with patched((SyntheticRelease, "claims", claims), (PrivateRowsRelease, "claims", claims)):
        yield


@broken(BOTH, "replay")
def the_manifest_has_the_number_of_clicks():
    def manifest(real, self, published):
        told = real(self, published)
        more = {**told.parameters, "clicks": self.counted.clicks}
        return told.model_copy(update={"parameters": more})

    with patched((Release, "manifest", manifest)):
        yield


@broken(BOTH, "replay")
def a_refusal_by_a_raw_count():
    def count(real, self, log, **options):
        counted = real(self, log, **options)
        if counted.hist.count.max() > 100_000:
            raise SloganError("a count does not fit", hint="use a wider type")
        return counted

    with patched((DuckDBEngine, "count", count)):
        yield


@broken(BOTH, "replay")
def a_refusal_by_the_exact_number_of_users():
    def count(real, self, log, **options):
        counted = real(self, log, **options)
        if counted.users % 2:
            raise SloganError("an odd number of users", hint="add one")
        return counted

    with patched((DuckDBEngine, "count", count)):
        yield
