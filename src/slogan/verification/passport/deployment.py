"""deployment.yaml, compared with the manifest."""

import re
from fractions import Fraction

from slogan.manifest.labels import is_date
from slogan.manifest.manifest import Budget, Manifest
from slogan.verification.conditions import exp_below, rational
from slogan.verification.passport.facts import Facts, faults_of
from slogan.verification.passport.plain_yaml import plain_yaml

_NO_DATE = "1980-01-01"
_SLACK = Fraction(1, 10_000)
_ROUNDED = 1 + Fraction(1, 10**50)
"""More than the error of the exponential."""
_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?(e-[0-9]{1,3})?")
_FIELDS = {
    "": {"url_slug", "status", "tier", "deployment"},
    "deployment": {
        *("basic", "dp_variant", "privacy_loss", "deployment_model", "accounting"),
        *("implementation", "administrative"),
    },
    "deployment.basic": {
        *("name", "data_curators", "description", "intended_use", "data_product_type"),
        *("data_product_region", "publication_date"),
    },
    "deployment.dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "deployment.privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment.privacy_loss.privacy_parameters": {"epsilon", "delta"},
    "deployment.deployment_model": {
        *("model_name", "model_name_details", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    },
    "deployment.accounting": {"post_processing", "composition"},
    "deployment.implementation": {
        *("preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"),
    },
    "deployment.administrative": {"sources", "notes", "registry_authors"},
}
"""The fields below each field."""
_EVERY = {f"{above}.{name}".lstrip(".") for above, names in _FIELDS.items() for name in names}


def read_facts(text: str, manifest: Manifest) -> Facts:
    """What deployment.yaml states, and where that differs from the manifest."""
    try:
        found = plain_yaml(text)
    except ValueError:
        return Facts(faults=("is not written as slogan writes it",))
    deployed = {name.removeprefix("deployment."): value for name, value in found.items()}
    basic, loss = "basic.", "privacy_loss.privacy_parameters."
    date = deployed.get(f"{basic}publication_date", "")
    synthetic = manifest.method == "synthesize"
    private = manifest.counts == "private"
    unprotected = deployed.get("dp_variant.unprotected_quantities", "")
    faults = {
        "has unknown fields, or lacks some": {*found} != _EVERY - {*_FIELDS},
        "is not a draft of tier 3": (found.get("status"), found.get("tier")) != ("Draft", "3"),
        "states another ε than the manifest": not _epsilon_fits(
            deployed.get(f"{loss}epsilon", ""), manifest.budget
        ),
        "states another δ than the manifest": not _fits(
            deployed.get(f"{loss}delta", ""), rational(manifest.budget.delta)
        ),
        "names another kind of data": deployed.get(f"{basic}data_product_type")
        != ("Synthetic data" if synthetic else "Dataset"),
        "names another variant of differential privacy": deployed.get("dp_variant.variant_name")
        != ("Approximate DP" if private else "Custom"),
        "does not say that the counts are not protected": not private
        and not ("number" in unprotected and "not protected" in unprotected),
        "does not name the released log": manifest.log.sha256
        not in deployed.get("administrative.sources", ""),
        "leads to an address that the labels do not have": any(
            "://" in value and not any(label in value for label in manifest.labels.given().values())
            for value in found.values()
        ),
        "has an invalid date of publication": not is_date(date),
        "has another date of publication than the manifest": manifest.labels.published
        not in (None, date),
    }
    prose = " ".join(value for name, value in found.items() if not name.endswith("_date"))
    return Facts(faults=faults_of(faults), prose=prose, date="" if date == _NO_DATE else date)


def _fits(written: str, least: Fraction) -> bool:
    """Whether a number is the given one, or a little above."""
    if not _NUMBER.fullmatch(written):
        return False
    return least <= rational(written) <= least * (1 + _SLACK)


def _epsilon_fits(written: str, budget: Budget) -> bool:
    """Whether ε is the budget's, or a little above; by its exponential if e^ε was given."""
    if budget.exp_epsilon is None:
        return _fits(written, rational(budget.epsilon or ""))
    if not _NUMBER.fullmatch(written) or not (power := rational(written)):
        return False
    ratio = rational(budget.exp_epsilon)
    return ratio <= exp_below(power) * _ROUNDED and exp_below(power / (1 + _SLACK)) <= ratio
