"""Run one peer on one case: `python -m bench.peers PEER VARIANT|all SECONDS FOLDER ANSWERS`."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import numpy as np

from bench.peers import Found, Peer, UnsupportedError


def main(argv: list[str]) -> None:
    """Write {variant: answer} as JSON after every variant: what is there survives a kill."""
    name, variant, seconds, folder, answers = argv
    peer: Peer = import_module(f"bench.peers.{name}")  # pyright: ignore[reportAssignmentType]
    said: dict[str, object] = {}
    for tried in peer.VARIANTS if variant == "all" else (variant,):
        try:
            before = time.process_time()
            found = peer.solve(Path(folder), tried, float(seconds))
            said[tried] = _as_json(found) | {"cpu": time.process_time() - before}
        except UnsupportedError as reason:
            said[tried] = {"unsupported": str(reason)}
        Path(answers).write_text(json.dumps(said), encoding="utf-8")


def _as_json(found: Found) -> dict[str, object]:
    shown = np.flatnonzero(found.x)
    return asdict(found) | {"pairs": shown.tolist(), "x": found.x[shown].tolist()}


if __name__ == "__main__":
    main(sys.argv[1:])
