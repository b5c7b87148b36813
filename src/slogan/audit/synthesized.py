"""Checks of a release by `synthesize`."""

from __future__ import annotations

from slogan.audit.evidence import Checks

CHECKS: Checks = {}
