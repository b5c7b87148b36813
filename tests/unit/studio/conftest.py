"""A log on which each mode releases something, with texts that must not show up."""

import pytest
from tests.helpers import write

SECRET = "zqsecret"
"""In every query, url and user-ID that no release may show."""
HOSTILE = "\u202e\"'><script>document.title='run'</script><img src=//x.invalid/ onerror=run()>"


def rows():
    queries = [HOSTILE, *(f"heron {n}" for n in range(1, 4))]
    for k in range(600):
        for n in (k % 4, (k + 1) % 4):
            yield f"u{k}", queries[n], f"h{n}.example", 1 + k % 3
    for k in range(40):
        yield f"{SECRET}{k}", f"{SECRET} query {k}", f"www.{SECRET}{k}.example", 1


@pytest.fixture(scope="session")
def log(tmp_path_factory):
    """The log, as TSV."""
    return write(tmp_path_factory.mktemp("log") / "clicks.tsv", rows())
