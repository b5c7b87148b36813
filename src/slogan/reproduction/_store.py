"""Store: what was computed, one JSON file for each part, so that a second run computes nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Found = dict[str, Any]


@dataclass
class Store:
    """Parts by name; an old one counts if it was computed from the same log in the same way."""

    folder: Path
    base: str
    """A digest of the log."""
    force: bool = False
    computed: list[str] = field(default_factory=list[str])
    """What this run had to compute."""
    reused: list[str] = field(default_factory=list[str])
    """What an earlier run had computed."""
    _known: dict[str, Found] = field(default_factory=dict[str, Found])

    def remember(self, name: str, parameters: Found, compute: Callable[[], Found]) -> Found:
        """The part of that name: from memory, from its file, or computed and kept."""
        if name in self._known:
            return self._known[name]
        digest = _digest([self.base, name, parameters])
        file = self.folder / f"{name}.json"
        record = {} if self.force else _read(file)
        if record.get("digest") != digest:
            begin = time.perf_counter()
            found = json.loads(json.dumps(compute()))  # as a later run will read it
            seconds = round(time.perf_counter() - begin, 1)
            about: Found = {"digest": digest, "parameters": parameters, "seconds": seconds}
            record = {**about, "found": found}
            self.computed.append(name)
            _write(file, record)
        else:
            self.reused.append(name)
        return self._known.setdefault(name, record["found"])


def _read(file: Path) -> Found:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _write(file: Path, record: Found) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".json.new")
    fresh.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    fresh.replace(file)


def _digest(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
