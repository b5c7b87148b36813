"""croissant.json and deployment.yaml: valid, readable as records, and the same as the manifest."""

import gzip
import json

import mlcroissant
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate

import slogan
from slogan.report import deployment

pytestmark = [  # of the libraries that mlcroissant calls
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
PAIRS = [("weather", "www.weather.com"), ('"exact phrase', "www.a.com/?b=1,2"), ("äpfel", "b.de")]
TEXT = {"type": "string", "minLength": 1}
DATE = {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"}


def closed(**fields):
    """An object with these fields, all of them, and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*fields],
        "properties": fields,
    }


def texts(*names):
    return dict.fromkeys(names, TEXT)


ENTRY = closed(
    url_slug={"type": "string", "pattern": "^[a-z0-9-]+$"},
    status={"const": "Draft"},
    tier={"const": 3},
    deployment=closed(
        basic=closed(
            **texts("name", "description", "intended_use", "data_product_region"),
            data_curators={"type": "array", "items": TEXT, "minItems": 1},
            data_product_type={"enum": ["Dataset", "Synthetic data"]},
            publication_date=DATE,
        ),
        dp_variant=closed(
            variant_name={"enum": ["Approximate DP", "Custom"]},
            **texts("data_domain", "unprotected_quantities"),
        ),
        privacy_loss=closed(
            **texts("privacy_unit", "privacy_unit_details", "privacy_parameters_details"),
            privacy_parameters=closed(
                epsilon={"type": "number", "exclusiveMinimum": 0}, delta=TEXT
            ),
        ),
        deployment_model=closed(
            model_name={"const": "Central"},
            release_type={"const": "One release"},
            data_source_type={"const": "Static"},
            access_type={"const": "Non-interactive"},
            **texts("model_name_details", "actors", "release_type_details"),
            **texts("data_source_type_details", "access_type_details"),
        ),
        accounting=closed(**texts("post_processing", "composition")),
        implementation=closed(
            **texts("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification")
        ),
        administrative=closed(
            **texts("sources", "notes"),
            registry_authors={"type": "array", "items": TEXT, "minItems": 1},
        ),
    ),
)
"""The fields of a registry entry that slogan writes."""


def write_log(folder, kind="tsv", *, urls=True, header=True, delimiter=","):
    names = ("user", "query", "url", "count")[: 4 if urls else 2]
    rows = [
        (f"u{user}", *pair, 1 + user % 3)[: len(names)]
        for user in range(30)
        for pair in PAIRS
        if urls or '"' not in pair[0]
    ]
    base = kind.removesuffix(".gz").removesuffix(".zst")
    file = folder / f"clicks.{kind}"
    if base == "jsonl":
        text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    elif base == "parquet":
        import polars as pl

        pl.DataFrame(rows, schema=list(names), orient="row").write_parquet(file)
        return file
    else:
        sign = "\t" if base == "tsv" else delimiter
        cells = [[*names], *rows] if header else rows
        quoted = '"{}"'.format if base == "csv" else "{}".format
        text = "".join(
            sign.join(quoted(str(cell).replace('"', "")) for cell in row) + "\n" for row in cells
        )
    file.write_bytes(gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode())
    return file


def release_of(log, **options):
    return slogan.sanitize(
        log, exp_epsilon=8, delta="0.9", objective="diversity", solver="exact", **options
    )


def croissant(folder):
    return mlcroissant.Dataset(jsonld=str(folder / "public/croissant.json"))


def entry(folder):
    found = yaml.safe_load((folder / "public/deployment.yaml").read_text(encoding="utf-8"))
    validate(found, ENTRY)
    return found["deployment"]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet", "tsv.gz", "csv.gz", "jsonl.gz"])
def test_croissant_is_valid_and_loads_the_released_rows(tmp_path, kind):
    with release_of(write_log(tmp_path, kind)) as release:
        release.save(tmp_path / "out")
        expected = sorted(map(tuple, release.to_polars().iter_rows()))
    dataset = croissant(tmp_path / "out")
    found = [
        tuple(v.decode() if isinstance(v, bytes) else v for v in row.values())
        for row in dataset.records("rows")
    ]

    assert dataset.metadata.ctx.issues.errors == set()
    assert expected
    assert sorted(found) == [(*row[:3], int(row[3])) for row in expected]


@pytest.mark.parametrize(
    ("period", "days"),
    [("2026-01-01/2026-03-31", ["2026-01-01", "2026-03-31"]), ("spring", None)],
)
def test_croissant_has_the_days_of_a_period(tmp_path, period, days):
    log, labels = write_log(tmp_path), slogan.Labels(period=period)
    with release_of(log, labels=labels) as release:
        release.save(tmp_path / "out")
    found = json.loads((tmp_path / "out/public/croissant.json").read_text(encoding="utf-8"))
    dataset = croissant(tmp_path / "out")

    assert dataset.metadata.ctx.issues.errors == set()
    assert found["temporalCoverage"] == period
    assert found.get("rai:dataCollectionTimeFrame") == days
    assert slogan.verify(log, tmp_path / "out").ok


def test_files_that_croissant_cannot_read_are_described_without_records(tmp_path):
    for n, options in enumerate(({"header": False}, {"delimiter": ";"})):
        (tmp_path / f"{n}").mkdir()
        log = write_log(tmp_path / f"{n}", "csv", **options)
        read = slogan.read(
            log,
            columns=None if options.get("header", True) else ("user", "query", "url", "count"),
            delimiter=options.get("delimiter"),
        )
        with release_of(read) as release:
            release.save(tmp_path / f"{n}/out")

        metadata = croissant(tmp_path / f"{n}/out").metadata
        assert metadata.ctx.issues.errors == set()
        assert [one.name for one in metadata.file_objects] == ["log.csv"]
        assert metadata.record_sets == []


def test_croissant_states_what_responsible_use_asks_for(tmp_path):
    labels = slogan.Labels(
        title="Clicks of spring", publisher="A shop", licence="CC BY 4.0", published="2026-12-01"
    )
    with release_of(write_log(tmp_path), labels=labels) as release:
        release.save(tmp_path / "out")
    found = json.loads((tmp_path / "out/public/croissant.json").read_text(encoding="utf-8"))
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text(encoding="utf-8"))

    assert found["conformsTo"] == [
        "http://mlcommons.org/croissant/1.1",
        "http://mlcommons.org/croissant/RAI/1.0",
    ]
    assert (found["name"], found["license"]) == ("Clicks of spring", "CC BY 4.0")
    assert found["creator"]["name"] == "A shop"
    assert found["datePublished"] == "2026-12-01"
    assert found["rai:hasSyntheticData"] is False
    assert found["distribution"][0]["sha256"] == manifest["log"]["sha256"]
    assert any("not private" in text for text in found["rai:personalSensitiveInformation"])
    for name in ("dataLimitations", "dataBiases", "dataUseCases", "dataSocialImpact"):
        assert found[f"rai:{name}"]
    metadata = croissant(tmp_path / "out").metadata
    assert metadata.data_limitations
    assert metadata.personal_sensitive_information


@pytest.mark.parametrize("counts", ["exact", "laplace", "private", "synthetic"])
def test_a_deployment_says_what_is_protected_and_what_is_not(tmp_path, counts):
    rows = [("user", "query", "url", "count")]
    rows += [(f"u{n}", *PAIRS[k % 3], 1) for n in range(400) for k in range(2)]
    file = tmp_path / "clicks.tsv"
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    if counts == "synthetic":
        made = slogan.synthesize(file, epsilon=8, delta="1e-3", seed=3)
    else:
        mode = {
            "exact": slogan.ExactCounts(),
            "laplace": slogan.LaplaceCounts(bound=9, epsilon=4),
            "private": slogan.PrivateCounts(),
        }[counts]
        made = slogan.sanitize(file, epsilon=4, delta="0.5", counts=mode, seed=3)
    with made as release:
        release.save(tmp_path / "out")
    found = entry(tmp_path / "out")
    unprotected = found["dp_variant"]["unprotected_quantities"]
    loss, accounting = found["privacy_loss"], found["accounting"]

    assert found["basic"]["data_product_type"] == (
        "Synthetic data" if counts == "synthetic" else "Dataset"
    )
    assert found["dp_variant"]["variant_name"] == (
        "Custom" if counts in ("exact", "laplace") else "Approximate DP"
    )
    assert loss["privacy_parameters"]["epsilon"] == (8 if counts == "synthetic" else 4)
    assert float(loss["privacy_parameters"]["delta"]) == (0.001 if counts == "synthetic" else 0.5)
    if counts in ("exact", "laplace"):
        assert "their counts" in unprotected
        assert "not protected" in unprotected
        assert (
            "largest chance that any row of a given person is shown"
            in (loss["privacy_parameters_details"])
        )
    else:
        assert "without noise" in unprotected
        assert "stages" in accounting["composition"]
        assert "gaussian" in found["implementation"]["mechanisms"]
    assert "seed" in found["implementation"]["mechanisms"]


def test_a_log_of_queries_is_described_as_one(tmp_path):
    with release_of(slogan.read(write_log(tmp_path, urls=False), url="none")) as release:
        release.save(tmp_path / "out")
    found = entry(tmp_path / "out")
    described = json.loads((tmp_path / "out/public/croissant.json").read_text(encoding="utf-8"))

    assert "pair" not in found["dp_variant"]["unprotected_quantities"]
    assert not any("pair" in text for text in described["rai:dataBiases"])
    assert [row["rows/query"] for row in croissant(tmp_path / "out").records("rows")]


HOSTILE = [
    'a "quoted" \\ title: - x # y',
    "!!python/object/apply:os.system",
    "&anchor *alias",
    "{{ 7 * 7 }} {% raw %}",
    "<script>alert(1)</script>",
    "🦉 Ωmega ñ — “x”",
    "yes",
    "- - - |-",
]


@pytest.mark.parametrize("title", HOSTILE)
def test_labels_stay_texts(tmp_path, title):
    labels = slogan.Labels(title=title, publisher=title, licence=title, region=title)
    with release_of(write_log(tmp_path), labels=labels) as release:
        release.save(tmp_path / "out")
    found = entry(tmp_path / "out")

    assert found["basic"]["name"] == title
    assert found["basic"]["data_curators"] == [title]
    assert found["basic"]["data_product_region"] == title
    assert croissant(tmp_path / "out").metadata.name in (title, {"en": title})
    assert slogan.verify_public(tmp_path / "out/public").ok


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_is_quoted_as_itself(text):
    assert yaml.safe_load(f"a: {deployment.quoted(text)}\n") == {"a": text}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), min_size=1))
def test_any_list_of_texts_is_read_back(texts):
    expected = "\n".join(f"- {text}" for text in texts)
    block = deployment.lines(texts)

    # a literal block ends without line ends, as every YAML reader keeps them
    assert yaml.safe_load(f"a:\n    b: {block}\n") == {"a": {"b": expected}}


def test_the_same_release_has_the_same_passport(tmp_path):
    file = write_log(tmp_path)
    for name in ("one", "two"):
        with release_of(file, seed=7) as release:
            release.save(tmp_path / name)

    for name in ("croissant.json", "deployment.yaml", "SHA256SUMS"):
        one, two = ((tmp_path / n / "public" / name).read_bytes() for n in ("one", "two"))
        assert one == two


def test_columns_with_any_name_are_described(tmp_path):
    rows = [
        {"user": f"u{n}", "query": q, "url": u, "count": 1, 'odd "name" /é': "x"}
        for n in range(30)
        for q, u in PAIRS
    ]
    file = tmp_path / "clicks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with release_of(file) as release:
        release.save(tmp_path / "out")
    dataset = croissant(tmp_path / "out")

    assert dataset.metadata.ctx.issues.errors == set()
    assert len([*dataset.records("rows")]) == len(
        (tmp_path / "out/public/log.jsonl").read_text().splitlines()
    )
