"""Counting with unique pairs: whole user logs, from which the shared pairs can be derived."""

from hypothesis import given
from hypothesis import strategies as st

from slogan import engines
from slogan.logs.searchlog import read

names = st.sampled_from(["7", "12", "ann", "bob", "zoe"])
rows = st.lists(
    st.tuples(names, st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(1, 9)), min_size=1
)


def counted(file, **asked):
    engine = engines.resolve("duckdb").start()
    try:
        return engine.count(read(file), **asked)
    finally:
        engine.close()


@given(rows)
def test_every_user_and_pair_is_counted(tmp_path_factory, log):
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    file.write_text(
        "user\tquery\turl\tcount\n" + "".join("\t".join(map(str, r)) + "\n" for r in log)
    )
    whole = counted(file, unique_pairs=True)
    users = {name: n for n, name in enumerate(sorted({r[0] for r in log}))}
    pairs = {pair: n for n, pair in enumerate(sorted({r[1:3] for r in log}))}
    clicks = {}
    for user, query, url, count in log:
        key = users[user], pairs[query, url]
        clicks[key] = clicks.get(key, 0) + count
    hist = whole.hist
    found = dict(
        zip(
            zip(hist.user.tolist(), hist.pair.tolist(), strict=True),
            hist.count.tolist(),
            strict=True,
        )
    )

    assert found == clicks
    assert (hist.users, hist.pairs) == (whole.users, whole.pairs) == (len(users), len(pairs))


@given(rows)
def test_without_its_unique_pairs_it_is_the_histogram_of_shared_pairs(tmp_path_factory, log):
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    file.write_text(
        "user\tquery\turl\tcount\n" + "".join("\t".join(map(str, r)) + "\n" for r in log)
    )
    whole, shared = counted(file, unique_pairs=True), counted(file)
    derived = whole.hist.without_unique_pairs()

    assert (whole.clicks, whole.users, whole.pairs) == (shared.clicks, shared.users, shared.pairs)
    assert derived.user.tolist() == shared.hist.user.tolist()
    assert derived.pair.tolist() == shared.hist.pair.tolist()
    assert derived.count.tolist() == shared.hist.count.tolist()
