"""Every value in public/ that depends on the log got there through the mechanism, or not at all.

Two logs that differ in everything but what the mechanism gave out are released with that output
forced to be the same: public/ must be the same, to the byte and to the second.
"""

import fnmatch
import hashlib
import json
import os
from contextlib import closing

import numpy as np
import pytest

import slogan
from slogan.engines.duckdb.engine import DuckDBEngine
from slogan.histogram import Output
from slogan.manifest.manifest import Manifest
from slogan.planning import planner
from slogan.release import job
from slogan.release.base import Release
from slogan.report.pages import PUBLIC_PAGES
from slogan.workflows import sanitize_private, synthesize

# Released pairs come first by text, so that their numbers are the same in both logs.
RELEASED = [(f"a query {n}", f"www.a{n}.com") for n in range(4)]
SMALL = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
KINDS = ("exact", "laplace", "private", "synthetic", "timed", "ubi")
END_TO_END = ("private", "synthetic", "timed", "ubi")
PERIOD = "2026-01-01/2026-01-31"


def rows(kind, variant):
    """A log with the released pairs, and everything else as the variant says."""
    users = 400 if kind in END_TO_END else 20
    people = range(1000, 1000 + users) if variant == 0 else range(5_000, 5_014 + 2 * users, 2)
    clicks = (lambda k: 1) if variant == 0 else (lambda k: 1 + k % 2)
    made = [
        (u, *RELEASED[k % 4 if users > 50 else n], clicks(k))
        for k, u in enumerate(people)
        for n in range(1 if users > 50 else 4)
    ]
    if variant == 0:
        return [*made, (1000, "z mine", "z.com", 3)]
    more = [(u, f"z more {n}", f"www.z{n}.org", 2) for u in people[:9] for n in range(5)]
    alone = [(u, f"z alone {u}", f"www.z{u}.org", 7) for u in people]
    return list(
        reversed([*made, *more, *alone, (people[1], "z", "", ""), (people[2], "z", "zz", -4)])
    )


def with_times(told, variant):
    """Each click by itself: user, query, url, time and rank, some of which cannot be read."""
    for n, (user, query, url, count) in enumerate(told):
        for k in range(count if isinstance(count, int) and count > 0 else 1):
            day, hour = 1 + (n + k) % 28, n % 24 if variant == 0 else n % 3
            moment = f"2026-01-{day:02} {hour:02}:00:{k:02}"
            if variant and n % 7 == 0:
                moment = ("1999-12-31 00:00:00", "never", "")[n % 3]
            yield user, query, url, moment, 1 + (n + k) % (3 if variant == 0 else 30)


def as_ubi(user, query, url, moment, place):
    """A query with a click, as lines of UBI."""
    about = {"client_id": str(user), "query_id": f"{user} {query}", "user_query": query}
    about["timestamp"] = moment.replace(" ", "T") + "Z"
    attributes = {"object": {"object_id": url}, "position": {"ordinal": place}}
    return [about, about | {"action_name": "click", "event_attributes": attributes}]


def write(folder, kind, variant, suffix):
    file = folder / f"{'clicks' if variant == 0 else 'somewhere-else'}.{suffix}"
    names = ("user", "query", "url", "count")
    told = rows(kind, variant)
    if suffix == "parquet":
        import polars as pl

        told = [(u, q, w or None, n or None) for u, q, w, n in told]
        pl.DataFrame(told, schema=list(names), orient="row").write_parquet(file)
    elif kind == "ubi":
        lines = [line for row in with_times(told, variant) for line in as_ubi(*row)]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif kind == "timed":
        names = ("AnonID", "Query", "ClickURL", "QueryTime", "ItemRank")
        lines = [names, *with_times(told, variant)]
        file.write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    elif suffix == "jsonl":
        file.write_text("".join(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in told))
    else:
        file.write_text("".join("\t".join(map(str, r)) + "\n" for r in [names, *told]))
    return file


@pytest.fixture
def forced(monkeypatch):
    """The mechanism's output, whatever the log: what was drawn, selected and measured."""
    drawn = Output(
        user=np.array([0, 0, 1, 3]), pair=np.array([0, 2, 1, 3]), count=np.array([1, 1, 1, 2])
    )
    monkeypatch.setattr(planner, "sample_users", lambda hist, plan, rng: drawn)
    monkeypatch.setattr(sanitize_private, "capped_sample", lambda *_, **__: drawn)
    for module, name in ((sanitize_private, "private_histogram"), (synthesize, "make_either")):
        monkeypatch.setattr(module, name, replayed(getattr(module, name)))
    names = lambda n, kind, rng: [str(10 + i) for i in range(n)]  # noqa: E731
    monkeypatch.setattr(job, "fresh_pseudonyms", names)


def replayed(call):
    """What the first call gave, for every later one too."""
    kept = []

    def again(*words, **options):
        if not kept:
            kept.append(call(*words, **options))
        return kept[0]

    return again


def released(kind, file, target):
    options = {"format": "ubi"} if kind == "ubi" else {}
    options |= {"period": PERIOD} if kind in ("timed", "ubi") else {}
    log = slogan.read(file, on_bad_row="skip", **options)
    if kind in ("synthetic", "timed", "ubi"):
        made = slogan.synthesize(log, slogan.PrivacyBudget(epsilon=8, delta="1e-3"), seed=3)
    elif kind == "private":
        budget = slogan.PrivacyBudget(epsilon=4, delta="0.5")
        made = slogan.sanitize(log, budget, counts=slogan.PrivateCounts(), seed=3)
    else:
        counts = (
            slogan.LaplaceCounts(bound=9, epsilon=4) if kind == "laplace" else slogan.ExactCounts()
        )
        made = slogan.sanitize(log, SMALL, counts=counts, solver="exact", seed=3)
    with closing(made):
        made.save(target)
    return target


def public(folder):
    """All that a reader of public/ can see: names, contents, times, sizes, modes."""
    there = folder / "public"
    return {
        str(path.relative_to(there)): (
            path.read_bytes() if path.is_file() else None,
            (about := path.stat()).st_mtime_ns,
            about.st_size if path.is_file() else 0,
            about.st_mode,
        )
        for path in [there, *sorted(there.rglob("*"))]
    }


def both(tmp_path, kind, suffix):
    made = []
    for variant in (0, 1):
        target = tmp_path / ("one" if variant == 0 else "another")
        made.append(public(released(kind, write(tmp_path, kind, variant, suffix), target)))
    return made


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        *((kind, "jsonl" if kind == "ubi" else "tsv") for kind in KINDS),
        ("exact", "parquet"),
        ("exact", "jsonl"),
    ],
)
def test_logs_that_differ_in_all_but_the_output_are_published_alike(tmp_path, forced, kind, suffix):
    one, another = both(tmp_path, kind, suffix)

    assert one.keys() == another.keys()
    for name, seen in one.items():
        assert seen == another[name], name


def leak_in_parameters(self, published, _honest=Release.manifest):
    told = _honest(self, published)
    more = {**told.parameters, "users": self.counted.users}
    return told.model_copy(update={"parameters": more})


def leak_in_a_time(self, folder, _honest=Release._fill):
    _honest(self, folder)
    os.utime(folder / "public/manifest.json", (0, self.counted.clicks))


def leak_in_a_size(self, output, pseudonyms, target, _honest=DuckDBEngine.write):
    _honest(self, output, pseudonyms, target)
    with target.open("ab") as file:
        file.write(b"\n" * self._result.users)


def leak_of_what_is_possible(self, published, _honest=Release.manifest):
    told = _honest(self, published)
    more = {**told.parameters, "pairs_possible": self.summary.pairs_possible}
    return told.model_copy(update={"parameters": more})


LEAKS = [
    (Release, "manifest", leak_in_parameters, "exact"),
    (Release, "_fill", leak_in_a_time, "exact"),
    (DuckDBEngine, "write", leak_in_a_size, "exact"),
    (Release, "manifest", leak_of_what_is_possible, "synthetic"),
]


@pytest.mark.parametrize(
    ("where", "name", "leak", "kind"), LEAKS, ids=[leak.__name__ for _, _, leak, _ in LEAKS]
)
def test_a_leak_is_seen(tmp_path, forced, monkeypatch, where, name, leak, kind):
    monkeypatch.setattr(where, name, leak)
    one, another = both(tmp_path, kind, "tsv")

    assert one != another


# Where each value of a manifest may come from. What is not listed here must not be published.
CONSTANT, VERSION, OPTION, SCHEMA = "constant", "version", "option", "schema"
RELEASE, MECHANISM, BUDGET = "released file", "mechanism", "function of the budget"
SOURCES = {
    "manifest_version": CONSTANT,
    "slogan_version": VERSION,
    "wording": VERSION,
    "versions.*": VERSION,
    "method": OPTION,
    "counts": OPTION,
    "pseudonyms": OPTION,
    "test_run": OPTION,
    "promise": CONSTANT,
    "guarantees.*": BUDGET,
    "not_guaranteed.*": BUDGET,
    "budget.*": OPTION,
    "labels.*": OPTION,
    **{
        f"parameters.{name}": OPTION
        for name in (
            *("objective", "min_support", "output_size", "solver", "time_limit", "gap", "patience"),
            "encoding",
            "engine",
            *("on_bad_row", "laplace_bound", "laplace_epsilon", "sampling_share", "selector"),
            "contributions",
            *("association", "taxonomy_sha256", "accept_weak_privacy", "searches", "fold"),
            "click_action",
        )
    },
    "parameters.items": SCHEMA,
    **{f"parameters.{name}": BUDGET for name in ("sampling_cap", "selection_delta", "share_*")},
    **{
        f"parameters.{name}": CONSTANT
        for name in (
            *("counts_norm", "counts_most_clicks", "sizes_largest", "coverage_most_clicks"),
            *("association_head", "association_most_categories", "session_gap"),
        )
    },
    "parameters.selection_most": MECHANISM,
    "account.*": BUDGET,
    "account": CONSTANT,
    "outputs": CONSTANT,
    "outputs.coverage": MECHANISM,
    "outputs.clicks_released": MECHANISM,
    "outputs.clicks_other": MECHANISM,
    "outputs.clicks_counted": MECHANISM,
    "outputs.users_by_pairs.*": MECHANISM,
    "outputs.association": MECHANISM,
    "outputs.association_kept": MECHANISM,
    "outputs.users": MECHANISM,
    "outputs.pairs_selected": MECHANISM,
    "outputs.fields.*": MECHANISM,
    "log.events.filled*": MECHANISM,
    "log.events.dropped*": MECHANISM,
    "log.events.*": OPTION,
    "log.file": SCHEMA,
    "log.sha256": RELEASE,
    "withheld": RELEASE,  # what a person withheld after looking at the released file
    "withheld.*": RELEASE,
    **{
        f"log.{name}": SCHEMA
        for name in (
            "format",
            "compression",
            "header",
            "columns.*",
            "user",
            "query",
            "url",
            "count",
            "delimiter",
            "emptied",
            "emptied.*",
            "parted",
        )
    },
}


def leaves(value, path=""):
    if isinstance(value, dict) and value:
        for name, inside in value.items():
            yield from leaves(inside, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for n, inside in enumerate(value):
            yield from leaves(inside, f"{path}.{n}")
    else:
        yield path, value


def source(path):
    return next((s for pattern, s in SOURCES.items() if fnmatch.fnmatch(path, pattern)), None)


@pytest.mark.parametrize("kind", KINDS)
def test_each_value_of_a_manifest_has_a_source_that_is_not_the_log(tmp_path, kind):
    folder = released(kind, write(tmp_path, kind, 0, "tsv"), tmp_path / "out")
    other = released(kind, write(tmp_path, kind, 1, "tsv"), tmp_path / "other")
    told, else_told = (
        dict(leaves(json.loads((f / "public/manifest.json").read_text(encoding="utf-8"))))
        for f in (folder, other)
    )
    manifest = Manifest.model_validate_json((folder / "public/manifest.json").read_bytes())
    file = folder / "public" / told["log.file"]

    assert [path for path in told if source(path) is None] == []
    # What is not of the mechanism is the same for any other log of this schema.
    fixed = [path for path in told if source(path) not in (MECHANISM, RELEASE)]
    assert [told[path] for path in fixed] == [else_told[path] for path in fixed]
    assert told["log.sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    for name, page in PUBLIC_PAGES.items():
        assert (folder / "public" / name).read_text(encoding="utf-8") == page(manifest)
    if kind in ("exact", "laplace"):
        assert not [path for path in told if source(path) == MECHANISM]


@pytest.mark.parametrize("path", ["seconds.solve", "parameters.status", "outputs.bound", "users"])
def test_a_value_without_a_source_is_seen(path):
    assert source(path) is None
