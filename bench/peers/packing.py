"""Slogan's packing solver: bounds, cliques, greedy and local search."""

from __future__ import annotations

from pathlib import Path

from bench.peers import Found
from bench.peers._slogan import ask

VARIANTS = ("slogan",)


def solve(folder: Path, variant: str, seconds: float) -> Found:
    del variant
    return ask("packing", folder, seconds)
