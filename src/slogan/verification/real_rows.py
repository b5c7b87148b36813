"""Checks of a release by `sanitize`: the conditions of the paper's Theorem 1, decided exactly."""

from __future__ import annotations

from fractions import Fraction

import duckdb

from slogan.errors import LogFormatError
from slogan.verification.evidence import Checks, Evidence, Finding


def _no_unique_pair(evidence: Evidence) -> Finding:
    found = evidence.compared
    detail = f"{found.unique_pairs} of {found.pairs} released pairs belong to a single user"
    return found.unique_pairs == 0, f"{detail} of the input log"


def users_from_log(evidence: Evidence) -> Finding:
    """Whether every row shown is a row of a user of the input log."""
    found = evidence.compared
    if evidence.manifest.pseudonyms == "keep":
        strangers = found.strangers()
        return strangers == 0, f"{strangers} of {found.rows} users' pairs are not in the input log"
    unexplained = found.unexplained_pseudonyms()
    detail = f"{unexplained} pseudonyms have pairs that no user of the input log holds together"
    table = evidence.folder / "curator/pseudonyms.parquet"
    if not table.is_file():
        return unexplained == 0, detail
    try:
        repeated, strangers = found.real_names(table)
    except (duckdb.Error, LogFormatError):
        return False, f"{detail}; the curator's table of pseudonyms cannot be read"
    detail += f"; by the curator's table {repeated} pseudonyms are not one-to-one, and {strangers}"
    detail += f" of {found.rows} users' pairs are not in the input log"
    return unexplained + repeated + strangers == 0, detail


def _condition_2(evidence: Evidence) -> Finding:
    return _condition(evidence, evidence.bounds.likelihood)


def _condition_3(evidence: Evidence) -> Finding:
    return _condition(evidence, evidence.bounds.appearance)


def _condition(evidence: Evidence, bound: Fraction) -> Finding:
    users, found = evidence.compared.users, evidence.compared.judge(bound)
    detail = (
        f"{users} users checked, {found.users} of them with released pairs and {found.in_integers} "
        f"decided by integers; {found.broken} exceed the bound; the largest use of the budget is "
        f"{found.largest_use:.3f}"
    )
    return found.broken == 0, detail


def _removed_users(evidence: Evidence) -> Finding:
    listed, in_vain = evidence.removed
    detail = f"{listed} users were removed beforehand and count for nothing in the other checks"
    return in_vain == 0, f"{detail}; {in_vain} of them are not in the input log, or listed twice"


CHECKS: Checks = {
    "no_unique_pair": _no_unique_pair,
    "users_from_log": users_from_log,
    "condition_2": _condition_2,
    "condition_3": _condition_3,
}
WITHOUT_REMOVED: Checks = {**CHECKS, "removed_users": _removed_users}
"""The same, where users were removed before the counts were chosen."""
