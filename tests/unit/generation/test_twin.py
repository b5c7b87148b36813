"""twin_of(): a made-up histogram of the declared size, or as large as is quick."""

from slogan.generation.twin import twin_of


def test_a_twin_has_the_declared_size():
    twin = twin_of(500, 12)

    assert twin.hist.users == 500
    assert 0.7 < twin.hist.clicks / (500 * 12) < 1.4
    assert not twin.smaller
    assert twin.hist.digest() == twin_of(500, 12).hist.digest()
    assert twin.hist.digest() != twin_of(500, 12, seed=1).hist.digest()


def test_a_large_log_has_a_smaller_twin():
    twin = twin_of(10**9, 20, most_clicks=2_000)

    assert twin.hist.users == 100
    assert twin.smaller


def test_pairs_of_one_site_have_one_url():
    twin = twin_of(300, 12)
    urls = twin.urls(twin.site.argsort())

    assert len(set(urls)) == len(set(twin.site.tolist())) < twin.hist.pairs


def test_without_urls_each_query_is_one_pair():
    pairs, queries = twin_of(300, 12), twin_of(300, 12, urls=False)

    assert queries.hist.clicks == pairs.hist.clicks
    assert queries.hist.pairs == len(set(pairs.hist.query.tolist())) < pairs.hist.pairs
    assert queries.hist.query.tolist() == list(range(queries.hist.pairs))
