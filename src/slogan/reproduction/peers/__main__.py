"""Run one peer: `python -m slogan.reproduction.peers PEER VARIANT|all SECONDS FOLDER`."""

import sys
from importlib import import_module
from pathlib import Path
from typing import cast

from slogan.reproduction.peers import Adapter, write_answers

if __name__ == "__main__":
    peer, variant, seconds, folder = sys.argv[1:]
    adapter = cast("Adapter", import_module(f"slogan.reproduction.peers.{peer}"))
    write_answers(adapter, variant, float(seconds), Path(folder))
