"""Run one of them: `python -m bench.peers PEER VARIANT|all SECONDS FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from slogan.reproduction.peers import write_answers

if __name__ == "__main__":
    peer, variant, seconds, folder = sys.argv[1:]
    if peer == "highs":
        from bench.peers import highs as adapter
    elif peer == "localmip":
        from bench.peers import localmip as adapter
    else:
        from bench.peers.own import Own

        adapter = Own(peer)
    write_answers(adapter, variant, float(seconds), Path(folder))
