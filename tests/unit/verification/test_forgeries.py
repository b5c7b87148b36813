"""Forged releases: each is made from an honest one by an attacker with slogan's source.

Checksum, account and page are made again, so that only the forged part can reveal it.
"""

import gzip
import hashlib
import json
import shutil
import struct
import zlib
from collections import Counter, defaultdict
from fractions import Fraction
from random import Random

import duckdb
import numpy as np
import pytest
from tests.helpers import write_pages

import slogan
from slogan.manifest.manifest import Manifest
from slogan.storage.atomic import sha256_of
from slogan.verification import form
from slogan.verification.users import _made_from

HEADER = ("user", "query", "url", "count")
NAMES = ("maps", "news", "weather", "recipes", "games", "music", "films", "books")


def people(users, rng, *, pages=60, own=2):
    """Users of three tastes who hold a few of the popular pairs, and separate pairs."""
    popular = [(f"{NAMES[n % 8]} {n}", f"www.site{n % 25}.org/{n}") for n in range(pages)]
    rank = np.arange(1, pages + 1)
    for user in range(users):
        taste = 1 / rank * np.where(rank % 3 == user % 3, 4.0, 1.0)
        held = rng.choice(pages, min(pages, 1 + rng.geometric(0.3)), False, taste / taste.sum())
        for n in held:
            yield (f"{1000 + 7 * user}", *popular[n], int(rng.geometric(0.6)))
        for n in range(own):
            yield (f"{1000 + 7 * user}", f"{NAMES[n]} of {user}", f"www.own{user}.net/{n}", 1)


def write_rows(file, rows):
    lines = ("\t".join(map(str, row)) + "\n" for row in (HEADER, *rows))
    file.write_text("".join(lines))


def read_rows(file):
    lines = file.read_text().splitlines()[1:]
    return [(*line.split("\t")[:3], int(line.split("\t")[3])) for line in lines]


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    write_rows(file, people(3000, np.random.default_rng(5)))
    return file


@pytest.fixture(scope="module")
def honest(log):
    """A release of each kind."""
    folder = log.parent
    with slogan.synthesize(log, epsilon=1, delta="1e-6") as release:
        release.save(folder / "synthetic")
    with slogan.sanitize(log, epsilon="0.7", delta="0.3", solver="exact", time_limit=5) as release:
        release.save(folder / "exact")
    with slogan.sanitize(log, epsilon=3, delta="0.2", counts="private") as release:
        release.save(folder / "private")
    return folder


class Forgery:
    """A copy of an honest release, and what a forger does to it."""

    def __init__(self, log, folder):
        self.log, self.folder, self.public = log, folder, folder / "public"
        self.file = self.public / "log.tsv"
        self.rng = Random(11)

    @property
    def rows(self):
        return read_rows(self.file)

    @property
    def real(self):
        return read_rows(self.log)

    def change(self, **changes):
        """Change the manifest by functions of its parts, or whole."""
        manifest = json.loads((self.public / "manifest.json").read_text())
        for name, change in changes.items():
            change(manifest if name == "whole" else manifest[name])
        self.sign(manifest)

    def write(self, rows, *, ordered=True):
        if ordered:
            rows = sorted(rows, key=lambda row: (int(row[0]), *map(str.encode, row[1:3])))
        write_rows(self.file, rows)
        self.sign()

    def sign(self, manifest=None):
        """Make checksum and page fit."""
        path = self.public / "manifest.json"
        manifest = manifest or json.loads(path.read_text())
        manifest["log"]["sha256"] = sha256_of(self.public / manifest["log"]["file"])
        made = Manifest.model_validate(manifest)
        path.write_text(made.model_dump_json(indent=2) + "\n")
        write_pages(self.public, made)

    def fresh(self):
        return str(self.rng.randrange(1, 2**31 - 1))

    def renamed(self, rename):
        """Give each shown user another ID."""
        names = {
            user: rename(n, user) for n, user in enumerate(dict.fromkeys(r[0] for r in self.rows))
        }
        self.write([(names[user], *rest) for user, *rest in self.rows])


@pytest.fixture
def forge(log, honest, tmp_path):
    def copy(kind):
        shutil.copytree(honest / kind, tmp_path / kind)
        return Forgery(log, tmp_path / kind)

    return copy


def failed(log, folder):
    verdict = slogan.verify(log, folder)
    return {check.name for check in verdict.checks if not check.ok}


@pytest.mark.parametrize("kind", ["synthetic", "exact", "private"])
def test_an_honest_release_passes_and_so_does_one_that_is_only_signed_again(log, forge, kind):
    release = forge(kind)
    assert failed(log, release.folder) == set()
    release.write(release.rows)
    assert failed(log, release.folder) == set()


# --- synthetic users ---


def a_pair_of_one_user(r):
    r.write([*r.rows, (r.rows[0][0], "maps of 7", "www.own7.net/0", 40)])


def pairs_of_single_users(r):
    users = [row[0] for row in r.rows]
    r.write([*r.rows, *((users[n], f"maps of {n}", f"www.own{n}.net/0", 60) for n in range(9))])


def _held_by(r, low, high):
    holders = Counter(row[1:3] for row in r.real)
    shown = {row[1:3] for row in r.rows}
    return [p for p, n in holders.items() if low <= n <= high and p not in shown]


def pairs_of_a_few_users(r):
    rare = _held_by(r, 1, 12)[:6]
    users = [row[0] for row in r.rows]
    r.write([*r.rows, *((users[n], *pair, 50) for n, pair in enumerate(rare))])


def histories_of_real_users_under_new_ids(r):
    shown = {row[1:3] for row in r.rows}
    of_user = defaultdict(list)
    for row in r.real:
        if row[1:3] in shown:
            of_user[row[0]].append(row)
    long = [rows for rows in of_user.values() if len(rows) >= 8][:60]
    gone = set(list(dict.fromkeys(user for user, *_ in r.rows))[: len(long)])
    kept = [row for row in r.rows if row[0] not in gone]
    new = [(name, *row[1:]) for rows in long for name in [r.fresh()] for row in rows]
    r.write([*kept, *new])


def whole_histories_with_all_their_pairs(r):
    of_user = defaultdict(list)
    for row in r.real:
        of_user[row[0]].append(row)
    copied = list(of_user.values())[:20]
    r.write(
        [*r.rows, *((name, *row[1:]) for rows in copied for name in [r.fresh()] for row in rows)]
    )


def real_rows_with_noisy_totals(r):
    totals = Counter()
    for _, query, url, clicks in r.rows:
        totals[query, url] += clicks
    names, rows, so_far = defaultdict(r.fresh), [], Counter()
    for user, query, url, clicks in r.real:
        left = totals[query, url] - so_far[query, url]
        if left > 0:
            so_far[query, url] += min(clicks, left)
            rows.append((names[user], query, url, min(clicks, left)))
    r.write(rows)


def one_row_for_each_click_of_a_real_user(r):
    """Real bundles, with clicks that fit the totals."""
    totals, shown = Counter(), {row[1:3] for row in r.rows}
    for _, query, url, clicks in r.rows:
        totals[query, url] += clicks
    names, held = defaultdict(r.fresh), defaultdict(list)
    for user, query, url, _ in r.real:
        if (query, url) in shown:
            held[query, url].append(names[user])
    rows = []
    for pair, users in held.items():
        some = users[: totals[pair]]
        share, more = divmod(totals[pair], len(some))
        rows += [(user, *pair, share + (n < more)) for n, user in enumerate(some)]
    r.write(rows)


def _real(r):
    """The log's IDs, and more of the same kind, for there may be more made-up users."""
    ids = sorted({int(row[0]) for row in r.real})
    return [str(n) for n in (*ids, *range(ids[-1] + 7, ids[-1] + 7 * len(ids), 7))]


def real_ids(r):
    real = _real(r)
    r.renamed(lambda n, _: real[n])


def shifted_ids(r):
    real = _real(r)
    r.renamed(lambda n, _: str(int(real[n]) + 100_000))


def hashed_ids(r):
    real = _real(r)
    digest = lambda text: int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")  # noqa: E731
    r.renamed(lambda n, _: str(digest(real[n]) % (2**31 - 1) + 1))


def hashed_ids_by_md5(r):
    real = _real(r)
    r.renamed(lambda n, _: str(int(hashlib.md5(real[n].encode()).hexdigest(), 16) % 10**9))


def multiplied_ids(r):
    """A bijection modulo a prime, of consecutive numbers."""
    r.renamed(lambda n, _: str((n + 1) * 1_234_567_891 % (2**31 - 1)))


def numbered_ids(r):
    r.renamed(lambda n, _: str(n + 1))


def ids_in_the_order_of_clicks(r):
    clicks = Counter()
    for user, _, _, n in r.rows:
        clicks[user] += n
    order = [user for user, _ in sorted(clicks.items(), key=lambda item: item[1])]
    ids = sorted(r.rng.sample(range(1, 2**31 - 1), len(order)))
    names = dict(zip(order, map(str, ids), strict=True))
    r.renamed(lambda _, user: names[user])


def ids_with_a_mark(r):
    r.renamed(lambda n, _: f"{r.fresh()}7" if n % 2 else r.fresh().zfill(11))


def rows_in_another_order(r):
    rows = r.rows
    r.rng.shuffle(rows)
    r.write(rows, ordered=False)


def two_rows_exchanged(r):
    rows = r.rows
    rows[100], rows[101] = rows[101], rows[100]
    r.write(rows, ordered=False)


def a_parameter_of_its_own(r):
    r.change(parameters=lambda p: p.update(users_in_the_log=3000))


def a_text_as_parameter(r):
    r.change(parameters=lambda p: p.update(selector="anna_of_elm_street"))


def a_text_among_the_versions(r):
    r.change(versions=lambda v: v.update(numpy="2.0 anna searched clinics"))


def a_library_of_its_own(r):
    r.change(versions=lambda v: v.update(users="3000"))


def a_budget_with_a_message(r):
    r.change(budget=lambda b: b.update(delta="0.000001" + "0" * 60 + "3000"))


def digits_hidden_in_a_variance(r):
    def hide(account):
        counts = next(s for s in account["stages"] if s["name"] == "counts")
        value = Fraction(counts["parameters"]["variance"])
        counts["parameters"]["variance"] = str(value + Fraction(3000, 10**9))

    r.change(account=hide)


def an_account_of_other_numbers(r):
    r.change(account=lambda a: a.update(epsilon_at_delta=0.5))


def another_theorem(r):
    r.change(account=lambda a: a["stages"][0].update(theorem="whatever anna says"))


def users_without_noise(r):
    shown = {row[1:3] for row in r.rows}
    held = Counter(row[0] for row in r.real if row[1:3] in shown)
    users = {row[0] for row in r.real}

    def change(outputs):
        most = len(outputs["users_by_pairs"]) - 1
        bins = [0.0] * (most + 1)
        for user in users:
            bins[min(most, held[user])] += 1
        outputs["users_by_pairs"] = bins
        outputs["users"] = round(sum(bins[1:]))

    r.change(outputs=change)


def users_far_from_the_logs(r):
    def change(outputs):
        outputs["users_by_pairs"][1] += 2**12
        outputs["users"] = max(0, round(sum(outputs["users_by_pairs"][1:])))

    r.change(outputs=change)


def users_that_do_not_add_up(r):
    r.change(outputs=lambda o: o.update(users=o["users"] + 1))


def coverage_without_noise(r):
    shown, inside, total = {row[1:3] for row in r.rows}, Counter(), Counter()
    for user, query, url, clicks in r.real:
        total[user] += clicks
        inside[user] += clicks * ((query, url) in shown)
    scale = {user: min(1, 75 / n) for user, n in total.items()}
    within = sum(inside[user] * scale[user] for user in total)
    other = sum((total[user] - inside[user]) * scale[user] for user in total)

    def change(outputs):
        outputs.update(clicks_released=within, clicks_other=other)
        outputs["clicks_counted"] = within
        outputs["coverage"] = within / (within + other)

    r.change(outputs=change)


def coverage_that_does_not_follow(r):
    r.change(outputs=lambda o: o.update(coverage=0.3000))


def a_sum_of_other_counts(r):
    def change(manifest):
        manifest["outputs"]["clicks_counted"] += 2**14
        made = Manifest.model_validate(manifest)
        manifest["outputs"]["coverage"] = form._coverage_of(made, made.outputs)

    r.change(whole=change)


def _with_totals(r, totals):
    """The same users, with other numbers of clicks: what each has more or less is spread evenly."""
    before = Counter()
    for _, query, url, clicks in r.rows:
        before[query, url] += clicks
    rows, of_pair = [], defaultdict(list)
    for row in r.rows:
        of_pair[row[1:3]].append(row)
    for pair, some in of_pair.items():
        want = max(len(some), totals[pair])
        spread = np.random.default_rng(3).multinomial(want - len(some), [1 / len(some)] * len(some))
        rows += [(user, *pair, int(1 + n)) for (user, *_), n in zip(some, spread, strict=True)]
    r.write(rows)


def _clicks(r):
    clicks = Counter()
    for _, query, url, n in r.real:
        clicks[query, url] += n
    return clicks


def exact_counts(r):
    _with_totals(r, _clicks(r))


def a_fifth_of_the_noise(r):
    clicks, rng = _clicks(r), np.random.default_rng(9)
    _with_totals(r, {p: round(n + rng.normal(0, 9)) for p, n in clicks.items()})


def exact_counts_for_the_largest(r):
    clicks, before = _clicks(r), Counter()
    for _, query, url, n in r.rows:
        before[query, url] += n
    largest = {p for p, _ in clicks.most_common(len(before) // 2)}
    _with_totals(r, {p: clicks[p] if p in largest else n for p, n in before.items()})


def clicks_of_heavy_users(r):
    """Each pair's further clicks on one user: who are they?"""
    rows, first = [], {}
    for row in r.rows:
        first.setdefault(row[1:3], []).append(row)
    for pair, some in first.items():
        total = sum(row[3] for row in some)
        rows += [(user, *pair, 1) for user, *_ in some[1:]]
        rows.append((some[0][0], *pair, total - len(some) + 1))
    r.write(rows)


def a_seeded_run_with_its_flag_changed(r):
    with slogan.synthesize(r.log, epsilon=1, delta="1e-6", seed=4) as release:
        shutil.rmtree(r.folder)
        release.save(r.folder)
    r.change(whole=lambda m: m.update(test_run=False))


def a_count_with_a_space(r):
    r.file.write_text(r.file.read_text()[:-1] + " \n")
    r.sign()


def a_byte_order_mark(r):
    r.file.write_bytes(b"\xef\xbb\xbf" + r.file.read_bytes())
    r.sign()


def ends_of_lines_as_bits(r):
    lines = r.file.read_bytes().split(b"\n")
    r.file.write_bytes(b"\n".join(line + b"\r" * (n % 3 == 0) for n, line in enumerate(lines)))
    r.sign()


def a_manifest_with_spaces(r):
    file = r.public / "manifest.json"
    file.write_text(file.read_text().replace('"test_run": false', '"test_run":  false'))


def a_manifest_that_says_it_twice(r):
    file = r.public / "manifest.json"
    file.write_text(file.read_text().replace("{\n", '{\n  "promise": "anna",\n', 1))


def a_stronger_promise(r):
    r.change(whole=lambda m: m["guarantees"].append("No user can be found."))


def a_page_of_other_words(r):
    page = r.public / "report.html"
    page.write_text(page.read_text().replace("</body>", "<p>Anna, 17 Elm Street</p></body>"))


def other_words_that_hide_a_number(r):
    r.change(whole=lambda m: m.update(wording="0123456789abcdef"))
    page = r.public / "report.html"
    page.write_text(page.read_text().replace("</body>", "<p>There are 2,987 users.</p></body>"))


def other_words_that_name_a_site(r):
    r.change(whole=lambda m: m.update(wording="0123456789abcdef"))
    page = r.public / "report.html"
    page.write_text(page.read_text().replace("</body>", "<p>www.own7.net/0</p></body>"))


def another_file(r):
    (r.public / "notes.txt").write_text("anna")


SYNTHETIC = {
    a_pair_of_one_user: "selectable",
    pairs_of_single_users: "selectable",
    pairs_of_a_few_users: "selectable",
    histories_of_real_users_under_new_ids: "synthetic_users",
    whole_histories_with_all_their_pairs: "selectable",
    real_rows_with_noisy_totals: "synthetic_users",
    one_row_for_each_click_of_a_real_user: "synthetic_users",
    real_ids: "user_ids",
    shifted_ids: "user_ids",
    hashed_ids: "user_ids",
    hashed_ids_by_md5: "user_ids",
    multiplied_ids: "user_ids",
    numbered_ids: "user_ids",
    ids_in_the_order_of_clicks: "user_ids",
    ids_with_a_mark: "user_ids",
    rows_in_another_order: "rows_as_written",
    two_rows_exchanged: "rows_as_written",
    a_parameter_of_its_own: "manifest_as_written",
    a_text_as_parameter: "manifest_as_written",
    a_text_among_the_versions: "manifest_as_written",
    a_library_of_its_own: "manifest_as_written",
    a_budget_with_a_message: "manifest_as_written",
    digits_hidden_in_a_variance: "manifest_as_written",
    an_account_of_other_numbers: "manifest_as_written",
    another_theorem: "manifest_as_written",
    users_without_noise: "outputs",
    users_far_from_the_logs: "outputs",
    users_that_do_not_add_up: "manifest_as_written",
    coverage_without_noise: "outputs",
    a_sum_of_other_counts: "outputs",
    coverage_that_does_not_follow: "manifest_as_written",
    exact_counts: "noise",
    a_fifth_of_the_noise: "noise",
    exact_counts_for_the_largest: "noise",
    clicks_of_heavy_users: "synthetic_users",
    a_seeded_run_with_its_flag_changed: "not_a_test_run",
    a_count_with_a_space: "rows_as_written",
    a_byte_order_mark: "rows_as_written",
    ends_of_lines_as_bits: "rows_as_written",
    a_manifest_with_spaces: "manifest_as_written",
    a_manifest_that_says_it_twice: "manifest_as_written",
    a_stronger_promise: "words",
    a_page_of_other_words: "words",
    other_words_that_hide_a_number: "words",
    other_words_that_name_a_site: "words",
    another_file: "nothing_else_public",
}


@pytest.mark.parametrize("forgery", SYNTHETIC, ids=lambda f: f.__name__)
def test_a_forged_synthetic_release_is_refused(log, forge, forgery):
    release = forge("synthetic")
    forgery(release)
    assert SYNTHETIC[forgery] in failed(log, release.folder)


# --- real rows ---


def a_unique_pair(r):
    r.write([*r.rows, (r.rows[0][0], "maps of 7", "www.own7.net/0", 1)])


def everybody_shown_once(r):
    """The released clicks of each pair on as many different users as it has."""
    of_pair, totals = defaultdict(list), Counter()
    for user, query, url, _ in r.real:
        of_pair[query, url].append(user)
    for _, query, url, clicks in r.rows:
        totals[query, url] += clicks
    names, rows = defaultdict(r.fresh), []
    for pair, clicks in totals.items():
        users = of_pair[pair][-clicks:]
        rows += [(names[user], *pair, 1) for user in users]
    _rename_table(r, names)
    r.write(rows)


def ids_that_follow_the_real_ones(r):
    table = duckdb.sql(f"FROM '{r.folder}/curator/pseudonyms.parquet'").fetchall()
    ids = sorted(r.rng.sample(range(1, 2**31 - 1), len(table)))
    order = sorted(table, key=lambda row: int(row[0]))
    names = {row[1]: str(n) for row, n in zip(order, ids, strict=True)}
    _rename_table(r, {real: names[shown] for real, shown in table})
    r.renamed(lambda _, user: names[user])


def _rename_table(r, names):
    target = r.folder / "curator/pseudonyms.parquet"
    columns = zip(*names.items(), strict=True)
    with duckdb.connect() as sql:
        sql.register(
            "named",
            {n: np.array(c, object) for n, c in zip(("user", "pseudonym"), columns, strict=True)},
        )
        sql.execute(f"COPY (FROM named) TO '{target}' (FORMAT parquet)")


def salted_away_in_a_click(r):
    """Twice as many clicks of the pair that most users hold."""
    rows = r.rows
    rows[0] = (*rows[0][:3], rows[0][3] + 400)
    r.write(rows)


REAL = {
    a_unique_pair: "no_unique_pair",
    ids_that_follow_the_real_ones: "user_ids",
    hashed_ids: "user_ids",
    real_ids: "user_ids",
    salted_away_in_a_click: "condition_2",
    rows_in_another_order: "rows_as_written",
    a_parameter_of_its_own: "manifest_as_written",
}


@pytest.mark.parametrize("forgery", REAL, ids=lambda f: f.__name__)
def test_a_forged_release_of_real_rows_is_refused(log, forge, forgery):
    release = forge("exact")
    forgery(release)
    assert REAL[forgery] in failed(log, release.folder)


PRIVATE = {
    a_pair_of_one_user: "users_from_log",
    users_far_from_the_logs: "outputs",
    users_that_do_not_add_up: "manifest_as_written",
    shifted_ids: "user_ids",
    two_rows_exchanged: "rows_as_written",
}


@pytest.mark.parametrize("forgery", PRIVATE, ids=lambda f: f.__name__)
def test_a_forged_release_of_private_rows_is_refused(log, forge, forgery):
    release = forge("private")
    if forgery is two_rows_exchanged and len(release.rows) < 102:
        forgery = rows_in_another_order
    forgery(release)
    assert PRIVATE.get(forgery, "rows_as_written") in failed(log, release.folder)


# --- containers ---


@pytest.fixture(scope="module")
def packed(log):
    """Synthetic releases of the log in other formats."""
    folder = log.parent
    read = f"(FROM read_csv('{log}', delim='\t', all_varchar=true))"
    duckdb.sql(f"COPY {read} TO '{folder}/p.parquet' (FORMAT parquet)")
    for suffix, packing in (("gz", "gzip"), ("zst", "zstd")):
        options = f"DELIMITER '\t', HEADER, COMPRESSION {packing}"
        duckdb.sql(f"COPY {read} TO '{folder}/p.tsv.{suffix}' ({options})")
    for suffix in ("parquet", "tsv.gz", "tsv.zst"):
        with slogan.synthesize(folder / f"p.{suffix}", epsilon=2, delta="1e-6") as release:
            release.save(folder / f"packed-{suffix}")
    return folder


def a_name_in_the_header(file):
    data = gzip.decompress(file.read_bytes())
    with file.open("wb") as raw, gzip.GzipFile("anna", "wb", fileobj=raw, mtime=0) as out:
        out.write(data)


def a_time_in_the_header(file):
    data = bytearray(file.read_bytes())
    data[4:8] = struct.pack("<I", 3000)
    file.write_bytes(data)


def a_second_member(file):
    file.write_bytes(file.read_bytes() + gzip.compress(b"", mtime=0))


def a_skipped_frame(file):
    file.write_bytes(file.read_bytes() + struct.pack("<II", 0x184D2A50, 4) + b"anna")


def _written_again(file, options):
    new = file.with_suffix(".new")
    duckdb.sql(f"COPY (FROM '{file}') TO '{new}' (FORMAT parquet, {options})")
    new.rename(file)


def a_message_in_the_footer(file):
    _written_again(file, "COMPRESSION zstd, KV_METADATA {n: 'anna'}")


def smaller_row_groups(file):
    _written_again(file, "COMPRESSION zstd, ROW_GROUP_SIZE 2048")


def another_codec(file):
    _written_again(file, "COMPRESSION snappy")


CONTAINERS = [
    ("tsv.gz", a_name_in_the_header),
    ("tsv.gz", a_time_in_the_header),
    ("tsv.gz", a_second_member),
    ("tsv.zst", a_skipped_frame),
    ("parquet", a_message_in_the_footer),
    ("parquet", smaller_row_groups),
    ("parquet", another_codec),
]


@pytest.mark.parametrize(("suffix", "forgery"), CONTAINERS, ids=lambda f: getattr(f, "__name__", f))
def test_content_besides_rows_in_a_file_is_found(packed, tmp_path, suffix, forgery):
    log = packed / f"p.{suffix}"
    shutil.copytree(packed / f"packed-{suffix}", tmp_path / "release")
    assert failed(log, tmp_path / "release") == set()
    release = Forgery(log, tmp_path / "release")
    forgery(release.public / f"log.{suffix}")
    release.sign()
    assert failed(log, tmp_path / "release") == {"rows_as_written"}


@pytest.mark.parametrize(
    ("suffix", "change", "ok"),
    [
        ("parquet", smaller_row_groups, True),
        ("parquet", a_message_in_the_footer, False),
        ("tsv.gz", a_name_in_the_header, False),
    ],
)
def test_a_file_compressed_by_another_version_is_judged_by_its_rows(
    packed, tmp_path, suffix, change, ok
):
    """Other versions of DuckDB cut and pack files in other ways, and add nothing to them."""
    log = packed / f"p.{suffix}"
    shutil.copytree(packed / f"packed-{suffix}", tmp_path / "release")
    release = Forgery(log, tmp_path / "release")
    change(release.public / f"log.{suffix}")
    release.change(versions=lambda v: v.update(duckdb="1.4.0"))
    assert failed(log, tmp_path / "release") == (set() if ok else {"rows_as_written"})


def test_a_released_id_that_many_texts_have_as_their_checksum_is_one_coincidence():
    texts = [f"u{n}" for n in range(4_000)]
    same = Counter(zlib.adler32(text.encode()) for text in texts)
    number, times = same.most_common(1)[0]

    assert times >= 4
    assert not _made_from(texts, {number, *range(10**8, 10**8 + 2_000)}, 2**31 - 1)
    assert _made_from(texts, set(list(same)[:40]), 2**31 - 1)
