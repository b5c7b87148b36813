"""The certificate: one model for each kind of release, and errors that quote nothing."""

import json

import pytest
from tests.unit.manifest.test_promise import KINDS, release_of

from slogan.errors import LogFormatError
from slogan.manifest.certificate import (
    PlannedCertificate,
    PrivateRowsCertificate,
    SyntheticCertificate,
    certificate_type,
    read_certificate,
)
from slogan.manifest.manifest import Manifest
from slogan.modes import ReleaseKind

MODELS = {
    "exact": PlannedCertificate,
    "laplace": PlannedCertificate,
    "private": PrivateRowsCertificate,
    "synthetic": SyntheticCertificate,
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    return {kind: release_of(kind, folder / kind)[1] for kind in KINDS}


def manifest_of(release):
    return Manifest.model_validate_json((release / "public/manifest.json").read_bytes())


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_certificate_is_read_as_its_kind(releases, kind):
    file = releases[kind] / "curator/certificate.json"
    certificate = read_certificate(file, manifest_of(releases[kind]))

    assert type(certificate) is MODELS[kind]
    assert certificate.to_dict() == json.loads(file.read_text())
    assert certificate.columns.names == ("user", "query", "url", "count")
    assert certificate.figures.frequency_after[0][0] == 1
    assert "arrived" not in certificate.to_dict()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "change",
    [
        lambda told: {name: value for name, value in told.items() if name != "clicks_out"},
        lambda told: {**told, "zebra crossing": 1},
        lambda told: {**told, "users": -1},
        lambda told: {**told, "users": 2**63},
        lambda told: {**told, "clicks_by_fate": {"zebra crossing": 1}},
        lambda told: {**told, "figures": {**told["figures"], "supports": [[0.1, -0.5]]}},
        lambda told: {**told, "figures": {**told["figures"], "supports": [[0.1, float("inf")]]}},
        lambda told: {**told, "users": "zebra crossing"},
    ],
)
def test_a_changed_certificate_is_refused_without_a_word_of_it(releases, tmp_path, kind, change):
    told = json.loads((releases[kind] / "curator/certificate.json").read_text())
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(change(told)))

    with pytest.raises(LogFormatError, match="is not the certificate of a release") as refused:
        read_certificate(file, manifest_of(releases[kind]))
    assert "zebra" not in f"{refused.value!r} {refused.value} {refused.value.hint}"
    assert refused.value.__suppress_context__


def test_the_certificate_of_one_kind_is_not_that_of_another(releases):
    for kind in KINDS:
        file = releases[kind] / "curator/certificate.json"
        for other in KINDS:
            if MODELS[other] is not MODELS[kind]:
                with pytest.raises(LogFormatError):
                    read_certificate(file, manifest_of(releases[other]))


def test_an_invalid_certificate_does_not_quote_its_values():
    """What a release computes is checked as well, and the message may reach a terminal."""
    with pytest.raises(ValueError, match="validation error") as refused:
        certificate_type(ReleaseKind.SYNTHETIC_USERS).model_validate({"users": "my secret query"})
    assert "secret" not in str(refused.value)
