"""The paper's Algorithm 2: drop the most sensitive pairs until all users are safe."""

from __future__ import annotations

from pathlib import Path

from bench.peers import Found
from bench.peers._slogan import ask

VARIANTS = ("slogan",)


def solve(folder: Path, variant: str, seconds: float) -> Found:
    del variant
    return ask("spe", folder, seconds)
